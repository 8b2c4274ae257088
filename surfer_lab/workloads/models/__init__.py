"""models: one file a reference model."""

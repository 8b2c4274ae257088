"""Report: a view as text, Markdown and self-contained HTML; `predict` and the `Prediction` that it returns."""

"""Predict what one PyTorch training iteration costs on GPUs you do not have."""

__version__ = "0.1.0"

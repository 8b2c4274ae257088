"""Is what a command needs installed? Asked before anything of it is imported."""

from __future__ import annotations

import importlib.util

from surfer_lab.errors import OptionError

__all__ = ["needs_torch"]


def needs_torch(why: str) -> None:
    """OptionError with the reason where torch is not installed."""
    if importlib.util.find_spec("torch") is None:
        raise OptionError(f"torch is not installed, and {why}", remedy="pip install torch")

"""The kernel's side of the panel: typed, versioned messages, their answers, ipywidgets. `register()` sets it up."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from surfer_lab.panel.registration import register

__all__ = ["register"]


def __getattr__(name: str) -> object:
    """`register`, imported when it is asked for: importing the package's schema loads no notebook."""
    if name != "register":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module("surfer_lab.panel.registration").register

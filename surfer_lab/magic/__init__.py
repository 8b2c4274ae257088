"""The notebook's words: `%load_ext surfer_lab`, `%%predict`, `%%tune`, `%surfer`. Parse, call, display."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["load_ipython_extension", "unload_ipython_extension"]

_WORDS = (("cell", "predict"), ("cell", "tune"), ("line", "surfer"))


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Register `%%predict`, `%%tune` and `%surfer`; loads no torch before they are used."""
    from surfer_lab.magic.words import SurferMagics

    shell.register_magics(SurferMagics)
    if hasattr(shell, "kernel"):  # a terminal has no panel
        from surfer_lab.panel.registration import register

        register(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Take the magics away again; predictions made stay in `surfer_lab.last()`."""
    from surfer_lab.panel.registration import unregister

    unregister()
    for kind, word in _WORDS:
        shell.magics_manager.magics[kind].pop(word, None)

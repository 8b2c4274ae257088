"""Predict what one PyTorch training iteration costs on GPUs you do not have.

The names of `__all__` are resolved when they are first asked for: importing this package loads neither torch nor
IPython nor numpy, queries no device and changes no global.

>>> import surfer_lab
>>> "predict" in dir(surfer_lab)
True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__version__ = "0.1.0"

# name -> the module that holds it
_HOMES = {
    "Gpu": "surfer_lab.hardware.gpu",
    "Trace": "surfer_lab.trace.model",
    "add_gpu": "surfer_lab.hardware.catalog",
    "predict": "surfer_lab.engine",
    "read_trace": "surfer_lab.trace",
    "record": "surfer_lab.capture",
    "save_trace": "surfer_lab.trace",
}
# names that a module calls otherwise
_NAMES_THERE = {"read_trace": "read", "save_trace": "save"}

__all__ = [
    "Gpu",
    "Trace",
    "__version__",
    "add_gpu",
    "load_ipython_extension",
    "predict",
    "read_trace",
    "record",
    "save_trace",
]


def __getattr__(name: str) -> object:
    """Import the module that holds `name` and return it from there; the next access finds it in place."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(home), _NAMES_THERE.get(name, name))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


def load_ipython_extension(shell: InteractiveShell) -> None:
    """`%load_ext surfer_lab`: register `%%predict` and `%surfer` with this shell."""
    import_module("surfer_lab.magic").load_ipython_extension(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """`%unload_ext surfer_lab`: take the magics away again."""
    import_module("surfer_lab.magic").unload_ipython_extension(shell)


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    """Where JupyterLab finds the built front end of an editable install."""
    return [{"src": "labextension", "dest": "surfer-lab"}]

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

if TYPE_CHECKING:  # for type checkers and editors only: at run time `_HOMES` below says where a name lives
    from IPython.core.interactiveshell import InteractiveShell

    from surfer_lab.capture import record, trace_symbolic
    from surfer_lab.errors import SurferError
    from surfer_lab.hardware.catalog import add_gpu
    from surfer_lab.hardware.catalog import load_catalog as gpus
    from surfer_lab.hardware.gpu import Gpu
    from surfer_lab.magic.history import last
    from surfer_lab.panel.explorer import explore
    from surfer_lab.report.prediction import Prediction, predict
    from surfer_lab.trace.model import Trace
    from surfer_lab.trace.reader import read as read_trace
    from surfer_lab.trace.storage import save as save_trace
    from surfer_lab.workloads.characterised import characterize
    from surfer_lab.workloads.prediction import predict_model
    from surfer_lab.workloads.scheduled import schedule

__version__ = "0.1.0"

__all__ = [
    "Gpu",
    "Prediction",
    "SurferError",
    "Trace",
    "__version__",
    "add_gpu",
    "characterize",
    "explore",
    "gpus",
    "last",
    "load_ipython_extension",
    "predict",
    "predict_model",
    "read_trace",
    "record",
    "save_trace",
    "schedule",
    "trace_symbolic",
    "unload_ipython_extension",
]

# public name -> the module that holds it, and its name there
_HOMES = {
    "Gpu": ("surfer_lab.hardware.gpu", "Gpu"),
    "Prediction": ("surfer_lab.report.prediction", "Prediction"),
    "SurferError": ("surfer_lab.errors", "SurferError"),
    "Trace": ("surfer_lab.trace.model", "Trace"),
    "add_gpu": ("surfer_lab.hardware.catalog", "add_gpu"),
    "characterize": ("surfer_lab.workloads.characterised", "characterize"),
    "explore": ("surfer_lab.panel.explorer", "explore"),
    "gpus": ("surfer_lab.hardware.catalog", "load_catalog"),
    "last": ("surfer_lab.magic.history", "last"),
    "predict": ("surfer_lab.report.prediction", "predict"),
    "predict_model": ("surfer_lab.workloads.prediction", "predict_model"),
    "read_trace": ("surfer_lab.trace.reader", "read"),
    "record": ("surfer_lab.capture", "record"),
    "save_trace": ("surfer_lab.trace.storage", "save"),
    "schedule": ("surfer_lab.workloads.scheduled", "schedule"),
    "trace_symbolic": ("surfer_lab.capture", "trace_symbolic"),
}


def __getattr__(name: str) -> object:
    """Import the module that holds `name` and return it from there; the next access finds it in place."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _HOMES[name]
    value: object = getattr(import_module(module), attribute)
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

"""Which recording can be predicted right after installing? A saved one that comes with the package.

ResNet-50, a training step of batch 32, recorded on a CPU by `examples/record_example.py`.
"""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import Final

from surfer_lab.trace.model import Trace
from surfer_lab.trace.reader import read

__all__ = ["EXAMPLE_FILE", "example_trace"]

EXAMPLE_FILE: Final = "resnet50.surfertrace"


def example_trace() -> Trace:
    """The bundled recording."""
    with as_file(files("surfer_lab.report").joinpath("examples", EXAMPLE_FILE)) as path:
        return read(path)

"""How much does a `%%predict` add to its notebook? A captured GPT-2 at nine batch sizes, and a long recorded trace.

Bytes of the notebook's file, as nbformat writes it: all three forms of the output, the grid of outcomes among them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import nbformat

import surfer_lab
from benchmarks.figure import Figure
from surfer_lab.report.bundle import mime_bundle

MODEL: Final = "surfer_lab.workloads:gpt2_medium"
BATCH_SIZE: Final = 4
DATA_VARIABLE: Final = "SURFER_LAB_DATA"
TRACE: Final = "param_2080ti_resnet.json.gz"
TRACED_ON: Final = "RTX 2080 Ti"
TARGET_KB: Final = 250.0
BYTES_PER_KB: Final = 1_000


def size_bytes(outputs: list[nbformat.NotebookNode]) -> int:
    """A notebook of one cell with these outputs, as a file."""
    cell = nbformat.v4.new_code_cell("", outputs=outputs)
    return len(nbformat.writes(nbformat.v4.new_notebook(cells=[cell])).encode())


def figure_of(prediction: surfer_lab.Prediction) -> Figure:
    """One cell's output."""
    output = nbformat.v4.new_output("display_data", data=mime_bundle(prediction.view_with_grid))
    return Figure(
        name=f"notebook grows by, {len(prediction.trace.ops):,} operations on {len(prediction.gpus)} GPUs",
        measured=(size_bytes([output]) - size_bytes([])) / BYTES_PER_KB, unit="kB", target=TARGET_KB,
    )  # fmt: skip


def figures() -> Iterator[Figure]:
    """Of a capture, and where it is at hand of a recorded trace of some 40,000 operations."""
    yield figure_of(surfer_lab.predict_model(MODEL, batch_size=BATCH_SIZE))
    folder = os.environ.get(DATA_VARIABLE, "")
    trace = Path(folder) / "traces" / TRACE
    if folder and trace.is_file():
        yield figure_of(surfer_lab.predict(trace, origin=TRACED_ON))

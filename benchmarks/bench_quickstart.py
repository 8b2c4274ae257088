"""What does `%%predict` add to the cell it observes? The quickstart CNN, 200 steps on this machine, answer included.

Both forms run in a shell as a notebook has it, each from a fresh setup, in turns; the shorter of two counts.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from benchmarks.figure import Figure

NOTEBOOK: Final = Path(__file__).resolve().parents[1] / "examples" / "quickstart.ipynb"
MAGIC: Final = "%%predict"
# the notebook's loop is 2 epochs of 10 steps
EPOCHS_IN_NOTEBOOK: Final = "range(2)"
EPOCHS_MEASURED: Final = "range(20)"
TURNS: Final = 2


def setup_and_loop() -> tuple[str, str]:
    """The source of the cell before the first `%%predict`, and of that cell without its first line, 200 steps long."""
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    sources = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    first = next(index for index, source in enumerate(sources) if source.startswith(MAGIC))
    loop = sources[first].split("\n", 1)[1]
    if loop.count(EPOCHS_IN_NOTEBOOK) != 1:
        raise ValueError(f"the quickstart's first loop no longer runs over {EPOCHS_IN_NOTEBOOK}: change this benchmark")
    return sources[first - 1], loop.replace(EPOCHS_IN_NOTEBOOK, EPOCHS_MEASURED)


def cell_s(shell: InteractiveShell, setup: str, cell: str) -> float:
    """Wall time in seconds of a cell after its setup; the cell's own error is raised."""
    with capture_output():
        shell.run_cell(setup).raise_error()
        began = time.perf_counter()
        shell.run_cell(cell).raise_error()
        return time.perf_counter() - began


def figures() -> Iterator[Figure]:
    """Predicted against plain."""
    setup, loop = setup_and_loop()
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "surfer_lab")
    plain_s, predicted_s = [], []
    for _ in range(TURNS):
        plain_s.append(cell_s(shell, setup, loop))
        predicted_s.append(cell_s(shell, setup, f"{MAGIC}\n{loop}"))
    yield Figure(
        name="quickstart CNN, 200 steps under %%predict",
        measured=min(predicted_s),
        unit="s",
        target=1.3,
        target_is_ratio=True,
        allowance=2.0,
        peer_name="the cell, plain",
        peer=min(plain_s),
    )

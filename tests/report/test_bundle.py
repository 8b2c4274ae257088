"""A cell's output is small and complete, as a notebook's file holds it: each number on a line of its own."""

from __future__ import annotations

from pathlib import Path

import msgspec
import nbformat
import pytest

from surfer_lab.report.bundle import MIME_TYPE, mime_bundle
from surfer_lab.view.stored import restored
from surfer_lab.view.stored_model import StoredView
from tests.view.views import view

DEMO = Path(__file__).parents[2] / "src" / "demo"

MOST_BYTES = 250_000


def size_in_a_notebook(bundle):
    """What the notebook's file grows by."""
    empty = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("")])
    filled = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell("", outputs=[nbformat.v4.new_output("display_data", data=bundle)])]
    )
    return len(nbformat.writes(filled).encode()) - len(nbformat.writes(empty).encode())


def test_all_three_forms_are_there_and_the_stored_one_is_plain_json():
    bundle = mime_bundle(view())
    assert set(bundle) == {MIME_TYPE, "text/html", "text/plain"}
    assert isinstance(bundle[MIME_TYPE], dict)
    nbformat.validate(
        nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell("", outputs=[nbformat.v4.new_output("display_data", data=bundle)])]
        )
    )


@pytest.mark.parametrize("recorded", ["resnet50", "profiler_trace", "does_not_fit"])
def test_a_cell_makes_its_notebook_grow_by_no_more_than_is_promised(recorded):
    """On all GPUs, with the grid; what grows with a model (operations, modules, timeline) is cut to the costliest."""
    kept = (DEMO / f"{recorded}.json").read_bytes()
    assert size_in_a_notebook(mime_bundle(restored(msgspec.json.decode(kept, type=StoredView)))) <= MOST_BYTES

"""What is stored is the whole view: made again, it is the same, word for word."""

from __future__ import annotations

import json

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surfer_lab.panel.schema import SCHEMA_FILE, protocol_schema, schema_text
from surfer_lab.trace.model import CellRecord, TraceOrigin
from surfer_lab.view.stored import restored, stored
from surfer_lab.view.stored_model import StoredView
from tests.planner.predictions import MS, gpu, trace
from tests.view.views import CHEAP, FAST, V100, view

CELL = CellRecord(wall_ns=60 * 10**9, step_count=500, profiled_step_count=5, unprofiled_step_ns=100 * MS)


def there_and_back(shown):
    return restored(msgspec.json.decode(msgspec.json.encode(stored(shown)), type=StoredView))


@pytest.mark.parametrize(
    "shown",
    [
        view(),
        view(trace(cell=CELL), dataset_size=1_281_167),
        view(trace(peak_bytes=int(20e9))),
        view(trace(origin=TraceOrigin.CPU_RUN, device=None, cell=CELL), origin=None, batch_size=None),
        view(speeds=((V100, 1.0), (gpu("Rare"), 3.0)), shows_all=True, focus="Rare"),
        view(unscaled="kernels of a CUDA graph"),
    ],
    ids=["imported", "live with an epoch", "memory", "without a GPU", "without a price", "not scaled"],
)
def test_a_view_comes_back_as_it_was(shown):
    assert there_and_back(shown) == shown


@given(st.lists(st.floats(min_value=0.01, max_value=500), min_size=1, max_size=6), st.integers(1, 4096))
def test_whatever_the_times_the_words_come_back(speeds, batch_size):
    cards = [V100, FAST, CHEAP, *(gpu(f"Card {place}") for place in range(3))]
    shown = view(speeds=tuple(zip(cards, speeds, strict=False)), batch_size=batch_size)
    again = there_and_back(shown)
    assert again.rows == shown.rows
    assert again.operations == shown.operations
    assert again.figures == shown.figures


def test_names_are_kept_as_text():
    hostile = view(name="<script>alert(1)</script>")
    assert there_and_back(hostile).name == "<script>alert(1)</script>"


def test_what_is_stored_obeys_the_schema_that_the_front_end_reads():
    schema = protocol_schema()
    for_stored = {"$ref": "#/$defs/StoredView", "$defs": schema["$defs"]}
    jsonschema.validate(json.loads(msgspec.json.encode(stored(view()))), for_stored)


def test_the_checked_in_schema_of_the_protocol_is_not_stale():
    assert SCHEMA_FILE.read_text(encoding="utf-8") == schema_text(), "run python -m tools.generate_types"

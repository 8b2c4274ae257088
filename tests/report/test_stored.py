"""A saved notebook's predictions: read as they were left, whatever else is in the file; refused with what to do."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surfer_lab.errors import OptionError
from surfer_lab.report.bundle import MIME_TYPE, mime_bundle
from surfer_lab.report.stored import read_notebook, stored_views
from tests.view.views import view


def notebook(*outputs):
    """One cell an output, as nbformat has them."""
    cells = [
        {"cell_type": "code", "source": "", "outputs": [{"output_type": "display_data", "data": data, "metadata": {}}]}
        for data in outputs
    ]
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [{"cell_type": "markdown"}, *cells]}


def test_predictions_come_back_word_for_word_in_the_order_of_their_cells(tmp_path):
    first, second = view(name="first"), view(name="second", batch_size=64)
    path = tmp_path / "two.ipynb"
    path.write_text(json.dumps(notebook(mime_bundle(first), {"text/plain": "4"}, mime_bundle(second))))
    found = read_notebook(path)
    assert found.views == (first, second)
    assert found.unread == ()


def test_a_prediction_that_is_shown_twice_counts_once():
    shown = mime_bundle(view())
    assert len(stored_views(notebook(shown, shown), name="n").views) == 1


def test_what_cannot_be_read_is_told_beside_what_can():
    older = {**mime_bundle(view())[MIME_TYPE], "schema_version": 1}
    damaged = {**mime_bundle(view())[MIME_TYPE], "rows": {}}
    cut = mime_bundle(view())[MIME_TYPE]
    cut = {**cut, "rows": {**cut["rows"], "step_ms": {"kind": "f32", "data": "AAAA!"}}}
    found = stored_views(
        notebook({MIME_TYPE: older}, {MIME_TYPE: damaged}, {MIME_TYPE: cut}, mime_bundle(view())), name="n"
    )
    assert len(found.views) == 1
    assert len(found.unread) == 3
    assert "cell 2 has form 1" in found.unread[0]
    assert all("damaged" in line for line in found.unread[1:])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not a notebook"),
        ("{", "is not a notebook"),
        ("[" * 100_000, "is not a notebook"),
        ("[]", "holds no prediction"),
        (json.dumps(notebook({"text/plain": "4"})), "put %%predict at the top"),
        (json.dumps(notebook({MIME_TYPE: {"schema_version": 99}})), "run its %%predict cells again"),
    ],
)
def test_a_file_without_a_prediction_is_refused_with_what_to_do(tmp_path, text, said):
    path = tmp_path / "some.ipynb"
    path.write_text(text)
    with pytest.raises(OptionError, match=said):
        read_notebook(path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["cells", "outputs", "data", MIME_TYPE, "schema_version"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(JSON)
def test_any_json_is_read_or_refused_in_words(value):
    with pytest.raises(OptionError):
        stored_views(msgspec.json.decode(msgspec.json.encode(value)), name="any")

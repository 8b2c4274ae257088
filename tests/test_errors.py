"""What is shown of an error, whatever the names in it are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from surfer_lab.errors import SurferError, UnknownGpuError


@given(st.text(st.characters(), max_size=50), st.text(st.characters(), max_size=50))
def test_an_error_is_one_line_that_no_terminal_obeys(seen, remedy):
    shown = str(SurferError(seen, remedy=remedy))
    assert shown.isprintable()
    shown.encode("utf-8")


def test_a_text_without_end_keeps_both_its_ends():
    error = UnknownGpuError(f"{'x' * 100_000} is no GPU", remedy="T4")
    assert len(str(error)) < 1_000
    assert str(error).endswith("is no GPU. Try: T4")


def test_a_plain_sentence_stays_as_it_is():
    assert str(SurferError("no GPU work in trace.json.", remedy="record again")) == (
        "no GPU work in trace.json. Try: record again"
    )

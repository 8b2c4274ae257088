"""The answer as text: aligned, within its width, the same numbers; Markdown in which no name is markup."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surfer_lab.report.markdown import markdown_of
from surfer_lab.report.text import Ink, cells, text_of
from surfer_lab.trace.model import TraceWarning
from tests.planner.predictions import gpu, trace
from tests.view.views import V100, view


def test_the_text_has_every_sentence_and_row():
    shown = view()
    text = " ".join(text_of(shown, width=140).split())
    for sentence in shown.sentences:
        assert sentence.text in text
    for row in shown.rows:
        assert f"{row.step.text} {row.step.range_text}" in text
        assert row.usd_per_1000_steps.text in text


@pytest.mark.parametrize("width", [60, 80, 100, 140])
@given(name=st.text(max_size=80))
def test_no_line_is_wider_than_asked(width, name):
    recorded = trace(device=name, source=name, warnings=(TraceWarning(seen=name, consequence="nothing"),))
    for line in text_of(view(recorded, name="resnet"), width=width).splitlines():
        assert cells(line) <= width


def test_columns_stay_aligned_with_wide_characters():
    shown = view(speeds=((V100, 1.0), (gpu("显卡 24GB"), 2.0)))
    lines = text_of(shown, width=140).splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith("GPU"))
    ends = {cells(line[: line.index(" ms") + 3]) for line in lines[start + 1 : start + 3]}
    assert len(ends) == 1


def test_only_the_short_list_is_written_unless_all_are_asked_for():
    cards = ((V100, 1.0), *((gpu(f"Card {index}"), 0.5 + index / 10) for index in range(30)))
    short = text_of(view(speeds=cards), width=140)
    assert "19 more GPUs were predicted" in short
    full = text_of(view(speeds=cards, shows_all=True), width=140)
    assert all(f"Card {index} " in full for index in range(30))
    assert "more GPUs" not in full


def test_painting_changes_no_character():
    marks = []

    def paint(text, ink):
        marks.append(ink)
        return text

    assert text_of(view(), paint=paint) == text_of(view())
    assert set(marks) >= {Ink.TITLE, Ink.LABEL, Ink.FAINT, Ink.STRONG}


def test_markdown_has_the_tables_and_escapes_names():
    shown = view(trace(source="a|b*c<script>`x`.py:1"), name="[x](y)")
    written = markdown_of(shown, made_on="1 May 2026")
    assert "\\[x\\]\\(y\\)" in written
    assert "<script>" not in written
    rows = [line for line in written.splitlines() if line.startswith("|")]
    for line in rows:
        assert len(re.findall(r"(?<!\\)\|", line)) in {len(re.findall(r"(?<!\\)\|", other)) for other in rows}
    assert "| Fast 80GB | 52\\.5" in written or "| Fast 80GB | 52.5 ms |" in written

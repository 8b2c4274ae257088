"""How is a schedule drawn? A lane a GPU, a bar a job, time to the right: as SVG, and in a terminal's characters.

A job has its number and name in its bar, so that colour is never the only sign; bars of one job on lanes that follow
one another are one rectangle.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import Final

from surfer_lab.report.markup import Child, Markup, tag
from surfer_lab.view.schedule_view import ChartView, JobBar

__all__ = ["gantt_svg", "gantt_text", "hour_ticks"]

_WIDTH: Final = 760
_LANE: Final = 18
_LABEL_CHARACTER: Final = 6.2  # px of one at 11 px
_TOP, _BOTTOM = 4, 22
_ROOM: Final = 10  # px kept right of the last tick's word
_LEAST_NAMED: Final = 16  # px of a bar that holds its number
# eight hues told apart in grey too by their order; they repeat, the numbers do not
_HUES: Final = (205, 28, 142, 285, 355, 50, 175, 240)
_LETTERS: Final = "123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LABEL_COLUMNS: Final = 26


def gantt_svg(chart: ChartView, span_h: float) -> Markup:
    """One schedule on a scale of `span_h` hours."""
    left = 8 + _LABEL_CHARACTER * max(len(lane) for lane in chart.lanes)
    scale = (_WIDTH - left - _ROOM) / span_h if span_h > 0 else 0.0
    floor = _TOP + _LANE * len(chart.lanes)
    drawn: list[Child] = []
    for hour in hour_ticks(span_h):
        x = f"{left + hour * scale:.1f}"
        drawn.append(tag("line", x1=x, x2=x, y1=str(_TOP), y2=str(floor), stroke="currentColor", stroke_opacity="0.2"))
        drawn.append(tag("text", f"{hour:g} h", x=x, y=str(floor + 14), text_anchor="middle"))
    for number, lane in enumerate(chart.lanes):
        y = _TOP + _LANE * (number + 1)
        drawn.append(tag("text", lane, x="0", y=f"{y - 5}"))
        drawn.append(tag("line", x1=f"{left:.1f}", x2=str(_WIDTH), y1=str(y), y2=str(y), stroke="currentColor",
                         stroke_opacity="0.12"))  # fmt: skip
    for bar in chart.bars:
        drawn += _bar(bar, left, scale)
    end = f"{left + chart.makespan_h * scale:.1f}"
    drawn.append(
        tag("line", x1=end, x2=end, y1=str(_TOP), y2=str(floor), stroke="currentColor", stroke_dasharray="4 3")
    )
    said = f"{chart.title}: {len(chart.bars)} jobs on {len(chart.lanes)} GPUs, done after {chart.makespan_h:.3g} hours"
    return tag(
        "svg", *drawn, role="img", viewBox=f"0 0 {_WIDTH} {floor + _BOTTOM}", width=str(_WIDTH),
        height=str(floor + _BOTTOM), aria_label=said, font_size="11", fill="currentColor",
    )  # fmt: skip


def _bar(bar: JobBar, left: float, scale: float) -> list[Child]:
    """A rectangle for each run of lanes; the first that has room is named."""
    x, width = left + bar.start_h * scale, max(1.0, (bar.end_h - bar.start_h) * scale - 1.0)
    hue = _HUES[(bar.number - 1) % len(_HUES)]
    drawn: list[Child] = []
    for lanes in _runs(bar.lanes):
        top, height = _TOP + _LANE * lanes[0] + 1, _LANE * len(lanes) - 2
        drawn.append(
            tag("rect", tag("title", bar.text), x=f"{x:.1f}", y=str(top), width=f"{width:.1f}", height=str(height),
                rx="2", fill=f"hsl({hue}, 60%, 50%)", fill_opacity="0.4", stroke=f"hsl({hue}, 60%, 40%)")
        )  # fmt: skip
        if width >= _LEAST_NAMED:
            letters = int((width - 6) / _LABEL_CHARACTER)
            words = f"{bar.number} {bar.job}"
            shown = words if len(words) <= letters else str(bar.number) if letters < 6 else f"{words[: letters - 1]}…"
            drawn.append(tag("text", shown, x=f"{x + 4:.1f}", y=f"{top + height / 2 + 4:.1f}", pointer_events="none"))
    return drawn


def _runs(lanes: Sequence[int]) -> list[list[int]]:
    """Lanes that follow one another, together.

    >>> _runs([0, 1, 3])
    [[0, 1], [3]]
    """
    ordered = enumerate(sorted(lanes))
    return [[lane for _, lane in run] for _, run in groupby(ordered, key=lambda one: one[1] - one[0])]


def hour_ticks(span_h: float) -> list[float]:
    """Round numbers of hours, 4 to 10 of them, from 0 on.

    >>> hour_ticks(30.0), hour_ticks(0.9)
    ([0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0], [0.0, 0.2, 0.4, 0.6, 0.8])
    """
    if not 0 < span_h < math.inf:
        return [0.0]
    power = 10.0 ** math.floor(math.log10(span_h / 4))
    step = next(power * one for one in (10, 5, 2, 1) if span_h / (power * one) >= 4)
    return [float(f"{number * step:.6g}") for number in range(math.floor(span_h / step + 1e-9) + 1)]


def gantt_text(chart: ChartView, span_h: float, *, width: int = 100) -> list[str]:
    """One schedule in lines: a GPU a line, a job's letter where it runs, a dot where nothing does."""
    label = min(_LABEL_COLUMNS, max(len(lane) for lane in chart.lanes))
    columns = max(20, width - label - 2)
    scale = columns / span_h if span_h > 0 else 0.0
    lines = []
    for number, lane in enumerate(chart.lanes):
        cells = [" "] * columns
        last = min(columns, round(chart.makespan_h * scale))
        cells[:last] = ["·"] * last
        for bar in chart.bars:
            if number in bar.lanes:
                first = min(columns - 1, round(bar.start_h * scale))
                end = max(first + 1, min(columns, round(bar.end_h * scale)))
                cells[first:end] = [letter_of(bar.number)] * (end - first)
        name = lane if len(lane) <= label else f"…{lane[1 - label :]}"
        lines.append(f"{name:<{label}}  {''.join(cells)}".rstrip())
    axis = [" "] * (columns + 8)
    for hour in hour_ticks(span_h):
        at, words = round(hour * scale), f"{hour:g} h"
        if "".join(axis[max(0, at - 1) : at + len(words)]).strip() == "":
            axis[at : at + len(words)] = list(words)
    return [*lines, f"{'':<{label}}  {''.join(axis).rstrip()}"]


def letter_of(number: int) -> str:
    """The character that stands for a job; they repeat from the 62nd on.

    >>> letter_of(1), letter_of(10)
    ('1', 'a')
    """
    return _LETTERS[(number - 1) % len(_LETTERS)]

"""How does a step on several GPUs look as HTML? Bars of the step with the ideal line, and the table of its rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from surfer_lab.report.html_details import scroll
from surfer_lab.report.markup import Child, Markup, tag
from surfer_lab.view.model import ViewModel
from surfer_lab.view.scaling_model import ScalingRow, ScalingView

__all__ = ["scaling_section"]

_WIDTH: Final = 680
_ROW: Final = 26
_LABEL: Final = 76  # what stands left of the bars
_END: Final = 150  # and right of them


def scaling_section(view: ViewModel) -> list[Child]:
    """The curve that was asked about; nothing where none was."""
    shown = view.scaling
    if shown is None:
        return []
    return [
        tag("p", f"{shown.gpu}, {shown.link or 'one GPU'}. {'. '.join(_sentence(note) for note in shown.notes)}.",
            class_="s-note"),
        scroll(shown.title, _bars(shown)),
        *_timeline(shown),
        scroll(f"{shown.title}, table", _table(shown)),
        *(scroll(f"{other.title}, {other.link}, table", _table(other)) for other in view.scaling_links),
    ]  # fmt: skip


def _sentence(note: str) -> str:
    return note[:1].upper() + note[1:].rstrip(".")


def _bars(shown: ScalingView) -> Markup:
    """A bar a number of GPUs: compute, then exposed communication; the line is one GPU's step, the ideal."""
    longest = max(row.step_ms for row in shown.rows)
    scale = (_WIDTH - _LABEL - _END) / longest if longest > 0 and math.isfinite(longest) else 0.0
    first = shown.rows[0]
    ideal = _LABEL + first.step_ms * scale
    height = _ROW * len(shown.rows) + 8
    drawn: list[Child] = []
    for number, row in enumerate(shown.rows):
        drawn += _bar(row, shown.table[number], 4 + number * _ROW, scale)
    line = tag(
        "line", x1=f"{ideal:.1f}", x2=f"{ideal:.1f}", y1="0", y2=str(height), stroke="currentColor",
        stroke_dasharray="3 3", stroke_width="1",
    )  # fmt: skip
    said = f"Step by number of GPUs: compute, then exposed communication; dashed: {first.gpus} GPU's step"
    return tag("svg", *drawn, line, class_="s-scaling", role="img", viewBox=f"0 0 {_WIDTH} {height}", aria_label=said)


def _bar(row: ScalingRow, words: Sequence[str], top: int, scale: float) -> list[Child]:
    compute, exposed = row.compute_ms * scale, row.exposed_ms * scale
    middle = top + 13
    return [
        tag(
            "text", f"{row.gpus} GPU{'s' if row.gpus > 1 else ''}", x="0", y=str(middle), fill="currentColor",
            font_size="11",
        ),
        tag(
            "rect", x=str(_LABEL), y=str(top), width=f"{compute:.1f}", height="18", fill="currentColor", opacity="0.45",
        ),
        tag(
            "rect", x=f"{_LABEL + compute:.1f}", y=str(top), width=f"{exposed:.1f}", height="18", fill="currentColor",
            opacity="0.9",
        ),
        tag(
            "text", f"{words[1]}, {words[4]}", x=f"{_LABEL + compute + exposed + 6:.1f}", y=str(middle),
            fill="currentColor", font_size="11",
        ),
    ]  # fmt: skip


def _timeline(shown: ScalingView) -> list[Child]:
    """Compute above, communication below, over the time of one step on the most GPUs; nothing where it is not there."""
    end = max((piece.end_ms for piece in shown.timeline), default=0.0)
    if end <= 0:
        return []
    scale, lanes = _WIDTH / end, {"compute": 0, "communication": _ROW}
    drawn = [
        tag(
            "rect", tag("title", f"{piece.name}: {piece.end_ms - piece.start_ms:.3g} ms"),
            x=f"{piece.start_ms * scale:.2f}", y=str(lanes[piece.lane]), height="20", fill="currentColor",
            width=f"{max(0.2, (piece.end_ms - piece.start_ms) * scale - 0.4):.2f}",
            opacity="0.45" if piece.lane == "compute" else "0.9",
        )
        for piece in shown.timeline
    ]  # fmt: skip
    said = f"One step on {shown.rows[-1].gpus} GPUs, {end:.3g} ms: compute above, communication below"
    figure = tag("svg", *drawn, class_="s-scaling", role="img", viewBox=f"0 0 {_WIDTH} {2 * _ROW}", aria_label=said)
    return [tag("p", f"{said}.", class_="s-note"), scroll(said, figure)]


def _table(shown: ScalingView) -> Markup:
    heads = tag("thead", tag("tr", *(tag("th", name, scope="col") for name in shown.columns)))
    rows = (tag("tr", tag("th", row[0], scope="row"), *(tag("td", cell) for cell in row[1:])) for row in shown.table)
    return tag(
        "table",
        tag("caption", f"{shown.title}, {shown.link}" if shown.link else shown.title),
        heads,
        tag("tbody", *rows),
        class_="s-batches",
    )

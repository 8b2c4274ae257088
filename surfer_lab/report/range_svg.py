"""How are step times of several GPUs drawn? A row a GPU: name, a dot on its range, the numbers; one scale from 0."""

from __future__ import annotations

from typing import Final

from surfer_lab.report.markup import Markup, tag
from surfer_lab.view.model import RangeFigure

__all__ = ["range_figure_svg"]

_WIDTH: Final = 680
_LEFT, _RIGHT, _TOP, _ROW = 168, 172, 8, 24
_LONGEST_NAME: Final = 25


def range_figure_svg(figure: RangeFigure) -> Markup:
    """The GPUs of the figure, in its order; the recorded step as a line where a GPU was recorded."""
    longest = max((bar.high for bar in figure.bars), default=0.0) or 1.0
    reference = figure.reference if figure.reference is not None and figure.reference <= longest else None
    floor = _TOP + _ROW * len(figure.bars)

    def x_of(value: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * min(1.0, max(0.0, value / longest))

    drawn: list[Markup] = []
    for index, bar in enumerate(figure.bars):
        y = _TOP + _ROW * index + _ROW / 2
        name = bar.label if len(bar.label) <= _LONGEST_NAME else bar.label[: _LONGEST_NAME - 1] + "…"
        drawn += [
            tag("text", name, x=str(_LEFT - 8), y=f"{y + 4:.1f}", class_="s-tick s-ink", text_anchor="end"),
            tag("line", x1=str(_LEFT), x2=str(_WIDTH - _RIGHT), y1=f"{y:.1f}", y2=f"{y:.1f}", class_="s-grid"),
            tag(
                "rect",
                x=f"{x_of(bar.low):.1f}",
                width=f"{max(0.5, x_of(bar.high) - x_of(bar.low)):.1f}",
                y=f"{y - 4:.1f}",
                height="8",
                rx="4",
                class_="s-range",
            ),
            tag("circle", cx=f"{x_of(bar.value):.1f}", cy=f"{y:.1f}", r="4.5", class_="s-dot"),
            tag("text", bar.text, x=str(_WIDTH - _RIGHT + 8), y=f"{y + 4:.1f}", class_="s-tick s-ink"),
            tag("text", bar.note, x=str(_WIDTH), y=f"{y + 4:.1f}", class_="s-tick", text_anchor="end"),
        ]
    if reference is not None:
        x = f"{x_of(reference):.1f}"
        drawn.append(tag("line", x1=x, x2=x, y1=str(_TOP), y2=str(floor), class_="s-reference"))
        drawn.append(tag("text", figure.reference_label, x=x, y=str(floor + 14), class_="s-tick", text_anchor="middle"))
    height = floor + (20 if reference is not None else 6)
    return tag(
        "svg", *drawn, class_="s-scatter", role="img", viewBox=f"0 0 {_WIDTH} {height}", aria_label=figure.description
    )

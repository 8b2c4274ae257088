"""How is a batch curve drawn? Samples a second over the batch size, on a logarithmic axis, the range as a band.

What does not fit is drawn hollow on a dashed line, so that colour is not the only sign; the table beside says the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from surfer_lab.report.markup import Markup, tag
from surfer_lab.view.model import CurveFigure, CurvePoint, Verdict

__all__ = ["curve_svg"]

_WIDTH: Final = 680
_HEIGHT: Final = 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 24, 26, 40


def curve_svg(figure: CurveFigure) -> Markup:
    """The curve with its marks."""
    points = [point for point in figure.points if point.samples_per_s.value]
    if not points:
        return tag("p", "No batch size has an answer.")
    top = max(_high(point) for point in points) * 1.05
    first, last = points[0].batch_size, points[-1].batch_size

    def x_of(batch: int) -> float:
        share = math.log(batch / first) / math.log(last / first) if last > first else 0.5
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * share

    def y_of(rate: float) -> float:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * rate / top

    drawn = [*_axes(points, top, x_of, y_of, figure)]
    upper = [f"{x_of(point.batch_size):.1f} {y_of(_high(point)):.1f}" for point in points]
    lower = [f"{x_of(point.batch_size):.1f} {y_of(_low(point)):.1f}" for point in reversed(points)]
    drawn.append(tag("path", d=f"M{' L'.join([*upper, *lower])} Z", class_="s-band"))
    fitting = [point for point in points if point.verdict is not Verdict.DOES_NOT_FIT]
    beyond = points[max(0, len(fitting) - 1) :] if len(fitting) < len(points) else []
    for line, kind in ((fitting, "s-front"), (beyond, "s-front s-beyond")):
        if len(line) > 1:
            path = " L".join(f"{x_of(p.batch_size):.1f} {y_of(p.samples_per_s.value or 0.0):.1f}" for p in line)
            drawn.append(tag("path", d=f"M{path}", class_=kind))
    for point in points:
        drawn += _point(point, x_of(point.batch_size), y_of(point.samples_per_s.value or 0.0))
    return tag(
        "svg",
        *drawn,
        class_="s-scatter s-curve",
        role="img",
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        aria_label=figure.description,
    )


def _low(point: CurvePoint) -> float:
    return point.samples_per_s.low or point.samples_per_s.value or 0.0


def _high(point: CurvePoint) -> float:
    return point.samples_per_s.high or point.samples_per_s.value or 0.0


def _point(point: CurvePoint, x: float, y: float) -> list[Markup]:
    does_fit = point.verdict is not Verdict.DOES_NOT_FIT
    kind = "s-point s-on-front" if does_fit else "s-point"
    said = f"batch {point.batch_size:,}: {point.samples_per_s.text}, {point.step.text} a step, {point.memory.text}"
    text = f"{said}, {point.verdict.value}" + (f", {point.mark}" if point.mark else "")
    drawn = [tag("circle", tag("title", text), cx=f"{x:.1f}", cy=f"{y:.1f}", r="5", class_=kind, tabindex="0")]
    if point.mark:
        anchor = "end" if x > _WIDTH - 170 else "start" if x < _LEFT + 60 else "middle"
        drawn.append(tag("text", point.mark, x=f"{x:.1f}", y=f"{y - 10:.1f}", class_="s-label", text_anchor=anchor))
    return drawn


def _axes(
    points: Sequence[CurvePoint],
    top: float,
    x_of: Callable[[int], float],
    y_of: Callable[[float], float],
    figure: CurveFigure,
) -> list[Markup]:
    drawn = []
    for point in points:
        x = x_of(point.batch_size)
        label = f"{point.batch_size:,}"
        drawn.append(
            tag("text", label, x=f"{x:.1f}", y=str(_HEIGHT - _BOTTOM + 16), class_="s-tick", text_anchor="middle")
        )
    for value in _ticks(top):
        y = y_of(value)
        drawn.append(tag("line", x1=str(_LEFT), x2=str(_WIDTH - _RIGHT), y1=f"{y:.1f}", y2=f"{y:.1f}", class_="s-grid"))
        drawn.append(tag("text", f"{value:,g}", x=str(_LEFT - 6), y=f"{y + 4:.1f}", class_="s-tick", text_anchor="end"))
    drawn.append(tag("text", figure.y_label, x="4", y="12", class_="s-tick"))
    drawn.append(
        tag("text", figure.x_label, x=str((_WIDTH + _LEFT) // 2), y=str(_HEIGHT - 6), class_="s-tick",
            text_anchor="middle")
    )  # fmt: skip
    return drawn


def _ticks(top: float) -> list[float]:
    """Round values from 0 to the top, three to six of them."""
    rough = top / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    return [step * count for count in range(int(top / step) + 1)]

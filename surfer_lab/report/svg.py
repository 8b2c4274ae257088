"""How are the figures of a ViewModel drawn as SVG? Sizes in percent where the width is the reader's, colours by class.

Every drawing has a name that a screen reader says; its numbers stand beside it as text or in its table.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from surfer_lab.report.markup import Markup, tag
from surfer_lab.view.model import PartitionBar, RangeBar, ScatterFigure, ScatterPoint

__all__ = ["LogScale", "partition_svg", "range_svg", "scatter_svg", "share_bar"]

_WIDTH: Final = 680
_HEIGHT: Final = 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 24, 24, 40


def _percent(fraction: float) -> str:
    return f"{100 * min(1.0, max(0.0, fraction)):.1f}%"


@dataclass(frozen=True, kw_only=True)
class LogScale:
    """A logarithmic scale from the least to the greatest value: a range that is a factor is as long everywhere."""

    low: float
    high: float

    @classmethod
    def around(cls, values: Iterable[float], *, room: float = 1.05) -> LogScale:
        """The scale that holds these values, the positive ones, with room at both ends, a factor."""
        known = [value for value in values if value > 0] or [1.0]
        return cls(low=min(known) / room, high=max(known) * room)

    def place(self, value: float) -> float:
        """Where a value lies, 0 to 1."""
        if value <= self.low:
            return 0.0
        return min(1.0, math.log(value / self.low) / math.log(self.high / self.low))

    @property
    def powers(self) -> list[float]:
        """The powers of ten on it."""
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        return [10.0**power for power in range(first, last + 1) if self.low <= 10.0**power <= self.high]


def range_svg(bar: RangeBar, scale: LogScale) -> Markup:
    """One GPU's time as a dot on its range; its numbers stand beside it."""
    low, high = scale.place(bar.low), scale.place(bar.high)
    return tag(
        "svg",
        tag("rect", x=_percent(low), width=_percent(high - low), y="4", height="8", rx="4", class_="s-range"),
        tag("circle", cx=_percent(scale.place(bar.value)), cy="8", r="4.5", class_="s-dot"),
        class_="s-bar",
        aria_hidden="true",
    )


def partition_svg(bar: PartitionBar, longest_ms: float) -> Markup:
    """One step as a stacked bar, in proportion to the longest of the figure."""
    top = longest_ms if longest_ms > 0 else 1.0
    drawn, start = [], 0.0
    for part in bar.parts:
        if part.value_ms > 0:
            drawn.append(
                tag(
                    "rect",
                    x=_percent(start / top),
                    width=_percent(part.value_ms / top),
                    y="0",
                    height="18",
                    class_=f"s-part s-{part.key.replace('_', '-')}",
                )
            )
        start += part.value_ms
    said = ", ".join(f"{part.label} {part.text}" for part in bar.parts if part.value_ms > 0)
    return tag(
        "svg",
        *drawn,
        class_="s-stack",
        role="img",
        width="100%",
        height="18",
        aria_label=f"{bar.label}, {bar.total_text}: {said}",
    )


def share_bar(share: float) -> Markup:
    """A share as a small bar; the number stands beside it."""
    return tag("i", class_="s-share", style=f"--s-share:{_percent(share)}", aria_hidden="true")


def scatter_svg(figure: ScatterFigure) -> Markup:
    """Cost against time on logarithmic axes; the front joined by a line, its points named where there is room."""
    points = [point for point in figure.points if point.x > 0 and point.y > 0]
    if not points:
        return tag("p", "No priced GPU to draw.")
    x_low, x_high = _span([point.x for point in points])
    y_low, y_high = _span([point.y for point in points])

    def place(point: ScatterPoint) -> tuple[float, float]:
        x = _LEFT + (_WIDTH - _LEFT - _RIGHT) * _position(point.x, x_low, x_high)
        y = _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * _position(point.y, y_low, y_high)
        return x, y

    drawn: list[Markup] = []
    for value in _ticks(x_low, x_high):
        x = _LEFT + (_WIDTH - _LEFT - _RIGHT) * _position(value, x_low, x_high)
        drawn.append(
            tag("line", x1=f"{x:.1f}", x2=f"{x:.1f}", y1=str(_TOP), y2=str(_HEIGHT - _BOTTOM), class_="s-grid")
        )
        drawn.append(
            tag(
                "text", f"{value:g}", x=f"{x:.1f}", y=str(_HEIGHT - _BOTTOM + 16), class_="s-tick", text_anchor="middle"
            )
        )
    for value in _ticks(y_low, y_high):
        y = _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * _position(value, y_low, y_high)
        drawn.append(tag("line", x1=str(_LEFT), x2=str(_WIDTH - _RIGHT), y1=f"{y:.1f}", y2=f"{y:.1f}", class_="s-grid"))
        drawn.append(tag("text", f"${value:g}", x=str(_LEFT - 6), y=f"{y + 4:.1f}", class_="s-tick", text_anchor="end"))
    front = sorted((point for point in points if point.on_front), key=lambda point: point.x)
    if len(front) > 1:
        path = " ".join(f"{'M' if not index else 'L'}{x:.1f} {y:.1f}" for index, (x, y) in enumerate(map(place, front)))
        drawn.append(tag("path", d=path, class_="s-front"))
    for point in sorted(points, key=lambda point: point.on_front):
        x, y = place(point)
        kind = "s-point s-on-front" if point.on_front else "s-point"
        kind += " s-origin" if point.is_origin else ""
        drawn.append(
            tag("circle", tag("title", point.text), cx=f"{x:.1f}", cy=f"{y:.1f}", r="5", class_=kind, tabindex="0")
        )
    drawn += _labels(
        [(point.label, *place(point)) for point in points if point.on_front or point.is_origin],
        [place(point) for point in points],
    )
    drawn.append(tag("text", figure.y_label, x="4", y="10", class_="s-tick"))
    drawn.append(
        tag(
            "text",
            f"{figure.x_label} (shorter is faster)",
            x=str((_WIDTH + _LEFT) // 2),
            y=str(_HEIGHT - 6),
            class_="s-tick",
            text_anchor="middle",
        )
    )
    return tag(
        "svg",
        *drawn,
        class_="s-scatter s-cost",
        role="img",
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        aria_label=figure.description,
    )


_Box = tuple[float, float, float, float]  # left, right, top, bottom


def _is_clear(box: _Box, taken: Sequence[_Box]) -> bool:
    left, right, top, bottom = box
    return all(right < other[0] or left > other[1] or bottom < other[2] or top > other[3] for other in taken)


def _labels(named: Sequence[tuple[str, float, float]], points: Sequence[tuple[float, float]]) -> list[Markup]:
    """Names beside their points, left out where they would lie on another name or point."""
    taken: list[_Box] = [(x - 6, x + 6, y - 6, y + 6) for x, y in points]
    drawn = []
    for label, x, y in named:
        text = label if len(label) <= 24 else label[:23] + "…"
        width = 6.4 * len(text)
        places = [(x + 9, y + shift) for shift in (4, -8, 16, -20, 28)]
        places += [(x - 9 - width, y + shift) for shift in (4, -8, 16, -20, 28)]
        for left, base in places:
            box = (left, left + width, base - 10, base + 2)
            if left >= _LEFT and left + width <= _WIDTH and box[2] > 0 and _is_clear(box, taken):
                taken.append(box)
                drawn.append(tag("text", text, x=f"{left:.1f}", y=f"{base:.1f}", class_="s-label"))
                break
    return drawn


def _span(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    return low / 1.15, high * 1.15


def _position(value: float, low: float, high: float) -> float:
    return (math.log(value) - math.log(low)) / (math.log(high) - math.log(low))


def _ticks(low: float, high: float) -> list[float]:
    """Round values inside the span: the coarsest set of mantissas that gives at least three."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    inside: list[float] = []
    for mantissas in (
        (1,),
        (1, 3),
        (1, 2, 5),
        (1, 1.5, 2, 3, 4, 5, 7),
        tuple(0.25 * quarter for quarter in range(4, 40)),
    ):
        values = (mantissa * 10.0**power for power in range(first, last + 1) for mantissa in mantissas)
        inside = [float(f"{value:.6g}") for value in values if low <= value <= high]
        if len(inside) >= 3:
            break
    return inside[:: max(1, len(inside) // 8)]

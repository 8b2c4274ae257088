"""How are a characterisation's figures drawn? Roofline, efficiency by number of GPUs, and the map of what is alike.

Shapes and dashes tell the groups apart, not colour alone; every point says itself on hover and by keyboard, kernels
only on hover (there are hundreds). The numbers stand in the tables beside.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from surfer_lab.report.markup import Child, Markup, tag
from surfer_lab.report.svg import LogScale
from surfer_lab.view.character_model import EfficiencyFigure, MapFigure, MapPoint, PlacedPoint, RooflineFigure

__all__ = ["FIGURE_STYLE", "efficiency_svg", "map_svg", "roofline_legend", "roofline_svg"]

FIGURE_STYLE: Final = """
.surfer .c-figure{height:auto;max-width:46rem;min-width:32rem;width:100%}
.surfer .c-roof{fill:none;stroke:var(--s-fg);stroke-width:1.6}
.surfer .c-roof-1{stroke-dasharray:7 4}.surfer .c-roof-2{stroke-dasharray:2 3}
.surfer .c-kernel-fp32{fill:var(--s-muted);opacity:.38}
.surfer .c-kernel-fp16{fill:none;stroke:var(--s-launch);stroke-width:1;opacity:.55}
.surfer .c-part{fill:var(--s-accent);stroke:var(--s-page);stroke-width:1}
.surfer .c-whole{fill:var(--s-bad);stroke:var(--s-page);stroke-width:1.2}
.surfer .c-amp{fill:var(--s-launch);stroke:var(--s-page);stroke-width:1.2}
.surfer .c-line{fill:none;stroke-width:2}
.surfer .c-own{fill:var(--s-bad);stroke:var(--s-page);stroke-width:1.2}
.surfer .c-reference{fill:var(--s-accent);stroke:var(--s-page);stroke-width:1}
.surfer .c-0{stroke:var(--s-accent)}.surfer .c-1{stroke:var(--s-good)}.surfer .c-2{stroke:var(--s-launch)}
.surfer .c-3{stroke:var(--s-bad)}.surfer .c-4{stroke:var(--s-input)}
.surfer .c-dot-0{fill:var(--s-accent)}.surfer .c-dot-1{fill:var(--s-good)}.surfer .c-dot-2{fill:var(--s-launch)}
.surfer .c-dot-3{fill:var(--s-bad)}.surfer .c-dot-4{fill:var(--s-input)}
.surfer :is(.c-part,.c-whole,.c-amp,.c-own,.c-reference,.c-dot):focus-visible{outline:2px solid var(--s-accent);
outline-offset:2px}
.surfer.surfer .c-title{border-top:2px solid var(--s-line);font-size:1.35rem;margin-top:2.6rem;padding-top:1rem}
.surfer .c-table caption{clip-path:inset(50%);height:1px;overflow:hidden;padding:0;position:absolute;width:1px}
.surfer.surfer .c-table tbody th{font-weight:550;text-align:left}
.surfer .c-legend{display:flex;flex-wrap:wrap;gap:.25rem 1.1rem;margin:.2rem 0 .6rem;font-size:.86rem}
.surfer .c-legend span{align-items:center;display:inline-flex;gap:.35rem}
.surfer .c-legend svg{flex:none;height:14px;width:26px}
@container (max-width: 40rem){.surfer .c-figure{min-width:26rem}}
"""
_WIDTH: Final = 680
_HEIGHT: Final = 380
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 20, 24, 44
_DASHES: Final = ("", "7 4", "2 3", "9 3 2 3", "1 4")
_LETTER: Final = 6.3  # width of a letter of a label
_ROOM: Final = 1.6  # beyond the outermost points
_MOST_LINES: Final = 5
_Place = Callable[[float, float], tuple[float, float]]


def roofline_svg(figure: RooflineFigure) -> Markup:
    """Kernels behind, parts and the whole before, under the rated roofs."""
    x = LogScale.around([point.flop_per_byte for point in figure.points], room=_ROOM)
    peak = max((roof.peak_tflop_per_s for roof in figure.roofs), default=1.0)
    y = LogScale.around([*(point.tflop_per_s for point in figure.points), peak], room=_ROOM)

    def place(intensity: float, rate: float) -> tuple[float, float]:
        return (
            _LEFT + (_WIDTH - _LEFT - _RIGHT) * x.place(intensity),
            _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * y.place(rate),
        )

    drawn: list[Child] = [*_log_grid(x, y, place, "FLOPs by byte moved", "TFLOP/s")]
    drawn += [_kernel(point, place) for point in figure.points if point.kind.startswith("kernel")]
    drawn += [child for number, roof in enumerate(figure.roofs) for child in _roof(figure, number, x, y, place)]
    shown = [point for point in figure.points if not point.kind.startswith("kernel")]
    drawn += [_part(point, place) for point in shown]
    drawn += _labels([(point.label, *place(point.flop_per_byte, point.tflop_per_s)) for point in reversed(shown)])
    return tag(
        "svg", *drawn, class_="c-figure", role="img", viewBox=f"0 0 {_WIDTH} {_HEIGHT}", aria_label=figure.description
    )


def _log_grid(x: LogScale, y: LogScale, place: _Place, x_label: str, y_label: str) -> list[Markup]:
    drawn = []
    for value in x.powers:
        at, _ = place(value, y.low)
        drawn.append(_vertical(at))
        drawn.append(_tick(f"{value:g}", at, _HEIGHT - _BOTTOM + 16, "middle"))
    for value in y.powers:
        _, at = place(x.low, value)
        drawn.append(_horizontal(at))
        drawn.append(_tick(f"{value:g}", _LEFT - 6, at + 4, "end"))
    drawn.append(_tick(x_label, (_WIDTH + _LEFT) / 2, _HEIGHT - 6, "middle"))
    drawn.append(_tick(y_label, 4, 12, "start"))
    return drawn


def _vertical(x: float) -> Markup:
    return tag("line", x1=f"{x:.1f}", x2=f"{x:.1f}", y1=str(_TOP), y2=str(_HEIGHT - _BOTTOM), class_="s-grid")


def _horizontal(y: float) -> Markup:
    return tag("line", x1=str(_LEFT), x2=str(_WIDTH - _RIGHT), y1=f"{y:.1f}", y2=f"{y:.1f}", class_="s-grid")


def _tick(text: str, x: float, y: float, anchor: str) -> Markup:
    return tag("text", text, x=f"{x:.1f}", y=f"{y:.1f}", class_="s-tick", text_anchor=anchor)


def _roof(figure: RooflineFigure, number: int, x: LogScale, y: LogScale, place: _Place) -> list[Markup]:
    """Memory's slope as far as the ridge, then the peak; lower roofs share the slope."""
    roof = figure.roofs[number]
    ridge = roof.peak_tflop_per_s * 1e3 / roof.gb_per_s
    start = max(x.low, y.low * 1e3 / roof.gb_per_s)
    corners = [(start, start * roof.gb_per_s / 1e3), (min(ridge, x.high), min(ridge, x.high) * roof.gb_per_s / 1e3)]
    if ridge < x.high:
        corners.append((x.high, roof.peak_tflop_per_s))
    path = " L".join(f"{at:.1f} {up:.1f}" for at, up in (place(*corner) for corner in corners))
    end, up = place(*corners[-1])
    label = f"{roof.label}, {roof.peak_tflop_per_s:g} TFLOP/s"
    return [
        tag("path", d=f"M{path}", class_=f"c-roof c-roof-{number}"),
        tag("text", label, x=f"{end - 4:.1f}", y=f"{up - 5:.1f}", class_="s-label", text_anchor="end"),
    ]


def _kernel(point: PlacedPoint, place: _Place) -> Markup:
    x, y = place(point.flop_per_byte, point.tflop_per_s)
    kind = point.kind.replace("_", "-")
    return tag("circle", tag("title", _said(point)), cx=f"{x:.1f}", cy=f"{y:.1f}", r="2.4", class_=f"c-{kind}")


def _part(point: PlacedPoint, place: _Place) -> Markup:
    x, y = place(point.flop_per_byte, point.tflop_per_s)
    said = tag("title", _said(point))
    if point.kind == "part":
        radius = 4 + 6 * math.sqrt(point.share or 0.0)
        return tag("circle", said, cx=f"{x:.1f}", cy=f"{y:.1f}", r=f"{radius:.1f}", class_="c-part", tabindex="0")
    return tag("path", said, d=_diamond(x, y, 8), class_=f"c-{point.kind}", tabindex="0")


def _diamond(x: float, y: float, half: float) -> str:
    return f"M{x:.1f} {y - half:.1f} L{x + half:.1f} {y:.1f} L{x:.1f} {y + half:.1f} L{x - half:.1f} {y:.1f} Z"


def _said(point: PlacedPoint) -> str:
    share = "" if point.share is None else f", {100 * point.share:.0f} % of the GPU time"
    return f"{point.label}: {point.tflop_per_s:.3g} TFLOP/s at {point.flop_per_byte:.3g} FLOPs by byte{share}"


def _labels(named: Sequence[tuple[str, float, float]]) -> list[Markup]:
    """Names beside their points, left out where they would lie on another name or point."""
    taken: list[tuple[float, float, float, float]] = [(x - 6, x + 6, y - 6, y + 6) for _, x, y in named]
    drawn = []
    for label, x, y in named:
        text = label if len(label) <= 26 else label[:25] + "…"
        width = _LETTER * len(text)
        for left, base in ((x + 12, y + 4), (x - 12 - width, y + 4), (x + 9, y - 10), (x + 9, y + 17),
                           (x - 9 - width, y - 10), (x - 9 - width, y + 17)):  # fmt: skip
            box = (left, left + width, base - 10, base + 3)
            inside = left >= _LEFT and box[1] <= _WIDTH - 4 and box[2] > 0 and box[3] < _HEIGHT - _BOTTOM
            if inside and all(
                box[0] > other[1] or box[1] < other[0] or box[2] > other[3] or box[3] < other[2] for other in taken
            ):
                taken.append(box)
                drawn.append(tag("text", text, x=f"{left:.1f}", y=f"{base:.1f}", class_="s-label"))
                break
    return drawn


def efficiency_svg(figure: EfficiencyFigure) -> list[Child]:
    """A line a topology over the number of GPUs, and the legend that names them."""
    counts = sorted({count for line in figure.lines for count in line.gpus})
    lines = figure.lines[:_MOST_LINES]
    if len(counts) < 2:
        return []
    height = 300
    x = LogScale(low=counts[0], high=counts[-1])
    low, steps = _efficiency_ticks(min(share for line in lines for share in line.efficiency))

    def place(count: float, share: float) -> tuple[float, float]:
        return (
            _LEFT + (_WIDTH - _LEFT - _RIGHT - 12) * x.place(count),
            height - _BOTTOM - (height - _TOP - _BOTTOM) * (min(1.05, share) - low) / (1.05 - low),
        )

    drawn: list[Child] = []
    for share in steps:
        _, at = place(counts[0], share)
        drawn += [_horizontal(at), _tick(f"{100 * share:.0f} %", _LEFT - 6, at + 4, "end")]
    for count in counts:
        at, _ = place(count, low)
        drawn.append(_tick(str(count), at, height - _BOTTOM + 16, "middle"))
    drawn += [_tick("GPUs", (_WIDTH + _LEFT) / 2, height - 6, "middle"), _tick("Efficiency", 4, 12, "start")]
    for number, line in enumerate(lines):
        places = [place(count, share) for count, share in zip(line.gpus, line.efficiency, strict=True)]
        path = " L".join(f"{at:.1f} {up:.1f}" for at, up in places)
        drawn.append(tag("path", d=f"M{path}", class_=f"c-line c-{number}", stroke_dasharray=_DASHES[number] or None))
        for at, (count, share) in enumerate(zip(line.gpus, line.efficiency, strict=True)):
            said = f"{line.label}, {count} GPUs: {100 * share:.0f} %, {line.bus_gb_per_s[at]:.3g} GB/s sent by each"
            drawn.append(
                tag("circle", tag("title", said), cx=f"{places[at][0]:.1f}", cy=f"{places[at][1]:.1f}", r="3.6",
                    class_=f"c-dot c-dot-{number}", tabindex="0")
            )  # fmt: skip
    legend = [
        _key(line.label, tag("line", x1="1", x2="25", y1="7", y2="7", class_=f"c-line c-{number}",
                             stroke_dasharray=_DASHES[number] or None))
        for number, line in enumerate(lines)
    ]  # fmt: skip
    svg = tag(
        "svg", *drawn, class_="c-figure", role="img", viewBox=f"0 0 {_WIDTH} {height}",
        aria_label=f"{figure.title}. {figure.description}",
    )  # fmt: skip
    return [tag("div", *legend, class_="c-legend"), svg]


def _efficiency_ticks(least: float) -> tuple[float, list[float]]:
    """Where the axis begins, and its ticks: from 0, or from nearer where all lines stay near the ideal."""
    for low, step in ((0.9, 0.02), (0.75, 0.05), (0.5, 0.1)):
        if least >= low:
            return low, [low + step * number for number in range(round((1.0 - low) / step) + 1)]
    return 0.0, [0.25 * number for number in range(5)]


def _key(label: str, drawing: Markup) -> Markup:
    return tag("span", tag("svg", drawing, viewBox="0 0 26 14", aria_hidden="true"), label)


def roofline_legend(figure: RooflineFigure) -> Markup:
    """What the marks are."""
    kinds = {point.kind for point in figure.points}
    marks = (
        ("whole", "whole step, as run", tag("path", d=_diamond(13, 7, 6), class_="c-whole")),
        ("amp", "whole step, AMP fp16", tag("path", d=_diamond(13, 7, 6), class_="c-amp")),
        ("part", "its parts, larger: more of the time", tag("circle", cx="13", cy="7", r="5", class_="c-part")),
        ("kernel_fp32", "DeepBench, FP32", tag("circle", cx="13", cy="7", r="3", class_="c-kernel-fp32")),
        ("kernel_fp16", "DeepBench, tensor cores", tag("circle", cx="13", cy="7", r="3", class_="c-kernel-fp16")),
    )
    return tag("div", *(_key(label, mark) for kind, label, mark in marks if kind in kinds), class_="c-legend")


def map_svg(figure: MapFigure) -> list[Child]:
    """Workloads as named marks, kernels as dots behind them."""
    low_x, high_x = _linear([point.x for point in figure.points])
    low_y, high_y = _linear([point.y for point in figure.points])

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            _LEFT + (_WIDTH - _LEFT - _RIGHT) * (x - low_x) / (high_x - low_x),
            _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * (y - low_y) / (high_y - low_y),
        )

    drawn: list[Child] = []
    for value in _round_ticks(low_x, high_x):
        at, _ = place(value, low_y)
        drawn += [_vertical(at), _tick(f"{value:g}", at, _HEIGHT - _BOTTOM + 16, "middle")]
    for value in _round_ticks(low_y, high_y):
        _, at = place(low_x, value)
        drawn += [_horizontal(at), _tick(f"{value:g}", _LEFT - 6, at + 4, "end")]
    if len(figure.axes) == 2:
        drawn.append(_tick(figure.axes[0].label, (_WIDTH + _LEFT) / 2, _HEIGHT - 6, "middle"))
        drawn.append(_tick(figure.axes[1].label, 4, 12, "start"))
    named = [point for point in figure.points if point.group != "kernel"]
    drawn += [_mark(point, place) for point in figure.points if point.group == "kernel"]
    drawn += [_mark(point, place) for point in named]
    ordered = sorted(named, key=lambda point: point.group != "own")
    drawn += _labels([(point.label, *place(point.x, point.y)) for point in ordered])
    svg = tag(
        "svg", *drawn, class_="c-figure", role="img", viewBox=f"0 0 {_WIDTH} {_HEIGHT}", aria_label=figure.description
    )
    marks = (
        ("own", "asked about", tag("path", d=_diamond(13, 7, 6), class_="c-own")),
        ("reference", "reference workloads", tag("circle", cx="13", cy="7", r="5", class_="c-reference")),
        ("kernel", "DeepBench's kernels", tag("circle", cx="13", cy="7", r="3", class_="c-kernel-fp32")),
    )
    groups = {point.group for point in figure.points}
    legend = [_key(label, mark) for group, label, mark in marks if group in groups]
    return [tag("div", *legend, class_="c-legend"), svg]


def _mark(point: MapPoint, place: _Place) -> Markup:
    x, y = place(point.x, point.y)
    said = tag("title", f"{point.label}: {point.x:.2f}, {point.y:.2f}")
    if point.group == "own":
        return tag("path", said, d=_diamond(x, y, 8), class_="c-own", tabindex="0")
    if point.group == "reference":
        return tag("circle", said, cx=f"{x:.1f}", cy=f"{y:.1f}", r="5.5", class_="c-reference", tabindex="0")
    return tag("circle", said, cx=f"{x:.1f}", cy=f"{y:.1f}", r="2.4", class_="c-kernel-fp32")


def _linear(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values, default=0.0), max(values, default=1.0)
    room = 0.08 * (high - low) or 1.0
    return low - room, high + room


def _round_ticks(low: float, high: float) -> list[float]:
    rough = (high - low) / 6
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    first = math.ceil(low / step)
    return [number * step for number in range(first, math.floor(high / step) + 1)]

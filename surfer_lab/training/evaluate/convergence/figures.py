"""How are the experiments' figures drawn? Two SVG files: staleness against the geometric one, and loss by wall time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.planner.convergence.momentum import geometric_staleness
from surfer_lab.report.markup import Markup, tag

__all__ = ["bars_svg", "lines_svg", "staleness_svg", "write_svg"]

F64 = NDArray[np.float64]

_PANEL: Final = (300, 170)
_LEFT, _TOP, _BOTTOM, _RIGHT = 44, 26, 34, 12
_INKS: Final = ("#1b6ca8", "#c8553d", "#588b8b", "#8e6bb1")
_STROKES: Final = ("none", "6 3", "2 3", "9 3 2 3")  # colour is not the only sign
_SHOWN_LAGS: Final = 24


def staleness_svg(histograms: Mapping[tuple[str, str, int], F64]) -> Markup:
    """Measured staleness as bars, the geometric one as a line, a panel for each (problem, work times, groups)."""
    panels = []
    columns = 3
    width, height = _PANEL
    for place, ((problem, kind, groups), histogram) in enumerate(histograms.items()):
        x, y = width * (place % columns), height * (place // columns)
        shares = histogram / max(1.0, histogram.sum())
        panels.append(_staleness_panel(x, y, f"{problem}, {kind}, g = {groups}", shares, groups))
    rows = math.ceil(len(histograms) / columns)
    return _drawing(panels, columns * width, rows * height, "Measured staleness beside the geometric distribution")


def _staleness_panel(x: float, y: float, title: str, shares: F64, groups: int) -> Markup:
    width, height = _PANEL
    lags = min(_SHOWN_LAGS, max(6, 4 * groups))
    theory = geometric_staleness(groups, lags=400)[:lags]
    shown = np.zeros(lags)
    shown[: min(lags, len(shares))] = shares[:lags]
    top = 1.1 * max(float(shown.max()), float(theory.max()))
    across = (width - _LEFT - _RIGHT) / lags
    down = (height - _TOP - _BOTTOM) / top
    floor = height - _BOTTOM
    bars = [
        tag("rect", x=f"{_LEFT + across * lag + 1:.1f}", y=f"{floor - down * share:.1f}",
            width=f"{max(1.0, across - 2):.1f}", height=f"{down * share:.1f}", fill=_INKS[0], fill_opacity="0.55")
        for lag, share in enumerate(shown)
    ]  # fmt: skip
    line = " ".join(
        f"{_LEFT + across * (lag + 0.5):.1f},{floor - down * share:.1f}" for lag, share in enumerate(theory)
    )
    return tag(
        "g",
        tag("text", title, x=str(_LEFT), y="16", font_size="12", font_weight="bold"),
        *bars,
        tag("polyline", points=line, fill="none", stroke=_INKS[1], stroke_width="1.6"),
        tag("line", x1=str(_LEFT), x2=str(width - _RIGHT), y1=str(floor), y2=str(floor), stroke="#555"),
        tag("text", "0", x=str(_LEFT), y=str(floor + 14)),
        tag("text", str(lags - 1), x=str(width - _RIGHT), y=str(floor + 14), text_anchor="end"),
        tag("text", "staleness, updates", x=f"{(width + _LEFT) / 2:.0f}", y=str(floor + 28), text_anchor="middle"),
        tag("text", f"{top / 1.1:.2f}", x=str(_LEFT - 4), y=f"{floor - down * top / 1.1 + 4:.1f}", text_anchor="end"),
        transform=f"translate({x} {y})",
    )


def lines_svg(title: str, curves: Mapping[str, tuple[F64, F64]], *, x_label: str, y_label: str) -> Markup:
    """Curves of positive y on a logarithmic axis over x from 0, each named in a legend."""
    width, height = 640, 320
    known = {name: (x, y) for name, (x, y) in curves.items() if len(x) > 1}
    right = max((float(x.max()) for x, _ in known.values()), default=1.0)
    low = min((float(y.min()) for _, y in known.values()), default=0.1)
    high = max((float(y.max()) for _, y in known.values()), default=1.0)
    bottom = height - _BOTTOM - 14

    def at(x: float, y: float) -> str:
        share = (math.log(y) - math.log(low)) / max(1e-9, math.log(high) - math.log(low))
        return f"{_LEFT + (width - _LEFT - _RIGHT) * x / right:.1f},{bottom - (bottom - _TOP) * share:.1f}"

    drawn = []
    for place, (name, (x, y)) in enumerate(known.items()):
        ink, stroke = _INKS[place % len(_INKS)], _STROKES[place % len(_STROKES)]
        points = " ".join(at(float(one), float(other)) for one, other in zip(x, y, strict=True))
        drawn.append(
            tag("polyline", points=points, fill="none", stroke=ink, stroke_width="1.8", stroke_dasharray=stroke)
        )
        drawn.append(tag("text", name, x=str(width - 200), y=str(_TOP + 16 * place + 10), fill=ink, font_weight="bold"))
    drawn += [
        tag("text", title, x=str(_LEFT), y="16", font_size="13", font_weight="bold"),
        tag("line", x1=str(_LEFT), x2=str(width - _RIGHT), y1=str(bottom), y2=str(bottom), stroke="#555"),
        tag("text", "0", x=str(_LEFT), y=str(bottom + 14)),
        tag("text", f"{right:.3g}", x=str(width - _RIGHT), y=str(bottom + 14), text_anchor="end"),
        tag("text", x_label, x=str((width + _LEFT) // 2), y=str(bottom + 28), text_anchor="middle"),
        tag("text", f"{high:.2g}", x=str(_LEFT - 4), y=str(_TOP + 4), text_anchor="end"),
        tag("text", f"{low:.2g}", x=str(_LEFT - 4), y=str(bottom), text_anchor="end"),
        tag("text", y_label, x="12", y=str(height // 2), text_anchor="middle",
            transform=f"rotate(-90 12 {height // 2})"),
    ]  # fmt: skip
    return _drawing(drawn, width, height, f"{title}: {', '.join(known)}")


def bars_svg(title: str, groups: Sequence[tuple[str, Sequence[tuple[str, float]]]], *, x_label: str) -> Markup:
    """Bars from 0, in groups; each bar's name and number stand beside it."""
    width, row = 640, 18
    longest = max((value for _, bars in groups for _, value in bars if math.isfinite(value)), default=1.0)
    drawn = [tag("text", title, x="8", y="16", font_size="13", font_weight="bold")]
    y = 40
    for name, bars in groups:
        drawn.append(tag("text", name, x="8", y=str(y), font_weight="bold"))
        y += 6
        for place, (label, value) in enumerate(bars):
            is_known = math.isfinite(value)
            long = 340.0 * (value / longest if is_known else 1.0)
            drawn.append(
                tag("rect", x="190", y=str(y), width=f"{long:.1f}", height=str(row - 5),
                    fill=_INKS[place % len(_INKS)], fill_opacity="0.75" if is_known else "0.2")
            )  # fmt: skip
            drawn.append(tag("text", label, x="182", y=str(y + 11), text_anchor="end"))
            said = f"{value:.1f}" if is_known else "not reached"
            drawn.append(tag("text", said, x=f"{196 + long:.1f}", y=str(y + 11)))
            y += row
        y += 22
    drawn.append(tag("text", x_label, x="190", y=str(y - 8)))
    return _drawing(drawn, width, y, f"{title}, {x_label}")


def _drawing(drawn: Sequence[Markup], width: float, height: float, said: str) -> Markup:
    return tag(
        "svg",
        tag("rect", width="100%", height="100%", fill="#fff"),
        *drawn,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=f"{width:.0f}",
        height=f"{height:.0f}",
        role="img",
        aria_label=said,
        font_family="sans-serif",
        font_size="11",
        fill="#222",
    )


def write_svg(folder: Path, name: str, drawing: Markup) -> Path:
    """Write it; the path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.svg"
    path.write_text(f"{drawing}\n", encoding="utf-8")
    return path

"""How are a tuned run's curves drawn? Loss by wall time, trials dashed and kept epochs solid; staleness as bars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from surfer_lab.report.markup import Markup, tag
from surfer_lab.units import NS_PER_S
from surfer_lab.view.training_model import LossCurve
from surfer_lab.view.wording import duration_text

__all__ = ["loss_svg", "staleness_bars"]

_WIDTH: Final = 640
_HEIGHT: Final = 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 12, 16, 34
_INK: Final = "currentColor"


def loss_svg(curves: Sequence[LossCurve], target_loss: float | None) -> Markup:
    """Each phase where it lay in the run's time; its setting is said on hover and to screen readers."""
    values = [loss for curve in curves for loss in curve.loss if loss > 0]
    seconds = [second for curve in curves for second in curve.seconds]
    if not values:
        return tag("p", "No losses yet.")
    levels = [*values, *([target_loss] if target_loss is not None and target_loss > 0 else [])]
    low, high, last = math.log(min(levels)), math.log(max(levels)), max(seconds)

    def x_of(second: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * second / max(1e-9, last)

    def y_of(loss: float) -> float:
        return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (high - math.log(loss)) / max(1e-9, high - low)

    drawn: list[Markup] = []
    for curve in curves:
        points = " ".join(
            f"{x_of(second):.1f},{y_of(loss):.1f}"
            for second, loss in zip(curve.seconds, curve.loss, strict=True)
            if loss > 0
        )  # fmt: skip
        is_kept = curve.role == "epoch"
        drawn.append(
            tag("polyline", tag("title", f"{curve.role}: {curve.label}"), points=points, fill="none", stroke=_INK,
                stroke_width="2.2" if is_kept else "1", stroke_dasharray="none" if is_kept else "4 2",
                stroke_opacity="1" if is_kept else "0.6")
        )  # fmt: skip
    if target_loss is not None and target_loss > 0:
        y = f"{y_of(target_loss):.1f}"
        drawn.append(
            tag("line", x1=str(_LEFT), x2=str(_WIDTH - _RIGHT), y1=y, y2=y, stroke=_INK, stroke_dasharray="1 4")
        )
        drawn.append(
            tag("text", f"target {target_loss:g}", x=str(_LEFT + 4), y=str(float(y) - 4))  # curves end at the right
        )
    floor = _HEIGHT - _BOTTOM
    drawn += [
        tag("line", x1=str(_LEFT), x2=str(_WIDTH - _RIGHT), y1=str(floor), y2=str(floor), stroke=_INK),
        tag("text", f"{math.exp(high):.3g}", x=str(_LEFT - 4), y=str(_TOP + 4), text_anchor="end"),
        tag("text", f"{math.exp(low):.3g}", x=str(_LEFT - 4), y=str(floor), text_anchor="end"),
        tag("text", duration_text(last * NS_PER_S), x=str(_WIDTH - _RIGHT), y=str(floor + 14), text_anchor="end"),
        tag("text", "wall time; trials dashed, training solid", x=str(_WIDTH // 2), y=str(floor + 28),
            text_anchor="middle"),
        tag("text", "loss", x=str(_LEFT + 4), y="12"),
    ]  # fmt: skip
    return _drawn(drawn, _HEIGHT, f"Loss by wall time of {len(curves)} phases, down to {math.exp(low):.3g}")


def staleness_bars(histogram: Sequence[float]) -> Markup:
    """Updates by how many others came between reading and writing."""
    height = 110
    top = max(histogram)
    across = (_WIDTH - _LEFT - _RIGHT) / len(histogram)
    floor = height - _BOTTOM
    bars = [
        tag("rect", tag("title", f"staleness {lag}: {count:.0f} updates"), x=f"{_LEFT + across * lag + 1:.1f}",
            y=f"{floor - (floor - _TOP) * count / top:.1f}", width=f"{max(1.0, across - 2):.1f}",
            height=f"{(floor - _TOP) * count / top:.1f}", fill=_INK, fill_opacity="0.5")
        for lag, count in enumerate(histogram)
    ]  # fmt: skip
    bars.append(tag("text", "0", x=str(_LEFT), y=str(floor + 14)))
    bars.append(tag("text", str(len(histogram) - 1), x=str(_WIDTH - _RIGHT), y=str(floor + 14), text_anchor="end"))
    bars.append(tag("text", "staleness, updates", x=str(_WIDTH // 2), y=str(floor + 28), text_anchor="middle"))
    return _drawn(bars, height, "Updates by staleness")


def _drawn(parts: Sequence[Markup], height: int, said: str) -> Markup:
    return tag(
        "svg", *parts, role="img", viewBox=f"0 0 {_WIDTH} {height}", width=str(_WIDTH), height=str(height),
        aria_label=said, font_size="11", fill=_INK,
    )  # fmt: skip

"""What does the batch size change on one GPU? Time, throughput and memory over it, with what fits."""

from __future__ import annotations

from typing import Final

from bokeh.models import DataRange1d, LinearAxis

from surfer_lab.view.bokeh_figures.colors import FigureColors
from surfer_lab.view.bokeh_figures.frame import Plot, framed, source, with_text

__all__ = ["batch_curve"]

_RATE: Final = "rate"
_MEMORY: Final = "memory"


def batch_curve(colors: FigureColors) -> Plot:
    """Step, samples/s and memory against batch size, each with an axis of its own.

    Sources: `points`; `limits`, the largest batch that fits; `capacity` of the card; `chosen`, the batch looked at.
    """
    points = source("points", "batch", "step", "low", "high", "rate", "memory", "text")
    limits, capacity, chosen = source("limits", "batch"), source("capacity", "memory"), source("chosen", "batch")
    step_range = DataRange1d(start=0)
    plot = framed(colors, x_scale="log", x_label="batch size", y_range=step_range)
    rates_range, memory_range = DataRange1d(start=0), DataRange1d(start=0)
    plot.extra_y_ranges = {_RATE: rates_range, _MEMORY: memory_range}
    for name, label, color in ((_RATE, "samples/s", colors.good), (_MEMORY, "memory, GB", colors.third)):
        axis = LinearAxis(y_range_name=name, axis_label=label, name=f"{name}_axis")
        axis.axis_label_text_color = axis.major_label_text_color = axis.axis_line_color = color
        axis.major_tick_line_color, axis.minor_tick_line_color = color, None
        axis.axis_label_text_font_style = "normal"
        axis.axis_label_text_font_size = axis.major_label_text_font_size = "12px"
        plot.add_layout(axis, "right")
    plot.yaxis[0].axis_label_text_color = plot.yaxis[0].major_label_text_color = colors.accent
    range_ = plot.varea(x="batch", y1="low", y2="high", source=points, fill_color=colors.accent_soft, fill_alpha=0.4)
    step = plot.line(x="batch", y="step", source=points, line_color=colors.accent, line_width=2)
    drawn = plot.scatter(x="batch", y="step", source=points, size=7, fill_color=colors.accent, line_color=None)
    rate = plot.line(x="batch", y="rate", source=points, line_color=colors.good, line_width=2, y_range_name=_RATE)
    rates = plot.scatter(
        x="batch", y="rate", source=points, marker="triangle", size=7, fill_color=colors.good, line_color=None,
        y_range_name=_RATE,
    )  # fmt: skip
    memory = plot.line(
        x="batch", y="memory", source=points, line_color=colors.third, line_dash="dotted", line_width=2,
        y_range_name=_MEMORY,
    )  # fmt: skip
    held = plot.scatter(
        x="batch", y="memory", source=points, marker="square", size=6, fill_color=colors.third, line_color=None,
        y_range_name=_MEMORY,
    )  # fmt: skip
    plot.hspan(y="memory", source=capacity, line_color=colors.third, line_dash="dashed", y_range_name=_MEMORY)
    plot.vspan(x="batch", source=limits, line_color=colors.bad, line_dash="dashed", line_width=2)
    plot.vspan(x="batch", source=chosen, line_color=colors.second, line_width=2)
    step_range.renderers = [range_, step, drawn]
    rates_range.renderers, memory_range.renderers = [rate, rates], [memory, held]
    drawn.nonselection_glyph = rates.nonselection_glyph = held.nonselection_glyph = None
    return with_text(plot, [drawn, rates, held])

"""What do more GPUs bring? The step by their number, its communication, and how many times one GPU's work is done."""

from __future__ import annotations

from typing import Final

from bokeh.models import DataRange1d, FactorRange, LinearAxis
from bokeh.models.annotations import TeeHead, Whisker

from surfer_lab.view.bokeh_figures.colors import FigureColors
from surfer_lab.view.bokeh_figures.frame import Plot, framed, source, with_text

__all__ = ["scaling"]

_SPEEDUP: Final = "speedup"


def scaling(colors: FigureColors) -> Plot:
    """A bar a number of GPUs with its range; on an axis of its own, the throughput over one GPU's, dashed the ideal.

    Sources: `bars`, of which `chosen` is the one looked at; factors: the numbers of GPUs, as text.
    """
    bars = source("bars", "gpus", "compute", "step", "low", "high", "speedup", "ideal", "text")
    chosen = source("chosen", "gpus")
    step_range = DataRange1d(start=0)
    plot = framed(colors, x_range=FactorRange(name="factors"), y_range=step_range, x_label="GPUs")
    speedups = DataRange1d(start=0)
    plot.extra_y_ranges = {_SPEEDUP: speedups}
    axis = LinearAxis(y_range_name=_SPEEDUP, axis_label="times one GPU", name="speedup_axis")
    axis.axis_label_text_color = axis.major_label_text_color = axis.axis_line_color = colors.good
    axis.major_tick_line_color, axis.minor_tick_line_color = colors.good, None
    axis.axis_label_text_font_style = "normal"
    axis.axis_label_text_font_size = axis.major_label_text_font_size = "12px"
    plot.add_layout(axis, "right")
    plot.vspan(x="gpus", source=chosen, line_color=colors.second, line_width=3, line_alpha=0.5)
    compute = plot.vbar(
        x="gpus", top="compute", bottom=0, width=0.6, source=bars, fill_color=colors.accent, line_color=None,
        fill_alpha=0.75,
    )  # fmt: skip
    exposed = plot.vbar(
        x="gpus", top="step", bottom="compute", width=0.6, source=bars, fill_color=colors.warn, line_color=None,
        hatch_pattern="/", hatch_color=colors.ink, hatch_alpha=0.5,
    )  # fmt: skip
    range_ = Whisker(base="gpus", lower="low", upper="high", source=bars, line_color=colors.ink, level="overlay")
    range_.lower_head = TeeHead(size=8, line_color=colors.ink)
    range_.upper_head = TeeHead(size=8, line_color=colors.ink)
    plot.add_layout(range_)
    ideal = plot.line(
        x="gpus", y="ideal", source=bars, line_color=colors.good, line_dash="dashed", line_width=2,
        y_range_name=_SPEEDUP,
    )  # fmt: skip
    reached = plot.line(x="gpus", y="speedup", source=bars, line_color=colors.good, line_width=2, y_range_name=_SPEEDUP)
    drawn = plot.scatter(
        x="gpus", y="speedup", source=bars, marker="triangle", size=8, fill_color=colors.good, line_color=None,
        y_range_name=_SPEEDUP,
    )  # fmt: skip
    ends = plot.scatter(x="gpus", y="high", source=bars, size=0)  # the axis reaches the upper ends of the ranges
    step_range.renderers = [compute, exposed, ends]
    speedups.renderers = [ideal, reached, drawn]
    for one in (compute, exposed, drawn):
        one.nonselection_glyph = None
    plot.xgrid.grid_line_color = None
    return with_text(plot, [compute, exposed, drawn])

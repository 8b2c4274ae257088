"""How do GPUs compare? Step time with its range, cost against time, and what a step waits for."""

from __future__ import annotations

from bokeh.models import DataRange1d, FactorRange
from bokeh.models.annotations import TeeHead, Whisker

from surfer_lab.view.bokeh_figures.colors import FigureColors
from surfer_lab.view.bokeh_figures.frame import Plot, framed, source, with_text

__all__ = ["cost_time", "parts", "step_range"]


def step_range(colors: FigureColors) -> Plot:
    """Step time of each GPU, its range, and the recorded step. Sources: `bars`, `here`; factors: the GPUs."""
    bars = source("bars", "gpu", "value", "low", "high", "text", "color")
    here = source("here", "value")
    plot = framed(colors, y_range=FactorRange(name="factors"), x_range=DataRange1d(start=0, range_padding=0.05))
    drawn = plot.hbar(
        y="gpu", right="value", left=0, height=0.6, source=bars, fill_color="color", line_color=None, fill_alpha=0.75
    )
    drawn.nonselection_glyph = None
    range_ = Whisker(
        base="gpu", lower="low", upper="high", dimension="width", source=bars, line_color=colors.ink, level="overlay"
    )
    range_.lower_head = TeeHead(size=8, line_color=colors.ink)
    range_.upper_head = TeeHead(size=8, line_color=colors.ink)
    plot.add_layout(range_)
    plot.vspan(x="value", source=here, line_color=colors.third, line_dash="dashed", line_width=2)
    plot.ygrid.grid_line_color = None
    return with_text(plot, [drawn])


def cost_time(colors: FigureColors) -> Plot:
    """USD per 1,000 steps against step time; the front of best trade-offs joined. Sources: `points`, `front`."""
    points = source("points", "x", "y", "gpu", "text", "marker", "color", "size")
    front = source("front", "x", "y")
    plot = framed(colors, x_scale="log", y_scale="log", y_label="USD per 1,000 steps")
    plot.step(x="x", y="y", source=front, line_color=colors.accent_soft, line_width=2, mode="after")
    drawn = plot.scatter(
        x="x", y="y", source=points, marker="marker", size="size", fill_color="color", line_color=colors.paper
    )
    drawn.nonselection_glyph = None
    return with_text(plot, [drawn])


def parts(colors: FigureColors) -> Plot:
    """Where a step's wall time goes, one bar a place. Source: `parts`; factors: the places."""
    stretches = source("parts", "place", "left", "right", "part", "text", "color")
    plot = framed(
        colors, y_range=FactorRange(name="factors"), x_range=DataRange1d(start=0, range_padding=0.02), height=160
    )
    drawn = plot.hbar(
        y="place",
        left="left",
        right="right",
        height=0.7,
        source=stretches,
        fill_color="color",
        line_color=colors.paper,
    )
    drawn.nonselection_glyph = None
    plot.ygrid.grid_line_color = None
    return with_text(plot, [drawn], taps=False)

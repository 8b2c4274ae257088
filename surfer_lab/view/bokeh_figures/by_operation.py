"""Where does the GPU time go? Operations here and there, the tree of modules, rate against intensity."""

from __future__ import annotations

from bokeh.models import DataRange1d, FactorRange, Range1d
from bokeh.transform import dodge

from surfer_lab.view.bokeh_figures.colors import FigureColors
from surfer_lab.view.bokeh_figures.frame import Plot, framed, source, with_text

__all__ = ["modules", "operations", "roofline"]


def operations(colors: FigureColors) -> Plot:
    """Time of each group of operations here and on the GPU looked at. Source: `bars`; factors: the groups."""
    bars = source("bars", "name", "here", "there", "text")
    groups = FactorRange(name="factors")
    plot = framed(colors, y_range=groups, x_range=DataRange1d(start=0, range_padding=0.05))
    here = plot.hbar(
        y=dodge("name", 0.2, range=groups), right="here", left=0, height=0.35, source=bars, fill_color=colors.third,
        line_color=None,
    )  # fmt: skip
    there = plot.hbar(
        y=dodge("name", -0.2, range=groups), right="there", left=0, height=0.35, source=bars,
        fill_color=colors.accent, line_color=None,
    )  # fmt: skip
    here.nonselection_glyph = there.nonselection_glyph = None
    plot.ygrid.grid_line_color = None
    return with_text(plot, [here, there])


def modules(colors: FigureColors) -> Plot:
    """The modules as an icicle, the step on top; widths are shares of the GPU time. Source: `nodes`."""
    nodes = source("nodes", "left", "right", "bottom", "top", "label", "text", "color")
    plot = framed(colors, x_range=Range1d(start=0, end=1), y_range=DataRange1d(range_padding=0))
    drawn = plot.quad(
        left="left", right="right", bottom="bottom", top="top", source=nodes, fill_color="color", fill_alpha=0.55,
        line_color=colors.paper,
    )  # fmt: skip
    drawn.nonselection_glyph = None
    plot.text(
        x="left", y="bottom", text="label", source=nodes, x_offset=4, y_offset=-8, text_font_size="11px",
        text_color=colors.ink,
    )  # fmt: skip
    plot.axis.visible = False
    plot.xgrid.grid_line_color = plot.ygrid.grid_line_color = None
    return with_text(plot, [drawn])


def roofline(colors: FigureColors) -> Plot:
    """TFLOP/s reached against FLOPs a byte, under the GPU's roofs. Sources: `points`, `roofs`."""
    points = source("points", "x", "y", "name", "text", "size", "color")
    roofs = source("roofs", "xs", "ys", "name")
    plot = framed(
        colors, x_scale="log", y_scale="log", x_label="FLOP per byte of device memory", y_label="TFLOP/s", height=320
    )
    lines = plot.multi_line(xs="xs", ys="ys", source=roofs, line_color=colors.muted, line_width=2)
    drawn = plot.scatter(
        x="x", y="y", source=points, size="size", fill_color="color", fill_alpha=0.75, line_color=colors.paper
    )
    drawn.nonselection_glyph = None
    with_text(plot, [lines], taps=False, column="name")
    return with_text(plot, [drawn])

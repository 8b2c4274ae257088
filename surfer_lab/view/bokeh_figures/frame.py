"""What do all figures have alike? Axes by name, sources by name, colours by role, a text under the pointer.

A figure belongs to one document: it is built anew for each. Its sources are empty and found by name, so that whoever
shows it replaces their data and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

from bokeh.models import ColumnDataSource, HoverTool, TapTool
from bokeh.models.renderers import GlyphRenderer
from bokeh.plotting import figure

from surfer_lab.view.bokeh_figures.colors import FigureColors

__all__ = ["Plot", "framed", "source", "with_text"]

Plot = figure
Scale = Literal["auto", "log"]

_HEIGHT_PX: Final = 280
_LETTER: Final = "12px"


def source(name: str, *columns: str) -> ColumnDataSource:
    """An empty source of these columns, found as `document.get_model_by_name(name)`."""
    return ColumnDataSource(data={column: [] for column in columns}, name=name)


def framed(
    colors: FigureColors,
    *,
    x_label: str = "",
    y_label: str = "",
    x_scale: Scale = "auto",
    y_scale: Scale = "auto",
    height: int = _HEIGHT_PX,
    tools: str = "",
    **options: Any,
) -> Plot:
    """An empty figure named "figure"; its axes are named "x_axis" and "y_axis"."""
    plot = figure(
        name="figure",
        height=height,
        sizing_mode="stretch_width",
        tools=tools,
        toolbar_location=None,
        x_axis_type=x_scale,
        y_axis_type=y_scale,
        background_fill_color=None,
        border_fill_color=None,
        outline_line_color=None,
        min_border=4,
        **options,
    )
    for name, axis, label in (("x_axis", plot.xaxis[0], x_label), ("y_axis", plot.yaxis[0], y_label)):
        axis.name = name
        axis.axis_label = label
        axis.axis_label_text_color = axis.major_label_text_color = colors.ink
        axis.axis_line_color = axis.major_tick_line_color = colors.muted
        axis.minor_tick_line_color = None
        axis.axis_label_text_font_style = "normal"
        axis.axis_label_text_font_size = axis.major_label_text_font_size = _LETTER
    plot.xgrid.grid_line_color = colors.grid
    plot.ygrid.grid_line_color = colors.grid
    return plot


def with_text(plot: Plot, shown: Sequence[GlyphRenderer[Any]], *, taps: bool = True, column: str = "text") -> Plot:
    """The column `text` under the pointer, escaped by Bokeh; a click selects a row of its source."""
    plot.add_tools(HoverTool(renderers=list(shown), tooltips=[("", f"@{column}")]))
    if taps:
        plot.add_tools(TapTool(renderers=list(shown)))
    return plot

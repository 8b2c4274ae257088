"""What happens when in a step? Lanes of stretches; the window is moved and zoomed along the time axis."""

from __future__ import annotations

from bokeh.models import FactorRange

from surfer_lab.view.bokeh_figures.colors import FigureColors
from surfer_lab.view.bokeh_figures.frame import Plot, framed, source, with_text

__all__ = ["timeline"]


def timeline(colors: FigureColors) -> Plot:
    """Host, input, GPU and idle lanes. Source: `spans`; factors: the lanes."""
    spans = source("spans", "left", "right", "lane", "label", "text", "color")
    plot = framed(colors, x_label="ms", y_range=FactorRange(name="factors"), tools="xpan,xwheel_zoom,reset", height=200)
    drawn = plot.hbar(
        y="lane", left="left", right="right", height=0.8, source=spans, fill_color="color", line_color="color",
        line_width=0.5,
    )  # fmt: skip
    drawn.nonselection_glyph = None
    plot.ygrid.grid_line_color = None
    return with_text(plot, [drawn])

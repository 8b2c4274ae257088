"""How does training to a target loss go? Loss by wall time, phase by phase; and how stale the updates were."""

from __future__ import annotations

from surfer_lab.view.bokeh_figures.colors import FigureColors
from surfer_lab.view.bokeh_figures.frame import Plot, framed, source, with_text

__all__ = ["loss_by_time", "staleness"]


def loss_by_time(colors: FigureColors) -> Plot:
    """Each phase where it lay in the run's time: training solid, trials dashed.

    Sources: `kept` and `trials`, a row a phase; `target`, the loss to be reached.
    """
    kept, trials = source("kept", "xs", "ys", "text"), source("trials", "xs", "ys", "text")
    target = source("target", "loss")
    plot = framed(colors, x_label="wall time, s", y_label="loss", y_scale="log")
    plot.hspan(y="loss", source=target, line_color=colors.good, line_dash="dotted", line_width=2)
    tried = plot.multi_line(
        xs="xs", ys="ys", source=trials, line_color=colors.third, line_dash="dashed", line_width=1.5
    )
    trained = plot.multi_line(xs="xs", ys="ys", source=kept, line_color=colors.accent, line_width=2.5)
    return with_text(plot, [tried, trained], taps=False)


def staleness(colors: FigureColors) -> Plot:
    """Updates by how many others came between reading and writing; the line is the geometric distribution.

    Source: `bars`, a row a lag.
    """
    bars = source("bars", "lag", "count", "geometric", "text")
    plot = framed(colors, x_label="staleness, updates", y_label="updates", height=200)
    drawn = plot.vbar(
        x="lag", top="count", bottom=0, width=0.8, source=bars, fill_color=colors.accent, line_color=None,
        fill_alpha=0.75,
    )  # fmt: skip
    plot.line(x="lag", y="geometric", source=bars, line_color=colors.second, line_width=2)
    points = plot.scatter(x="lag", y="geometric", source=bars, size=5, fill_color=colors.second, line_color=None)
    drawn.nonselection_glyph = points.nonselection_glyph = None
    plot.xgrid.grid_line_color = None
    return with_text(plot, [drawn, points], taps=False)

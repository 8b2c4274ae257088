"""How does a template become a figure with numbers? Data by the names of its sources, roles by a theme's colours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, cast

from bokeh.models import ColumnDataSource, FactorRange
from bokeh.models.axes import Axis

from surfer_lab.view.bokeh_figures.colors import FigureColors
from surfer_lab.view.bokeh_figures.frame import Plot
from surfer_lab.view.bokeh_figures.templates import FIGURES
from surfer_lab.view.figure_data import FigureData

__all__ = ["fill", "filled_figure"]


def filled_figure(name: str, data: FigureData, colors: FigureColors) -> Plot:
    """A new figure of that name with these numbers."""
    plot = FIGURES[name](colors)
    fill(plot, data, colors)
    return plot


def fill(plot: Plot, data: FigureData, colors: FigureColors) -> None:
    """Replace the data of a figure; nothing of it is built anew."""
    models = {one.name: one for one in plot.references() if one.name}
    if data.factors is not None:
        cast(FactorRange, models["factors"]).factors = list(data.factors)
    for name, label in (("x_axis", data.x_label), ("y_axis", data.y_label)):
        if label is not None:
            cast(Axis, models[name]).axis_label = label
    if data.height is not None:
        plot.height = data.height
    for name, columns in data.sources.items():
        cast(ColumnDataSource, models[name]).data = _colored(columns, asdict(colors))


def _colored(columns: Mapping[str, list[Any]], colors: Mapping[str, str]) -> Any:
    return {name: [colors[role] for role in values] if name == "color" else values for name, values in columns.items()}

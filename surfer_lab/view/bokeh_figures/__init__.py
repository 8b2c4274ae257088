"""Figures as Bokeh models, built by functions of their colours; shipped as templates that a page fills with numbers.

Public names and where they live:

- `FIGURES`: name -> function(FigureColors) that builds the figure with empty, named sources (`by_gpu`, `by_batch`,
  `by_operation`, `by_time`); `TRAINING_FIGURES`, likewise of a training run (`by_training`).
- `figure_templates()`: all of them as `json_item`, their colours tokens (`templates`).
- `filled_figure(name, data, colors)`, `fill(plot, data, colors)`: with the numbers of `view.figure_data` (`filled`).
- `FIGURE_COLORS`, `FigureColors`, `LIGHT`, `DARK`, `TOKENS` (`colors`).

Needs Bokeh, and is imported only where figures are drawn.
"""

from surfer_lab.view.bokeh_figures.colors import DARK, FIGURE_COLORS, LIGHT, TOKENS, FigureColors
from surfer_lab.view.bokeh_figures.filled import fill, filled_figure
from surfer_lab.view.bokeh_figures.templates import (
    FIGURES,
    TRAINING_FIGURES,
    figure_templates,
    sources_of,
    template_text,
)

__all__ = [
    "DARK", "FIGURES", "FIGURE_COLORS", "LIGHT", "TOKENS", "TRAINING_FIGURES", "FigureColors", "figure_templates",
    "fill", "filled_figure", "sources_of", "template_text",
]  # fmt: skip

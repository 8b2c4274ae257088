"""Which figures are there, and how do they travel? As templates: Bokeh's JSON of a figure whose sources are empty."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from bokeh.embed import json_item
from bokeh.models import ColumnDataSource

from surfer_lab.view.bokeh_figures.by_batch import batch_curve
from surfer_lab.view.bokeh_figures.by_count import scaling
from surfer_lab.view.bokeh_figures.by_gpu import cost_time, parts, step_range
from surfer_lab.view.bokeh_figures.by_operation import modules, operations, roofline
from surfer_lab.view.bokeh_figures.by_time import timeline
from surfer_lab.view.bokeh_figures.by_training import loss_by_time, staleness
from surfer_lab.view.bokeh_figures.colors import FIGURE_COLORS, TOKENS, FigureColors
from surfer_lab.view.bokeh_figures.frame import Plot

__all__ = ["FIGURES", "TRAINING_FIGURES", "figure_templates", "sources_of", "template_text"]

FIGURES: Final[Mapping[str, Callable[[FigureColors], Plot]]] = {
    "step_range": step_range,
    "cost_time": cost_time,
    "batch_curve": batch_curve,
    "parts": parts,
    "operations": operations,
    "modules": modules,
    "roofline": roofline,
    "timeline": timeline,
    "scaling": scaling,
}
# of a training run, which is no prediction's
TRAINING_FIGURES: Final[Mapping[str, Callable[[FigureColors], Plot]]] = {
    "loss_by_time": loss_by_time,
    "staleness": staleness,
}
_MODEL_ID: Final = re.compile(r'"p(\d+)"')


def figure_templates() -> dict[str, dict[str, Any]]:
    """`json_item` of each figure, colours as tokens. The same in every process: ids count from 1 in each."""
    return {name: _numbered(json_item(build(TOKENS))) for name, build in {**FIGURES, **TRAINING_FIGURES}.items()}


def sources_of(plot: Plot) -> dict[str, list[str]]:
    """Columns of each named source of a figure."""
    found = [one for one in plot.references() if isinstance(one, ColumnDataSource)]
    return {one.name: list(one.column_names) for one in found if one.name}


def template_text() -> str:
    """All templates, the columns that their sources want, and the tokens of the colours, as JSON."""
    templates = figure_templates()
    file: dict[str, Any] = {
        name: {"item": templates[name], "sources": dict(sorted(sources_of(build(TOKENS)).items()))}
        for name, build in {**FIGURES, **TRAINING_FIGURES}.items()
    }
    return json.dumps({**file, "colors": dict(FIGURE_COLORS)}, separators=(",", ":"), ensure_ascii=False) + "\n"


def _numbered(item: Any) -> dict[str, Any]:
    """Bokeh numbers models by their order in the process; here by their order in the text."""
    numbers: dict[str, int] = {}

    def own(found: re.Match[str]) -> str:
        return f'"p{numbers.setdefault(found[1], len(numbers) + 1)}"'

    numbered: dict[str, Any] = json.loads(_MODEL_ID.sub(own, json.dumps(item)))
    return numbered

"""How are an explorer's figures drawn? As SVG that needs nothing loaded, or as Bokeh's live models where they can be.

SVG shows in JupyterLab, Voila and wherever ipywidgets do. Bokeh's models need the package jupyter_bokeh and BokehJS in
the page; only their data is replaced when something is chosen.
"""

from __future__ import annotations

import math
from typing import Final, Literal, Protocol

import ipywidgets

from surfer_lab.errors import OptionError
from surfer_lab.report.curve_svg import curve_svg
from surfer_lab.report.markup import tag
from surfer_lab.report.range_svg import range_figure_svg
from surfer_lab.report.style import block_style
from surfer_lab.report.svg import scatter_svg
from surfer_lab.view.figure_data import FIGURE_TITLES, FigureData, figure_data
from surfer_lab.view.model import CurveFigure, RangeBar, RangeFigure, ScatterFigure, ScatterPoint, TableTwin, Verdict
from surfer_lab.view.selection import Choosing, Setting
from surfer_lab.view.what_ifs import CurveNumbers, curve_figure_of

__all__ = ["FIGURE_NAMES", "BokehFigures", "Drawn", "FigureKind", "SvgFigures", "figures_as"]

FigureKind = Literal["svg", "bokeh"]
FIGURE_NAMES: Final = ("step_range", "cost_time", "batch_curve")


class Drawn(Protocol):
    """Figures of an explorer: widgets by name, all drawn anew from a choice."""

    widgets: dict[str, ipywidgets.Widget]

    def draw(self, choosing: Choosing, gpu: int, setting: Setting) -> None:
        """Show this choice."""
        ...


def figures_as(kind: FigureKind) -> Drawn:
    """The figures; OptionError for Bokeh's without jupyter_bokeh."""
    if kind == "svg":
        return SvgFigures()
    if kind == "bokeh":
        return BokehFigures()
    raise OptionError(f"figures as {kind!r}", remedy="'svg' or 'bokeh'")


class SvgFigures:
    """Each figure an HTML widget."""

    def __init__(self) -> None:
        self.widgets: dict[str, ipywidgets.Widget] = {name: ipywidgets.HTML() for name in FIGURE_NAMES}
        self._style = str(block_style())

    def draw(self, choosing: Choosing, gpu: int, setting: Setting) -> None:
        """Show this choice."""
        for name, widget in self.widgets.items():
            data = figure_data(name, choosing, gpu, setting)
            drawn = "" if data is None else _svg(name, data, choosing, gpu, setting)
            widget.value = f"{self._style}{drawn}" if drawn else ""


class BokehFigures:
    """Each figure a Bokeh model; its sources are filled anew."""

    def __init__(self) -> None:
        try:
            from jupyter_bokeh.widgets import BokehModel  # optional, and only where it is asked for
        except ImportError as error:
            raise OptionError(
                "Bokeh's figures as widgets need jupyter_bokeh", remedy="%pip install jupyter_bokeh, or figures='svg'"
            ) from error
        from surfer_lab.view.bokeh_figures import FIGURES, LIGHT  # only where Bokeh draws

        self._colors = LIGHT
        self._plots = {name: FIGURES[name](LIGHT) for name in FIGURE_NAMES}
        self.widgets: dict[str, ipywidgets.Widget] = {name: BokehModel(plot) for name, plot in self._plots.items()}

    def draw(self, choosing: Choosing, gpu: int, setting: Setting) -> None:
        """Show this choice."""
        from surfer_lab.view.bokeh_figures import fill

        for name, plot in self._plots.items():
            data = figure_data(name, choosing, gpu, setting)
            if data is not None:
                fill(plot, data, self._colors)


def _svg(name: str, data: FigureData, choosing: Choosing, gpu: int, setting: Setting) -> str:
    if name == "step_range":
        drawn = range_figure_svg(_ranges(data, choosing))
    elif name == "cost_time":
        drawn = scatter_svg(_scatter(data, choosing))
    else:
        drawn = curve_svg(_curve(choosing, gpu, setting))
    return str(tag("div", tag("h4", FIGURE_TITLES[name]), drawn, class_="surfer"))


def _twin(data: FigureData) -> TableTwin:
    return TableTwin(columns=list(data.columns), rows=[list(row) for row in data.rows])


def _ranges(data: FigureData, choosing: Choosing) -> RangeFigure:
    bars, here = data.sources["bars"], data.sources["here"]["value"]
    origin = {row.gpu for row in choosing.view.rows if row.is_origin}
    return RangeFigure(
        title=FIGURE_TITLES["step_range"],
        description=f"Predicted time of one step on {len(bars['gpu'])} GPUs, each with its range.",
        unit=(data.x_label or "").rpartition(", ")[2],
        bars=[
            RangeBar(label=name, value=value, low=low, high=high, text=row[1], note=row[2], is_origin=name in origin)
            for name, value, low, high, row in zip(
                bars["gpu"], bars["value"], bars["low"], bars["high"], data.rows, strict=True
            )
        ],
        reference=here[0] if here else None,
        reference_label="recorded" if here else "",
        table=_twin(data),
    )


def _scatter(data: FigureData, choosing: Choosing) -> ScatterFigure:
    points = data.sources["points"]
    origin = {row.gpu for row in choosing.view.rows if row.is_origin}
    return ScatterFigure(
        title=FIGURE_TITLES["cost_time"],
        description="USD per 1,000 steps against step time; on the front are GPUs that no other beats in both.",
        x_label=data.x_label or "",
        y_label="USD per 1,000 steps",
        points=[
            ScatterPoint(label=name, x=x, y=y, text=text, on_front=row[3] != "", is_origin=name in origin)
            for name, x, y, text, row in zip(
                points["gpu"], points["x"], points["y"], points["text"], data.rows, strict=True
            )
        ],
        table=_twin(data),
    )


def _curve(choosing: Choosing, gpu: int, setting: Setting) -> CurveFigure:
    found = [
        choosing.at(gpu, Setting(batch=place, precision=setting.precision, compiled=setting.compiled))
        for place in range(len(choosing.batch_sizes))
    ]
    known = [one for one in found if not one.why]
    fitting = [one.batch_size or 0 for one in known if one.verdict is Verdict.FITS]
    largest = max(fitting, default=0)
    return curve_figure_of(
        choosing.view.rows[gpu].gpu,
        [
            CurveNumbers(
                batch_size=one.batch_size or 0,
                step_ms=(one.step_ms, one.low_ms, one.high_ms),
                memory_gb=one.memory_gb if math.isfinite(one.memory_gb) else None,
                verdict=one.verdict,
                mark="largest that fits" if one.batch_size == largest else "",
            )
            for one in known
        ],
        largest,
    )

"""What does `prediction.explore()` give? A box of sliders and figures, and what is chosen as traits to build on.

    box = prediction.explore()
    box.observe(lambda change: print(change.new.step_ms), "outcome")
    box.gpu = "L4"

All outcomes were computed before; a slider chooses one. Works in JupyterLab, Notebook and Voila with nothing but
ipywidgets loaded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, TypeVar

import ipywidgets
import traitlets

from surfer_lab.errors import OptionError, UnknownGpuError
from surfer_lab.panel.explorer_figures import FIGURE_NAMES, Drawn, FigureKind, figures_as
from surfer_lab.planner.options import near_matches
from surfer_lab.report.markup import tag
from surfer_lab.report.prediction import Prediction
from surfer_lab.units import NS_PER_MS
from surfer_lab.view.figure_data import FIGURE_TITLES
from surfer_lab.view.model import ViewModel
from surfer_lab.view.money_words import money_text
from surfer_lab.view.selection import Choosing, Chosen, Setting
from surfer_lab.view.wording import bytes_quantity, rate_quantity, time_quantity

__all__ = ["Explorer", "explore"]

Value = TypeVar("Value")

_LABEL: Final = {"description_width": "6em"}
_WIDE: Final = "30em"


def explore(prediction: Prediction, *, figures: FigureKind = "svg") -> Explorer:
    """Sliders and figures of a prediction. `figures="bokeh"`: live Bokeh models, where jupyter_bokeh is installed."""
    return Explorer(prediction.view_with_grid, figures=figures)


class Explorer(ipywidgets.VBox):  # type: ignore[misc] # ipywidgets has no types
    """A view to choose in. Setting a trait moves its widget, moving a widget sets its trait.

    `outcome` is the `Chosen` of the other traits; `usd_per_hour` the price counted with, None where none is known.
    """

    gpu = traitlets.Unicode()
    batch_size = traitlets.Int(allow_none=True)
    precision = traitlets.Unicode()
    compile = traitlets.Unicode()
    usd_per_hour = traitlets.Float(allow_none=True)
    outcome = traitlets.Instance(Chosen)

    def __init__(self, view: ViewModel, *, figures: FigureKind = "svg", **options: Any) -> None:
        if not view.rows:
            raise OptionError("a prediction without GPUs has nothing to choose", remedy="predict on at least one")
        self._choosing = Choosing(view)
        self._names = [row.gpu for row in view.rows]
        self._drawn: Drawn = figures_as(figures)
        self._is_ready = False
        grid = view.grid
        self._precisions = list(grid.precisions) if grid is not None else ["as-run"]
        self._compiles = list(grid.compiles) if grid is not None else ["off"]
        own = self._choosing.own
        super().__init__(**options)
        self.gpu = view.focus if view.focus in self._names else self._names[0]
        sizes = self._choosing.batch_sizes
        self.batch_size = sizes[min(own.batch, len(sizes) - 1)] if sizes else None
        self.precision = self._precisions[own.precision]
        self.compile = self._compiles[own.compiled]
        self.usd_per_hour = self._listed_price()
        self._summary = ipywidgets.HTML()
        self.children = [*self._controls(view), self._summary, self._figures()]
        self._is_ready = True
        self._show()

    @traitlets.validate("gpu")
    def _known_gpu(self, proposal: Any) -> str:
        name = str(proposal["value"])
        if name not in self._names:
            near = near_matches(name, self._names)
            raise UnknownGpuError(f"{name} was not predicted here", candidates=near, remedy=" or ".join(near))
        return name

    @traitlets.validate("batch_size")
    def _known_batch(self, proposal: Any) -> int | None:
        value: int | None = proposal["value"]
        return _among("batch size", value, self._choosing.batch_sizes or [None])

    @traitlets.validate("precision")
    def _known_precision(self, proposal: Any) -> str:
        value: str = proposal["value"]
        return _among("precision", value, self._precisions)

    @traitlets.validate("compile")
    def _known_compile(self, proposal: Any) -> str:
        value: str = proposal["value"]
        return _among("compile mode", value, self._compiles)

    @traitlets.validate("usd_per_hour")
    def _possible_price(self, proposal: Any) -> float | None:
        value = proposal["value"]
        if value is not None and not (math.isfinite(value) and value >= 0):
            raise OptionError(f"a price of {value!r}", remedy="USD per hour, 2.99 for example")
        return None if value is None else float(value)

    @traitlets.observe("gpu")
    def _other_gpu(self, _change: Any) -> None:
        if self._is_ready:
            self.usd_per_hour = self._listed_price()
            self._show()

    @traitlets.observe("batch_size", "precision", "compile", "usd_per_hour")
    def _other_setting(self, _change: Any) -> None:
        if self._is_ready:
            self._show()

    @property
    def figures(self) -> dict[str, ipywidgets.Widget]:
        """The figures' widgets by name, for layouts of one's own."""
        return self._drawn.widgets

    @property
    def controls(self) -> tuple[ipywidgets.Widget, ...]:
        """The sliders and lists."""
        return tuple(self.children[:-2])

    def _listed_price(self) -> float | None:
        return self._choosing.view.rows[self._place()].usd_per_hour.value

    def _place(self) -> int:
        return self._names.index(self.gpu)

    def _setting(self) -> Setting:
        sizes = self._choosing.batch_sizes
        return Setting(
            batch=sizes.index(self.batch_size) if self.batch_size in sizes else 0,
            precision=self._precisions.index(self.precision),
            compiled=self._compiles.index(self.compile),
        )

    def _controls(self, view: ViewModel) -> list[ipywidgets.Widget]:
        grid = view.grid
        labels = dict(zip(grid.precision_labels, grid.precisions, strict=True)) if grid is not None else {}
        modes = dict(zip(grid.compile_labels, grid.compiles, strict=True)) if grid is not None else {}
        sizes = self._choosing.batch_sizes
        gpu = ipywidgets.Dropdown(options=self._names, description="GPU", style=_LABEL)
        price = ipywidgets.FloatText(description="USD/hour", step=0.1, style=_LABEL)
        controls: list[ipywidgets.Widget] = [gpu]
        traitlets.link((self, "gpu"), (gpu, "value"))
        if len(sizes) > 1:
            batch = ipywidgets.SelectionSlider(
                options=sizes, description="Batch size", style=_LABEL, layout={"width": _WIDE}
            )
            traitlets.link((self, "batch_size"), (batch, "value"))
            controls.append(batch)
        for name, choices in (("precision", labels), ("compile", modes)):
            if len(choices) > 1:
                one = ipywidgets.Dropdown(options=choices, description=name.capitalize(), style=_LABEL)
                traitlets.link((self, name), (one, "value"))
                controls.append(one)
        price.value = self.usd_per_hour or 0.0
        price.observe(self._price_typed, "value")
        self.observe(lambda change: price.set_trait("value", change["new"] or 0.0), "usd_per_hour")
        return [*controls, price]

    def _price_typed(self, change: Any) -> None:
        if change["new"] != (self.usd_per_hour or 0.0):
            self.usd_per_hour = max(0.0, change["new"])

    def _figures(self) -> ipywidgets.Widget:
        shown = ipywidgets.Tab(children=[self._drawn.widgets[name] for name in FIGURE_NAMES])
        for place, name in enumerate(FIGURE_NAMES):
            shown.set_title(place, FIGURE_TITLES[name])
        return shown

    def _show(self) -> None:
        place, setting = self._place(), self._setting()
        chosen = self._choosing.at(place, setting, usd_per_hour=self.usd_per_hour)
        self.outcome = chosen
        self._summary.value = str(tag("p", tag("b", chosen.gpu), ": ", _words(chosen), style="line-height: 1.5"))
        self._drawn.draw(self._choosing, place, setting)


def _among(what: str, value: Value, known: Sequence[Value]) -> Value:
    if value not in known:
        raise OptionError(f"{what} {value!r} is not in this view", remedy=" or ".join(map(str, known[:9])))
    return value


def _words(chosen: Chosen) -> str:
    """The step with its range, throughput, memory and cost; or why there is no step."""
    if chosen.why:
        return chosen.why
    step = time_quantity(
        chosen.step_ms * NS_PER_MS, low_ns=chosen.low_ms * NS_PER_MS, high_ns=chosen.high_ms * NS_PER_MS
    )
    said = [f"{step.text} a step" + (f" ({step.range_text})" if step.range_text else "")]
    if chosen.batch_size is not None:
        said.append(rate_quantity(chosen.samples_per_s).text)
    if math.isfinite(chosen.memory_gb):
        said.append(f"{bytes_quantity(chosen.memory_gb * 1e9).text} ({chosen.verdict.value})")
    cost = chosen.usd_per_1000_steps
    said.append(f"{money_text(cost)} per 1,000 steps" if cost is not None else "no price known")
    return ", ".join(said)

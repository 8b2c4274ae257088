"""What does a user hold after predicting? `predict(...)` and the `Prediction` that it returns.

The one place where trace, catalogue, prices, engine, planner and view are put together; magic and command line call it.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from surfer_lab import __version__
from surfer_lab.engine.estimate import PredictionSet
from surfer_lab.engine.predict import predict as predict_times
from surfer_lab.errors import OptionError, PredictionError, UnknownGpuError
from surfer_lab.hardware.catalog import Catalog, load_catalog
from surfer_lab.hardware.gpu import Gpu
from surfer_lab.planner.options import ALL_GPUS, Precision, PredictOptions, near_matches, predict_options
from surfer_lab.planner.outcome import Outcome, Scenario, outcomes
from surfer_lab.planner.pricing import load_prices
from surfer_lab.report.bundle import mime_bundle
from surfer_lab.report.html import html_page
from surfer_lab.report.markdown import markdown_of
from surfer_lab.report.rows import csv_of, flat_rows
from surfer_lab.report.text import text_of
from surfer_lab.trace.model import Trace, TraceOrigin
from surfer_lab.trace.reader import read
from surfer_lab.view.build import view_of
from surfer_lab.view.model import ViewModel

if TYPE_CHECKING:
    import pandas

__all__ = ["Prediction", "check_names", "chosen_gpus", "named_origin", "predict", "predict_as_asked"]


class Prediction:
    """A step predicted on GPUs: shown as a report in a notebook, as text elsewhere; raw numbers by `table` and `on`."""

    def __init__(
        self, times: PredictionSet, answers: Sequence[Outcome], *, options: PredictOptions, name: str, command: str = ""
    ) -> None:
        self.name = name
        self.times = times
        self.outcomes = tuple(answers)
        self.options = options
        self.command = command

    @property
    def trace(self) -> Trace:
        """What was recorded."""
        return self.times.trace

    @property
    def gpus(self) -> tuple[str, ...]:
        """Names of the GPUs predicted, fastest first."""
        return tuple(outcome.gpu.name for outcome in sorted(self.outcomes, key=lambda outcome: outcome.step_ns))

    @cached_property
    def view(self) -> ViewModel:
        """What a person is shown."""
        asked = [name for name in self.options.on if name != ALL_GPUS]
        return view_of(
            self.times,
            self.outcomes,
            name=self.name,
            shows_all=bool(self.options.on),
            focus=self.outcomes[0].gpu.name if len(asked) == 1 else None,
            command=self.command,
            version=__version__,
        )

    def on(self, gpu: str) -> Outcome:
        """The outcome on one GPU, by name or alias; UnknownGpuError where it was not predicted."""
        by_name = {outcome.gpu.name: outcome for outcome in self.outcomes}
        found = by_name.get(gpu)
        if found is None:
            found = by_name.get(load_catalog().find(gpu).name)
        if found is None:
            near = near_matches(gpu, by_name)
            raise UnknownGpuError(
                f"{gpu} was not predicted here", candidates=near, remedy="predict with on=[...] naming it"
            )
        return found

    def table(self) -> pandas.DataFrame:
        """One row a GPU, fastest first, raw numbers with their unit in the column's name; index: the GPU's name."""
        import pandas as pd  # slow to import, and only asked for here

        return pd.DataFrame(flat_rows(self.outcomes)).set_index("gpu")

    def to_json(self) -> str:
        """The view as JSON: raw numbers beside their wording; its schema is `surfer_lab.view.schema.view_schema()`."""
        return msgspec.json.encode(self.view).decode()

    def report(self, path: str | Path) -> Path:
        """Write a report and return its path; the form follows the suffix: .html, .md, .txt, .json or .csv."""
        target = Path(path)
        today = datetime.date.today()
        made_on = f"{today.day} {today:%B %Y}"
        forms: dict[str, Callable[[], str]] = {
            ".html": lambda: html_page(self.view, made_on=made_on),
            ".md": lambda: markdown_of(self.view, made_on=made_on),
            ".txt": lambda: text_of(self.view) + "\n",
            ".json": lambda: self.to_json() + "\n",
            ".csv": lambda: csv_of(self.outcomes),
        }
        form = forms.get(target.suffix.lower().replace(".htm", ".html").replace(".htmll", ".html"))
        if form is None:
            raise OptionError(
                f"a report cannot be written as {target.name!r}", remedy="a name that ends in " + ", ".join(forms)
            )
        text = form()
        try:
            target.write_text(text, encoding="utf-8")
        except OSError as error:
            raise OptionError(
                f"{target} cannot be written ({error.strerror})", remedy="another folder or name"
            ) from error
        return target

    def __repr__(self) -> str:
        return text_of(self.view)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        return mime_bundle(self.view)


def check_names(options: PredictOptions) -> None:
    """Refuse GPU names that are not known (UnknownGpuError) before anything long is begun."""
    catalog = load_catalog()
    chosen_gpus(catalog, options)
    for name in (*options.prices, *([options.origin] if options.origin is not None else [])):
        catalog.find(name)


def chosen_gpus(catalog: Catalog, options: PredictOptions) -> tuple[Gpu, ...]:
    """The GPUs asked for, each once; all where none is named. UnknownGpuError names the near matches."""
    return catalog.select(options.on or (ALL_GPUS,))


def named_origin(catalog: Catalog, trace: Trace, options: PredictOptions) -> Gpu | None:
    """The GPU that the trace was recorded on: as named, else as recorded; None for a capture without a GPU."""
    if options.origin is not None:
        if trace.origin is not TraceOrigin.PROFILER:
            raise OptionError("--from is given, but this capture ran without a GPU", remedy="leave --from out")
        return catalog.find(options.origin)
    if trace.origin is not TraceOrigin.PROFILER:
        return None
    if trace.device is None:
        raise PredictionError(
            "the trace does not say which GPU it was recorded on", remedy='name it: --from "V100 SXM2 16GB"'
        )
    try:
        return catalog.find_device(trace.device)
    except UnknownGpuError as error:
        choices = " or ".join(error.candidates[:4])
        raise UnknownGpuError(
            f"which GPU the trace was recorded on is not clear: {error.seen}",
            candidates=error.candidates,
            remedy=f"name it: --from GPU ({choices})" if choices else 'name it: --from "V100 SXM2 16GB"',
        ) from error


def predict_as_asked(trace: Trace, options: PredictOptions, *, name: str, command: str = "") -> Prediction:
    """Predict a recording by checked options. Errors say what was seen and what to do (SurferError)."""
    catalog = load_catalog()
    gpus = chosen_gpus(catalog, options)
    origin = named_origin(catalog, trace, options)
    times = predict_times(trace, gpus, origin=origin, host_factor=options.host_factor)
    batch_size = options.batch_size if options.batch_size is not None else trace.batch_size
    prices = load_prices(catalog, options.prices)
    scenarios = [
        Scenario(
            gpu=gpu,
            batch_size=batch_size,
            dataset_size=options.dataset_size,
            price=prices.price(gpu, spot=options.spot),
        )
        for gpu in gpus
    ]
    return Prediction(times, outcomes(times, scenarios), options=options, name=options.name or name, command=command)


def _precision(word: str) -> Precision:
    return predict_options({"precision": word}).precision


def predict(
    trace: Trace | str | Path,
    *,
    on: str | Sequence[str] | None = None,
    origin: str | None = None,
    batch_size: int | None = None,
    precision: str = Precision.AS_RUN.value,
    host_factor: float = 1.0,
    prices: Mapping[str, float] | None = None,
    spot: bool = False,
    dataset_size: int | None = None,
    name: str | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Prediction:
    """Predict a recording, or a trace file, on GPUs: all of the catalogue, or those named in `on`.

    `origin` is the GPU that it was recorded on, where the trace does not say so; `batch_size` the samples of the
    recorded step; `prices` your own, USD per hour by GPU; `dataset_size` the samples of an epoch. The words are those
    of `%%predict` and `surfer predict`. Raises SurferError with the remedy for a file that is no trace and for names
    that are not known.
    """
    names = tuple(on.split(",")) if isinstance(on, str) else tuple(on or ())
    options = PredictOptions(
        on=(ALL_GPUS,)
        if any(one.strip().lower() == ALL_GPUS for one in names)
        else tuple(one.strip() for one in names),
        origin=origin,
        batch_size=batch_size,
        precision=_precision(precision),
        host_factor=host_factor,
        prices=dict(prices or {}),
        spot=spot,
        dataset_size=dataset_size,
        name=name,
    )
    recorded = trace if isinstance(trace, Trace) else read(Path(trace), progress=progress)
    label = "recording" if isinstance(trace, Trace) else Path(trace).name
    return predict_as_asked(recorded, options, name=label)

"""What does a user hold after predicting? `predict(...)` and the `Prediction` that it returns.

The one place where trace, catalogue, prices, engine, planner and view are put together; magic and command line call it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

import surfer_lab
from surfer_lab import __version__
from surfer_lab.engine.estimate import PredictionSet
from surfer_lab.engine.options import EngineOptions
from surfer_lab.engine.predict import predict as predict_times
from surfer_lab.engine.ranges import LEVELS
from surfer_lab.engine.whatif import precision_blocker, with_precision
from surfer_lab.errors import GpuError, OptionError, OriginError, PredictionError, TraceError, UnknownGpuError
from surfer_lab.hardware.catalog import Catalog, load_catalog
from surfer_lab.hardware.gpu import Gpu
from surfer_lab.hardware.machines import Machine
from surfer_lab.hardware.verifications import load_verifications, verified_factor
from surfer_lab.planner.batch import BatchScaling
from surfer_lab.planner.graph_memory import MemoryEstimate, memory_on, step_memory
from surfer_lab.planner.grid import AMP, GridPrecision, StepGrid, batch_sizes_around, step_grid
from surfer_lab.planner.largest_batch import largest_batches
from surfer_lab.planner.memory import Fit
from surfer_lab.planner.options import (
    ALL_GPUS,
    CompileMode,
    Precision,
    PredictOptions,
    near_matches,
    predict_options,
)
from surfer_lab.planner.outcome import Outcome, Scenario, outcomes
from surfer_lab.planner.pricing import Price, load_prices
from surfer_lab.planner.ranking import shortlist
from surfer_lab.planner.scaling.curve import FixedBatch
from surfer_lab.planner.sharding import ShardedNeed, sharded_needs
from surfer_lab.planner.what_ifs import BatchCurve, Blocked, alternatives, batch_curve, in_precision
from surfer_lab.report.bundle import mime_bundle
from surfer_lab.report.provenance import new_provenance
from surfer_lab.report.rows import csv_of, curve_rows, flat_rows, memory_rows
from surfer_lab.report.scaled import scaled, scaled_as_asked, scaled_with_other_links, scaling_frame
from surfer_lab.report.text import text_of
from surfer_lab.report.written import write_report
from surfer_lab.trace.model import Trace, TraceOrigin
from surfer_lab.trace.reader import read
from surfer_lab.view.build import focus_of, view_of
from surfer_lab.view.detail_model import GridView, Provenance
from surfer_lab.view.grid_view import grid_view
from surfer_lab.view.model import ViewModel
from surfer_lab.view.what_ifs import WhatIfs

if TYPE_CHECKING:
    import pandas

__all__ = [
    "Prediction", "Question", "check_names", "chosen_gpus", "named_origin", "predict", "predict_as_asked",
]  # fmt: skip


# beyond this many kernels or operations the table of alternatives is made only where one of them is asked for
_QUICK_ITEMS: Final = 20_000
# where a step waits less for launches, CUDA graphs have nothing to gain
_GRAPHS_MATTER_FRACTION: Final = 0.02


@dataclass(frozen=True, kw_only=True)
class Question:
    """What was predicted, before any what-if: the step as recorded or captured, and at other batches where known."""

    step: Trace
    scaling: BatchScaling | None = None
    blocked: tuple[Blocked, ...] = ()  # GPUs without an answer, and why
    notes: tuple[str, ...] = ()  # what the capture assumed, sentences


class Prediction:
    """A step predicted on GPUs: shown as a report in a notebook, as text elsewhere; raw numbers by `table` and `on`."""

    def __init__(
        self,
        times: PredictionSet,
        answers: Sequence[Outcome],
        *,
        options: PredictOptions,
        name: str,
        command: str = "",
        question: Question | None = None,
        provenance: Provenance | None = None,
        spot_prices: Mapping[str, Price] = MappingProxyType({}),
    ) -> None:
        self.name = name
        self.times = times
        self.outcomes = tuple(answers)
        self.options = options
        self.command = command
        self.question = Question(step=times.trace) if question is None else question
        self.provenance = new_provenance() if provenance is None else provenance
        self._spot_prices = spot_prices
        self._grid_view: GridView | None = None

    @property
    def trace(self) -> Trace:
        """The step as it was predicted: as recorded, or as a what-if has it."""
        return self.times.trace

    @property
    def gpus(self) -> tuple[str, ...]:
        """Names of the GPUs predicted, fastest first."""
        return tuple(outcome.gpu.name for outcome in sorted(self.outcomes, key=lambda outcome: outcome.step_ns))

    @cached_property
    def view(self) -> ViewModel:
        """What a person is shown, but for the grid of outcomes."""
        return self._view(self._what_ifs())

    @cached_property
    def first_view(self) -> ViewModel:
        """The step as it was asked about on all GPUs, without any what-if: there a good deal sooner than `view`."""
        return self._view(
            WhatIfs(
                precision=self.options.precision,
                compiled=self.options.compile,
                blocked=self.question.blocked,
                notes=self.question.notes,
            )
        )

    @cached_property
    def view_with_grid(self) -> ViewModel:
        """What a person is shown, with the outcomes that sliders choose among: takes seconds for a large step."""
        return msgspec.structs.replace(self.view, grid=self.grid_view)

    @property
    def grid_view(self) -> GridView:
        """The grid that is kept with the view, its GPUs in the order of the view's rows."""
        return self.compute_grid()

    def compute_grid(self, between: Callable[[], object] | None = None) -> GridView:
        """The grid, computed once; `between` is called between the passes of the engine, and may raise to stop."""
        if self._grid_view is None:
            grid = self.grid(between=between)
            self._grid_view = grid_view(
                grid,
                own_batch=self.question.step.batch_size,
                own_precision=self.options.precision,
                own_compile=self.options.compile,
                largest_batches=self._largest_in(grid, between),
                with_parts=len(grid.batch_sizes) == 1,
            )
        return self._grid_view

    def _largest_in(self, grid: StepGrid, between: Callable[[], object] | None) -> dict[tuple[str, str], int]:
        """The largest batch that fits, by GPU and precision of the grid; both dtypes of AMP need the same memory."""
        scaling = self.question.scaling
        found: dict[tuple[str, str], int] = {}
        for place, precision in enumerate(grid.precisions if scaling is not None else ()):
            if between is not None:
                between()
            able = [gpu for gpu, blocked in zip(grid.gpus, grid.blockers, strict=True) if blocked[place] is None]
            counted = Precision.AMP_BF16 if precision is AMP else Precision(precision.value)
            step = in_precision(self._scaling(), counted, self._engine)
            largest = largest_batches(step, able)
            found |= {(gpu.name, precision.value): size for gpu, size in zip(able, largest, strict=True)}
        return found

    def grid(
        self,
        *,
        gpus: Sequence[str] = (),
        batch_sizes: Sequence[int] = (),
        precisions: Sequence[GridPrecision] = (),
        compiles: Sequence[CompileMode] = (),
        between: Callable[[], object] | None = None,
    ) -> StepGrid:
        """Outcomes of the product: by default all GPUs, nine batch sizes where they are known, as run and AMP, compiled
        and not. `between` is called between the passes of the engine, and may raise to stop.

        Refused: batch sizes of a step that is known at one only (PredictionError), GPUs that were not predicted.
        """
        own = (self.options.precision, self.options.compile)
        scaling, step = self.question.scaling, self.question.step
        if batch_sizes and scaling is None and set(batch_sizes) != {step.batch_size}:
            self._scaling()
        source = scaling if scaling is not None else step
        sizes = list(batch_sizes) or (
            list(batch_sizes_around(step.batch_size or scaling.batch_sizes[0])) if scaling is not None else None
        )
        named = [self.on(name).gpu for name in gpus]
        return step_grid(
            source,
            named or [self.on(name).gpu for name in self.gpus],
            origin=self.times.origin,
            batch_sizes=sizes if scaling is not None else None,
            precisions=tuple(precisions) or tuple(dict.fromkeys((Precision.AS_RUN, AMP, own[0]))),
            compiles=tuple(compiles) or tuple(dict.fromkeys((CompileMode.OFF, CompileMode.DEFAULT, own[1]))),
            options=self._engine,
            between=between,
        )

    def _view(self, what_ifs: WhatIfs) -> ViewModel:
        return view_of(
            self.times,
            self.outcomes,
            name=self.name,
            shows_all=bool(self.options.on),
            focus=self._focus.gpu.name,
            command=self.command,
            version=__version__,
            what_ifs=what_ifs,
            spot_prices=self._spot_prices,
            provenance=self.provenance,
        )

    @property
    def _focus(self) -> Outcome:
        asked = [name for name in self.options.on if name != ALL_GPUS]
        return self.outcomes[0] if len(asked) == 1 else focus_of(self.outcomes)

    @property
    def _engine(self) -> EngineOptions:
        return _engine_options(self.options)

    @cached_property
    def _memory_step(self) -> Trace:
        """The step whose tensors are counted: in the precision asked about, not compiled."""
        return with_precision(self.question.step, self.options.precision, options=self._engine).trace

    def _what_ifs(self) -> WhatIfs:
        focus, step = self._focus.gpu, self.question.step
        curve = scaled_as_asked(self, focus)
        is_asked = self.options.precision is not Precision.AS_RUN or self.options.compile is not CompileMode.OFF
        is_quick = step.origin is not TraceOrigin.PROFILER or len(self.times.items) <= _QUICK_ITEMS
        shown = self.outcomes if self.options.on else shortlist(self.outcomes)
        return WhatIfs(
            precision=self.options.precision,
            compiled=self.options.compile,
            curve=self._curve(focus, self.options.batch_sizes) if self.question.scaling is not None else None,
            alternatives=alternatives(
                step,
                focus,
                origin=self.times.origin,
                options=self._engine,
                asked=(self.options.precision, self.options.compile),
                with_graphs=self._focus.parts.launch_bound_ns >= _GRAPHS_MATTER_FRACTION * self._focus.step_ns,
            )
            if is_asked or is_quick
            else (),
            memory=self._memory_on(focus),
            largest_batches=self._largest_batches([outcome.gpu for outcome in shown]),
            sharded=self._sharded(),
            scaling=curve,
            scaling_links=scaled_with_other_links(self, focus, curve),
            blocked=self.question.blocked,
            notes=self.question.notes,
        )

    def _memory_on(self, gpu: Gpu) -> MemoryEstimate | None:
        step = self._memory_step
        return memory_on(step_memory(step), gpu) if len(step.tensors) else None

    def _scaling(self) -> BatchScaling:
        if self.question.scaling is None:
            raise PredictionError(
                "the step is known at one batch size only"
                + (f" ({self.question.notes[-1]})" if self.question.notes else ""),
                remedy="surfer predict-model, or %%predict --no-run, capture a step at any batch size",
            )
        return self.question.scaling

    def _curve(self, gpu: Gpu, batch_sizes: Sequence[int]) -> BatchCurve:
        scaling = self._scaling()
        return batch_curve(
            scaling,
            gpu,
            batch_size=self.question.step.batch_size or scaling.batch_sizes[0],
            batch_sizes=batch_sizes,
            precision=self.options.precision,
            compiled=self.options.compile,
            options=self._engine,
        )

    def _largest_batches(self, gpus: Sequence[Gpu]) -> dict[str, int]:
        if self.question.scaling is None:
            return {}
        counted = in_precision(self.question.scaling, self.options.precision, self._engine)
        return dict(zip((gpu.name for gpu in gpus), largest_batches(counted, gpus), strict=True))

    def _sharded(self) -> tuple[ShardedNeed, ...]:
        """How many GPUs would hold a step that fits on none; of those with a price, where there are any."""
        if any(outcome.fit is not Fit.DOES_NOT_FIT for outcome in self.outcomes):
            return ()
        priced = [outcome.gpu for outcome in self.outcomes if outcome.usd_per_hour is not None]
        found = sharded_needs(self._memory_step, priced or [outcome.gpu for outcome in self.outcomes])
        return tuple(need for need in found if need is not None)

    def what_if(
        self,
        *,
        precision: Precision | str | None = None,
        compile: CompileMode | str | None = None,  # noqa: A002 # the word of the vocabulary
        batch_size: int | None = None,
    ) -> Prediction:
        """The same step in another precision, compiled, or at another batch size; what is not named stays.

        Refused: a word that is not known (OptionError); another batch of a step that is known at one only
        (PredictionError).
        """
        options = replace(
            self.options,
            precision=self.options.precision
            if precision is None
            else predict_options(
                {"precision": precision.value if isinstance(precision, Precision) else precision}
            ).precision,
            compile=self.options.compile
            if compile is None
            else predict_options({"compile": compile.value if isinstance(compile, CompileMode) else compile}).compile,
        )
        step = self.question.step
        if batch_size is not None and batch_size != step.batch_size:
            step = self._scaling().at(batch_size)
            options = replace(options, batch_size=None if options.batch_size is None else batch_size)
        return predict_as_asked(step, options, name=self.name, scaling=self.question.scaling, notes=self.question.notes)

    def with_prices(self, prices: Mapping[str, float]) -> Prediction:
        """The same prediction at other own prices, USD per hour by GPU; it stays the same one in the history."""
        priced = predict_as_asked(
            self.question.step,
            replace(self.options, prices=dict(prices)),
            name=self.name,
            command=self.command,
            scaling=self.question.scaling,
            notes=self.question.notes,
            provenance=self.provenance,
        )
        priced._grid_view = self._grid_view  # outcomes, which no price changes
        return priced

    def batch_curve(self, gpu: str | None = None, batch_sizes: Sequence[int] = ()) -> pandas.DataFrame:
        """Time, throughput and memory by batch size on one GPU (the one shown first); index: the batch size.

        By default doublings around the step's own batch. Refused (PredictionError): a step known at one batch only.
        """
        import pandas as pd  # slow to import, and only asked for here

        found = self._focus if gpu is None else self.on(gpu)
        curve = self._curve(found.gpu, batch_sizes)
        frame = pd.DataFrame(curve_rows(curve, found.usd_per_hour)).set_index("batch_size")
        frame.attrs = {"gpu": found.gpu.name, "knee": curve.knee, "largest_fitting": curve.largest_fitting}
        return frame

    def largest_batch(self, gpu: str | None = None) -> int:
        """The largest batch whose memory's high end fits on one GPU; 0 where not one sample does."""
        found = self._focus if gpu is None else self.on(gpu)
        self._scaling()
        return self._largest_batches([found.gpu])[found.gpu.name]

    def scale(
        self,
        *,
        counts: Sequence[int] = (),
        machine: str | Path | Machine | None = None,
        link: str | None = None,
        strategy: str | None = None,
        fixed: str = FixedBatch.PER_GPU.value,
        gpu: str | None = None,
    ) -> pandas.DataFrame:
        """The step on several GPUs, a row a number of them: time, efficiency, communication, memory, cost.

        `machine` by name or TOML file, by default one with `gpu` (the one shown first); `link` "nvlink", "pcie" or a
        name; `strategy` as `--strategy` has it; `fixed` "per GPU" (weak scaling) or "global" (strong). SurferError as
        `report.scaled.scaled`, which gives the curve itself.
        """
        kinds = {kind.value.lower(): kind for kind in FixedBatch}
        if fixed.lower() not in kinds:
            raise OptionError(
                f"{fixed!r} is no batch to keep fixed", remedy=" or ".join(one.value for one in FixedBatch)
            )
        focus = (self._focus if gpu is None else self.on(gpu)).gpu
        curve = scaled(
            self, focus, counts=counts, machine=machine, link=link, strategy=strategy, fixed=kinds[fixed.lower()]
        )
        if curve.refused and curve.points[-1].gpu_count == 1:
            raise curve.refused[0]  # a row of one GPU alone answers nothing that was asked
        return scaling_frame(curve)

    def memory(self, gpu: str | None = None) -> pandas.DataFrame:
        """Where the step's memory goes on one GPU, in GB, a row a part and the sums; index: the part.

        Refused (PredictionError): a profiler's trace, which holds no tensors (its measured peak is in `table`).
        """
        import pandas as pd  # slow to import, and only asked for here

        found = self._focus if gpu is None else self.on(gpu)
        estimate = memory_on(step_memory(self._memory_step), found.gpu)
        return pd.DataFrame(memory_rows(estimate)).set_index("part")

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

        return pd.DataFrame(flat_rows(self.outcomes, self.question.blocked)).set_index("gpu")

    def to_json(self) -> str:
        """The view as JSON: raw numbers beside their wording; its schema is `surfer_lab.view.schema.view_schema()`."""
        return msgspec.json.encode(self.view).decode()

    def explore(self, *, figures: str = "svg") -> Any:
        """Sliders and figures as an ipywidgets box, its choice as traits: `surfer_lab.panel.explorer.Explorer`.

        `figures="bokeh"` shows live Bokeh models, where jupyter_bokeh is installed.
        """
        return surfer_lab.explore(self, figures=figures)  # type: ignore[arg-type] # checked there; the root knows where it lives

    def report(self, path: str | Path) -> Path:
        """Write a report and return its path; the form follows the ending: .html, .md, .pdf, .txt, .json or .csv."""
        return write_report(
            lambda with_grid: [self.view_with_grid if with_grid else self.view],
            path,
            others={".csv": lambda: csv_of(self.outcomes, self.question.blocked)},
        )

    def __repr__(self) -> str:
        return text_of(self.view)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        # a terminal shows the text alone: it need not wait for the grid
        return mime_bundle(self.view_with_grid if "ipykernel" in sys.modules else self.view)


def _engine_options(options: PredictOptions) -> EngineOptions:
    """The host asked for, and ranges as wide as this user's verified predictions say; a broken file is none."""
    try:
        factor = verified_factor(load_verifications(), LEVELS[0])
    except GpuError:
        factor = None
    return EngineOptions(host_factor=options.host_factor, verified_factor=factor)


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
        raise OriginError(
            "the trace does not say which GPU it was recorded on", remedy='name it: --from "V100 SXM2 16GB"'
        )
    try:
        return catalog.find_device(trace.device)
    except UnknownGpuError as error:
        choices = " or ".join(error.candidates[:4])
        raise OriginError(
            f"which GPU the trace was recorded on is not clear: {error.seen}",
            candidates=error.candidates,
            remedy=f"name it: --from GPU ({choices})" if choices else 'name it: --from "V100 SXM2 16GB"',
        ) from error


def predict_as_asked(
    trace: Trace,
    options: PredictOptions,
    *,
    name: str,
    command: str = "",
    scaling: BatchScaling | None = None,
    notes: Sequence[str] = (),
    provenance: Provenance | None = None,
) -> Prediction:
    """Predict a recording by checked options. Errors say what was seen and what to do (SurferError).

    `scaling` is the same step at any batch size, where it was captured so; `notes` say what the capture assumed.
    `provenance` says where it comes from.
    """
    catalog = load_catalog()
    if options.batch_sizes and scaling is None:
        raise PredictionError(
            "--batch-sizes is given, but the step is known at one batch size only"
            + "".join(f": {n}" for n in notes[-1:]),
            remedy="surfer predict-model, or %%predict --no-run, capture a step at any batch size",
        )
    gpus, blocked = _without_blocked(chosen_gpus(catalog, options), options.precision)
    origin = named_origin(catalog, trace, options)
    engine = _engine_options(options)
    times = predict_times(
        trace, gpus, origin=origin, options=replace(engine, precision=options.precision, compile=options.compile)
    )
    if trace.origin is TraceOrigin.PROFILER and trace.step_ns <= 0:
        raise PredictionError("the recorded step took no time: its events have no durations", remedy="record it again")
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
    counted = trace
    if options.precision is not Precision.AS_RUN:
        counted = with_precision(trace, options.precision, options=engine).trace
    return Prediction(
        times,
        outcomes(times, scenarios, memory_of=counted),
        options=options,
        name=options.name or name,
        command=command,
        question=Question(step=trace, scaling=scaling, blocked=blocked, notes=tuple(notes)),
        provenance=provenance,
        spot_prices={gpu.name: spot for gpu in gpus if (spot := prices.price(gpu, spot=True)) is not None},
    )


def _without_blocked(gpus: Sequence[Gpu], precision: Precision) -> tuple[tuple[Gpu, ...], tuple[Blocked, ...]]:
    """Those that can compute so, and those that cannot; PredictionError where none can."""
    asked = [(gpu, precision_blocker(gpu, precision)) for gpu in gpus]
    able = tuple(gpu for gpu, why in asked if why is None)
    blocked = tuple(Blocked(gpu=gpu, why=why) for gpu, why in asked if why is not None)
    if not able:
        raise PredictionError(
            f"none of the GPUs can be asked about {precision.value}: {blocked[0].why}",
            remedy="another precision (--precision), or another GPU (--on)",
        )
    return able, blocked


class Recorded(Protocol):
    """What `surfer_lab.record` gives: it holds a Trace once its block has ended."""

    @property
    def trace(self) -> Trace:
        """The recorded steps."""


def predict(
    trace: Trace | Recorded | str | Path,
    *,
    on: str | Sequence[str] | None = None,
    origin: str | None = None,
    batch_size: int | None = None,
    batch_sizes: Sequence[int] = (),
    precision: str = Precision.AS_RUN.value,
    compile: str = CompileMode.OFF.value,  # noqa: A002 # the word of the vocabulary
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
        batch_sizes=tuple(batch_sizes),
        precision=predict_options({"precision": precision}).precision,
        compile=predict_options({"compile": compile}).compile,
        host_factor=host_factor,
        prices=dict(prices or {}),
        spot=spot,
        dataset_size=dataset_size,
        name=name,
    )
    if isinstance(trace, (str, Path)):
        file = Path(trace).name
        return predict_as_asked(
            read(Path(trace), progress=progress), options, name=file, provenance=new_provenance("file", file=file)
        )
    recorded = trace if isinstance(trace, Trace) else getattr(trace, "trace", None)
    if not isinstance(recorded, Trace):
        raise TraceError(
            f"a {type(trace).__name__} is nothing that can be predicted",
            remedy="a trace file's path, a Trace, or what surfer_lab.record() returned",
        )
    return predict_as_asked(recorded, options, name="recording")

"""What would the step take for every GPU, batch size, precision and compile mode that is asked about at once?

One pass of the engine a (batch, precision, compile) over all GPUs, into arrays by (gpu, batch, precision, compile). A
capture without a GPU is rewritten once a precision, then reshaped to each batch; its memory is counted from the same
graphs. A profiler's trace has one batch, its own, and its measured memory peak for the step as run.

What a GPU cannot do has no number (nan) and a reason; "AMP" means autocast to bfloat16 where a GPU has units for it,
else to float16. Compiled steps are taken to need the memory of eager ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine import EngineOptions, predict
from surfer_lab.engine.compilation import CompileMode
from surfer_lab.engine.estimate import StepTimes
from surfer_lab.engine.precision import Precision, precision_blocker
from surfer_lab.engine.whatif import with_precision
from surfer_lab.errors import PredictionError
from surfer_lab.hardware.gpu import Gpu
from surfer_lab.planner.batch import BatchScaling
from surfer_lab.planner.graph_memory import fit_on, memory_on, step_memory
from surfer_lab.planner.memory import Fit, fit_of, peak_of
from surfer_lab.trace.model import Trace, TraceOrigin
from surfer_lab.units import NS_PER_S

__all__ = ["AMP", "Amp", "GridPrecision", "StepGrid", "batch_sizes_around", "step_grid"]

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]


class Amp(Enum):
    """Autocast as a GPU allows it."""

    AMP = "amp"  # bfloat16 where there are units for it, else float16


AMP: Final = Amp.AMP
_DEFAULT: Final = EngineOptions()
GridPrecision: TypeAlias = Precision | Amp
_BATCH_COUNT: Final = 9
_FITS: Final = tuple(Fit)
_NEAR_BEST: Final = 0.9  # of the best throughput: where more batch gains little
_PARTS: Final = (
    "step_ns", "low_ns", "high_ns", "gpu_busy_ns", "launch_bound_ns", "input_wait_ns", "synchronization_ns",
    "communication_ns",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False)
class StepGrid:
    """Times in ns, memory in bytes; arrays (gpus, batches, precisions, compiles), nan where there is no answer."""

    gpus: tuple[Gpu, ...]
    batch_sizes: tuple[int, ...]
    precisions: tuple[GridPrecision, ...]
    compiles: tuple[CompileMode, ...]
    step_ns: F64
    low_ns: F64
    high_ns: F64
    gpu_busy_ns: F64
    launch_bound_ns: F64
    input_wait_ns: F64
    synchronization_ns: F64
    communication_ns: F64
    memory_bytes: F64  # (gpus, batches, precisions): on the device, likely
    memory_high_bytes: F64
    fit: NDArray[np.int8]  # (gpus, batches, precisions): index into `Fit`
    blockers: tuple[tuple[str | None, ...], ...]  # by GPU and precision: why there is no answer
    notes: tuple[str, ...]

    @property
    def samples_per_s(self) -> F64:
        """Samples a second; the shape of `step_ns`."""
        batch = np.array(self.batch_sizes, dtype=np.float64)[None, :, None, None]
        rate: F64 = batch * NS_PER_S / self.step_ns
        return rate

    def fit_at(self, gpu: int, batch: int, precision: int) -> Fit:
        """Whether the step fits there."""
        return _FITS[int(self.fit[gpu, batch, precision])]

    def largest_fitting_batch(self, gpu: int, precision: int) -> int | None:
        """The largest batch of the grid that fits; None where none does, or nothing is known."""
        fitting = np.flatnonzero(self.fit[gpu, :, precision] == _FITS.index(Fit.FITS))
        return self.batch_sizes[int(fitting[-1])] if len(fitting) else None

    def knee_batch(self, gpu: int, precision: int, compiled: int) -> int | None:
        """The smallest batch with nine tenths of the grid's best throughput; None where there is no answer."""
        rate = self.samples_per_s[gpu, :, precision, compiled]
        if not np.isfinite(rate).any():
            return None
        return self.batch_sizes[int(np.flatnonzero(rate >= _NEAR_BEST * np.nanmax(rate))[0])]


def batch_sizes_around(batch_size: int, count: int = _BATCH_COUNT) -> tuple[int, ...]:
    """Doublings with the batch itself among them, as near to the middle as whole numbers allow.

    >>> batch_sizes_around(64), batch_sizes_around(6)
    ((4, 8, 16, 32, 64, 128, 256, 512, 1024), (3, 6, 12, 24, 48, 96, 192, 384, 768))
    """
    first = batch_size
    for _ in range(count // 2):
        if first % 2:
            break
        first //= 2
    return tuple(first * 2**step for step in range(count))


def step_grid(
    step: Trace | BatchScaling,
    gpus: Sequence[Gpu],
    *,
    origin: Gpu | None = None,
    batch_sizes: Sequence[int] | None = None,
    precisions: Sequence[GridPrecision] = (Precision.AS_RUN, AMP),
    compiles: Sequence[CompileMode] = (CompileMode.OFF, CompileMode.DEFAULT),
    options: EngineOptions = _DEFAULT,
    between: Callable[[], object] | None = None,
) -> StepGrid:
    """Outcomes of the product of all four. `step` as a trace has its own batch only, unless it is captured at a prime.

    `between` is called before each pass of the engine; what it raises stops the work.

    Refuses (PredictionError) batch sizes of a trace whose shapes cannot be reshaped.
    """
    source = _Source(step, batch_sizes)
    shape = (len(gpus), len(source.batch_sizes), len(precisions), len(compiles))
    parts = {name: np.full(shape, np.nan) for name in _PARTS}
    memory, memory_high = np.full(shape[:3], np.nan), np.full(shape[:3], np.nan)
    fit = np.full(shape[:3], _FITS.index(Fit.UNKNOWN), dtype=np.int8)
    chosen = [[_meant(one, gpu) for one in precisions] for gpu in gpus]
    blockers = tuple(tuple(precision_blocker(gpu, one) for one in row) for gpu, row in zip(gpus, chosen, strict=True))
    notes: dict[str, None] = {}
    for precision in dict.fromkeys(one for row in chosen for one in row):
        cells = [
            (gpu, place)
            for gpu, row in enumerate(chosen)
            for place, one in enumerate(row)
            if one is precision and blockers[gpu][place] is None
        ]
        if not cells:
            continue
        rows, places = np.array([cell[0] for cell in cells]), np.array([cell[1] for cell in cells])
        asked = [gpus[row] for row in rows.tolist()]
        traces, own_options, said = source.in_precision(precision, options)
        notes.update(dict.fromkeys(said))
        for batch, trace in enumerate(traces):
            for mode, compiled in enumerate(compiles):
                if between is not None:
                    between()
                try:
                    answer = predict(trace, asked, origin=origin, options=replace(own_options, compile=compiled))
                except PredictionError as refused:
                    if compiled is CompileMode.OFF:
                        raise
                    notes[str(refused)] = None
                    continue
                _fill(parts, answer.steps, (rows, batch, places, mode))
            if precision is Precision.AS_RUN or source.counts_memory:
                _count_memory(trace, asked, source.counts_memory, memory, memory_high, fit, (rows, batch, places))
    return StepGrid(
        gpus=tuple(gpus),
        batch_sizes=source.batch_sizes,
        precisions=tuple(precisions),
        compiles=tuple(compiles),
        memory_bytes=memory,
        memory_high_bytes=memory_high,
        fit=fit,
        blockers=blockers,
        notes=tuple(notes),
        **parts,
    )


class _Source:
    """Where the step's traces come from: reshaped from a capture, or the recorded one."""

    def __init__(self, step: Trace | BatchScaling, batch_sizes: Sequence[int] | None) -> None:
        self._captured: tuple[tuple[int, Trace], ...] = step.captured if isinstance(step, BatchScaling) else ()
        self._trace = step if isinstance(step, Trace) else None
        own = step.batch_size or 1 if isinstance(step, Trace) else None
        if own is not None and batch_sizes is not None and set(batch_sizes) != {own}:
            self._captured, self._trace = BatchScaling.of_prime(_only(step)).captured, None
        if self._trace is not None:
            self.batch_sizes: tuple[int, ...] = (own or 1,)
        else:
            self.batch_sizes = tuple(batch_sizes) if batch_sizes is not None else batch_sizes_around(32)
        self.counts_memory = self._trace is None or self._trace.origin is not TraceOrigin.PROFILER

    def in_precision(
        self, precision: Precision, options: EngineOptions
    ) -> tuple[list[Trace], EngineOptions, tuple[str, ...]]:
        """The step's trace at each batch, the options to predict it with, and what was assumed."""
        if self._trace is not None:
            result = with_precision(self._trace, precision, options=options)
            return [result.trace], result.options, result.notes
        results = [with_precision(trace, precision, options=options) for _, trace in self._captured]
        sizes = [size for size, _ in self._captured]
        captured = tuple((size, result.trace) for size, result in zip(sizes, results, strict=True))
        at: Callable[[int], Trace] = BatchScaling(captured=captured).at
        return [at(size) for size in self.batch_sizes], results[0].options, results[0].notes


def _only(step: Trace | BatchScaling) -> Trace:
    return step if isinstance(step, Trace) else step.captured[0][1]


def _meant(precision: GridPrecision, gpu: Gpu) -> Precision:
    if isinstance(precision, Precision):
        return precision
    return Precision.AMP_FP16 if precision_blocker(gpu, Precision.AMP_BF16) else Precision.AMP_BF16


def _fill(parts: dict[str, F64], steps: StepTimes, at: tuple[I64, int, I64, int]) -> None:
    rows, batch, places, mode = at
    for name in _PARTS:
        parts[name][rows, batch, places, mode] = getattr(steps, name)


def _count_memory(
    trace: Trace,
    gpus: Sequence[Gpu],
    is_counted: bool,
    memory: F64,
    memory_high: F64,
    fit: NDArray[np.int8],
    at: tuple[I64, int, I64],
) -> None:
    """Memory of one graph on all GPUs: counted from its tensors, else the measured peak."""
    rows, batch, places = at
    if is_counted and len(trace.tensors):
        step = step_memory(trace, replay_allocator=False)
        for row, place, gpu in zip(rows.tolist(), places.tolist(), gpus, strict=True):
            estimate = memory_on(step, gpu)
            memory[row, batch, place] = estimate.device.likely
            memory_high[row, batch, place] = estimate.device.high
            fit[row, batch, place] = _FITS.index(fit_on(estimate, gpu))
        return
    peak = peak_of(trace)
    if peak is None:
        return
    memory[rows, batch, places] = peak.allocated_bytes
    memory_high[rows, batch, places] = max(peak.allocated_bytes, peak.reserved_bytes or 0)
    for row, place, gpu in zip(rows.tolist(), places.tolist(), gpus, strict=True):
        fit[row, batch, place] = _FITS.index(fit_of(peak, gpu))

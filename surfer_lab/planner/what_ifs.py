"""What would one GPU take at other batch sizes, in other precisions, compiled? A curve and a table of alternatives.

Both are rows of `planner.grid` on one GPU. The knee of a curve is its smallest batch with nine tenths of the best
throughput; the largest fitting batch is searched on the graph, not read off the curve's points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from surfer_lab.engine.compilation import CompileMode
from surfer_lab.engine.options import EngineOptions
from surfer_lab.engine.precision import Precision, precision_blocker
from surfer_lab.engine.whatif import with_precision
from surfer_lab.hardware.gpu import Gpu
from surfer_lab.planner.batch import BatchScaling
from surfer_lab.planner.device_overhead import usable_bytes
from surfer_lab.planner.graph_memory import fit_on, memory_on, step_memory
from surfer_lab.planner.grid import StepGrid, batch_sizes_around, step_grid
from surfer_lab.planner.largest_batch import batch_memory, largest_batches
from surfer_lab.planner.memory import Fit
from surfer_lab.trace.model import Trace

__all__ = ["Alternative", "BatchCurve", "BatchPoint", "Blocked", "alternatives", "batch_curve", "in_precision"]

_DEFAULT: Final = EngineOptions()
_PLAIN: Final = (CompileMode.OFF,)
_FLAG_ONLY: Final = (Precision.FP32, Precision.TF32)
_FAR: Final = 8
_MANY_OPS: Final = 4_000


@dataclass(frozen=True, kw_only=True)
class Blocked:
    """A GPU without an answer, and why."""

    gpu: Gpu
    why: str


@dataclass(frozen=True, kw_only=True)
class BatchPoint:
    """One batch size: ns, samples/s, bytes on the device (likely and at most; None where not counted)."""

    batch_size: int
    step_ns: float
    low_ns: float
    high_ns: float
    samples_per_s: float
    memory_bytes: int | None
    memory_high_bytes: int | None
    fit: Fit


@dataclass(frozen=True, kw_only=True)
class BatchCurve:
    """A step on one GPU by batch size. `knee` and `largest_fitting` are batch sizes; 0: not one sample fits."""

    gpu: Gpu
    points: tuple[BatchPoint, ...]
    knee: int | None
    largest_fitting: int


@dataclass(frozen=True, kw_only=True)
class Alternative:
    """The step in a precision and compile mode; `blocker` says why there is no answer, then numbers are None."""

    precision: Precision
    compile: CompileMode
    step_ns: float | None
    low_ns: float | None
    high_ns: float | None
    memory_bytes: float | None
    fit: Fit
    blocker: str | None


def in_precision(step: BatchScaling, precision: Precision, options: EngineOptions = _DEFAULT) -> BatchScaling:
    """The captures rewritten for a precision; as they are for `AS_RUN`."""
    if precision is Precision.AS_RUN:
        return step
    return BatchScaling(
        captured=tuple((size, with_precision(trace, precision, options=options).trace) for size, trace in step.captured)
    )


def batch_curve(
    step: BatchScaling,
    gpu: Gpu,
    *,
    batch_size: int,
    batch_sizes: Sequence[int] = (),
    precision: Precision = Precision.AS_RUN,
    compiled: CompileMode = CompileMode.OFF,
    options: EngineOptions = _DEFAULT,
) -> BatchCurve:
    """The curve at `batch_sizes`, by default doublings around `batch_size`.

    The step's own batch is always a point, and the largest that fits unless it lies far beyond the others.
    """
    counted = in_precision(step, precision, options)
    largest = largest_batches(counted, [gpu])[0]
    asked = {batch_size, *(batch_sizes or batch_sizes_around(batch_size))}
    sizes = sorted(asked | ({largest} if 0 < largest <= _FAR * max(asked) else set()))
    grid = step_grid(step, [gpu], batch_sizes=sizes, precisions=(precision,), compiles=(compiled,), options=options)
    memory = batch_memory(counted, [gpu], sizes)[0]
    rate = grid.samples_per_s[0, :, 0, 0]
    points = tuple(
        BatchPoint(
            batch_size=size,
            step_ns=float(grid.step_ns[0, place, 0, 0]),
            low_ns=float(grid.low_ns[0, place, 0, 0]),
            high_ns=float(grid.high_ns[0, place, 0, 0]),
            samples_per_s=float(rate[place]),
            memory_bytes=memory[place].estimate.device.likely,
            memory_high_bytes=memory[place].estimate.device.high,
            fit=memory[place].fit,
        )
        for place, size in enumerate(sizes)
        if np.isfinite(grid.step_ns[0, place, 0, 0])
    )
    return BatchCurve(
        gpu=gpu,
        points=points,
        knee=grid.knee_batch(0, 0, 0),
        largest_fitting=largest,
    )


def alternatives(
    step: Trace,
    gpu: Gpu,
    *,
    origin: Gpu | None = None,
    options: EngineOptions = _DEFAULT,
    asked: tuple[Precision, CompileMode] = (Precision.AS_RUN, CompileMode.OFF),
    with_graphs: bool = True,
) -> tuple[Alternative, ...]:
    """The step as recorded or captured, asked about in every precision, and compiled, on one GPU.

    fp32 and TF32 differ from the step as run by a flag only: compiled they are shown where one of them is `asked`. Of
    AMP's two dtypes a step of many thousand ops is asked about the GPU's better one. `with_graphs` adds CUDA graphs
    (reduce-overhead).
    """
    compiles = [CompileMode.DEFAULT, *([CompileMode.REDUCE_OVERHEAD] if with_graphs else [])]
    compiles += [asked[1]] if asked[1] not in (CompileMode.OFF, *compiles) else []
    precisions = [one for one in Precision if one is asked[0] or not _is_left_out(one, gpu, len(step.ops))]
    compiled_precisions = [one for one in precisions if one not in _FLAG_ONLY or one is asked[0]]
    plain = step_grid(step, [gpu], origin=origin, precisions=precisions, compiles=_PLAIN, options=options)
    fused = step_grid(step, [gpu], origin=origin, precisions=compiled_precisions, compiles=compiles, options=options)
    rows = [
        *((precision, CompileMode.OFF, plain, row, 0) for row, precision in enumerate(precisions)),
        *(
            (precision, mode, fused, row, column)
            for row, precision in enumerate(compiled_precisions)
            for column, mode in enumerate(compiles)
        ),
    ]
    order = list(Precision)
    memory = _memory_by_precision(step, gpu, precisions, asked[0], plain, options)
    return tuple(
        Alternative(
            precision=precision,
            compile=mode,
            step_ns=_known(grid.step_ns[0, 0, row, column]),
            low_ns=_known(grid.low_ns[0, 0, row, column]),
            high_ns=_known(grid.high_ns[0, 0, row, column]),
            memory_bytes=_known(grid.memory_bytes[0, 0, row]) if (need := memory.get(precision)) is None else need[0],
            fit=grid.fit_at(0, 0, row) if need is None else need[1],
            blocker=grid.blockers[0][row],
        )
        for precision, mode, grid, row, column in sorted(rows, key=lambda row: order.index(row[0]))
    )


def _memory_by_precision(
    step: Trace,
    gpu: Gpu,
    precisions: Sequence[Precision],
    asked: Precision,
    plain: StepGrid,
    options: EngineOptions,
) -> dict[Precision, tuple[int, Fit] | None]:
    """As the rest of a view counts it, the allocator replayed; None where a grid knows as much.

    Of a step of many thousand ops only the one asked about is replayed: the grid's counts of the others are drawn to it
    by its own ratio, so that what a flag alone changes keeps its memory to the byte.
    """
    replayed = {
        one: _memory(step, gpu, one, options)
        for one in precisions
        if one is asked or len(step.ops) <= _MANY_OPS
    }  # fmt: skip
    known = replayed.get(asked)
    if known is None or asked not in precisions:
        return dict(replayed)
    counted = plain.memory_bytes[0, 0, precisions.index(asked)]
    found = dict(replayed)
    for row, one in enumerate(precisions):
        bytes_there = plain.memory_bytes[0, 0, row]
        if one in found or not (np.isfinite(bytes_there) and counted > 0):
            continue
        likely = round(float(bytes_there) * (known[0] / float(counted)))
        fit = plain.fit_at(0, 0, row)
        if bytes_there == counted:
            fit = known[1]
        elif likely > usable_bytes(gpu):
            fit = Fit.DOES_NOT_FIT
        elif fit is Fit.DOES_NOT_FIT:
            fit = Fit.TIGHT
        found[one] = (likely, fit)
    return found


def _memory(step: Trace, gpu: Gpu, precision: Precision, options: EngineOptions) -> tuple[int, Fit] | None:
    """One precision's, the allocator replayed."""
    if not len(step.tensors) or precision_blocker(gpu, precision) is not None:
        return None
    estimate = memory_on(step_memory(with_precision(step, precision, options=options).trace), gpu)
    return estimate.device.likely, fit_on(estimate, gpu)


def _is_left_out(precision: Precision, gpu: Gpu, op_count: int) -> bool:
    """Rewriting a step takes a second for every 8,000 ops."""
    if op_count <= _MANY_OPS:
        return False
    has_bf16 = precision_blocker(gpu, Precision.AMP_BF16) is None
    return precision is (Precision.AMP_FP16 if has_bf16 else Precision.AMP_BF16)


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None

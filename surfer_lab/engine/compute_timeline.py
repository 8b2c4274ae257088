"""When does each item of one step run on a GPU, collectives taken out? What a step on several GPUs is built from.

The launches are replayed with the predicted times, collectives of a recorded run taking none: so compute is separated
from communication before anything is put on another number of GPUs. The step shown is the one of median duration,
stretched to the predicted step less its exposed communication.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.compilation import CompileMode
from surfer_lab.engine.estimate import PredictionSet
from surfer_lab.engine.modelled_timeline import modelled_timeline
from surfer_lab.engine.recorded_timeline import recorded_timeline
from surfer_lab.engine.replay import replay
from surfer_lab.engine.step_times import step_durations, windows_of
from surfer_lab.trace.model import TraceOrigin
from surfer_lab.trace.tables import KernelKind

__all__ = ["ComputeTimeline", "compute_timeline"]

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
B = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class ComputeTimeline:
    """Items of one step in the order of their start, (items of the step,); ns since the step's start."""

    item: I64  # of the prediction
    start_ns: F64
    end_ns: F64
    step_ns: float


def compute_timeline(
    prediction: PredictionSet, gpu_index: int, *, compiled: CompileMode = CompileMode.OFF, host_factor: float = 1.0
) -> ComputeTimeline:
    """The median step on one GPU of a prediction; `compiled` and `host_factor` as it was predicted."""
    trace, items = prediction.trace, prediction.items
    measured = trace.origin is TraceOrigin.PROFILER
    timeline = recorded_timeline(trace) if measured else modelled_timeline(trace, items, compiled)
    duration = np.where(_is_collective(prediction), 0.0, prediction.duration_ns[gpu_index])
    recorded = trace.kernels.duration_ns.astype(np.float64) if measured else np.zeros(len(items))
    run = replay(timeline, recorded, duration[:, None], host_scale=1.0 / host_factor)
    complete = trace.steps.complete if len(trace.steps) else np.ones(1, dtype=bool)
    windows = windows_of(timeline.marks, complete)
    durations = step_durations(run, windows)[:, 1]
    chosen = int(np.argsort(durations, kind="stable")[(len(durations) - 1) // 2])
    begin = float(run.mark_done_ns[windows.start_mark[chosen], 1])
    length = float(durations[chosen])
    start, end = run.start_ns[:, 1] - begin, run.end_ns[:, 1] - begin
    inside = np.flatnonzero((end > 0) & (start < length) & ~_is_collective(prediction))
    order = inside[np.argsort(start[inside], kind="stable")]
    target = float(prediction.steps.step_ns[gpu_index] - prediction.steps.communication_ns[gpu_index])
    stretch = target / length if length > 0 else 1.0
    return ComputeTimeline(
        item=order.astype(np.int64),
        start_ns=np.clip(start[order], 0.0, length) * stretch,
        end_ns=np.clip(end[order], 0.0, length) * stretch,
        step_ns=target,
    )


def _is_collective(prediction: PredictionSet) -> B:
    kinds, kernel = prediction.trace.kernels.kind, prediction.items.kernel
    if not len(kinds):
        return np.zeros(len(kernel), dtype=bool)
    collective: B = (kernel >= 0) & (kinds[np.maximum(kernel, 0)] == KernelKind.COMMUNICATION)
    return collective

"""How much GPU time of one step does each op take? Sums that agree with the step's parts.

Items that run at the same time share the time in which they do: an op's time is its items' durations, scaled so that
all ops together make the GPU busy time of the step. Collectives are apart: they make the exposed communication.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.estimate import Method, PredictionSet
from surfer_lab.trace.tables import KernelKind

__all__ = ["OpTotals", "op_totals"]

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class OpTotals:
    """Rows by op (-1: work without one), (rows,) each; ns of one step, so that the busy times sum to GPU busy."""

    op: I64
    busy_ns: F64
    low_ns: F64
    high_ns: F64
    communication_ns: F64  # exposed
    launch_count: F64
    method: NDArray[np.int8]  # of most of the time
    limited_by: NDArray[np.int8]


def op_totals(prediction: PredictionSet, gpu_index: int) -> OpTotals:
    """Totals of the ops on one GPU, in the order of the trace's ops."""
    items, times = prediction.items, prediction.duration_ns[gpu_index]
    counted = _counted(prediction)
    step_count = max(1, len(np.unique(items.step[counted])))
    ops, of_item = np.unique(items.op[counted], return_inverse=True)
    collective = _collective(prediction)[counted]
    duration = times[counted]

    def summed(values: F64, chosen: NDArray[np.bool_]) -> F64:
        return np.bincount(of_item[chosen], weights=values[chosen], minlength=len(ops)).astype(np.float64)

    busy, exposed = summed(duration, ~collective), summed(duration, collective)
    busy_scale = _scale(float(prediction.steps.gpu_busy_ns[gpu_index]), busy)
    return OpTotals(
        op=ops.astype(np.int64),
        busy_ns=busy * busy_scale,
        low_ns=summed(prediction.low_ns[gpu_index, counted], ~collective) * busy_scale,
        high_ns=summed(prediction.high_ns[gpu_index, counted], ~collective) * busy_scale,
        communication_ns=exposed * _scale(float(prediction.steps.communication_ns[gpu_index]), exposed),
        launch_count=summed(items.launch_count[counted].astype(np.float64), np.ones(len(of_item), bool)) / step_count,
        method=_most(prediction.method[gpu_index, counted], of_item, duration, len(ops)),
        limited_by=_most(prediction.limited_by[gpu_index, counted], of_item, duration, len(ops)),
    )


def _counted(prediction: PredictionSet) -> NDArray[np.bool_]:
    """Items of the complete steps; of all steps where none is complete; all where nothing lies in a step."""
    steps, of_item = prediction.trace.steps, prediction.items.step
    for chosen in (np.flatnonzero(steps.complete), np.arange(len(steps))):
        counted: NDArray[np.bool_] = np.isin(of_item, chosen)
        if counted.any():
            return counted
    return np.ones(len(of_item), dtype=bool)


def _collective(prediction: PredictionSet) -> NDArray[np.bool_]:
    kernel, kinds = prediction.items.kernel, prediction.trace.kernels.kind
    if not len(kinds):
        return np.zeros(len(kernel), dtype=bool)
    collective: NDArray[np.bool_] = (kernel >= 0) & (kinds[np.maximum(kernel, 0)] == KernelKind.COMMUNICATION)
    return collective


def _scale(target: float, parts: F64) -> float:
    total = float(parts.sum())
    return target / total if total > 0 else 0.0


def _most(values: NDArray[np.int8], of_item: NDArray[np.intp], weight: F64, count: int) -> NDArray[np.int8]:
    """For each op the value with most of the time."""
    size = len(Method)
    table = np.bincount(of_item * size + values, weights=weight, minlength=count * size)
    most: NDArray[np.int8] = np.argmax(table.reshape(count, size), axis=1).astype(np.int8)
    return most

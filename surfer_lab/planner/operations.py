"""Which operations does a step's GPU time go to, here and on every GPU?

Work items (kernels, or what stands for them) are summed by a key: the outermost aten op and its phase, the family, or
the phase. Sums are of one step: the mean over the complete steps of the trace, or over the span where there are none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.estimate import Limit, Method, PredictionSet
from surfer_lab.trace.model import Trace, TraceOrigin
from surfer_lab.trace.tables import KernelKind, Phase

__all__ = [
    "OperationGroups", "by_family", "by_operation", "by_phase", "counted_items", "measured_item_ns",
    "outermost_aten_op",
]  # fmt: skip

F64 = NDArray[np.float64]
I32 = NDArray[np.int32]
Labels = tuple[NDArray[np.int64], list[tuple[str, Phase]]]

_MAX_NESTING: Final = 200  # ops inside ops; deeper than any real program, and a cycle cannot hang the walk
_COPIES: Final = {
    KernelKind.MEMCPY: "copy between host and device",
    KernelKind.MEMSET: "memory set",
    KernelKind.COMMUNICATION: "collective communication",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class OperationGroups:
    """Groups in order of falling time at the origin, where measured, else on the GPU named by `lead`. Times: ns a step.

    Shapes: (groups,) and (gpus, groups). `origin_ns` is nan where nothing was measured.
    """

    name: tuple[str, ...]
    phase: tuple[Phase, ...]
    launches_per_step: F64
    origin_ns: F64
    duration_ns: F64
    low_ns: F64
    high_ns: F64
    share: F64  # (gpus, groups): of the GPU time on that GPU
    method: NDArray[np.int8]  # (gpus, groups): the one with most of the time
    limited_by: NDArray[np.int8]
    source: tuple[str | None, ...]  # the user's line with most of the time
    source_count: tuple[int, ...]  # distinct lines
    module: tuple[str | None, ...]
    unscaled_reason: tuple[str | None, ...]
    flop: F64  # a step; nan where it is known of no item
    moved_bytes: F64  # to and from device memory
    rate_class: tuple[str | None, ...]  # arithmetic of most of the FLOPs

    def __len__(self) -> int:
        return len(self.name)


def outermost_aten_op(trace: Trace) -> I32:
    """For each op its outermost enclosing aten op, itself where it is the outermost or none encloses it; (ops,)."""
    ops = trace.ops
    count = len(ops)
    is_aten = ops.name.map(lambda name: name.startswith("aten::"), absent=False, dtype=np.bool_)
    outermost = np.arange(count, dtype=np.int32)
    current = np.arange(count, dtype=np.int32)
    for _ in range(_MAX_NESTING):
        inside = current >= 0
        if not inside.any():
            break
        hit = np.zeros(count, dtype=np.bool_)
        hit[inside] = is_aten[current[inside]]
        outermost[hit] = current[hit]
        following = np.full(count, -1, dtype=np.int32)
        following[inside] = ops.parent[current[inside]]
        current = following
    return outermost


def by_operation(prediction: PredictionSet, *, lead: int = 0) -> OperationGroups:
    """By outermost aten op and phase: "conv2d, forward"; kernels without an op by the kernel's kind or own name."""
    trace, items = prediction.trace, prediction.items
    ops, kernels = trace.ops, trace.kernels
    outermost = outermost_aten_op(trace)

    def label(item: int) -> tuple[str, Phase]:
        op, kernel = int(items.op[item]), int(items.kernel[item])
        if op >= 0:
            return (_op_label(ops.name[int(outermost[op])]), Phase(int(ops.phase[op])))
        if kernel >= 0:
            kind = KernelKind(int(kernels.kind[kernel]))
            phase = Phase.COMMUNICATION if kind is KernelKind.COMMUNICATION else Phase.OTHER
            return (_COPIES.get(kind) or kernels.name[kernel] or "kernel without a name", phase)
        return ("work without an operation", Phase.OTHER)

    # one label a distinct (op's outermost name, phase) or (kernel name, kind): rows repeat a few hundred of them
    has_op = items.op >= 0
    key = np.zeros((len(items), 4), dtype=np.int64)
    rows = np.flatnonzero(has_op)
    key[rows, 0] = 1
    key[rows, 1] = ops.name.codes[outermost[items.op[rows]]]
    key[rows, 2] = ops.phase[items.op[rows]]
    rows = np.flatnonzero(~has_op & (items.kernel >= 0))
    key[rows, 0] = 2
    key[rows, 1] = kernels.name.codes[items.kernel[rows]]
    key[rows, 2] = kernels.kind[items.kernel[rows]]
    return _group(prediction, _labels(key, label), lead)


def by_family(prediction: PredictionSet, *, lead: int = 0) -> OperationGroups:
    """By kind of work ("conv", "matmul", ...), whatever the phase."""
    family = prediction.items.family
    key = family.codes.astype(np.int64)[:, None]
    return _group(prediction, _labels(key, lambda item: (family[item] or "other", Phase.OTHER)), lead)


def by_phase(prediction: PredictionSet, *, lead: int = 0) -> OperationGroups:
    """By phase of the step: forward, backward, optimizer, communication, other."""
    items, ops = prediction.items, prediction.trace.ops
    phase = np.zeros(len(items), dtype=np.int64)
    has_op = items.op >= 0
    phase[has_op] = ops.phase[items.op[has_op]]
    return _group(
        prediction,
        _labels(phase[:, None], lambda item: (Phase(int(phase[item])).name.lower(), Phase(int(phase[item])))),
        lead,
    )


def _op_label(name: str | None) -> str:
    return (name or "operation without a name").removeprefix("aten::")


def _labels(key: NDArray[np.int64], label: Callable[[int], tuple[str, Phase]]) -> Labels:
    """Group code of each item and the label of each code; equal labels share a code."""
    if not len(key):
        return np.zeros(0, dtype=np.int64), []
    _, first, inverse = np.unique(key, axis=0, return_index=True, return_inverse=True)
    codes: dict[tuple[str, Phase], int] = {}
    code_of = np.array([codes.setdefault(label(int(item)), len(codes)) for item in first], dtype=np.int64)
    return code_of[inverse.reshape(-1)], list(codes)


def counted_items(prediction: PredictionSet) -> tuple[NDArray[np.bool_], int]:
    """Items that count, (items,), and the number of steps to divide their sums by."""
    steps, items = prediction.trace.steps, prediction.items
    complete = np.flatnonzero(steps.complete)
    chosen = np.isin(items.step, complete)
    if chosen.any():
        return chosen, len(complete)
    if len(steps) and (items.step >= 0).any():
        return items.step >= 0, len(np.unique(items.step[items.step >= 0]))
    return np.ones(len(items), dtype=np.bool_), 1


def _group(prediction: PredictionSet, labels: Labels, lead_gpu: int) -> OperationGroups:
    codes, names = labels
    chosen, step_count = counted_items(prediction)
    rows, codes = np.flatnonzero(chosen), codes[chosen]
    groups, gpus = len(names), len(prediction.gpus)

    def summed(values: F64) -> F64:
        return np.bincount(codes, weights=values, minlength=groups) / step_count

    duration, low, high = (
        np.array([summed(table[gpu, rows]) for gpu in range(gpus)]).reshape(gpus, groups)
        for table in (prediction.duration_ns, prediction.low_ns, prediction.high_ns)
    )
    origin = measured_item_ns(prediction)
    origin_sum = summed(origin[rows]) if origin is not None else np.full(groups, np.nan)
    lead = origin_sum if origin is not None else (duration[lead_gpu] if gpus else np.zeros(groups))
    order = np.argsort(-lead, kind="stable")
    total = duration.sum(axis=1, keepdims=True)
    method = _dominant(prediction.method[:, rows], codes, prediction.duration_ns[:, rows], groups, len(Method))
    limit = _dominant(prediction.limited_by[:, rows], codes, prediction.duration_ns[:, rows], groups, len(Limit))
    weight = (
        origin[rows]
        if origin is not None
        else (prediction.duration_ns[lead_gpu, rows] if gpus else np.zeros(len(rows)))
    )
    flop, rate_class = _arithmetic(prediction, rows, codes, groups)
    places = _heaviest_places(prediction, rows, codes, weight, groups)
    return OperationGroups(
        name=tuple(names[group][0] for group in order),
        phase=tuple(names[group][1] for group in order),
        launches_per_step=summed(prediction.items.launch_count[rows].astype(np.float64))[order],
        origin_ns=origin_sum[order],
        duration_ns=duration[:, order],
        low_ns=low[:, order],
        high_ns=high[:, order],
        share=(duration / np.where(total > 0, total, 1.0))[:, order],
        method=method[:, order],
        limited_by=limit[:, order],
        source=tuple(places[group].source for group in order),
        source_count=tuple(places[group].source_count for group in order),
        module=tuple(places[group].module for group in order),
        unscaled_reason=tuple(places[group].unscaled_reason for group in order),
        flop=flop[order] / step_count,
        moved_bytes=_known_sum(prediction.items.bytes[rows], codes, groups)[order] / step_count,
        rate_class=tuple(rate_class[group] for group in order),
    )


def _known_sum(values: F64, codes: NDArray[np.int64], groups: int) -> F64:
    """Sums of what is known; nan where nothing is."""
    known = np.isfinite(values)
    counted = np.bincount(codes[known], minlength=groups)
    return np.where(counted > 0, np.bincount(codes[known], weights=values[known], minlength=groups), np.nan)


def _arithmetic(
    prediction: PredictionSet, rows: NDArray[np.int64], codes: NDArray[np.int64], groups: int
) -> tuple[F64, list[str | None]]:
    """FLOPs of each group, and the class of arithmetic that has most of them."""
    flop, column = prediction.items.flop[rows], prediction.items.rate_class
    kinds = len(column.values)
    if not kinds:
        return _known_sum(flop, codes, groups), [None] * groups
    known = column.codes[rows] >= 0
    place = codes[known] * kinds + column.codes[rows][known]
    table = np.bincount(place, weights=np.nan_to_num(flop[known]) + 1e-9, minlength=groups * kinds)
    table = table.reshape(groups, kinds)
    named = [column.values[int(row.argmax())] if row.any() else None for row in table]
    return _known_sum(flop, codes, groups), named


def measured_item_ns(prediction: PredictionSet) -> F64 | None:
    """Measured time of each item, nan-free; None where the trace has no kernels of its own."""
    if prediction.trace.origin is not TraceOrigin.PROFILER or not len(prediction.trace.kernels):
        return None
    kernel = prediction.items.kernel
    times = np.zeros(len(kernel), dtype=np.float64)
    times[kernel >= 0] = prediction.trace.kernels.duration_ns[kernel[kernel >= 0]]
    return times


def _dominant(
    values: NDArray[np.int8], codes: NDArray[np.int64], weight: F64, groups: int, kinds: int
) -> NDArray[np.int8]:
    """(gpus, groups): the value that has most of a group's time."""
    result = np.zeros((len(values), groups), dtype=np.int8)
    for gpu in range(len(values)):
        table = np.bincount(codes * kinds + values[gpu], weights=weight[gpu], minlength=groups * kinds)
        result[gpu] = np.argmax(table.reshape(groups, kinds), axis=1)
    return result


@dataclass(frozen=True, kw_only=True)
class _Place:
    source: str | None = None
    source_count: int = 0
    module: str | None = None
    unscaled_reason: str | None = None


def _heaviest_places(
    prediction: PredictionSet, rows: NDArray[np.int64], codes: NDArray[np.int64], weight: F64, groups: int
) -> list[_Place]:
    """For each group the source line and module with most of its time, and why it is not scaled, if it is not."""
    ops, items = prediction.trace.ops, prediction.items
    op = items.op[rows]

    def column(table: NDArray[np.int32]) -> NDArray[np.int64]:
        spread = np.full(len(rows), -1, dtype=np.int64)
        spread[op >= 0] = table[op[op >= 0]]
        return spread

    def heaviest(values: NDArray[np.int64]) -> list[tuple[int, int]]:
        """(value or -1, how many distinct ones) of each group."""
        known = values >= 0
        result = [(-1, 0)] * groups
        if known.any():
            pairs, inverse = np.unique(np.stack([codes[known], values[known]]), axis=1, return_inverse=True)
            sums = np.bincount(inverse.reshape(-1), weights=weight[known] + 1e-9, minlength=pairs.shape[1])
            best: dict[int, float] = {}
            for (group, value), amount in zip(pairs.T.tolist(), sums.tolist(), strict=True):
                count = result[group][1] + 1
                if amount > best.get(group, -1.0):
                    best[group] = amount
                    result[group] = (value, count)
                else:
                    result[group] = (result[group][0], count)
        return result

    sources, modules = heaviest(column(ops.source.codes)), heaviest(column(ops.module.codes))
    reasons = heaviest(items.unscaled_reason.codes[rows].astype(np.int64))
    return [
        _Place(
            source=ops.source.values[source] if source >= 0 else None,
            source_count=count,
            module=ops.module.values[module] if module >= 0 else None,
            unscaled_reason=items.unscaled_reason.values[reason] if reason >= 0 else None,
        )
        for (source, count), (module, _), (reason, _) in zip(sources, modules, reasons, strict=True)
    ]

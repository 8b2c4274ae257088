"""What bounds a step, and which change would help most? From the partition of the step and what limits its kernels.

Never from a profiler's artefact: a trace recorded under the profiler with no unprofiled step time beside it has
inflated host time, so its launch-bound part is only ever called "under its profiler", and the remedy is to measure
without one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

import numpy as np

from surfer_lab.engine.estimate import Limit, PredictionSet, StepTimes
from surfer_lab.engine.lowering.families import Family, traits
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.trace.model import Trace, TraceOrigin

__all__ = [
    "Bound",
    "Diagnosis",
    "Remedy",
    "RemedyKind",
    "StepParts",
    "bound_on",
    "diagnose",
    "host_time_is_inflated",
    "parts_of",
]

# share of the step that must be waiting before the wait, not the GPU, is named as the bound
WAITING_MATTERS_FRACTION: Final = 0.15
# share of GPU time that must be fp32 matrix work before tensor cores are named
MATRIX_WORK_MATTERS_FRACTION: Final = 0.25


_MATRIX_FAMILIES: Final = frozenset(family.value for family in Family if traits(family).arithmetic)
_CONVOLUTIONS: Final = frozenset(
    family for family in _MATRIX_FAMILIES if family.startswith(("conv", "data gr", "weight gr"))
)


class Bound(Enum):
    COMPUTE = "compute"
    MEMORY = "memory bandwidth"
    LATENCY = "small kernels"
    GPU = "the GPU"  # busy, but what limits its kernels is not known
    LAUNCH = "launches"
    INPUT = "input"
    SYNCHRONIZATION = "synchronisation"
    COMMUNICATION = "communication"


class RemedyKind(Enum):
    MEASURE_WITHOUT_PROFILER = "measure without the profiler"
    FEWER_LAUNCHES = "fewer or batched launches"
    FEED_FASTER = "feed faster"
    SYNCHRONIZE_LESS = "synchronise less"
    OVERLAP_COMMUNICATION = "overlap communication"
    TENSOR_CORES = "tensor cores"
    FUSE = "fuse"
    LARGER_BATCH = "larger batch"
    FASTER_GPU = "faster GPU"


@dataclass(frozen=True, kw_only=True)
class StepParts:
    """One step on one GPU, ns; the five parts sum to `step_ns`."""

    step_ns: float
    low_ns: float
    high_ns: float
    gpu_busy_ns: float
    launch_bound_ns: float
    input_wait_ns: float
    synchronization_ns: float
    communication_ns: float


@dataclass(frozen=True, kw_only=True)
class Remedy:
    """A change worth trying; `saves_at_most_ns` is what the step could lose at best, None where not known."""

    kind: RemedyKind
    saves_at_most_ns: float | None = None
    share_fraction: float | None = None  # of the GPU time, where the remedy is about a part of it


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """What bounds the step on one GPU; remedies with the largest possible gain first."""

    parts: StepParts
    bound: Bound
    bound_ns: float  # the part that the bound names
    host_is_inflated: bool
    limit_shares: Mapping[Limit, float]  # of the GPU time, on this GPU
    remedies: tuple[Remedy, ...]


def parts_of(times: StepTimes, row: int) -> StepParts:
    """One GPU's row of the step times."""
    return StepParts(
        step_ns=float(times.step_ns[row]),
        low_ns=float(times.low_ns[row]),
        high_ns=float(times.high_ns[row]),
        gpu_busy_ns=float(times.gpu_busy_ns[row]),
        launch_bound_ns=float(times.launch_bound_ns[row]),
        input_wait_ns=float(times.input_wait_ns[row]),
        synchronization_ns=float(times.synchronization_ns[row]),
        communication_ns=float(times.communication_ns[row]),
    )


def host_time_is_inflated(trace: Trace) -> bool:
    """Whether host times carry the profiler's slow-down with nothing recorded to take it out again."""
    return trace.origin is TraceOrigin.PROFILER and (trace.cell is None or trace.cell.unprofiled_step_ns is None)


def diagnose(prediction: PredictionSet, gpu_index: int, *, measured: bool = False) -> Diagnosis:
    """What bounds the step on the GPU of that row; with `measured`, as measured on the origin.

    Limits of the kernels are those predicted for that row (the origin's own row, where it is among the GPUs).
    """
    times, row = (
        (prediction.measured, 0) if measured and prediction.measured is not None else (prediction.steps, gpu_index)
    )
    parts = parts_of(times, row)
    shares = _limit_shares(prediction, gpu_index)
    inflated = host_time_is_inflated(prediction.trace)
    bound, bound_ns = _bound(parts, shares)
    return Diagnosis(
        parts=parts,
        bound=bound,
        bound_ns=bound_ns,
        host_is_inflated=inflated,
        limit_shares=shares,
        remedies=_remedies(prediction, gpu_index, parts, bound, _waits(parts), shares, inflated=inflated),
    )


def bound_on(prediction: PredictionSet, gpu_index: int) -> Bound:
    """What bounds the step on the GPU of that row."""
    return _bound(parts_of(prediction.steps, gpu_index), _limit_shares(prediction, gpu_index))[0]


def _waits(parts: StepParts) -> dict[Bound, float]:
    return {
        Bound.LAUNCH: parts.launch_bound_ns,
        Bound.INPUT: parts.input_wait_ns,
        Bound.SYNCHRONIZATION: parts.synchronization_ns,
        Bound.COMMUNICATION: parts.communication_ns,
    }


def _bound(parts: StepParts, shares: Mapping[Limit, float]) -> tuple[Bound, float]:
    """The bound and the time of the part that it names."""
    waits = _waits(parts)
    bound, bound_ns = max(waits.items(), key=lambda item: item[1])
    if sum(waits.values()) < WAITING_MATTERS_FRACTION * parts.step_ns or bound_ns <= 0:
        return _bound_of_kernels(shares), parts.gpu_busy_ns
    return bound, bound_ns


def _limit_shares(prediction: PredictionSet, row: int) -> dict[Limit, float]:
    if not 0 <= row < len(prediction.gpus):
        return {}
    time = prediction.duration_ns[row]
    total = float(time.sum())
    if total <= 0:
        return {}
    sums = np.bincount(prediction.limited_by[row], weights=time, minlength=len(Limit))
    return {limit: float(sums[limit] / total) for limit in Limit if sums[limit] > 0}


def _bound_of_kernels(shares: Mapping[Limit, float]) -> Bound:
    names = {Limit.COMPUTE: Bound.COMPUTE, Limit.MEMORY: Bound.MEMORY, Limit.LATENCY: Bound.LATENCY}
    known = {names[limit]: share for limit, share in shares.items() if limit in names}
    if sum(known.values()) < 0.5:
        return Bound.GPU
    return max(known, key=lambda bound: known[bound])


def _remedies(
    prediction: PredictionSet,
    gpu_index: int,
    parts: StepParts,
    bound: Bound,
    waits: Mapping[Bound, float],
    shares: Mapping[Limit, float],
    *,
    inflated: bool,
) -> tuple[Remedy, ...]:
    for_wait = {
        Bound.LAUNCH: RemedyKind.MEASURE_WITHOUT_PROFILER if inflated else RemedyKind.FEWER_LAUNCHES,
        Bound.INPUT: RemedyKind.FEED_FASTER,
        Bound.SYNCHRONIZATION: RemedyKind.SYNCHRONIZE_LESS,
        Bound.COMMUNICATION: RemedyKind.OVERLAP_COMMUNICATION,
    }
    remedies = [
        Remedy(kind=for_wait[wait], saves_at_most_ns=saved)
        for wait, saved in sorted(waits.items(), key=lambda item: -item[1])
        if saved >= WAITING_MATTERS_FRACTION / 3 * parts.step_ns and saved > 0
    ]
    on_gpu: list[Remedy] = []
    matrix = _fp32_matrix_share(prediction, gpu_index)
    if matrix >= MATRIX_WORK_MATTERS_FRACTION:
        on_gpu.append(Remedy(kind=RemedyKind.TENSOR_CORES, share_fraction=matrix))
    by_limit = ((Limit.MEMORY, RemedyKind.FUSE), (Limit.LATENCY, RemedyKind.LARGER_BATCH))
    for limit, kind in by_limit:
        if shares.get(limit, 0.0) >= 0.4:
            on_gpu.append(Remedy(kind=kind, share_fraction=shares[limit]))
    on_gpu.sort(key=lambda remedy: -(remedy.share_fraction or 0.0))
    on_gpu.append(Remedy(kind=RemedyKind.FASTER_GPU))
    waiting_first = bound in for_wait
    return tuple(remedies + on_gpu) if waiting_first else tuple(on_gpu[:-1] + remedies + on_gpu[-1:])


def _fp32_matrix_share(prediction: PredictionSet, gpu_index: int) -> float:
    """Share of the GPU time in matrix work done in plain fp32: as recorded, else on the GPU of that row.

    Without a recording, convolutions of a GPU that has TF32 are on tensor cores already, by torch's default.
    """
    items, trace = prediction.items, prediction.trace
    is_fp32 = items.rate_class.map(lambda rate: rate == RateClass.FP32.value, absent=False, dtype=np.bool_)
    families = _MATRIX_FAMILIES
    if trace.origin is TraceOrigin.PROFILER and len(trace.kernels):
        time = np.zeros(len(items))
        time[items.kernel >= 0] = trace.kernels.duration_ns[items.kernel[items.kernel >= 0]]
    elif 0 <= gpu_index < len(prediction.gpus):
        time = prediction.duration_ns[gpu_index]
        if RateClass.TF32 in prediction.gpus[gpu_index].peak_flop_per_s:
            families = families - _CONVOLUTIONS
    else:
        return 0.0
    is_matrix = items.family.map(lambda family: family in families, absent=False, dtype=np.bool_)
    total = float(time.sum())
    return float(time[is_fp32 & is_matrix].sum() / total) if total > 0 else 0.0

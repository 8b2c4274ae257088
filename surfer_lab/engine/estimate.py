"""What an engine pass says: for every work item on every GPU a time, a range, a method and a limit.

A work item is what is predicted as one: a kernel of a profiler trace, or the kernels that an op of a capture without
a GPU would launch. Arrays are (gpus, items); predicted times are float64 nanoseconds. Nothing is dropped: an item that
cannot be scaled keeps its origin time with method UNSCALED and a reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from surfer_lab.hardware.gpu import Gpu
from surfer_lab.trace.columns import Interned
from surfer_lab.trace.model import Trace

__all__ = ["Estimate", "Limit", "Method", "PredictionSet", "StepTimes", "WorkItems"]

F64 = NDArray[np.float64]


class Method(IntEnum):
    """How an item's time was obtained; shown with every number."""

    MEASURED = 0  # the origin GPU itself
    WAVE = 1  # wave scaling from the measured kernel
    LEARNED = 2  # learned predictor
    BLEND = 3  # learned and measured, weighed by the origin's health
    ROOFLINE = 4  # FLOPs and bytes from shapes against sustained rates
    NAMED = 5  # no shapes: family, tile and dtype from the kernel's name
    FALLBACK = 6  # nothing known but that it is a kernel: generic scaling, named as such
    COMMUNICATION = 7
    HOST = 8
    UNSCALED = 9  # kept as measured, with a reason


class Limit(IntEnum):
    """What bounds an item on the GPU predicted."""

    UNKNOWN = 0
    COMPUTE = 1
    MEMORY = 2
    LATENCY = 3  # too few blocks, or shorter than a launch
    COMMUNICATION = 4
    HOST = 5


@dataclass(frozen=True, kw_only=True, eq=False)
class WorkItems:
    """What is predicted, (items,) each. `kernel` / `op` index the trace's tables (-1: none)."""

    kernel: NDArray[np.int32]
    op: NDArray[np.int32]
    step: NDArray[np.int32]  # row of the trace's steps the item belongs to; -1: outside
    flop: F64  # nan: unknown
    bytes: F64  # moved to and from device memory; nan: unknown
    rate_class: Interned[str]  # RateClass value the item computes in at the origin
    family: Interned[str]  # "conv", "matmul", "elementwise", ...
    family_source: Interned[str]  # "shapes", "name", "none"
    launch_count: NDArray[np.int32]  # kernels an item stands for
    unscaled_reason: Interned[str]

    def __len__(self) -> int:
        return len(self.kernel)


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """One row on demand, of one item (or the items of one op, summed) on one GPU."""

    duration_ns: float
    low_ns: float
    high_ns: float
    method: Method
    limited_by: Limit


@dataclass(frozen=True, kw_only=True, eq=False)
class StepTimes:
    """One step on every GPU, (gpus,) each, ns. The five parts sum to `step_ns`."""

    step_ns: F64
    low_ns: F64
    high_ns: F64
    gpu_busy_ns: F64  # union of kernel intervals, communication that is exposed not counted
    launch_bound_ns: F64  # the GPU waits for the host to launch
    input_wait_ns: F64  # the data loader
    synchronization_ns: F64
    communication_ns: F64  # exposed
    share_by_method: F64  # (gpus, len(Method)): share of GPU time; rows sum to 1


@dataclass(frozen=True, kw_only=True, eq=False)
class PredictionSet:
    """A trace predicted on several GPUs. `measured` is the origin's step (of one row) or None without an origin."""

    trace: Trace
    origin: Gpu | None
    gpus: tuple[Gpu, ...]
    items: WorkItems
    duration_ns: F64  # (gpus, items)
    low_ns: F64
    high_ns: F64
    method: NDArray[np.int8]
    limited_by: NDArray[np.int8]
    steps: StepTimes
    measured: StepTimes | None
    assumptions: tuple[str, ...]  # "convolutions use TF32 on Ampere and newer", ...
    warnings: tuple[str, ...]
    origin_is_trusted: bool = True  # False: what has shapes is predicted without the origin's times

    def estimate(self, gpu_index: int, item: int) -> Estimate:
        """The row of one item on one GPU."""
        return Estimate(
            duration_ns=float(self.duration_ns[gpu_index, item]),
            low_ns=float(self.low_ns[gpu_index, item]),
            high_ns=float(self.high_ns[gpu_index, item]),
            method=Method(int(self.method[gpu_index, item])),
            limited_by=Limit(int(self.limited_by[gpu_index, item])),
        )

"""What would measured kernels take when compiled? Neighbouring element-wise kernels of one size join, roughly.

A profiler's trace tells no data flow. A run of kernels in launch order that a compiler may fuse, with operands of one
size, is taken as a chain: its first kernel keeps its time, of each other one the part that reads the result before it
is spared, and of each but the last the part that writes one; memory bounds them all. A wide range says so.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.compilation import CompileMode
from surfer_lab.engine.estimate import Method
from surfer_lab.engine.host_launches import launch_costs
from surfer_lab.engine.item_times import ItemTimes
from surfer_lab.engine.lowering import Fusion, traits
from surfer_lab.engine.work_items import Work
from surfer_lab.trace.model import Trace

__all__ = ["chains_of", "compiled", "host_speed_up"]

I64 = NDArray[np.int64]
B = NDArray[np.bool_]

# of a chain's time: how far it may be off. Between no fusion and all of the chain in one pass.
_CHAIN_FACTOR: Final = 1.5
_NOT_IN_A_CHAIN: Final = -1


def compiled(times: ItemTimes, trace: Trace, work: Work) -> ItemTimes:
    """Times with chains fused; what a chain spares is taken off its items, evenly over GPUs."""
    chain = chains_of(trace, work)
    inside = chain != _NOT_IN_A_CHAIN
    if not inside.any():
        return times
    size = np.bincount(chain[inside])
    follows = inside & (np.concatenate([[_NOT_IN_A_CHAIN], chain[:-1]]) == chain)
    moved = np.nan_to_num(work.items.bytes)
    # of a pointwise kernel's traffic about one part of two or three reads what the kernel before it made, and one part
    # writes what the next one reads: a chain of n spares n - 1 writes and as many reads
    spared = np.zeros(len(work))
    spared[follows] = 0.5
    leads = inside & (np.concatenate([chain[1:], [_NOT_IN_A_CHAIN]]) == chain)
    spared[leads] = np.minimum(spared[leads] + 1 / 3, 1.0 - 1.0 / np.maximum(size[chain[leads]], 2))
    kept = np.where(moved > 0, 1.0 - spared, 1.0)
    duration = times.duration_ns * kept
    factor = np.where(inside, _CHAIN_FACTOR, 1.0)
    return replace(
        times,
        duration_ns=duration,
        low_ns=times.low_ns * kept / factor,
        high_ns=np.minimum(times.high_ns, times.high_ns * kept * factor),
        method=np.where(inside, np.int8(Method.ROOFLINE), times.method).astype(np.int8),
    )


def host_speed_up(trace: Trace, work: Work, mode: CompileMode) -> float:
    """How much faster the host gets through its launches: fewer of them, each at the cost that the mode has."""
    if not len(work) or not len(trace.ops):
        return 1.0
    chain = chains_of(trace, work)
    follows = (chain != _NOT_IN_A_CHAIN) & (np.concatenate([[_NOT_IN_A_CHAIN], chain[:-1]]) == chain)
    phase = np.where(work.items.op >= 0, trace.ops.phase[np.maximum(work.items.op, 0)], 0)
    one = np.ones(len(work), dtype=np.int64)
    _, eager = launch_costs(phase, one, CompileMode.OFF)
    _, compiled_ns = launch_costs(phase[~follows], one[~follows], mode)
    return float(max(1.0, eager.sum() / max(1.0, compiled_ns.sum())))


def chains_of(trace: Trace, work: Work) -> I64:
    """Number of the chain of each item in launch order, -1: in none. Chains have two items or more."""
    fusible = np.array(
        [family is not None and traits(family).fusion is not Fusion.NONE for family in work.family], dtype=bool
    )[work.family_code]
    phase = trace.ops.phase[np.maximum(work.items.op, 0)] if len(trace.ops) else np.zeros(len(work), np.int8)
    known = fusible & np.isfinite(work.items.bytes) & (work.items.op >= 0) & np.isin(phase, (1, 2)) & ~work.is_copy
    size = np.where(known, np.round(np.log2(np.maximum(np.nan_to_num(work.items.bytes), 1.0))), -1.0)
    same = np.zeros(len(work), dtype=bool)
    same[1:] = (
        known[1:] & known[:-1] & (np.abs(size[1:] - size[:-1]) <= 1.0) & (phase[1:] == phase[:-1])
        & (work.items.step[1:] == work.items.step[:-1])
    )  # fmt: skip
    starts = ~same
    number = np.cumsum(starts) - 1
    count = np.bincount(number, minlength=1)
    chain: I64 = np.where(known & (count[number] > 1), number, _NOT_IN_A_CHAIN).astype(np.int64)
    return chain

"""Which is the largest batch that fits on a card, and what does memory cost along the way?

Searched on the step's graph reshaped to each batch, not extrapolated: doubling until it does not fit, then bisection,
with what is cached taken from one replay of the allocator; the batch found is then held against a replay of its own,
and given up by 2 % at a time until it fits. Memory is taken to grow with the batch. `FITS` and nothing less counts as
fitting: the high end decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

import numpy as np

from surfer_lab.hardware.gpu import Gpu
from surfer_lab.planner.batch import BatchScaling
from surfer_lab.planner.byte_range import NOTHING
from surfer_lab.planner.graph_memory import MemoryEstimate, StepMemory, at_least, fit_on, memory_on, step_memory
from surfer_lab.planner.memory import Fit
from surfer_lab.planner.workspace import is_convolution
from surfer_lab.trace.columns import Interned
from surfer_lab.trace.model import Trace
from surfer_lab.trace.tables import ArgShapes

__all__ = ["BatchMemory", "batch_memory", "largest_batches"]

_CEILING: Final = 1 << 24  # samples; beyond it the answer is this number
_REPLAYED_BATCH: Final = 32  # where it is looked up what the allocator caches
_GIVEN_UP: Final = 0.98


@dataclass(frozen=True, kw_only=True)
class BatchMemory:
    """Memory of a step at one batch size on one card."""

    batch_size: int
    estimate: MemoryEstimate
    fit: Fit


def batch_memory(scaling: BatchScaling, gpus: Sequence[Gpu], batch_sizes: Sequence[int]) -> list[list[BatchMemory]]:
    """Memory and fit by GPU and batch size; each batch's graph is counted once for all GPUs.

    Memory does not fall as the batch grows: how blocks happen to fit into what is cached differs by a few percent from
    batch to batch, and a larger batch is taken to hold at least what a smaller one of those asked about does.
    """
    light = _light(scaling)
    steps = {size: step_memory(light.at(size)) for size in sorted(set(batch_sizes))}
    rows = []
    for gpu in gpus:
        by_size: dict[int, BatchMemory] = {}
        held = NOTHING
        for size, step in steps.items():
            estimate = at_least(memory_on(step, gpu), held)
            held = estimate.device
            by_size[size] = BatchMemory(batch_size=size, estimate=estimate, fit=fit_on(estimate, gpu))
        rows.append([by_size[size] for size in batch_sizes])
    return rows


def largest_batches(scaling: BatchScaling, gpus: Sequence[Gpu]) -> list[int]:
    """The largest batch whose high end fits, by GPU; 0 where not even one sample does."""
    light = _light(scaling)
    replayed = step_memory(light.at(_REPLAYED_BATCH))
    cached = (replayed.reserved_bytes or 0) / max(1, replayed.allocated.likely) - 1

    @cache
    def quick(batch_size: int) -> StepMemory:
        return step_memory(light.at(batch_size), replay_allocator=False, cached_fraction=cached)

    @cache
    def full(batch_size: int) -> StepMemory:
        return step_memory(light.at(batch_size))

    def fits(step: StepMemory, gpu: Gpu) -> bool:
        return fit_on(memory_on(step, gpu), gpu) is Fit.FITS

    found = []
    for gpu in gpus:
        largest = _largest(lambda size, gpu=gpu: fits(quick(size), gpu))  # type: ignore[misc]
        while largest and not fits(full(largest), gpu):
            largest = min(largest - 1, int(_GIVEN_UP * largest))
        found.append(largest)
    return found


def _largest(fits: Callable[[int], bool]) -> int:
    if not fits(1):
        return 0
    low = 1
    while low < _CEILING and fits(2 * low):
        low *= 2
    if low >= _CEILING:
        return _CEILING
    high = 2 * low
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _light(scaling: BatchScaling) -> BatchScaling:
    """The same step with shapes only where memory depends on them: reshaping it takes a tenth of the time."""
    return BatchScaling(captured=tuple((size, _with_few_shapes(trace)) for size, trace in scaling.captured))


def _with_few_shapes(trace: Trace) -> Trace:
    kept = is_convolution(trace.ops)
    return replace(
        trace,
        ops=replace(
            trace.ops,
            input_shapes=_only(trace.ops.input_shapes, kept),
            output_shapes=_only(trace.ops.output_shapes, kept),
        ),
    )


def _only(column: Interned[ArgShapes], kept: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Interned[ArgShapes]:
    return Interned.of(column[row] if keep else None for row, keep in enumerate(kept.tolist()))

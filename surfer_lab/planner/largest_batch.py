"""Which is the largest batch that fits on a card, and what does memory cost along the way?

Searched on the step's graph reshaped to each batch, not extrapolated: doubling until it does not fit, then bisection.
Memory is taken to grow with the batch. `FITS` and nothing less counts as fitting: the high end decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from surfer_lab.hardware.gpu import Gpu
from surfer_lab.planner.batch import BatchScaling
from surfer_lab.planner.graph_memory import MemoryEstimate, StepMemory, fit_on, memory_on, step_memory
from surfer_lab.planner.memory import Fit

__all__ = ["BatchMemory", "batch_memory", "largest_batch"]

_CEILING: Final = 1 << 24  # samples; beyond it the answer is this number


@dataclass(frozen=True, kw_only=True)
class BatchMemory:
    """Memory of a step at one batch size on one card."""

    batch_size: int
    estimate: MemoryEstimate
    fit: Fit


def batch_memory(scaling: BatchScaling, gpus: Sequence[Gpu], batch_sizes: Sequence[int]) -> list[list[BatchMemory]]:
    """Memory and fit by GPU and batch size; each batch's graph is counted once for all GPUs."""
    steps = [step_memory(scaling.at(size)) for size in batch_sizes]
    rows = []
    for gpu in gpus:
        estimates = [memory_on(step, gpu) for step in steps]
        rows.append(
            [
                BatchMemory(batch_size=size, estimate=estimate, fit=fit_on(estimate, gpu))
                for size, estimate in zip(batch_sizes, estimates, strict=True)
            ]
        )
    return rows


def largest_batch(scaling: BatchScaling, gpu: Gpu) -> int:
    """The largest batch whose high end fits; 0 when not even one sample does."""
    known: dict[int, StepMemory] = {}

    def fits(batch_size: int) -> bool:
        step = known.get(batch_size)
        if step is None:
            step = known[batch_size] = step_memory(scaling.at(batch_size))
        return fit_on(memory_on(step, gpu), gpu) is Fit.FITS

    return _largest(fits)


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

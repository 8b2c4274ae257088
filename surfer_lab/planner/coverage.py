"""How much of a step is predicted by knowing its operations, and how much by less? Shares of operations and of time.

By family: the operation's family is known (from its shapes, its kernel's name, or measured). Fallback: predicted as
some kernel, generically. Unscaled: not carried to another GPU at all. The three shares sum to 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.estimate import Method, PredictionSet

__all__ = ["Coverage", "coverage_of"]


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """Shares on one GPU; of the work items (operations or kernels), and of their time there."""

    item_count: int
    family_of_items: float
    fallback_of_items: float
    unscaled_of_items: float
    family_of_time: float
    fallback_of_time: float
    unscaled_of_time: float


def coverage_of(prediction: PredictionSet, gpu_index: int) -> Coverage | None:
    """The shares on the GPU of that row; None where there is no work."""
    count = len(prediction.items)
    if not count or not 0 <= gpu_index < len(prediction.gpus):
        return None
    method, time = prediction.method[gpu_index], prediction.duration_ns[gpu_index]
    total = float(time.sum())
    fallback, unscaled = method == Method.FALLBACK, method == Method.UNSCALED

    def of_time(rows: NDArray[np.bool_]) -> float:
        return float(time[rows].sum()) / total if total > 0 else float(rows.mean())

    known = ~(fallback | unscaled)
    return Coverage(
        item_count=count,
        family_of_items=float(known.mean()),
        fallback_of_items=float(fallback.mean()),
        unscaled_of_items=float(unscaled.mean()),
        family_of_time=of_time(known),
        fallback_of_time=of_time(fallback),
        unscaled_of_time=of_time(unscaled),
    )

"""For how long was a GPU at work? The union of its kernels' intervals, not their sum: streams overlap."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from surfer_lab.trace.tables import KernelTable

__all__ = ["busy_ns", "union_ns"]


def busy_ns(kernels: KernelTable, *, rows: NDArray[Any] | None = None) -> int:
    """Nanoseconds in which at least one of the kernels (or of the chosen `rows`, index or mask) ran."""
    start_ns, end_ns = kernels.start_ns, kernels.start_ns + kernels.duration_ns
    return union_ns(start_ns, end_ns) if rows is None else union_ns(start_ns[rows], end_ns[rows])


def union_ns(start_ns: NDArray[np.int64], end_ns: NDArray[np.int64]) -> int:
    """Length of the union of intervals [start, end), (n,) each.

    >>> union_ns(np.array([0, 2, 20]), np.array([10, 5, 21]))
    11
    """
    if not len(start_ns):
        return 0
    order = np.argsort(start_ns, kind="stable")
    start_ns, end_ns = start_ns[order], end_ns[order]
    covered_until = np.maximum.accumulate(end_ns)
    begins = np.maximum(start_ns[1:], covered_until[:-1])
    return int(end_ns[0] - start_ns[0] + np.maximum(end_ns[1:] - begins, 0).sum())

"""How much of the time up to t do some intervals cover? Intervals merged once, then measured at any times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Coverage", "cover"]

F64 = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Coverage:
    """Disjoint intervals in order, (intervals,)."""

    start_ns: F64
    end_ns: F64
    total_ns: F64  # (intervals + 1,): covered before each interval, and in all

    def before(self, times: F64) -> F64:
        """Nanoseconds covered before each time.

        >>> cover(np.array([0.0, 5.0]), np.array([2.0, 6.0])).before(np.array([1.0, 3.0, 9.0]))
        array([1., 2., 3.])
        """
        place = np.searchsorted(self.start_ns, times, side="right")
        behind = np.maximum(place - 1, 0)
        if not len(self.start_ns):
            return np.zeros(np.shape(times))
        within = np.minimum(times, self.end_ns[behind]) - self.start_ns[behind]
        covered: F64 = np.where(place > 0, self.total_ns[behind] + within, 0.0)
        return covered

    def gaps(self, start_ns: float, end_ns: float) -> Coverage:
        """What is not covered between two times."""
        inside = slice(np.searchsorted(self.end_ns, start_ns, side="right"), np.searchsorted(self.start_ns, end_ns))
        opening = np.concatenate([[start_ns], np.maximum(self.end_ns[inside], start_ns)])
        closing = np.concatenate([np.minimum(self.start_ns[inside], end_ns), [end_ns]])
        real = closing > opening
        return _coverage(opening[real], closing[real])


def cover(start_ns: F64, end_ns: F64) -> Coverage:
    """The union of intervals given in any order; empty ones cover nothing."""
    real = end_ns > start_ns
    if not real.all():
        start_ns, end_ns = start_ns[real], end_ns[real]
    if not len(start_ns):
        return _coverage(np.empty(0), np.empty(0))
    if (np.diff(start_ns) < 0).any():
        by_start = np.argsort(start_ns, kind="stable")
        start_ns, end_ns = start_ns[by_start], end_ns[by_start]
    reached = np.maximum.accumulate(end_ns)
    first = np.concatenate([[True], start_ns[1:] > reached[:-1]])
    last = np.concatenate([np.flatnonzero(first)[1:] - 1, [len(start_ns) - 1]])
    return _coverage(start_ns[first], reached[last])


def _coverage(start_ns: F64, end_ns: F64) -> Coverage:
    return Coverage(start_ns=start_ns, end_ns=end_ns, total_ns=np.concatenate([[0.0], np.cumsum(end_ns - start_ns)]))

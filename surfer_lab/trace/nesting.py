"""Which interval encloses which, on one thread, and which is innermost at a time?

An interval is inside another one of its thread when it starts before the other ends; that rule, instead of full
containment, survives writers that round times to microseconds, where a child may seem to end after its parent. An
interval that starts exactly where another ends is its sibling. A look-up climbs at most DEPTH_LIMIT levels, so that its
time is bounded;
real stacks of ops are 30 deep, of python frames 200.

Relies on rows that are sorted by start, then longest first. Returns row indices, -1 = none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["DEPTH_LIMIT", "Nesting", "inherit"]

DEPTH_LIMIT: Final = 512
_NEVER: Final = 1 << 62

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Nesting:
    """The intervals of all threads. `parent` (rows,) is the enclosing row of each."""

    parent: I32
    _rows_by_thread: dict[int, I64]
    _start_ns: I64
    _end_ns: I64

    @classmethod
    def of(cls, start_ns: I64, end_ns: I64, thread: NDArray[Any]) -> Nesting:
        """Nest intervals in one pass a thread.

        >>> Nesting.of(np.array([0, 1, 2, 9]), np.array([8, 5, 3, 12]), np.zeros(4, int)).parent
        array([-1, 0, 1, -1], dtype=int32)
        """
        by_thread = _rows_by_thread(thread)
        parent = np.full(len(start_ns), -1, dtype=np.int32)
        for rows in by_thread.values():
            position = np.array(_parents(start_ns[rows].tolist(), end_ns[rows].tolist()), dtype=np.int64)
            parent[rows] = np.where(position >= 0, rows[position], -1)
        return cls(parent=parent, _rows_by_thread=by_thread, _start_ns=start_ns, _end_ns=end_ns)

    def innermost(self, time_ns: I64, thread: NDArray[Any]) -> I32:
        """The innermost interval around each (thread, time): start <= time < end. Shape of `time_ns`."""
        found = np.full(len(time_ns), -1, dtype=np.int32)
        for key, asked in _rows_by_thread(thread).items():
            rows = self._rows_by_thread.get(key)
            if rows is None:
                continue
            times = time_ns[asked]
            position = np.searchsorted(self._start_ns[rows], times, side="right") - 1
            at = np.where(position >= 0, rows[position], -1).astype(np.int32)
            open_ones = np.flatnonzero(at >= 0)
            for _ in range(DEPTH_LIMIT):
                over = self._end_ns[at[open_ones]] <= times[open_ones]
                open_ones = open_ones[over]
                at[open_ones] = self.parent[at[open_ones]]
                open_ones = open_ones[at[open_ones] >= 0]
                if not len(open_ones):
                    break
            at[open_ones] = -1
            found[asked] = at
        return found


def inherit(values: NDArray[Any], parent: I32, *, absent: int = -1) -> NDArray[Any]:
    """Each row's value, or that of its nearest ancestor that has one. Doubles its reach each round.

    >>> inherit(np.array([5, -1, -1, 7, -1]), np.array([-1, 0, 1, 1, 3], np.int32))
    array([5, 5, 5, 7, 7])
    """
    values = values.copy()
    ancestor = parent.copy()
    for _ in range(len(values).bit_length() + 1):
        asking = np.flatnonzero((values == absent) & (ancestor >= 0))
        if not len(asking):
            break
        values[asking], ancestor[asking] = values[ancestor[asking]], ancestor[ancestor[asking]]
    return values


def _rows_by_thread(thread: NDArray[Any]) -> dict[int, I64]:
    """Row indices of each thread, in row order."""
    order = np.argsort(thread, kind="stable")
    keys, first = np.unique(thread[order], return_index=True)
    return dict(zip(keys.tolist(), np.split(order, first[1:]), strict=True)) if len(keys) else {}


def _parents(starts: list[int], ends: list[int]) -> list[int]:
    """The position of each interval's parent. A python loop, because each step needs the one before (0.1 us a row).

    The chain of parents is itself the stack: leaving an interval is going to its parent.
    """
    parents: list[int] = []
    ends = [*ends, _NEVER]  # at index -1: what no interval is inside of never ends
    innermost = -1
    for position, start in enumerate(starts):
        while ends[innermost] <= start:
            innermost = parents[innermost]
        parents.append(innermost)
        innermost = position
    return parents

"""Is a union of intervals measured right, however they overlap?"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surfer_lab.engine.coverage import cover

intervals = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20)), max_size=12)


def test_overlapping_and_nested_intervals_count_once() -> None:
    covered = cover(np.array([0.0, 1.0, 10.0, 2.0]), np.array([5.0, 3.0, 12.0, 6.0]))
    assert covered.start_ns.tolist() == [0.0, 10.0]
    assert covered.end_ns.tolist() == [6.0, 12.0]
    assert covered.before(np.array([-1.0, 2.0, 8.0, 11.0, 20.0])).tolist() == [0.0, 2.0, 6.0, 7.0, 8.0]


def test_gaps_are_cut_at_the_window() -> None:
    gaps = cover(np.array([2.0, 6.0]), np.array([4.0, 8.0])).gaps(3.0, 10.0)
    assert gaps.start_ns.tolist() == [4.0, 8.0]
    assert gaps.end_ns.tolist() == [6.0, 10.0]


def test_nothing_covers_nothing() -> None:
    nothing = cover(np.empty(0), np.empty(0))
    assert nothing.before(np.array([3.0])).tolist() == [0.0]
    assert nothing.gaps(1.0, 2.0).start_ns.tolist() == [1.0]


@given(intervals, st.integers(0, 70), st.integers(0, 70))
def test_covered_time_and_gaps_make_the_window(made_of: list[tuple[int, int]], one: int, other: int) -> None:
    low, high = float(min(one, other)), float(max(one, other))
    start = np.array([first for first, _ in made_of], dtype=np.float64)
    end = start + np.array([length for _, length in made_of], dtype=np.float64)
    covered = cover(start, end)
    gaps = covered.gaps(low, high)
    inside = float(np.diff(covered.before(np.array([low, high])))[0])
    assert inside + float((gaps.end_ns - gaps.start_ns).sum()) == pytest.approx(high - low)
    ticks = sum(any(first <= tick < first + length for first, length in made_of) for tick in range(int(low), int(high)))
    assert inside == pytest.approx(ticks)

"""Does one pass with a stack find what a search of all pairs finds?"""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from surfer_lab.trace.busy_time import union_ns
from surfer_lab.trace.launches import match_launches
from surfer_lab.trace.nesting import DEPTH_LIMIT, Nesting, inherit
from surfer_lab.trace.row_order import in_order


@st.composite
def nested(draw, depth: int = 0) -> list[tuple[int, int]]:
    """Properly nested intervals: children inside their parent, siblings apart."""
    found: list[tuple[int, int]] = []

    def fill(start: int, end: int, level: int) -> None:
        at = start
        while at < end and len(found) < 40 and draw(st.booleans()):
            begin = draw(st.integers(at, end - 1))
            finish = draw(st.integers(begin + 1, end))
            found.append((begin, finish))
            if level < 5 and finish - begin > 1:
                fill(begin, finish, level + 1)
            at = finish

    fill(0, 100, depth)
    return found


def sorted_rows(intervals: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    rows = sorted(intervals, key=lambda pair: (pair[0], -pair[1]))
    return np.array([a for a, _ in rows], np.int64), np.array([b for _, b in rows], np.int64)


@given(nested(), st.lists(st.integers(-5, 110), max_size=20))
def test_the_innermost_interval_is_the_shortest_that_holds_the_time(intervals, times):
    start, end = sorted_rows(intervals)
    nesting = Nesting.of(start, end, np.zeros(len(start), int))
    found = nesting.innermost(np.array(times, np.int64), np.zeros(len(times), int))
    for time, row in zip(times, found.tolist(), strict=True):
        holding = [index for index in range(len(start)) if start[index] <= time < end[index]]
        assert (row == -1) == (not holding)
        if holding:
            assert end[row] - start[row] == min(end[index] - start[index] for index in holding)


@given(nested())
def test_a_parent_holds_its_child_and_stands_before_it(intervals):
    start, end = sorted_rows(intervals)
    parent = Nesting.of(start, end, np.zeros(len(start), int)).parent
    for row, above in enumerate(parent.tolist()):
        assert above < row
        if above >= 0:
            assert start[above] <= start[row] and end[row] <= end[above]


def test_threads_do_not_nest_in_each_other():
    nesting = Nesting.of(np.array([0, 1]), np.array([10, 5]), np.array([1, 2]))
    assert nesting.parent.tolist() == [-1, -1]
    assert nesting.innermost(np.array([2, 2, 2]), np.array([1, 2, 3])).tolist() == [0, 1, -1]


def test_a_child_that_seems_to_outlast_its_parent_by_rounding_stays_its_child():
    assert Nesting.of(np.array([0, 8]), np.array([10, 11]), np.zeros(2, int)).parent.tolist() == [-1, 0]


def test_an_interval_that_starts_where_another_ends_is_its_sibling():
    assert Nesting.of(np.array([0, 10]), np.array([10, 20]), np.zeros(2, int)).parent.tolist() == [-1, -1]


def test_absurdly_deep_stacks_are_cut_and_still_answered():
    depth = 4 * DEPTH_LIMIT
    start, end = np.arange(depth), np.arange(2 * depth, depth, -1)
    nesting = Nesting.of(start, end, np.zeros(depth, int))
    assert nesting.innermost(np.array([depth]), np.zeros(1, int))[0] == depth - 1
    assert nesting.innermost(np.array([2 * depth - 1]), np.zeros(1, int))[0] == -1, "climbs no further than the limit"
    assert inherit(np.where(np.arange(depth) == 0, 7, -1), nesting.parent).tolist() == [7] * depth


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20)), max_size=20))
def test_a_union_counts_each_nanosecond_once(intervals):
    start = np.array([a for a, _ in intervals], np.int64)
    end = start + np.array([b for _, b in intervals], np.int64)
    covered = {time for a, b in intervals for time in range(a, a + b)}
    assert union_ns(start, end) == len(covered)


@given(
    st.lists(st.tuples(st.integers(-1, 5), st.integers(0, 30)), max_size=12),
    st.lists(st.tuples(st.integers(-1, 5), st.integers(0, 30)), max_size=12),
)
def test_a_kernel_belongs_to_the_last_call_of_its_id_before_it_else_to_the_first_after(kernels, calls):
    ids, starts = (np.array([pair[k] for pair in kernels], np.int64) for k in (0, 1))
    call_ids, call_starts = (np.array([pair[k] for pair in calls], np.int64) for k in (0, 1))
    found = match_launches(ids, starts, call_ids, call_starts)
    for (key, time), row in zip(kernels, found.tolist(), strict=True):
        same = [start for call, start in calls if call == key and key > 0]
        before = [start for start in same if start <= time]
        if not same:
            assert row == -1
        else:
            assert call_ids[row] == key and call_starts[row] == (max(before) if before else min(same))


@given(st.lists(st.tuples(*[st.integers(0, 3)] * 4), max_size=30), st.randoms())
def test_row_order_does_not_depend_on_the_order_given(rows, rng):
    shuffled = list(rows)
    rng.shuffle(shuffled)

    def ordered(pairs: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
        columns = [np.array([row[k] for row in pairs], np.int64) for k in range(4)]
        return [pairs[i] for i in in_order(columns[0], columns[1], columns[2:]).tolist()]

    assert ordered(rows) == ordered(shuffled) == sorted(rows)

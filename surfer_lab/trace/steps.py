"""Which stretches of the recording are iterations, and which iteration does a kernel belong to?

The profiler's own marks come first, then the stretch from the end of one optimizer step to the end of the next (of the
first optimizer seen), then the whole recorded span, which is said so. A mark is the truth about its step's length; a
step is incomplete only where the file says that it did not finish, or where its begin or end lies outside the file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.trace.model import Trace
from surfer_lab.trace.tables import SpanKind, SpanTable, StepSource, StepTable

__all__ = ["find_steps", "step_at", "step_of_kernels"]

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]

_NUMBER: Final = re.compile(r"ProfilerStep#(\d{1,18})$")


def find_steps(spans: SpanTable, finished: NDArray[np.bool_], wall_ns: int) -> tuple[StepTable, StepSource]:
    """The steps of a recording from its spans; `finished` (spans,) is False where the file says so."""
    marks = np.flatnonzero(spans.kind == SpanKind.STEP)
    if len(marks):
        return _from_marks(spans, marks, finished), StepSource.PROFILER_STEP
    boundaries = _optimizer_step_ends(spans)
    if len(boundaries) >= 2:
        return _between(boundaries, wall_ns), StepSource.OPTIMIZER
    return _table([0], np.array([0]), np.array([wall_ns]), np.array([True])), StepSource.SPAN


def step_at(steps: StepTable, time_ns: I64) -> I32:
    """The row of `steps` that each time lies in, -1 = none. Shape of `time_ns`."""
    if not len(steps):
        return np.full(len(time_ns), -1, dtype=np.int32)
    row = np.searchsorted(steps.start_ns, time_ns, side="right") - 1
    inside = (row >= 0) & (time_ns < steps.end_ns[np.maximum(row, 0)])
    return np.where(inside, row, -1).astype(np.int32)


def step_of_kernels(trace: Trace) -> I32:
    """The step of each kernel, by the time of its launch, else by its own start; -1 = outside all. (kernels,)."""
    kernels = trace.kernels
    time_ns = kernels.start_ns.copy()
    launched = kernels.host_call >= 0
    time_ns[launched] = trace.host_calls.start_ns[kernels.host_call[launched]]
    return step_at(trace.steps, time_ns)


def _from_marks(spans: SpanTable, marks: NDArray[np.int64], finished: NDArray[np.bool_]) -> StepTable:
    numbers = [_number(spans.name[row]) for row in marks.tolist()]
    kept: dict[int, int] = {}
    for number, row in zip(numbers, marks.tolist(), strict=True):
        kept.setdefault(number, row)  # rows are in order of start: the first mark of a number counts
    rows = np.array(sorted(kept.values()), dtype=np.int64)
    number_of = {row: number for number, row in kept.items()}
    end_ns = spans.start_ns[rows] + spans.duration_ns[rows]
    return _table([number_of[row] for row in rows.tolist()], spans.start_ns[rows], end_ns, finished[rows])


def _optimizer_step_ends(spans: SpanTable) -> I64:
    """Ends of the steps of the first optimizer seen; an optimizer that wraps another encloses it and so comes first."""
    rows = np.flatnonzero(spans.kind == SpanKind.OPTIMIZER)
    if not len(rows):
        return np.empty(0, dtype=np.int64)
    rows = rows[spans.name.codes[rows] == spans.name.codes[rows[0]]]
    return np.unique(spans.start_ns[rows] + spans.duration_ns[rows])


def _between(boundaries: I64, wall_ns: int) -> StepTable:
    edges = np.concatenate([[0], boundaries, [wall_ns]])
    complete = np.ones(len(edges) - 1, dtype=np.bool_)
    complete[[0, -1]] = False  # they begin before the file and end after it
    kept = np.diff(edges) > 0
    numbers = np.flatnonzero(kept).tolist()
    return _table(numbers, edges[:-1][kept], edges[1:][kept], complete[kept])


def _table(numbers: Sequence[int], start_ns: I64, end_ns: I64, complete: NDArray[np.bool_]) -> StepTable:
    return StepTable(
        number=np.asarray(numbers, dtype=np.int64),
        start_ns=np.asarray(start_ns, dtype=np.int64),
        end_ns=np.asarray(end_ns, dtype=np.int64),
        complete=np.asarray(complete, dtype=np.bool_),
    )


def _number(name: str | None) -> int:
    match = _NUMBER.match(name or "")
    return int(match.group(1)) if match else -1

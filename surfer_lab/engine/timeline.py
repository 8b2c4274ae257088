"""What does a replay run through: host events in order, each with its host times and what it waits for.

A `Timeline` is made from a profiler trace (`recorded_timeline`) or, for a capture without a GPU, from a model of the
host (`modelled_timeline`). It holds no start times of kernels: those are what a replay finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.trace.tables import SpanKind, SpanTable, StepTable

__all__ = [
    "ALL_STREAMS", "UNKNOWN_STREAM", "EventBatch", "EventCode", "MarkKind", "Marks", "Timeline", "marks_of", "ordered",
]  # fmt: skip

I8 = NDArray[np.int8]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
F64 = NDArray[np.float64]
B = NDArray[np.bool_]

ALL_STREAMS: Final = -1
UNKNOWN_STREAM: Final = -2


class EventCode(IntEnum):
    """What happens at an event; `subject`, `slot` and `target` say to what. A slot is a stream, numbered from 0."""

    LAUNCH = 0  # kernel `subject` is put on stream `slot`; the host goes on
    BLOCKING_COPY = 1  # the same, and the host waits for its end; `target` is the number of the blocking call
    FOLLOW = 2  # kernel `subject` has no launch: its recorded gap after the kernel before it on the stream
    RECORD = 3  # event `subject` is recorded on `slot`
    WAIT_RECORD = 4  # stream `slot` waits for event `target`
    WAIT_STREAM = 5  # stream `slot` waits for what stream `target` holds
    WAIT_KERNEL = 6  # stream `slot` waits for kernel `target`
    BLOCK_BEGIN = 7  # blocking call `subject` begins; it waits for `slot`, or for event `target`
    BLOCK_END = 8
    MARK = 9  # mark `subject`: where the host is, and when the work launched so far is done


class MarkKind(IntEnum):
    STEP_START = 0
    STEP_END = 1
    INPUT_START = 2
    INPUT_END = 3


@dataclass(frozen=True, kw_only=True, eq=False)
class Marks:
    """Host times that a replay notes, (marks,): ends of steps and of waits for the data loader."""

    time_ns: F64
    kind: I8  # MarkKind
    row: I32  # of the trace's steps, or the number of the input span

    def __len__(self) -> int:
        return len(self.time_ns)


@dataclass(frozen=True, kw_only=True, eq=False)
class Timeline:
    """Events in host order, (events,) each.

    A call begins and ends at `free + host_scale * scaled` ns of host time: time inside the data loader is `free`, all
    other host time is `scaled`. Events without a length have both times equal.
    """

    code: I8
    subject: I32
    slot: I32
    target: I32
    begin_free_ns: F64
    begin_scaled_ns: F64
    end_free_ns: F64
    end_scaled_ns: F64
    gap_ns: (
        F64  # FOLLOW: after the kernel before it on the stream. LAUNCH: of a graph, work of it that was not recorded
    )
    may_not_wait: B  # BLOCK_*: waits only if the record shows that it did (allocations)
    kernel_count: int
    slot_count: int
    record_count: int
    block_count: int  # blocking calls and blocking copies
    marks: Marks
    ignored_wait_count: int = 0  # stream waits left out, since the trace does not say what for

    def __len__(self) -> int:
        return len(self.code)


@dataclass(frozen=True, kw_only=True, eq=False)
class EventBatch:
    """Events before they are put in order: by `key_ns`, `order`, then as given. Absent columns are -1, 0, False."""

    code: EventCode | I8
    begin_ns: F64
    end_ns: F64
    order: I64
    key_ns: F64 | None = None  # absent: the end
    subject: I64 | None = None
    slot: I64 | None = None
    target: I64 | None = None
    gap_ns: F64 | None = None
    may_not_wait: B | None = None


def marks_of(steps: StepTable, spans: SpanTable, wall_ns: int) -> Marks:
    """Starts and ends of steps and of loader waits; a trace without steps is one from its start to its end."""
    loads = np.flatnonzero(spans.kind == SpanKind.INPUT)
    ends = spans.start_ns[loads] + spans.duration_ns[loads]
    starts_of_steps, ends_of_steps = (
        (steps.start_ns, steps.end_ns) if len(steps) else (np.zeros(1), np.full(1, float(wall_ns)))
    )
    times = np.concatenate([starts_of_steps, ends_of_steps, spans.start_ns[loads], ends])
    rows = [np.arange(len(starts_of_steps))] * 2 + [np.arange(len(loads))] * 2
    return Marks(
        time_ns=times.astype(np.float64),
        kind=np.repeat(np.array(list(MarkKind), dtype=np.int8), [len(part) for part in rows]),
        row=np.concatenate(rows).astype(np.int32),
    )


def ordered(
    batches: Sequence[EventBatch],
    marks: Marks,
    *,
    kernel_count: int,
    slot_count: int,
    record_count: int,
    block_count: int,
    ignored_wait_count: int = 0,
    host_is_known: bool = True,
) -> Timeline:
    """Put batches and marks in host order; a mark comes after the calls that returned at its time.

    Where no launch was recorded, nothing tells how fast the host is (`host_is_known` False): a mark then holds nothing
    up, and stands only between the kernels that it was recorded between.
    """
    last = max((int(batch.order.max(initial=0)) for batch in batches), default=0) + 1
    host_ns = marks.time_ns if host_is_known else np.zeros(len(marks))
    at_marks = EventBatch(
        code=EventCode.MARK, subject=np.arange(len(marks)), begin_ns=host_ns, end_ns=host_ns, key_ns=marks.time_ns,
        order=np.full(len(marks), last),
    )  # fmt: skip
    batches = [*batches, at_marks]
    key = np.concatenate([batch.end_ns if batch.key_ns is None else batch.key_ns for batch in batches])
    at = np.lexsort((np.concatenate([batch.order for batch in batches]), key))

    def column(name: str, absent: int) -> NDArray[np.generic]:
        parts = [(getattr(batch, name), len(batch.begin_ns)) for batch in batches]
        return np.concatenate([np.full(size, absent) if part is None else part for part, size in parts])[at]

    begin, end = column("begin_ns", 0).astype(np.float64), column("end_ns", 0).astype(np.float64)
    begin_free, end_free = _input_time_before(marks, begin), _input_time_before(marks, end)
    code = np.concatenate([np.broadcast_to(np.asarray(batch.code, np.int8), len(batch.begin_ns)) for batch in batches])
    return Timeline(
        code=code[at],
        subject=column("subject", -1).astype(np.int32),
        slot=column("slot", -1).astype(np.int32),
        target=column("target", -1).astype(np.int32),
        begin_free_ns=begin_free,
        begin_scaled_ns=begin - begin_free,
        end_free_ns=end_free,
        end_scaled_ns=end - end_free,
        gap_ns=column("gap_ns", 0).astype(np.float64),
        may_not_wait=column("may_not_wait", 0).astype(np.bool_),
        kernel_count=kernel_count,
        slot_count=slot_count,
        record_count=record_count,
        block_count=block_count,
        marks=marks,
        ignored_wait_count=ignored_wait_count,
    )


def _input_time_before(marks: Marks, times: F64) -> F64:
    """Nanoseconds spent in the data loader before each host time: loader waits do not scale with the host."""
    start = marks.time_ns[marks.kind == MarkKind.INPUT_START]
    if not len(start):
        return np.zeros(len(times))
    end = marks.time_ns[marks.kind == MarkKind.INPUT_END]
    by_start = np.argsort(start, kind="stable")
    start, end = start[by_start], end[by_start]
    reached = np.maximum.accumulate(np.concatenate([[-np.inf], end[:-1]]))
    opening = np.maximum(start, reached)
    length = np.maximum(0.0, end - opening)
    edges = np.stack([opening, opening + length], axis=1).reshape(-1)
    levels = np.repeat(np.concatenate([[0.0], np.cumsum(length)]), 2)[1:-1]
    before: F64 = np.interp(times, edges, levels)
    return before

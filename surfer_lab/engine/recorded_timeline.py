"""How does a profiler trace become a timeline to replay, with the recorded kernel start times withheld?

A kernel's recorded start is used for two things only: its place in the order of its stream, and, where its launch was
not recorded (a trace cut at its start, a node of a CUDA graph), its gap to the kernel before it on the stream or to the
host. So a replay with the recorded durations tests the model; it does not copy the record.

Threads share one host clock: backward runs on a thread of its own while the first thread waits in Python, with no
call in the trace that says so. A thread that never launches work (a loader's pinning thread, a watchdog) is not on it.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.replay import DISPATCH_GAP_NS, LAUNCH_LATENCY_NS
from surfer_lab.engine.stream_waits import awaited_by_collectives, slot_launched_on_last, slot_launched_on_next
from surfer_lab.engine.timeline import (
    ALL_STREAMS,
    UNKNOWN_STREAM,
    EventBatch,
    EventCode,
    Timeline,
    marks_of,
    ordered,
)
from surfer_lab.trace.model import Trace
from surfer_lab.trace.tables import HostCallKind, HostCallTable, KernelKind, KernelTable

__all__ = ["PAGEABLE_ASYNCHRONOUS_BYTES", "recorded_timeline"]

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]
B = NDArray[np.bool_]

# CUDA runtime documentation, "API synchronization behavior": a copy of at most 64 KB from pageable host memory is
# asynchronous; a larger one, and every copy to pageable memory, returns when the data has moved.
PAGEABLE_ASYNCHRONOUS_BYTES: Final = 64 * 1024
# calls that copy and return when done, by name: older and ROCm traces do not name the kind of memory
_BLOCKING_COPY_CALLS: Final = frozenset({"cudaMemcpy", "hipMemcpy", "hipMemcpyWithStream"})


def recorded_timeline(trace: Trace) -> Timeline:
    """The events of a profiler trace, kernels by their rows. A trace without kernels yields its marks alone."""
    kernels, calls = trace.kernels, trace.host_calls
    slot, slot_count, slot_by_stream = _slots(kernels)
    on_clock = np.isin(calls.thread, np.unique(calls.thread[kernels.host_call[kernels.host_call >= 0]]))
    blocking = _blocking_copies(kernels, calls)
    last = slot_launched_on_last(kernels, calls, slot)
    following = slot_launched_on_next(kernels, calls, slot)
    following = np.where(following >= 0, following, last)
    records = np.flatnonzero(on_clock & (calls.kind == HostCallKind.EVENT_RECORD))
    record_of_call = np.full(len(calls), -1, dtype=np.int64)
    record_of_call[records] = np.arange(len(records))

    def slots_of(rows: I64, unknown: I64) -> I64:
        known = np.array(
            [slot_by_stream.get(stream, UNKNOWN_STREAM) for stream in calls.stream[rows].tolist()], np.int64
        )
        return np.where(calls.stream[rows] >= 0, known, unknown)

    def record_awaited(rows: I64) -> I64:
        waits_for = calls.waits_for[rows]
        return np.where(waits_for >= 0, record_of_call[np.maximum(waits_for, 0)], -1)

    waits = np.flatnonzero(on_clock & (calls.kind == HostCallKind.STREAM_WAIT))
    waiting = slots_of(waits, following[waits])
    stream, collective = awaited_by_collectives(trace, waits, following, last, slot)
    targets = {
        EventCode.WAIT_RECORD: record_awaited(waits),
        EventCode.WAIT_STREAM: stream,
        EventCode.WAIT_KERNEL: collective,
    }
    batches = [
        _kernel_batch(kernels, calls, slot, blocking),
        _calls_batch(
            EventCode.RECORD, calls, records, subject=np.arange(len(records)), slot=slots_of(records, last[records])
        ),
    ]
    used = np.zeros(len(waits), dtype=bool)
    for code, target in targets.items():
        rows = np.flatnonzero(~used & (waiting >= 0) & (target >= 0))
        used[rows] = True
        batches.append(_calls_batch(code, calls, waits[rows], slot=waiting[rows], target=target[rows]))

    copies = np.zeros(len(calls), dtype=bool)
    copies[kernels.host_call[blocking]] = True
    kinds = (calls.kind == HostCallKind.SYNCHRONIZE) | (calls.kind == HostCallKind.ALLOCATE)
    blocks = np.flatnonzero(on_clock & kinds & ~copies)
    allocation = calls.kind[blocks] == HostCallKind.ALLOCATE
    everything = allocation | _whole_device(calls)[blocks]
    scope = np.where(everything, ALL_STREAMS, slots_of(blocks, np.full(len(blocks), UNKNOWN_STREAM)))
    numbers = int(blocking.sum()) + np.arange(len(blocks))
    batches.extend(
        _calls_batch(
            code, calls, blocks, subject=numbers, slot=scope, target=record_awaited(blocks), may_not_wait=allocation,
            at_begin=code is EventCode.BLOCK_BEGIN,
        )
        for code in (EventCode.BLOCK_BEGIN, EventCode.BLOCK_END)
    )  # fmt: skip
    return ordered(
        batches,
        marks_of(trace.steps, trace.spans, trace.wall_ns),
        kernel_count=len(kernels),
        slot_count=slot_count,
        record_count=len(records),
        block_count=int(blocking.sum()) + len(blocks),
        ignored_wait_count=int((~used).sum()),
        host_is_known=bool((kernels.host_call >= 0).any()) or not len(kernels),
    )


def _calls_batch(
    code: EventCode,
    calls: HostCallTable,
    rows: I64,
    *,
    subject: I64 | None = None,
    slot: I64,
    target: I64 | None = None,
    may_not_wait: B | None = None,
    at_begin: bool = False,
) -> EventBatch:
    begin = calls.start_ns[rows].astype(np.float64)
    end = begin + calls.duration_ns[rows]
    return EventBatch(
        code=code, begin_ns=begin, end_ns=end, key_ns=begin if at_begin else end, order=rows, subject=subject,
        slot=slot, target=target, may_not_wait=may_not_wait,
    )  # fmt: skip


def _slots(kernels: KernelTable) -> tuple[I64, int, dict[int, int]]:
    """Streams numbered from 0: (kernels,) slot, their count, and the slot of a stream number (the busiest device's)."""
    if not len(kernels):
        return np.empty(0, dtype=np.int64), 0, {}
    pairs = np.stack([kernels.device.astype(np.int64), kernels.stream], axis=1)
    unique, slot, count = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
    by_stream: dict[int, int] = {}
    for index in np.argsort(count, kind="stable"):
        by_stream[int(unique[index, 1])] = int(index)
    return slot.reshape(-1).astype(np.int64), len(unique), by_stream


def _blocking_copies(kernels: KernelTable, calls: HostCallTable) -> NDArray[np.bool_]:
    """(kernels,): the launch returns when the copy has ended."""
    launched = kernels.host_call >= 0
    copy = launched & (kernels.kind == KernelKind.MEMCPY)
    pageable_out = kernels.name.map(lambda name: "-> Pageable" in name, absent=False, dtype=np.bool_)
    pageable_in = kernels.name.map(lambda name: "Pageable ->" in name, absent=False, dtype=np.bool_)
    by_memory = pageable_out | (pageable_in & (kernels.size_bytes > PAGEABLE_ASYNCHRONOUS_BYTES))
    call = np.where(launched, kernels.host_call, 0)
    if not len(calls):
        return np.zeros(len(kernels), dtype=bool)
    by_call = calls.name.map(lambda name: name in _BLOCKING_COPY_CALLS, absent=False, dtype=np.bool_)[call]
    blocks: B = copy & (by_memory | by_call | (calls.kind[call] == HostCallKind.SYNCHRONIZE))
    return blocks


def _kernel_batch(kernels: KernelTable, calls: HostCallTable, slot: I64, blocking: B) -> EventBatch:
    """Launches, blocking copies and kernels that follow; a stream's kernels keep the table's order."""
    launched = kernels.host_call >= 0
    call = kernels.host_call[launched]
    start = kernels.start_ns.astype(np.float64)
    begin, end = start - LAUNCH_LATENCY_NS, start - LAUNCH_LATENCY_NS
    order = np.full(len(kernels), -1, dtype=np.int64)
    begin[launched] = calls.start_ns[call]
    end[launched] = calls.start_ns[call] + calls.duration_ns[call]
    order[launched] = call
    in_graph = np.zeros(len(kernels), dtype=bool)
    in_graph[launched] = calls.kind[call] == HostCallKind.GRAPH_LAUNCH
    ended = (start + kernels.duration_ns).tolist()
    keys, orders = np.where(blocking, begin, end).tolist(), order.tolist()
    slots, has_launch, graph = slot.tolist(), launched.tolist(), in_graph.tolist()
    follows = np.zeros(len(kernels), dtype=bool)
    gap = np.zeros(len(kernels))
    previous = -1
    no_launches = not launched.any()  # then only the recorded start tells which step a kernel belongs to
    for row in np.argsort(slot, kind="stable").tolist():
        if previous < 0 or slots[previous] != slots[row]:
            if not has_launch[row] and not no_launches:
                keys[row] = -np.inf  # launched before the trace began: ahead of every wait in it
        else:
            before = (keys[previous], orders[previous])
            if not has_launch[row] or (graph[row] and orders[previous] == orders[row]):
                follows[row] = True
                gap[row] = max(0.0, start[row] - ended[previous])
                keys[row], orders[row] = (max(before[0], keys[row]), orders[row]) if no_launches else before
            else:
                keys[row], orders[row] = max(before, (keys[row], orders[row]))
                if graph[row]:
                    gap[row] = max(
                        0.0, start[row] - max(ended[previous] + DISPATCH_GAP_NS, end[row] + LAUNCH_LATENCY_NS)
                    )
        previous = row
    code = np.where(follows, EventCode.FOLLOW, np.where(blocking, EventCode.BLOCKING_COPY, EventCode.LAUNCH))
    return EventBatch(
        code=code.astype(np.int8), subject=np.arange(len(kernels)), slot=slot, target=np.cumsum(blocking) - 1,
        begin_ns=begin, end_ns=end, key_ns=np.asarray(keys, np.float64), order=np.asarray(orders, np.int64), gap_ns=gap,
    )  # fmt: skip


def _whole_device(calls: HostCallTable) -> B:
    return calls.name.map(
        lambda name: "DeviceSynchronize" in name or "CtxSynchronize" in name, absent=True, dtype=np.bool_
    )

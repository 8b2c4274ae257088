"""Launch replay: when would every kernel of a timeline run if the kernels took other times? On many GPUs in one pass.

    start = max( launch + latency, end of the kernel before on its stream + dispatch gap, what its stream waits for )

Calls that block the host (synchronise, blocking copies, allocations that were seen to wait, a full launch queue) return
when what they wait for is done, plus the host's own time in them; what the host does later moves with them. Everything
else keeps its recorded distance on the host, scaled by a row's `host_scale`.

Row 0 of a replay is the reference: the recorded durations with the host as recorded. It tells how much of a blocking
call was waiting and how much the host's own time; the other rows wait as long as *their* GPU makes them wait. Adding
host time to scaled kernels instead is wrong wherever the two overlap, which is nearly everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.timeline import ALL_STREAMS, UNKNOWN_STREAM, EventCode, Timeline

__all__ = ["DISPATCH_GAP_NS", "LAUNCH_LATENCY_NS", "LAUNCH_QUEUE_DEPTH", "LONG_LAUNCH_NS", "Replay", "replay"]

F64 = NDArray[np.float64]

# From the return of a launch call to the start of its kernel on an idle GPU: medians 2.0, 2.1, 1.7 and 1.7 us in public
# V100 (two), A100 and H100 traces of torch's profiler. Counted from the call's begin it is 6 to 12 us, with the call.
LAUNCH_LATENCY_NS: Final = 1_700.0
# Between kernels of a stream whose launches came long before: median 0.8 us on a V100 trace with nanosecond stamps
# (5,932 pairs), 1 us on those with whole microseconds (30,000 pairs; V100, A100, RTX 2080 Ti).
DISPATCH_GAP_NS: Final = 900.0
# Launches that a stream holds before the next launch call blocks: in the V100 trace with nanosecond stamps all 533
# launch calls of over 100 us began with 1,011 to 1,021 kernels outstanding.
LAUNCH_QUEUE_DEPTH: Final = 1_021
# A launch call longer than this, which no full queue explains, loads a module or starts the profiler. Traces show that
# time before the submission (nine calls) and after it (one); taken as after: it happens once, and outside of steps.
LONG_LAUNCH_NS: Final = 40_000.0
_PLACES: Final = 64  # looked at together while the queue is not full
# An allocation was seen to wait when it returned no earlier than this before the work it would have waited for ended.
WAIT_TOLERANCE_NS: Final = 5_000.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Replay:
    """Times in ns on each row's own clock; row 0 is the reference, the others follow the rows of `duration_ns`."""

    start_ns: F64  # (kernels, rows)
    end_ns: F64  # (kernels, rows)
    mark_host_ns: F64  # (marks, rows): where the host was
    mark_done_ns: F64  # (marks, rows): the host there, and the work launched before it done
    block_begin_ns: F64  # (blocks, rows): blocking calls on the host's clock
    block_end_ns: F64


def replay(timeline: Timeline, measured_ns: F64, duration_ns: F64, *, host_scale: F64 | float = 1.0) -> Replay:
    """Replay `duration_ns` (kernels, rows) with host times scaled by `host_scale` (rows,) or one number for all.

    `measured_ns` (kernels,) are the recorded durations, of row 0. A kernel never runs before its launch or before the
    one ahead of it on its stream, whatever the durations.
    """
    row_count = duration_ns.shape[1] + 1
    scale = np.ones(row_count)
    scale[1:] = host_scale
    duration = np.empty((timeline.kernel_count, row_count))
    duration[:, 0] = measured_ns
    duration[:, 1:] = duration_ns
    return _Pass(timeline, duration, scale).run()


class _Pass:
    """State while the events run by: a shift of the host's clock, and when each stream is free; (rows,) each.

    A stream is free a dispatch gap after its last kernel: so the time of a launch is one addition and one maximum, in
    place, for all rows; that is where the time of a prediction goes.
    """

    def __init__(self, timeline: Timeline, duration: F64, scale: F64) -> None:
        row_count = len(scale)
        self.timeline, self.scale = timeline, scale
        self.duration = duration
        self.start = np.zeros_like(duration)
        self.shift = np.zeros(row_count)
        self.stream_free = np.full((timeline.slot_count, row_count), -np.inf)
        self.record_free = np.full((timeline.record_count, row_count), -np.inf)
        self.mark_host = np.zeros((len(timeline.marks), row_count))
        self.mark_done = np.zeros((len(timeline.marks), row_count))
        self.block_begin = np.zeros((timeline.block_count, row_count))
        self.block_end = np.zeros((timeline.block_count, row_count))
        self.done_of_block: dict[int, F64] = {}
        self.queues: list[list[int]] = [[] for _ in range(timeline.slot_count)]
        # launches of each stream known to find a place in its queue, as long as the host's shift is the same
        self.places_ahead: list[tuple[int, F64]] = [(0, self.shift)] * timeline.slot_count

    def run(self) -> Replay:
        line = self.timeline
        begin, end, submitted = self._host_times()
        subject, slot, target = line.subject.tolist(), line.slot.tolist(), line.target.tolist()
        gap, may_not_wait = line.gap_ns.tolist(), line.may_not_wait.tolist()
        starts, free, held = list(self.start), list(self.stream_free), list(self.duration + DISPATCH_GAP_NS)
        launch, copy = int(EventCode.LAUNCH), int(EventCode.BLOCKING_COPY)
        for at, code in enumerate(line.code.tolist()):
            kernel, stream = subject[at], slot[at]
            if code == launch:
                queue = self.queues[stream]
                if len(queue) >= LAUNCH_QUEUE_DEPTH:
                    self._enter_queue(stream, starts, begin[at], end[at])
                queue.append(kernel)
                start, stream_free = starts[kernel], free[stream]
                np.add(self.shift, submitted[at], out=start)
                np.maximum(start, stream_free, out=start)
                if gap[at]:
                    start += gap[at]
                np.add(start, held[kernel], out=stream_free)
            elif code == EventCode.FOLLOW:
                start, stream_free = starts[kernel], free[stream]
                np.add(stream_free, max(0.0, gap[at] - DISPATCH_GAP_NS), out=start)
                np.add(start, held[kernel], out=stream_free)
            elif code == copy:
                self._copy(kernel, stream, target[at], begin[at], end[at])
            elif code == EventCode.RECORD:
                if stream >= 0:
                    self.record_free[kernel] = free[stream]
            elif code == EventCode.WAIT_RECORD:
                np.maximum(free[stream], self.record_free[target[at]], out=free[stream])
            elif code == EventCode.WAIT_STREAM:
                np.maximum(free[stream], free[target[at]], out=free[stream])
            elif code == EventCode.WAIT_KERNEL:
                np.maximum(free[stream], starts[target[at]] + held[target[at]], out=free[stream])
            elif code == EventCode.BLOCK_BEGIN:
                self._block(kernel, stream, target[at], begin[at], end[at], may_not_wait[at])
            elif code == EventCode.BLOCK_END:
                self._return(kernel, begin[at], end[at])
            else:
                self.mark_host[kernel] = host = begin[at] + self.shift
                self.mark_done[kernel] = np.maximum(host, self._all_done())
        return Replay(
            start_ns=self.start, end_ns=self.start + self.duration, mark_host_ns=self.mark_host,
            mark_done_ns=self.mark_done, block_begin_ns=self.block_begin, block_end_ns=self.block_end,
        )  # fmt: skip

    def _host_times(self) -> tuple[list[float] | F64, list[float] | F64, list[float] | F64]:
        """Begin, end and submission of every event on the host's clock before any shift: numbers where rows agree."""
        line, scale = self.timeline, self.scale
        if np.all(scale == 1.0):
            begin, end = line.begin_free_ns + line.begin_scaled_ns, line.end_free_ns + line.end_scaled_ns
            return begin.tolist(), end.tolist(), _submitted(begin, end).tolist()
        begin = line.begin_free_ns[:, None] + line.begin_scaled_ns[:, None] * scale
        end = line.end_free_ns[:, None] + line.end_scaled_ns[:, None] * scale
        return begin, end, _submitted(begin, end)

    def _enter_queue(self, stream: int, starts: list[F64], begin: float | F64, end: float | F64) -> None:
        """Wait for a place where the queue is full; kernels of a stream start in order, so many are checked at once."""
        queue, (ahead, shift) = self.queues[stream], self.places_ahead[stream]
        if ahead > 0 and shift is self.shift:
            self.places_ahead[stream] = ahead - 1, shift
            return
        if not (starts[queue[_PLACES - LAUNCH_QUEUE_DEPTH]] - self.shift > begin).any():
            self.places_ahead[stream] = _PLACES, self.shift
            return
        place_free = starts[queue[-LAUNCH_QUEUE_DEPTH]]
        if (place_free - self.shift > begin).any():
            self.shift = self._released(begin, end, place_free, self.shift) - end

    def _copy(self, kernel: int, slot: int, block: int, begin: float | F64, end: float | F64) -> None:
        """The host prepares (pins, stages) once the stream is free, and returns when the copy ends."""
        self.block_begin[block] = begin + self.shift
        free, duration = self.stream_free[slot], self.duration[kernel]
        prepared = self._released(begin, end - duration[0], free - DISPATCH_GAP_NS, self.shift)
        self.start[kernel] = np.maximum(prepared, free)
        self.queues[slot].append(kernel)
        self.block_end[block] = returned = self.start[kernel] + duration
        np.add(returned, DISPATCH_GAP_NS, out=free)
        self.shift = returned - end

    def _released(self, begin: float | F64, end: float | F64, done: F64, shift: F64) -> F64:
        """When a call that waits for `done` returns: then, or at once, plus the host's own time in the call."""
        waited_until = np.maximum(begin + shift, done)
        own = max(0.0, _reference(end) + float(shift[0]) - float(waited_until[0]))
        released: F64 = waited_until + own * self.scale
        return released

    def _block(
        self, block: int, slot: int, record: int, begin: float | F64, end: float | F64, may_not_wait: bool
    ) -> None:
        self.block_begin[block] = begin + self.shift
        returned = _reference(end) + float(self.shift[0])
        if record >= 0:
            done = self.record_free[record] - DISPATCH_GAP_NS
        elif slot == ALL_STREAMS:
            done = self._all_done()
        elif slot == UNKNOWN_STREAM:
            done = self._seen_awaited(returned)
        else:
            done = self.stream_free[slot] - DISPATCH_GAP_NS
        if may_not_wait and not self.block_begin[block, 0] < done[0] <= returned + WAIT_TOLERANCE_NS:
            done = np.full_like(done, -np.inf)
        self.done_of_block[block] = done

    def _return(self, block: int, begin: float | F64, end: float | F64) -> None:
        shift = self.block_begin[block] - begin
        self.block_end[block] = released = self._released(begin, end, self.done_of_block.pop(block), shift)
        self.shift = released - end

    def _all_done(self) -> F64:
        done: F64 = self.stream_free.max(axis=0, initial=-np.inf) - DISPATCH_GAP_NS
        return done

    def _seen_awaited(self, returned: float) -> F64:
        """A wait on a stream that was not recorded: for the last stream that was done when the call returned."""
        fits = [free for free in self.stream_free if free[0] - DISPATCH_GAP_NS <= returned + WAIT_TOLERANCE_NS]
        if not fits:
            return np.full(len(self.scale), -np.inf)
        return max(fits, key=lambda free: float(free[0])) - DISPATCH_GAP_NS


def _submitted(begin: F64, end: F64) -> F64:
    """The earliest start of a kernel launched by a call, as far as the host decides it."""
    submitted: F64 = np.minimum(end, begin + LONG_LAUNCH_NS) + LAUNCH_LATENCY_NS
    return submitted


def _reference(time: float | F64) -> float:
    return float(time[0]) if isinstance(time, np.ndarray) else time

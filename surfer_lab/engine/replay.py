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
    """State while the events run by: a shift of the host's clock, an end for every stream; (rows,) each."""

    def __init__(self, timeline: Timeline, duration: F64, scale: F64) -> None:
        self.timeline, self.duration, self.scale = timeline, duration, scale
        row_count = len(scale)
        self.start = np.zeros_like(duration)
        self.end = np.zeros_like(duration)
        self.shift = np.zeros(row_count)
        self.stream_end = np.full((timeline.slot_count, row_count), -np.inf)
        self.event_done = np.full((timeline.record_count, row_count), -np.inf)
        self.mark_host = np.zeros((len(timeline.marks), row_count))
        self.mark_done = np.zeros((len(timeline.marks), row_count))
        self.block_begin = np.zeros((timeline.block_count, row_count))
        self.block_end = np.zeros((timeline.block_count, row_count))
        self.done_of_block: dict[int, F64] = {}
        self.queues: list[list[int]] = [[] for _ in range(timeline.slot_count)]

    def run(self) -> Replay:
        line = self.timeline
        begin, end = self._host_times()
        subject, slot, target = line.subject.tolist(), line.slot.tolist(), line.target.tolist()
        gap, may_not_wait = line.gap_ns.tolist(), line.may_not_wait.tolist()
        for at, code in enumerate(line.code.tolist()):
            if code == EventCode.LAUNCH:
                self._launch(subject[at], slot[at], begin[at], end[at], gap[at])
            elif code == EventCode.FOLLOW:
                self._put(subject[at], slot[at], self.stream_end[slot[at]] + gap[at])
            elif code == EventCode.BLOCKING_COPY:
                self._copy(subject[at], slot[at], target[at], begin[at], end[at])
            elif code == EventCode.RECORD:
                if slot[at] >= 0:
                    self.event_done[subject[at]] = self.stream_end[slot[at]]
            elif code == EventCode.WAIT_RECORD:
                self._stream_wait(slot[at], self.event_done[target[at]])
            elif code == EventCode.WAIT_STREAM:
                self._stream_wait(slot[at], self.stream_end[target[at]])
            elif code == EventCode.WAIT_KERNEL:
                self._stream_wait(slot[at], self.end[target[at]])
            elif code == EventCode.BLOCK_BEGIN:
                self._block(subject[at], slot[at], target[at], begin[at], end[at], may_not_wait[at])
            elif code == EventCode.BLOCK_END:
                self._return(subject[at], begin[at], end[at])
            else:
                self.mark_host[subject[at]] = host = begin[at] + self.shift
                self.mark_done[subject[at]] = np.maximum(host, self._all_done())
        return Replay(
            start_ns=self.start, end_ns=self.end, mark_host_ns=self.mark_host, mark_done_ns=self.mark_done,
            block_begin_ns=self.block_begin, block_end_ns=self.block_end,
        )  # fmt: skip

    def _host_times(self) -> tuple[list[float] | F64, list[float] | F64]:
        """Begin and end of every event on the host's clock before any shift: numbers where all rows agree."""
        line, scale = self.timeline, self.scale
        if np.all(scale == 1.0):
            begin = line.begin_free_ns + line.begin_scaled_ns
            return begin.tolist(), (line.end_free_ns + line.end_scaled_ns).tolist()
        return (
            line.begin_free_ns[:, None] + line.begin_scaled_ns[:, None] * scale,
            line.end_free_ns[:, None] + line.end_scaled_ns[:, None] * scale,
        )

    def _launch(self, kernel: int, slot: int, begin: float | F64, end: float | F64, gap: float) -> None:
        queue = self.queues[slot]
        if len(queue) >= LAUNCH_QUEUE_DEPTH:
            place_free = self.start[queue[-LAUNCH_QUEUE_DEPTH]]
            if (place_free > begin + self.shift).any():
                self.shift = self._released(begin, end, place_free, self.shift) - end
        queue.append(kernel)
        earliest = np.minimum(end, begin + LONG_LAUNCH_NS) + self.shift
        earliest += LAUNCH_LATENCY_NS
        if gap:
            earliest = np.maximum(earliest, self.stream_end[slot]) + gap
        self._put(kernel, slot, earliest)

    def _put(self, kernel: int, slot: int, earliest: F64) -> None:
        start, stream_end = self.start[kernel], self.stream_end[slot]
        np.add(stream_end, DISPATCH_GAP_NS, out=start)
        np.maximum(earliest, start, out=start)
        np.add(start, self.duration[kernel], out=stream_end)
        self.end[kernel] = stream_end

    def _copy(self, kernel: int, slot: int, block: int, begin: float | F64, end: float | F64) -> None:
        """The host prepares (pins, stages) once the stream is free, and returns when the copy ends."""
        self.block_begin[block] = begin + self.shift
        prepared = self._released(begin, end - self.duration[kernel, 0], self.stream_end[slot], self.shift)
        self._put(kernel, slot, prepared)
        self.queues[slot].append(kernel)
        self.block_end[block] = self.end[kernel]
        self.shift = self.end[kernel] - end

    def _released(self, begin: float | F64, end: float | F64, done: F64, shift: F64) -> F64:
        """When a call that waits for `done` returns: then, or at once, plus the host's own time in the call."""
        waited_until = np.maximum(begin + shift, done)
        own = max(0.0, _reference(end) + float(shift[0]) - float(waited_until[0]))
        released: F64 = waited_until + own * self.scale
        return released

    def _stream_wait(self, slot: int, done: F64) -> None:
        stream_end = self.stream_end[slot]
        np.maximum(stream_end, done, out=stream_end)

    def _block(
        self, block: int, slot: int, record: int, begin: float | F64, end: float | F64, may_not_wait: bool
    ) -> None:
        self.block_begin[block] = begin + self.shift
        returned = _reference(end) + float(self.shift[0])
        if record >= 0:
            done = self.event_done[record]
        elif slot == ALL_STREAMS:
            done = self._all_done()
        elif slot == UNKNOWN_STREAM:
            done = self._seen_awaited(returned)
        else:
            done = self.stream_end[slot].copy()
        if may_not_wait and not self.block_begin[block, 0] < done[0] <= returned + WAIT_TOLERANCE_NS:
            done = np.full_like(done, -np.inf)
        self.done_of_block[block] = done

    def _return(self, block: int, begin: float | F64, end: float | F64) -> None:
        shift = self.block_begin[block] - begin
        self.block_end[block] = released = self._released(begin, end, self.done_of_block.pop(block), shift)
        self.shift = released - end

    def _all_done(self) -> F64:
        done: F64 = self.stream_end.max(axis=0, initial=-np.inf)
        return done

    def _seen_awaited(self, returned: float) -> F64:
        """A wait on a stream that was not recorded: for the last stream that was done when the call returned."""
        fits = [ends for ends in self.stream_end if ends[0] <= returned + WAIT_TOLERANCE_NS]
        return max(fits, key=lambda ends: float(ends[0])).copy() if fits else np.full(len(self.scale), -np.inf)


def _reference(time: float | F64) -> float:
    return float(time[0]) if isinstance(time, np.ndarray) else time

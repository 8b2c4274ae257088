"""What does one step take on each GPU, and where does its time go?

A step runs from the moment when the host is at its start and the work launched before is done, to the same moment of
its end: so work that the host launched ahead counts in the step that launched it, and a GPU that falls behind makes the
step longer, not the next one. Its time is divided, each nanosecond counted once:

    GPU busy         some kernel, copy or memset other than a collective runs (the union of their intervals)
    communication    only collectives run
    input wait       nothing runs, and the host is in the data loader
    synchronisation  nothing runs, and the host is in a call that waits for the GPU or allocates
    launch bound     nothing runs for another reason: the host has not launched the next kernel yet

The step shown is the one of median duration (of an even number: the mean of the middle two), so that its parts sum to
it. Replayed times are put on the scale of the measured step: the recording's own marks, or the step time without the
profiler where it is known; on the origin the prediction is the measurement.

Longer kernels never end earlier (`replay`), nor does any mark; a single step, and so the median, can still be shorter
on the slower GPU: what it has in its queue moves the step's start more than its end, and the step before takes the
time. In a recorded trace of five steps (Holistic Trace Analysis, ns_resolution_trace) an RTX 5090 takes 45.8, 39.7,
41.5, 54.7 and 56.8 ms and an H200, whose kernels are shorter, 38.5, 35.2, 48.7, 54.7 and 56.8 ms: together 238 against
234 ms, but a median of 45.7 against 48.6 ms. Showing one step chosen on the recorded side would not end that (the third
step here), and a mean would let one long step tell the time of all; so the median stays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.coverage import Coverage, cover
from surfer_lab.engine.replay import Replay
from surfer_lab.engine.timeline import MarkKind, Marks, Timeline

__all__ = ["PARTS", "Windows", "parts_of_median_step", "step_durations", "windows_of"]

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
B = NDArray[np.bool_]

PARTS = ("gpu_busy", "launch_bound", "input_wait", "synchronization", "communication")


@dataclass(frozen=True, kw_only=True, eq=False)
class Windows:
    """The marks that bound the steps used, (steps,) each."""

    start_mark: I64
    end_mark: I64
    step: I64  # row of the trace's steps

    def __len__(self) -> int:
        return len(self.step)


def windows_of(marks: Marks, complete: B) -> Windows:
    """The complete steps; all of them where none is complete."""
    chosen = np.flatnonzero(complete) if complete.any() else np.arange(len(complete))
    mark_of_start = np.full(len(complete), -1, dtype=np.int64)
    mark_of_end = np.full(len(complete), -1, dtype=np.int64)
    starts, ends = np.flatnonzero(marks.kind == MarkKind.STEP_START), np.flatnonzero(marks.kind == MarkKind.STEP_END)
    mark_of_start[marks.row[starts]] = starts
    mark_of_end[marks.row[ends]] = ends
    return Windows(start_mark=mark_of_start[chosen], end_mark=mark_of_end[chosen], step=chosen)


def step_durations(replay: Replay, windows: Windows) -> F64:
    """Duration of each step in each row, (steps, rows)."""
    return replay.mark_done_ns[windows.end_mark] - replay.mark_done_ns[windows.start_mark]


def parts_of_median_step(
    replay: Replay, timeline: Timeline, windows: Windows, communication: B, row: int
) -> NDArray[np.float64]:
    """The parts of the median step of one replay row, in the order of `PARTS`; they sum to the step."""
    durations = step_durations(replay, windows)[:, row]
    by_duration = np.argsort(durations, kind="stable")
    middle = by_duration[(len(durations) - 1) // 2 : len(durations) // 2 + 1]
    start, end = replay.start_ns[:, row], replay.end_ns[:, row]
    running = cover(start, end)
    busy = cover(start[~communication], end[~communication]) if communication.any() else running
    loading = _loading(replay, timeline.marks, row)
    blocked = cover(replay.block_begin_ns[:, row], replay.block_end_ns[:, row])
    waiting = cover(
        np.concatenate([loading.start_ns, blocked.start_ns]), np.concatenate([loading.end_ns, blocked.end_ns])
    )
    steps = [
        _parts(
            float(replay.mark_done_ns[windows.start_mark[step], row]),
            float(replay.mark_done_ns[windows.end_mark[step], row]),
            running=running, busy=busy, loading=loading, waiting=waiting,
        )
        for step in middle
    ]  # fmt: skip
    parts: F64 = np.mean(steps, axis=0)
    return parts


def _loading(replay: Replay, marks: Marks, row: int) -> Coverage:
    starts, ends = marks.kind == MarkKind.INPUT_START, marks.kind == MarkKind.INPUT_END
    return cover(replay.mark_host_ns[starts, row], replay.mark_host_ns[ends, row])


def _parts(
    start_ns: float, end_ns: float, *, running: Coverage, busy: Coverage, loading: Coverage, waiting: Coverage
) -> list[float]:
    edges = np.array([start_ns, end_ns])
    run, computed = float(np.diff(running.before(edges))[0]), float(np.diff(busy.before(edges))[0])
    idle = running.gaps(start_ns, end_ns)
    input_wait = float((loading.before(idle.end_ns) - loading.before(idle.start_ns)).sum())
    either = float((waiting.before(idle.end_ns) - waiting.before(idle.start_ns)).sum())
    launch = end_ns - start_ns - run - either
    return [computed, max(0.0, launch), input_wait, either - input_wait, run - computed]

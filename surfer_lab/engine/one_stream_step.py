"""Where does the time of one step go when all kernels run on one stream? For all rows of a replay in one pass.

The same answer as `step_times.parts_of_median_step`, which takes any number of streams and steps and one row at a time;
here kernels of a row do not overlap, so that what they cover between two times is a sum. A step predicted on 75 GPUs is
divided in 3 ms instead of 45 (700 kernels, one core).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.replay import Replay
from surfer_lab.engine.step_times import PARTS, Windows
from surfer_lab.engine.timeline import MarkKind, Timeline

__all__ = ["is_one_stream_step", "parts_of_rows"]

F64 = NDArray[np.float64]


def is_one_stream_step(timeline: Timeline, windows: Windows, communication: NDArray[np.bool_]) -> bool:
    """Does `parts_of_rows` hold: one stream, one step, no loader waits, no collectives?"""
    loads = bool((timeline.marks.kind == MarkKind.INPUT_START).any())
    return timeline.slot_count == 1 and len(windows) == 1 and not loads and not bool(communication.any())


def parts_of_rows(run: Replay, windows: Windows, rows: slice) -> F64:
    """Parts of the step by row, (rows, parts) in the order of `PARTS`."""
    start = run.mark_done_ns[windows.start_mark[0], rows]
    end = run.mark_done_ns[windows.end_mark[0], rows]
    begins, ends = run.start_ns[:, rows], run.end_ns[:, rows]
    busy = _covered(begins, ends, start, end)
    waiting = np.zeros_like(busy)
    for from_ns, to_ns in zip(run.block_begin_ns[:, rows], run.block_end_ns[:, rows], strict=True):
        first = np.clip(from_ns, start, end)
        last = np.clip(np.maximum(to_ns, from_ns), start, end)
        waiting += (last - first) - _covered(begins, ends, first, last)
    parts = np.zeros((len(busy), len(PARTS)))
    parts[:, PARTS.index("gpu_busy")] = busy
    parts[:, PARTS.index("synchronization")] = waiting
    parts[:, PARTS.index("launch_bound")] = np.maximum(0.0, end - start - busy - waiting)
    return parts


def _covered(begins: F64, ends: F64, first: F64, last: F64) -> F64:
    """What kernels that do not overlap cover between two times, (rows,)."""
    covered: F64 = np.maximum(np.minimum(ends, last) - np.maximum(begins, first), 0.0).sum(axis=0)
    return covered

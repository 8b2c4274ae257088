"""Which events have a time that belongs to the recording?

A recording lasts minutes. An event a week away from the middle of all events, or a week long, is a damaged number
(a 0 where microseconds since 1970 belong, a swapped digit): it would stretch the trace's wall time to years.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from surfer_lab.trace.gather import RawTrace
from surfer_lab.trace.raw_tables import RawRows
from surfer_lab.units import NS_PER_HOUR

__all__ = ["LONGEST_RECORDING_NS", "drop_absurd_times"]

LONGEST_RECORDING_NS: Final = 7 * 24 * NS_PER_HOUR
_TABLES: Final = ("ops", "annotations", "calls", "kernels", "python", "syncs", "gpu_events", "allocations")


def drop_absurd_times(raw: RawTrace) -> int:
    """Leave such events out of the raw tables; returns how many there were."""
    starts = np.concatenate([getattr(raw, name).start_ns for name in _TABLES[:4]])
    if not len(starts):
        return 0
    middle_ns = int(np.partition(starts, len(starts) // 2)[len(starts) // 2])
    dropped = 0
    for name in _TABLES:
        table: RawRows = getattr(raw, name)
        sound = np.abs(table.start_ns - middle_ns) <= LONGEST_RECORDING_NS
        sound &= table.duration_ns <= LONGEST_RECORDING_NS
        if not sound.all():
            dropped += int(np.count_nonzero(~sound))
            setattr(raw, name, table.take(sound))
    return dropped

"""How do the allocator's events become a table, and what was the most that was allocated?"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.trace.nesting import Nesting
from surfer_lab.trace.raw_tables import RawAllocations
from surfer_lab.trace.row_order import in_order
from surfer_lab.trace.tables import MemoryTable

__all__ = ["memory_table", "peak_bytes"]

_HOST_TYPE: Final = 0  # c10::DeviceType::CPU; CUDA is 1, HIP 6
_LARGEST_BYTES: Final = 1 << 60


def memory_table(raw: RawAllocations, ops: Nesting) -> MemoryTable:
    """Rows in order of time; of events at one time allocations come first. Times begin at 0."""
    on_gpu = (raw.device_type > _HOST_TYPE) & (raw.device >= 0) & (raw.device < 1 << 15)
    raw_device = np.where(on_gpu, raw.device, -1)
    keys = [raw_device, raw.allocated_bytes, raw.reserved_bytes, raw.thread]
    raw_order = in_order(raw.start_ns, -raw.delta_bytes, keys)
    rows = raw.take(raw_order)
    return MemoryTable(
        time_ns=rows.start_ns,
        delta_bytes=np.where(np.abs(rows.delta_bytes) < _LARGEST_BYTES, rows.delta_bytes, 0),
        allocated_bytes=_sound(rows.allocated_bytes),
        reserved_bytes=_sound(rows.reserved_bytes),
        device=raw_device[raw_order].astype(np.int16),
        op=ops.innermost(rows.start_ns, rows.thread),
    )


def peak_bytes(memory: MemoryTable, totals: NDArray[np.int64]) -> int | None:
    """The largest of `totals` (rows,) on a GPU; None where totals were not recorded.

    Deltas alone give no peak: what was allocated before the recording is unknown.
    """
    known = (memory.device >= 0) & (totals >= 0)
    return int(totals[known].max()) if known.any() else None


def _sound(column: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.where((column >= 0) & (column < _LARGEST_BYTES), column, -1)

"""Whose work is the trace, when a file holds several processes?

A Trace is one process's iteration on the GPUs that it drives. Where several processes of a file launch GPU work (ranks
merged into one file), the one with the most GPU time is kept, the first by number where they tie, and a warning says
so. Processes that launch nothing stay: their marks and ops disturb nobody. Threads get numbers in the order of process
and thread, so that the order of events in the file does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surfer_lab.trace.gather import RawTrace
from surfer_lab.trace.launches import processes_of_devices
from surfer_lab.trace.raw_tables import RawRows

__all__ = ["keep_one_process", "number_threads"]

_HOST_TABLES = ("ops", "annotations", "calls", "python", "allocations")


@dataclass(frozen=True, kw_only=True)
class Threads:
    """For each code of the pool the thread's number, and the number of its process."""

    number: NDArray[np.int32]
    process: NDArray[np.int32]


def number_threads(raw: RawTrace) -> Threads:
    """Numbers for all (pid, tid) pairs; "25738" and 25738 are one."""
    keys = [(_ordered(pid), _ordered(tid)) for pid, tid in raw.pools.threads]
    thread_numbers = {key: number for number, key in enumerate(sorted(set(keys)))}
    process_numbers = {pid: number for number, pid in enumerate(sorted({pid for pid, _ in keys}))}
    return Threads(
        number=np.array([thread_numbers[key] for key in keys], dtype=np.int32),
        process=np.array([process_numbers[pid] for pid, _ in keys], dtype=np.int32),
    )


def keep_one_process(raw: RawTrace, threads: Threads) -> int:
    """Drop what belongs to other processes with GPU work; returns how many of those there were."""
    kernels, calls = raw.kernels, raw.calls
    call_process = threads.process[calls.thread]
    if len(np.unique(call_process)) < 2:
        return 0
    owner = processes_of_devices(
        kernels.device, kernels.correlation, kernels.start_ns, call_process, calls.correlation, calls.start_ns
    )
    if len(set(owner.values())) < 2:
        return 0
    process = np.array([owner.get(device, -1) for device in kernels.device.tolist()], dtype=np.int64)
    gpu_ns = {key: int(kernels.duration_ns[process == key].sum()) for key in set(owner.values())}
    chosen = min(gpu_ns, key=lambda key: (-gpu_ns[key], key))
    others = [key for key in gpu_ns if key != chosen]
    for name in _HOST_TABLES:
        table: RawRows = getattr(raw, name)
        setattr(raw, name, table.take(~np.isin(threads.process[table.thread], others)))
    raw.kernels = kernels.take(~np.isin(process, others))
    other_ids = np.unique(calls.correlation[np.isin(call_process, others)])
    own_ids = raw.calls.correlation
    for name in ("syncs", "gpu_events"):
        marks = getattr(raw, name)
        setattr(raw, name, marks.take(np.isin(marks.correlation, own_ids) | ~np.isin(marks.correlation, other_ids)))
    return len(others)


def _ordered(identifier: Any) -> tuple[int, int, str]:
    """A sort key for what stands for a process or a thread: numbers first."""
    text = str(identifier)[:64]
    digits = text.removeprefix("-")
    if digits.isascii() and digits.isdigit() and len(digits) < 19:
        return (0, int(text), "")
    return (1, 0, text)

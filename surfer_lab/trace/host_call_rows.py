"""How do raw runtime calls become the table of host calls: which launch, which wait, on which stream, for what?

Only calls that mean something for a replay are kept: those that launch, wait, record, allocate, and any other call that
a kernel names as its launch. cuda_sync events (recorded on request) say which stream a call acts on and which event
record it waits for; without them both are unknown, which a replay must say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.trace.categories import EventKind, host_call_kind
from surfer_lab.trace.launches import match_launches
from surfer_lab.trace.nesting import Nesting
from surfer_lab.trace.pools import canonical, spread
from surfer_lab.trace.raw_tables import RawCalls, RawGpuEvents, RawKernels, RawSyncs
from surfer_lab.trace.row_order import in_order
from surfer_lab.trace.tables import HostCallKind, HostCallTable
from surfer_lab.units import BYTES_PER_MIB

__all__ = ["call_kinds", "host_call_table", "ordered_calls"]

I8 = NDArray[np.int8]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]

# A copy to the device from pageable memory of at most 64 KiB returns before it is done (CUDA driver API,
# "API synchronization behavior"); larger ones, and all copies to pageable host memory, block the host
_RETURNS_EARLY_BYTES: Final = BYTES_PER_MIB // 16
_NO_STREAM: Final = (1 << 32) - 1  # CUPTI's "invalid", before Kineto printed it as -1
_WAITING: Final = (HostCallKind.STREAM_WAIT, HostCallKind.SYNCHRONIZE)


def ordered_calls(raw: RawCalls, name_ranks: I64) -> RawCalls:
    """Rows by start, longest first; ties by what they are."""
    keys: list[NDArray[Any]] = [
        raw.thread,
        name_ranks[raw.name],
        raw.correlation,
        raw.external_id,
        raw.size_bytes,
        raw.smem_bytes,
    ]
    return raw.take(in_order(raw.start_ns, -raw.duration_ns, keys))


def call_kinds(calls: RawCalls, kernels: RawKernels, launch: I32, names: Sequence[str]) -> I8:
    """HostCallKind of each call, (calls,); `launch` (kernels,) is the call of each kernel."""
    kinds: I8 = spread(calls.name, names, host_call_kind, np.int8)
    launching = np.unique(launch[launch >= 0])
    kinds[launching[kinds[launching] == HostCallKind.OTHER]] = HostCallKind.LAUNCH
    blocking = launch[_blocks_host(kernels, launch, calls, names)]
    kinds[blocking[kinds[blocking] == HostCallKind.LAUNCH]] = HostCallKind.SYNCHRONIZE
    return kinds


def host_call_table(
    calls: RawCalls,
    kinds: I8,
    ops: Nesting,
    kernels: RawKernels,
    launch: I32,
    syncs: RawSyncs,
    gpu_events: RawGpuEvents,
    names: Sequence[str],
) -> tuple[HostCallTable, I32]:
    """The table, and for each raw call its row there (-1: not kept)."""
    stream = np.full(len(calls), -1, dtype=np.int64)
    launched = launch >= 0
    stream[launch[launched][::-1]] = kernels.stream[launched][::-1]  # of a graph's kernels the first one's stream
    waits_for = _apply_syncs(calls, kinds, syncs, gpu_events, stream)

    kept = np.flatnonzero(kinds != HostCallKind.OTHER)
    row_of_call = np.full(len(calls) + 1, -1, dtype=np.int32)  # the last entry is for "none", index -1
    row_of_call[kept] = np.arange(len(kept), dtype=np.int32)
    table = HostCallTable(
        name=canonical(calls.name[kept], list(names)),
        kind=kinds[kept],
        start_ns=calls.start_ns[kept],
        duration_ns=calls.duration_ns[kept],
        thread=calls.thread[kept],
        op=ops.innermost(calls.start_ns[kept], calls.thread[kept]),
        stream=stream[kept],
        waits_for=row_of_call[waits_for[kept]],
    )
    return table, row_of_call[:-1]


def _blocks_host(kernels: RawKernels, launch: I32, calls: RawCalls, names: Sequence[str]) -> NDArray[np.bool_]:
    """Whether a copy kept its host call waiting: pageable memory, and the call did not return before the copy ended."""
    found: NDArray[np.bool_] = (launch >= 0) & (kernels.kind == EventKind.MEMCPY)
    found &= spread(kernels.name, names, lambda name: "Pageable" in name, np.bool_)
    to_host = spread(kernels.name, names, lambda name: "DtoH" in name, np.bool_)
    found &= (kernels.size_bytes > _RETURNS_EARLY_BYTES) | to_host
    found[found] = calls.end_ns[launch[found]] >= kernels.end_ns[found]
    return found


def _apply_syncs(calls: RawCalls, kinds: I8, syncs: RawSyncs, gpu_events: RawGpuEvents, stream: I64) -> I32:
    """Set streams that cuda_sync and cuda_event events tell; returns the record that each call waits for, -1 = none."""
    waits_for = np.full(len(calls), -1, dtype=np.int32)
    _set_streams(
        stream,
        match_launches(gpu_events.correlation, gpu_events.start_ns, calls.correlation, calls.start_ns),
        gpu_events.stream,
    )
    caller = match_launches(syncs.correlation, syncs.start_ns, calls.correlation, calls.start_ns)
    record = match_launches(syncs.recorded_by, syncs.start_ns, calls.correlation, calls.start_ns)
    record[record >= 0] = np.where(kinds[record[record >= 0]] == HostCallKind.EVENT_RECORD, record[record >= 0], -1)
    _set_streams(stream, record, syncs.wait_on_stream)
    _set_streams(stream, caller, syncs.stream)
    waiting = (caller >= 0) & (record >= 0)
    waiting[waiting] = np.isin(kinds[caller[waiting]], _WAITING)
    waits_for[caller[waiting]] = record[waiting]
    return waits_for


def _set_streams(stream: I64, call: I32, said: I64) -> None:
    known = (call >= 0) & (said >= 0) & (said != _NO_STREAM)
    rows, values = call[known], said[known]
    order = np.lexsort((values, rows))[::-1]  # where two disagree, the smallest stays, whatever their order in the file
    unset = stream[rows[order]] < 0
    stream[rows[order][unset]] = values[order][unset]

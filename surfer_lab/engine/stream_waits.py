"""Which work does a stream wait for, where the trace does not say?

Most traces record that a stream waits, but neither which stream nor for what. Around collectives it follows from how
PyTorch makes them: before a collective's launch its stream waits for the stream of the work before. A wait in a
communication op that launches none is `work.wait()`: the stream launched on next waits for the collective launched just
before, if that op returns the finished result, or else for the oldest one that took its input from that stream and was
not waited for yet. A wait outside of any op, after collectives of that thread, waits for the last of them (the end of
backward). Waits after a launch, in the same op, are the library's own.

Other waits without a target are left out and counted: a wait too many chains streams that ran side by side, one too
few is usually hidden by the order of the launches.
"""

from __future__ import annotations

from collections import deque
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.timeline import UNKNOWN_STREAM
from surfer_lab.trace.model import Trace
from surfer_lab.trace.tables import HostCallTable, KernelKind, KernelTable

__all__ = ["awaited_by_collectives", "slot_launched_on_last", "slot_launched_on_next"]

I64 = NDArray[np.int64]
B = NDArray[np.bool_]

_COMMUNICATION_OPS: Final = ("c10d::", "_c10d_functional::", "nccl:", "record_param_comms")
_RETURNING_OPS: Final = "c10d::"  # torch.distributed's own ops; a wait right after one is its caller's


def awaited_by_collectives(
    trace: Trace, waits: I64, next_slot: I64, last_slot: I64, slot_of_kernel: I64
) -> tuple[I64, I64]:
    """What stream waits without a recorded target mean by their place around collectives: (stream, kernel), -1 none."""
    kernels, calls = trace.kernels, trace.host_calls
    collective = kernels.kind == KernelKind.COMMUNICATION
    carries = np.unique(slot_of_kernel[collective])
    rows = np.flatnonzero(collective & (kernels.host_call >= 0))
    rows = rows[np.argsort(kernels.host_call[rows], kind="stable")]
    launches = kernels.host_call[rows]
    launch_of_op = dict(zip(calls.op[launches].tolist(), launches.tolist(), strict=True))
    launch_of_op.pop(-1, None)
    named = np.zeros(len(trace.ops) + 1, dtype=bool)
    returns = np.zeros(len(trace.ops) + 1, dtype=bool)
    if len(trace.ops):
        named[:-1] = trace.ops.name.map(lambda name: name.startswith(_COMMUNICATION_OPS), absent=False, dtype=np.bool_)
        returns[:-1] = trace.ops.name.map(lambda name: name.startswith(_RETURNING_OPS), absent=False, dtype=np.bool_)
    stream = np.full(len(waits), -1, dtype=np.int64)
    kernel = np.full(len(waits), -1, dtype=np.int64)
    last_launch = _last_launch(kernels, calls)
    pending: dict[tuple[int, int], deque[int]] = {}
    launched = 0
    for at, call in enumerate(waits.tolist()):
        while launched < len(rows) and launches[launched] < call:
            launch = int(launches[launched])
            key = (int(calls.thread[launch]), int(last_slot[launch]))
            pending.setdefault(key, deque()).append(int(rows[launched]))
            launched += 1
        op = int(calls.op[call])
        own_launch = launch_of_op.get(op, -1)
        if own_launch > call or (own_launch < 0 and next_slot[call] in carries):
            stream[at] = last_slot[call]
        elif own_launch < 0 and named[op]:
            slot = int(next_slot[call])
            queue = pending.get((int(calls.thread[call]), slot)) or _oldest(pending, slot)
            if queue:
                launch = int(kernels.host_call[queue[-1]])
                its_result = last_launch[call] == launch and returns[calls.op[launch]]
                kernel[at] = queue.pop() if its_result else queue.popleft()
        elif op < 0:
            queue = pending.get((int(calls.thread[call]), int(next_slot[call])))
            kernel[at] = queue[-1] if queue else -1
    return stream, kernel


def slot_launched_on_next(kernels: KernelTable, calls: HostCallTable, slot: I64) -> I64:
    """For every call the stream that its thread launches on next; -2 where there is none."""
    launched_on = np.full(len(calls), UNKNOWN_STREAM, dtype=np.int64)
    rows = kernels.host_call >= 0
    launched_on[kernels.host_call[rows]] = slot[rows]
    following = np.full(len(calls), UNKNOWN_STREAM, dtype=np.int64)
    for own, at in _launches_by_thread(calls, launched_on >= 0):
        after = np.searchsorted(at, np.arange(len(own)), side="right")
        following[own] = np.where(after < len(at), launched_on[own[at[np.minimum(after, len(at) - 1)]]], UNKNOWN_STREAM)
    return following


def slot_launched_on_last(kernels: KernelTable, calls: HostCallTable, slot: I64) -> I64:
    """For every call the stream on which its thread last launched anything but a collective; -2 where there is none."""
    launched_on = np.full(len(calls), UNKNOWN_STREAM, dtype=np.int64)
    carries = np.unique(slot[kernels.kind == KernelKind.COMMUNICATION])
    rows = (kernels.host_call >= 0) & ~np.isin(slot, carries)
    launched_on[kernels.host_call[rows]] = slot[rows]
    preceding = np.full(len(calls), UNKNOWN_STREAM, dtype=np.int64)
    for own, at in _launches_by_thread(calls, launched_on >= 0):
        before = np.searchsorted(at, np.arange(len(own)), side="left") - 1
        preceding[own] = np.where(before >= 0, launched_on[own[at[np.maximum(before, 0)]]], UNKNOWN_STREAM)
    return preceding


def _last_launch(kernels: KernelTable, calls: HostCallTable) -> I64:
    """For every call the launch before it on its thread; -1 where there is none."""
    launches = np.zeros(len(calls), dtype=bool)
    launches[kernels.host_call[kernels.host_call >= 0]] = True
    preceding = np.full(len(calls), -1, dtype=np.int64)
    for own, at in _launches_by_thread(calls, launches):
        before = np.searchsorted(at, np.arange(len(own)), side="left") - 1
        preceding[own] = np.where(before >= 0, own[at[np.maximum(before, 0)]], -1)
    return preceding


def _launches_by_thread(calls: HostCallTable, launches: NDArray[np.bool_]) -> list[tuple[I64, I64]]:
    """For each thread that launches: its calls, and the positions of launches among them."""
    own = [np.flatnonzero(calls.thread == thread) for thread in np.unique(calls.thread[launches])]
    return [(rows, np.flatnonzero(launches[rows])) for rows in own]


def _oldest(pending: dict[tuple[int, int], deque[int]], slot: int) -> deque[int] | None:
    queues = [queue for (_, source), queue in pending.items() if source == slot and queue]
    return min(queues, key=lambda queue: queue[0], default=None)

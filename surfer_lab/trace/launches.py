"""Which host call put a kernel on its stream? By correlation id, unique within a process.

Where several processes share a file, ids repeat: a device's kernels then belong to the process whose calls fit them
most often, and of several calls with one id the last before the kernel counts. All kernels of a CUDA graph share the
id, and so the launch, of their graph.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["match_launches", "processes_of_devices"]

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]

_MOST_PROCESSES: Final = 64  # ranks looked at in one file


def match_launches(kernel_id: I64, kernel_start_ns: I64, call_id: I64, call_start_ns: I64) -> I32:
    """The call of each kernel, -1 = none; ids of 0 and less are not recorded. Shape of `kernel_id`.

    >>> match_launches(np.array([7, 9]), np.array([5, 6]), np.array([8, 7, 7]), np.array([0, 1, 6]))
    array([ 1, -1], dtype=int32)
    """
    found = np.full(len(kernel_id), -1, dtype=np.int32)
    kernels, calls = np.flatnonzero(kernel_id > 0), np.flatnonzero(call_id > 0)
    if not len(kernels) or not len(calls):
        return found
    ids = np.concatenate([call_id[calls], kernel_id[kernels]])
    times = np.concatenate([call_start_ns[calls], kernel_start_ns[kernels]])
    is_kernel = np.arange(len(ids)) >= len(calls)
    order = np.lexsort((is_kernel, times, ids))
    sorted_ids, sorted_kernel = ids[order], is_kernel[order]
    position = np.arange(len(order))
    before = np.maximum.accumulate(np.where(sorted_kernel, -1, position))
    after = np.minimum.accumulate(np.where(sorted_kernel, len(order), position)[::-1])[::-1]
    for neighbour in (
        np.minimum(after, len(order) - 1),
        before,
    ):  # the one before wins; after: clocks disagree a little
        fits = sorted_kernel & (neighbour >= 0)
        fits[fits] = ~sorted_kernel[neighbour[fits]] & (sorted_ids[neighbour[fits]] == sorted_ids[fits])
        found[kernels[order[fits] - len(calls)]] = calls[order[neighbour[fits]]]
    return found


def processes_of_devices(
    device: NDArray[Any],
    kernel_id: I64,
    kernel_start_ns: I64,
    call_process: NDArray[Any],
    call_id: I64,
    call_start_ns: I64,
) -> dict[int, int]:
    """By device, the process whose calls match the most of its kernels; only processes with a match are named.

    Where several match alike (ranks that run one program in step), each device takes the first process that no device
    before it took: ranks are numbered as their devices are.
    """
    hits: dict[int, dict[int, int]] = {}
    processes, counts = np.unique(call_process, return_counts=True)
    for process in processes[np.argsort(-counts, kind="stable")][:_MOST_PROCESSES].tolist():
        rows = np.flatnonzero(call_process == process)
        launch = match_launches(kernel_id, kernel_start_ns, call_id[rows], call_start_ns[rows])
        matched = launch >= 0
        matched[matched] = call_start_ns[rows][launch[matched]] <= kernel_start_ns[matched]
        for key, count in zip(*(part.tolist() for part in np.unique(device[matched], return_counts=True)), strict=True):
            hits.setdefault(key, {})[process] = count
    owner: dict[int, int] = {}
    for key in sorted(hits):
        most = max(hits[key].values())
        fitting = sorted(process for process, count in hits[key].items() if count == most)
        owner[key] = next((process for process in fitting if process not in owner.values()), fitting[0])
    return owner

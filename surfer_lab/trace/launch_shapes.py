"""How many blocks of how many threads was a kernel launched with?

NVIDIA's kernels carry grid and block themselves; AMD's may only have them on their launch call. AMD's library
kernels are launched by `hipExtModuleLaunchKernel`, whose grid is counted in threads, not in blocks (HIP API
reference); the recorded GEMMs confirm it (grid 73,728 over blocks of 256 threads = 288 tiles of 16 x 16).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from surfer_lab.trace.salvage import UNDECODABLE

__all__ = ["GRID_IN_THREADS", "blocks_of_threads", "sizes_by_code"]

I32 = NDArray[np.int32]

GRID_IN_THREADS: Final = re.compile(r"hip(?:Ext|Hcc)ModuleLaunchKernel$")
_LARGEST: Final = (1 << 31) - 1  # CUDA's limit of gridDim.x


def sizes_by_code(codes: NDArray[Any], printed: Sequence[bytes]) -> I32:
    """(rows, 3) of printed [x, y, z]; zeros where nothing sound is recorded.

    >>> sizes_by_code(np.array([1, 0]), [b"", b"[8,1,2]"])
    array([[8, 1, 2], [0, 0, 0]], dtype=int32)
    """
    table = np.zeros((max(len(printed), 1), 3), dtype=np.int32)
    for code in np.unique(codes).tolist():
        table[code] = _sizes(printed[code])
    rows: I32 = table[codes]
    return rows


def blocks_of_threads(threads: I32, block: I32) -> I32:
    """Blocks in each direction for a grid counted in threads. (rows, 3) each."""
    whole = np.maximum(block, 1)
    return np.where(block > 0, -(-threads // whole), threads).astype(np.int32)


def _sizes(printed: bytes) -> tuple[int, int, int]:
    if not printed or len(printed) > 64:
        return (0, 0, 0)
    try:
        x, y, z = msgspec.json.decode(printed, type=tuple[int, int, int])
    except UNDECODABLE:
        return (0, 0, 0)
    return (x, y, z) if min(x, y, z) > 0 and max(x, y, z) <= _LARGEST else (0, 0, 0)

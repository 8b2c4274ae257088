"""How many blocks of a kernel does one SM hold at once, and how many the whole GPU: one wave?

With w = ceil(threads / warp size) warps a block, r registers a warp (regs_per_thread x warp size, rounded up to the
unit of allocation) and s bytes of shared memory (with what the system reserves, rounded up to its unit), an SM holds

    min( max_blocks,
         floor(max_warps / w),
         floor(P * floor(registers / P / r) / w),          P register partitions: a warp's registers come from one
         floor(shared_memory / s) )                         blocks

(the rules of CUDA's occupancy calculator). A count that was not recorded (-1) limits nothing. The split of memory
between L1 and shared is taken at its largest shared part, as the calculator does by default.
"""

from __future__ import annotations

from typing import Final, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from surfer_lab.hardware.gpu import Gpu, SmLimits
from surfer_lab.hardware.limits import MAX_THREADS_PER_BLOCK

__all__ = ["blocks_per_sm", "wave_blocks"]

I64 = NDArray[np.int64]

_UNLIMITED: Final = np.iinfo(np.int64).max


@overload
def blocks_per_sm(
    limits: SmLimits, threads_per_block: int, regs_per_thread: int = ..., smem_bytes: int = ...
) -> int: ...
@overload
def blocks_per_sm(
    limits: SmLimits, threads_per_block: ArrayLike, regs_per_thread: ArrayLike = ..., smem_bytes: ArrayLike = ...
) -> I64 | int: ...
def blocks_per_sm(
    limits: SmLimits,
    threads_per_block: ArrayLike,
    regs_per_thread: ArrayLike = -1,
    smem_bytes: ArrayLike = 0,
) -> I64 | int:
    """Blocks resident on one SM; arrays are broadcast, scalars give an int. 0: such a block cannot be launched there.

    `smem_bytes` is static plus dynamic shared memory. A block without threads (launch not recorded) gives 0.

    >>> from surfer_lab.hardware.limits import limits_of
    >>> blocks_per_sm(limits_of("7.0"), 256, 64)  # 8 warps of 2048 registers: 65536 / 16384
    4
    """
    threads, regs, smem = np.broadcast_arrays(
        np.asarray(threads_per_block, np.int64), np.asarray(regs_per_thread, np.int64), np.asarray(smem_bytes, np.int64)
    )
    warps = np.maximum(_ceil_div(threads, limits.warp_size), 1)
    single = limits.max_blocks if limits.max_single_warp_blocks is None else limits.max_single_warp_blocks
    blocks = np.where(warps == 1, single, limits.max_blocks)
    blocks = np.minimum(blocks, limits.max_warps // warps)
    blocks = np.minimum(blocks, _by_registers(limits, warps, regs))
    blocks = np.minimum(blocks, _by_shared_memory(limits, smem))
    blocks = np.where((threads <= 0) | (threads > MAX_THREADS_PER_BLOCK), 0, blocks)
    return int(blocks) if blocks.ndim == 0 else blocks.astype(np.int64, copy=False)


def wave_blocks(
    gpu: Gpu, threads_per_block: ArrayLike, regs_per_thread: ArrayLike = -1, smem_bytes: ArrayLike = 0
) -> I64:
    """Blocks resident on the whole GPU at once, never less than one an SM.

    A kernel too big for this GPU is not what would run there: its library picks one that fits, hence the one block.
    """
    blocks = np.asarray(blocks_per_sm(gpu.limits, np.asarray(threads_per_block), regs_per_thread, smem_bytes))
    return np.asarray(np.maximum(blocks, 1) * gpu.sm_count, dtype=np.int64)


def _by_registers(limits: SmLimits, warps: I64, regs: I64) -> I64:
    per_warp = _round_up(np.maximum(regs, 0) * limits.warp_size, limits.register_unit)
    warps_per_partition = (limits.registers // limits.register_partitions) // np.maximum(per_warp, 1)
    return np.where(regs > 0, warps_per_partition * limits.register_partitions // warps, _UNLIMITED)


def _by_shared_memory(limits: SmLimits, smem: I64) -> I64:
    asked = np.maximum(smem, 0)
    per_block = _round_up(asked + limits.reserved_shared_memory_bytes_per_block, limits.shared_memory_unit_bytes)
    blocks = np.where(per_block > 0, limits.shared_memory_bytes // np.maximum(per_block, 1), _UNLIMITED)
    largest = limits.max_shared_memory_bytes_per_block
    return blocks if largest is None else np.where(asked > largest, 0, blocks)


def _ceil_div(value: I64, unit: int) -> I64:
    return -(-value // unit)


def _round_up(value: I64, unit: int) -> I64:
    return _ceil_div(value, unit) * unit

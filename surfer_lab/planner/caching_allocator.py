"""How much would PyTorch's caching allocator hold for a sequence of allocations and frees?

The rules of c10/cuda/CUDACachingAllocator.cpp (torch 1.8 to 2.13, default settings: no limit on splitting, no
expandable segments, one stream): sizes are rounded up to 512 bytes; requests of at most 1 MiB are cut from segments
of 2 MiB, larger ones below 10 MiB from segments of 20 MiB, the rest get segments of their own size rounded up to 2
MiB. The smallest free block that is large enough is taken, the lowest address among equals; what is left over is
split off in the small pool from 512 bytes on, in the large pool only above 1 MiB. Freed neighbours merge; segments
are never given back.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import Final

from surfer_lab.units import BYTES_PER_MIB

__all__ = ["Block", "CachingAllocator", "block_bytes", "segment_bytes"]

_MIN_BLOCK_BYTES: Final = 512  # kMinBlockSize
_SMALL_BYTES: Final = BYTES_PER_MIB  # kSmallSize: largest request of the small pool, and the smallest rest split off
_SMALL_SEGMENT_BYTES: Final = 2 * BYTES_PER_MIB  # kSmallBuffer
_LARGE_SEGMENT_BYTES: Final = 20 * BYTES_PER_MIB  # kLargeBuffer
_OWN_SEGMENT_FROM_BYTES: Final = 10 * BYTES_PER_MIB  # kMinLargeAlloc
_SEGMENT_UNIT_BYTES: Final = 2 * BYTES_PER_MIB  # kRoundLarge


def block_bytes(size_bytes: int) -> int:
    """A request rounded as the allocator rounds it; 0 stays 0 (torch makes no block for an empty tensor).

    >>> block_bytes(1), block_bytes(512), block_bytes(513), block_bytes(0)
    (512, 512, 1024, 0)
    """
    return -(-size_bytes // _MIN_BLOCK_BYTES) * _MIN_BLOCK_BYTES


def segment_bytes(block: int) -> int:
    """What is asked of the driver when no cached block fits.

    >>> [segment_bytes(mib * 2**20) >> 20 for mib in (1, 2, 9, 10, 11)]
    [2, 20, 20, 10, 12]
    """
    if block <= _SMALL_BYTES:
        return _SMALL_SEGMENT_BYTES
    if block < _OWN_SEGMENT_FROM_BYTES:
        return _LARGE_SEGMENT_BYTES
    return -(-block // _SEGMENT_UNIT_BYTES) * _SEGMENT_UNIT_BYTES


class Block:
    """A stretch of one segment, in use or free."""

    __slots__ = ("address", "after", "before", "is_free", "is_small", "size_bytes")

    def __init__(self, address: int, size_bytes: int, is_small: bool) -> None:
        self.address = address
        self.size_bytes = size_bytes
        self.is_small = is_small
        self.is_free = False
        self.before: Block | None = None  # neighbours in the same segment
        self.after: Block | None = None


class CachingAllocator:
    """One device's allocator. `allocated_bytes` counts blocks in use, whole, as torch.cuda.memory_allocated does.

    >>> allocator = CachingAllocator()
    >>> block = allocator.allocate(3 * 2**20)
    >>> allocator.allocated_bytes >> 20, allocator.reserved_bytes >> 20
    (3, 20)
    >>> allocator.free(block); allocator.allocated_bytes, allocator.reserved_bytes >> 20
    (0, 20)
    """

    def __init__(self) -> None:
        self.allocated_bytes = 0
        self.reserved_bytes = 0
        self.peak_allocated_bytes = 0
        self.peak_reserved_bytes = 0
        self._next_address = 0
        # free blocks, smallest first, lowest address among equals
        self._free: dict[bool, list[tuple[int, int]]] = {True: [], False: []}
        self._at: dict[int, Block] = {}  # free blocks by address

    def allocate(self, size_bytes: int) -> Block | None:
        """A block for a request, from the cache or a new segment; None for a request of nothing."""
        size = block_bytes(size_bytes)
        if size == 0:
            return None
        is_small = size <= _SMALL_BYTES
        block = self._best_fit(size, is_small) or self._new_segment(size, is_small)
        rest = block.size_bytes - size
        if rest >= _MIN_BLOCK_BYTES if is_small else rest > _SMALL_BYTES:
            self._split(block, size)
        self.allocated_bytes += block.size_bytes
        self.peak_allocated_bytes = max(self.peak_allocated_bytes, self.allocated_bytes)
        return block

    def free(self, block: Block | None) -> None:
        """Give a block back to the cache; it merges with free neighbours. None is let pass."""
        if block is None:
            return
        self.allocated_bytes -= block.size_bytes
        before, after = block.before, block.after
        if before is not None and before.is_free:
            self._take(before)
            before.size_bytes += block.size_bytes
            before.after = after
            if after is not None:
                after.before = before
            block = before
        if after is not None and after.is_free:
            self._take(after)
            block.size_bytes += after.size_bytes
            block.after = after.after
            if after.after is not None:
                after.after.before = block
        self._cache(block)

    def _best_fit(self, size: int, is_small: bool) -> Block | None:
        pool = self._free[is_small]
        place = bisect_left(pool, (size, -1))
        if place == len(pool):
            return None
        block = self._at[pool[place][1]]
        self._take(block)
        return block

    def _new_segment(self, size: int, is_small: bool) -> Block:
        segment = segment_bytes(size)
        block = Block(self._next_address, segment, is_small)
        self._next_address += segment
        self.reserved_bytes += segment
        self.peak_reserved_bytes = max(self.peak_reserved_bytes, self.reserved_bytes)
        return block

    def _split(self, block: Block, size: int) -> None:
        rest = Block(block.address + size, block.size_bytes - size, block.is_small)
        rest.before, rest.after = block, block.after
        if block.after is not None:
            block.after.before = rest
        block.after = rest
        block.size_bytes = size
        self._cache(rest)

    def _cache(self, block: Block) -> None:
        block.is_free = True
        insort(self._free[block.is_small], (block.size_bytes, block.address))
        self._at[block.address] = block

    def _take(self, block: Block) -> None:
        block.is_free = False
        pool = self._free[block.is_small]
        del pool[bisect_left(pool, (block.size_bytes, block.address))]
        del self._at[block.address]

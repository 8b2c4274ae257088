"""The allocator keeps torch's rules: rounding, segments, best fit, splitting, merging."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from surfer_lab.planner.caching_allocator import Block, CachingAllocator, block_bytes, segment_bytes

KIB, MIB = 1 << 10, 1 << 20


def test_small_requests_share_a_segment_of_2_mib() -> None:
    allocator = CachingAllocator()
    for _ in range(4):
        allocator.allocate(300 * KIB)
    assert allocator.reserved_bytes == 2 * MIB
    assert allocator.allocated_bytes == 4 * 300 * KIB


def test_requests_of_1_mib_are_small_and_one_byte_more_is_large() -> None:
    allocator = CachingAllocator()
    allocator.allocate(MIB)
    assert allocator.reserved_bytes == 2 * MIB
    allocator.allocate(MIB + 1)
    assert allocator.reserved_bytes == 22 * MIB


def test_large_requests_get_segments_of_their_own_in_steps_of_2_mib() -> None:
    allocator = CachingAllocator()
    allocator.allocate(10 * MIB)
    allocator.allocate(11 * MIB + 1)
    assert allocator.reserved_bytes == 10 * MIB + 12 * MIB


def test_a_large_rest_of_at_most_1_mib_is_not_split_off_and_counts_as_allocated() -> None:
    # as in the V100 ResNet-50 traces: indices of max pooling, 51,380,224 bytes, take a block of 52,428,800
    allocator = CachingAllocator()
    allocator.allocate(51_380_224)
    assert allocator.allocated_bytes == 52_428_800


def test_the_smallest_block_that_is_large_enough_is_taken() -> None:
    allocator = CachingAllocator()
    large, small = allocator.allocate(40 * MIB), allocator.allocate(20 * MIB)
    allocator.free(large)
    allocator.free(small)
    taken = allocator.allocate(15 * MIB)
    assert taken is not None
    assert taken.address == 40 * MIB
    assert allocator.reserved_bytes == 60 * MIB


def test_freed_neighbours_merge_and_serve_a_larger_request() -> None:
    allocator = CachingAllocator()
    parts = [allocator.allocate(5 * MIB) for _ in range(4)]
    assert allocator.reserved_bytes == 20 * MIB
    for part in (parts[1], parts[3], parts[2]):
        allocator.free(part)
    taken = allocator.allocate(14 * MIB)
    assert taken is not None
    assert taken.address == 5 * MIB
    assert allocator.reserved_bytes == 20 * MIB


def test_a_request_of_nothing_takes_no_block() -> None:
    allocator = CachingAllocator()
    block = allocator.allocate(0)
    allocator.free(block)
    assert block is None
    assert allocator.reserved_bytes == 0


requests = st.lists(
    st.tuples(st.integers(0, 60 * MIB) | st.integers(0, 4 * KIB), st.integers(0, 30)), min_size=1, max_size=60
)


@given(requests)
def test_live_blocks_never_overlap_and_hold_what_was_asked(asked: list[tuple[int, int]]) -> None:
    allocator = CachingAllocator()
    live: list[tuple[int, Block]] = []
    for size, victim in asked:
        block = allocator.allocate(size)
        if block is not None:
            live.append((size, block))
        if live and victim % 3 == 0:
            allocator.free(live.pop(victim % len(live))[1])
        spans = sorted((block.address, block.address + block.size_bytes) for _, block in live)
        assert all(end <= start for (_, end), (start, _) in pairwise(spans))
        assert all(block.size_bytes >= block_bytes(size) for size, block in live)
        assert allocator.allocated_bytes == sum(block.size_bytes for _, block in live)
        assert allocator.allocated_bytes <= allocator.reserved_bytes


@given(requests)
def test_after_all_is_freed_the_same_requests_reserve_no_more(asked: list[tuple[int, int]]) -> None:
    allocator = CachingAllocator()
    blocks = [allocator.allocate(size) for size, _ in asked]
    reserved = allocator.reserved_bytes
    for block in blocks:
        allocator.free(block)
    assert allocator.allocated_bytes == 0
    again = [allocator.allocate(size) for size, _ in sorted(asked, reverse=True)]
    assert len(again) == len(blocks)
    assert allocator.peak_reserved_bytes >= reserved


@given(st.integers(1, 1 << 34))
def test_a_segment_holds_its_block(size: int) -> None:
    block = block_bytes(size)
    assert size <= block < size + 512
    assert block <= segment_bytes(block)

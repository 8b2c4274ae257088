"""What does the caching allocator hold when a captured step is run again and again?

As a program does: the first step starts with parameters, buffers and inputs alone; optimizer state comes at its end,
into blocks that its activations left behind, and its gradients stay for the next one. The second step fills the cache,
the third is the steady state whose peaks count. What a step leaves behind is freed in the next one where that step
frees what was there before it, size by size; what it frees nowhere was freed between the two (gradients set to None).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.planner.caching_allocator import Block, CachingAllocator
from surfer_lab.trace.tables import TensorRole, TensorTable

__all__ = ["ReplayedPeaks", "replay"]

_STEPS: Final = 3


@dataclass(frozen=True, kw_only=True)
class ReplayedPeaks:
    """Peaks of the steady step; what is reserved never falls."""

    peak_allocated_bytes: int
    peak_reserved_bytes: int


def replay(tensors: TensorTable, op_count: int, scratch_bytes: NDArray[np.int64]) -> ReplayedPeaks:
    """Run the step through the allocator. `scratch_bytes` (ops,) lives during its op, after its outputs are made."""
    allocator = CachingAllocator()
    sizes = tensors.size_bytes.tolist()
    roles = tensors.role.tolist()
    makes, frees = _by_op(tensors.allocated_by, op_count), _by_op(tensors.freed_after, op_count)
    scratch = scratch_bytes.tolist()
    there_before = set(makes[-1])
    gradients = {row for row in there_before if roles[row] == TensorRole.GRADIENT}
    state = [row for row in makes[-1] if roles[row] == TensorRole.OPTIMIZER_STATE]
    blocks: dict[int, Block | None] = {
        row: allocator.allocate(sizes[row]) for row in makes[-1] if row not in gradients and row not in state
    }
    freed_within = [row for row in makes[-1] if tensors.freed_after[row] >= 0]
    left_behind: defaultdict[int, list[Block | None]] = defaultdict(list)
    for step in range(_STEPS):
        if step:
            _free_unclaimed(allocator, left_behind, Counter(sizes[row] for row in freed_within if row not in blocks))
        allocator.peak_allocated_bytes = allocator.allocated_bytes
        made: dict[int, Block | None] = {}
        for op in range(op_count):
            for row in makes.get(op, ()):
                made[row] = allocator.allocate(sizes[row])
            if scratch[op]:
                allocator.free(allocator.allocate(scratch[op]))
            for row in frees.get(op, ()):
                if row in made:
                    allocator.free(made.pop(row))
                elif row in blocks:
                    allocator.free(blocks.pop(row))
                elif row in there_before and left_behind[sizes[row]]:
                    allocator.free(left_behind[sizes[row]].pop(0))
        for row, block in made.items():
            left_behind[sizes[row]].append(block)
        if step == 0:
            blocks.update({row: allocator.allocate(sizes[row]) for row in state})
            kept = [row for row in gradients if tensors.freed_after[row] < 0]  # accumulated into, never replaced
            blocks.update({row: allocator.allocate(sizes[row]) for row in kept})
    return ReplayedPeaks(
        peak_allocated_bytes=allocator.peak_allocated_bytes, peak_reserved_bytes=allocator.peak_reserved_bytes
    )


def _free_unclaimed(
    allocator: CachingAllocator, left_behind: dict[int, list[Block | None]], claims: Counter[int]
) -> None:
    for size, blocks in left_behind.items():
        while len(blocks) > claims[size]:
            allocator.free(blocks.pop())


def _by_op(ops: NDArray[np.int32], op_count: int) -> dict[int, list[int]]:
    """Rows by the op named, in row order; -1 is a key of its own."""
    rows: dict[int, list[int]] = {-1: []}
    for row, op in enumerate(ops.tolist()):
        rows.setdefault(min(op, op_count - 1), []).append(row)
    return rows

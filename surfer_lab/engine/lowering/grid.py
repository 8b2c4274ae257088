"""How many thread blocks a kernel of a class launches: what wave quantisation needs where no grid was recorded.

These are the usual choices of PyTorch and the vendors' libraries, each with its source; a recorded grid always wins.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "GEMM_THREADS", "POINTWISE_THREADS", "REDUCTION_THREADS", "gemm_blocks", "multi_tensor_launches",
    "pointwise_blocks", "reduction_blocks", "rows_blocks", "softmax_blocks",
]  # fmt: skip

# aten/src/ATen/native/cuda/thread_constants.h: num_threads() = 4 warps, thread_work_size() = 4
POINTWISE_THREADS: Final = 128
_ELEMENTS_PER_THREAD: Final = 4
# aten/src/ATen/native/cuda/Reduce.cuh: MAX_NUM_THREADS 512, at least 16 values a thread before blocks share an output
REDUCTION_THREADS: Final = 512
_VALUES_PER_THREAD: Final = 16
# aten/src/ATen/native/cuda/PersistentSoftmax.cuh: up to 1,024 columns a warp holds the row, 128 threads a block
_WARP_SOFTMAX_COLUMNS: Final = 1024
_WARP_SIZE: Final = 32
# cuBLAS and CUTLASS kernels of 128 x 128 and 128 x 64 output tiles run 256 threads a block, smaller ones 128
GEMM_THREADS: Final = 256
_TILES: Final = ((128, 128), (128, 64), (64, 64), (32, 32))  # as the names of cuBLAS kernels in the traces tell
_ENOUGH_BLOCKS: Final = 80  # below about one block a SM of the larger GPUs the libraries turn to smaller tiles
# split-K: few outputs and a long contraction. Of the 2,266 products that cuBLAS split in NeuSight's kernel timings the
# median grid is 81 blocks, slices included, and three quarters of the slices are longer than 155
_SHORTEST_SLICE: Final = 128
# aten/src/ATen/native/cuda/MultiTensorApply.cuh: 65,536 elements a chunk, a block a chunk of 512 threads; at most 320
# blocks a launch, and by number of tensor lists at most so many tensors a launch
MULTI_TENSOR_CHUNK: Final = 65536
_MULTI_TENSOR_BLOCKS: Final = 320
_MULTI_TENSOR_TENSORS: Final = {1: 110, 2: 64, 3: 48, 4: 36, 5: 30}


def _ceil(a: int, b: int) -> int:
    return -(-a // b)


def pointwise_blocks(elements: int) -> int:
    """Four elements a thread."""
    return max(1, _ceil(elements, POINTWISE_THREADS * _ELEMENTS_PER_THREAD))


def reduction_blocks(elements: int, outputs: int) -> int:
    """A reduction of `elements` to `outputs`: enough blocks for 16 values a thread, and no fewer than outputs need."""
    return max(1, _ceil(elements, REDUCTION_THREADS * _VALUES_PER_THREAD), _ceil(outputs, REDUCTION_THREADS))


def rows_blocks(rows: int) -> int:
    """One block a row: layer norm, wide softmax."""
    return max(1, rows)


def softmax_blocks(rows: int, columns: int) -> int:
    """Narrow rows: a warp holds one (two up to 128 columns), four warps a block; wide rows: a block each.

    >>> softmax_blocks(1024, 64), softmax_blocks(1024, 50257)
    (128, 1024)
    """
    if columns > _WARP_SOFTMAX_COLUMNS:
        return max(1, rows)
    rows_per_block = (POINTWISE_THREADS // _WARP_SIZE) * (2 if columns <= 128 else 1)
    return max(1, _ceil(rows, rows_per_block))


def gemm_blocks(batch: int, m: int, n: int, k: int = 1) -> int:
    """Output tiles of the largest usual tile that still fills a GPU; where none does, a long contraction is split.

    >>> gemm_blocks(1, 4096, 4096), gemm_blocks(1, 64, 64), gemm_blocks(1, 64, 64, 1_000_000)
    (1024, 4, 80)
    """
    blocks = 1
    for tile_m, tile_n in _TILES:
        blocks = max(1, batch * _ceil(m, tile_m) * _ceil(n, tile_n))
        if blocks >= _ENOUGH_BLOCKS:
            return blocks
    slices = max(1, min(_ENOUGH_BLOCKS // blocks, k // _SHORTEST_SLICE))
    return blocks * slices


def multi_tensor_launches(sizes: tuple[int, ...], lists: int) -> tuple[int, int]:
    """Launches and blocks in all for a foreach op over tensors of these element counts in so many lists.

    >>> multi_tensor_launches((65536, 1), 2)
    (1, 2)
    """
    chunks = sum(max(1, _ceil(size, MULTI_TENSOR_CHUNK)) for size in sizes)
    tensors_a_launch = _MULTI_TENSOR_TENSORS.get(lists, min(_MULTI_TENSOR_TENSORS.values()))
    return max(1, _ceil(len(sizes), tensors_a_launch), _ceil(chunks, _MULTI_TENSOR_BLOCKS)), max(1, chunks)

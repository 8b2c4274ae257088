"""What do the dimensions of a matrix product mean on a GPU? Waves, tiles and their padding, without units.

For a batch of products the tile is the library's usual one on that GPU (`machine`), and padding and quantisation by it
are counted in the arithmetic itself; for one product the library chooses among many tiles, so all are shown to the
network and none is counted.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from surfer_lab.engine.learned.form import Column, LearnedFamily, Real, Terms, as_rows, in_burst_columns
from surfer_lab.engine.learned.machine import Machines

__all__ = ["product_terms"]

# (columns, rows); cuBLAS's FP32 kernels
_TILES: Final = {
    LearnedFamily.LINEAR: ((128, 128), (128, 64), (64, 128), (64, 64), (128, 32), (32, 128), (32, 32)),
    LearnedFamily.BMM: ((64, 64),),
}
_MANY_WAVES: Final = 64.0
_DEPTH: Final = 8  # of the contraction that a tile takes at once
_FP32_BYTES: Final = 4.0


def product_terms(shapes: Real, machines: Machines, family: LearnedFamily) -> Terms:
    """Shapes (rows, 4): batch, m, k, n, at least 1 each; a machine a row, or against all of them."""
    batch, m, k, n = np.moveaxis(shapes, -1, 0)
    flop = 2.0 * batch * m * k * n
    moved = _FP32_BYTES * batch * (m * k + k * n + m * n)
    counted: Real = flop
    columns: list[Column] = []
    if family is LearnedFamily.BMM:
        blocks = _blocks(m, n, machines.tile_columns, machines.tile_rows) * batch
        waves = blocks / machines.sm_count
        tile = machines.tile_columns * machines.tile_rows
        columns += [*_tiled(batch * m * n, blocks, tile, waves), _quantisation(waves / 2.0), np.log(tile / 4096.0)]
        counted = 2.0 * blocks * tile * np.ceil(k / _DEPTH) * _DEPTH * np.ceil(waves) / waves
    for across, down in _TILES[family]:
        blocks = _blocks(m, n, float(across), float(down)) * batch
        columns += _tiled(batch * m * n, blocks, float(across * down), blocks / machines.sm_count)
    compute, memory = flop / machines.flop_per_ms, moved / machines.bytes_per_ms
    aligned_n, aligned_k = n % 4 == 0, k % 4 == 0
    columns += [
        np.clip(np.log(flop / machines.sm_count / 1e6), -6.0, 12.0),
        np.clip(np.log(compute / memory), -4.0, 4.0),
        aligned_n & aligned_k, aligned_n, aligned_k,
        np.clip(np.log(m), 0.0, 9.0), np.clip(np.log(k), 0.0, 9.0), np.clip(np.log(n), 0.0, 9.0),
        np.log(k / (np.ceil(k / _DEPTH) * _DEPTH)),
        np.clip(np.log(batch), 0.0, 8.0),
    ]  # fmt: skip
    compute = np.broadcast_to(counted / machines.flop_per_ms, memory.shape)
    if family is LearnedFamily.BMM:
        columns += in_burst_columns(machines.in_burst, compute)
    return Terms(as_rows(columns), compute.reshape(-1, 1), memory.reshape(-1, 1))


def _blocks(m: Real, n: Real, across: Real | float, down: Real | float) -> Real:
    blocks: Real = np.ceil(n / across) * np.ceil(m / down)
    return blocks


def _tiled(results: Real, blocks: Real, tile: Real | float, waves: Real) -> list[Column]:
    """Share of the tiles' results that is wanted, waves, share of the last wave that is used; logarithms."""
    return [np.log(results / (blocks * tile)), np.log(np.minimum(waves, _MANY_WAVES)), _quantisation(waves)]


def _quantisation(waves: Real) -> Real:
    share: Real = np.log(waves / np.ceil(waves))
    return share

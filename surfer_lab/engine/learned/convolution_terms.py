"""What does a 3x3 convolution cost in each algorithm that cuDNN picks from? Implicit GEMM, Winograd 2x2 and 4x4.

Multiplications by whole tiles: of the implicit product (128 x 64); of 16 products a 2x2 patch, fused; of 36 products a
4x4 patch, whose transformed inputs and outputs are written and read again. Bytes count those.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from surfer_lab.engine.learned.form import Column, Real, Terms, as_rows, in_burst_columns
from surfer_lab.engine.learned.machine import Machines

__all__ = ["convolution_terms"]

_FP32_BYTES: Final = 4.0
_TAPS: Final = 9.0
_SMALL_PATCH, _LARGE_PATCH = 16.0, 36.0  # products of a Winograd patch with 2x2 and with 4x4 results
_DEPTH: Final = 8.0
_PATCH_TILES: Final = ((128, 128), (128, 64), (32, 128), (128, 32))  # of the products of transformed patches
_SPANS: Final = (2, 4, 8, 16, 32)  # pixels of a side that blocks and transforms take at once: 17 cost what 32 do


def convolution_terms(shapes: Real, machines: Machines) -> Terms:
    """Shapes (rows, 4): batch, input and output channels, side of the square image; a machine a row, or against all."""
    batch, inputs, outputs, side = np.moveaxis(shapes, -1, 0)
    pixels = batch * side**2
    small, large = batch * np.ceil(side / 2.0) ** 2, batch * np.ceil(side / 4.0) ** 2
    flop = 2.0 * pixels * outputs * inputs * _TAPS
    direct = 2.0 * _up(pixels, 128) * _up(outputs, 64) * _up(_TAPS * inputs, _DEPTH)
    fused = 2.0 * _SMALL_PATCH * _up(small, 32) * _up(outputs, 32) * _up(inputs, _DEPTH)
    apart = 2.0 * _LARGE_PATCH * _up(large, 64) * _up(outputs, 64) * _up(inputs, _DEPTH)
    weights = inputs * outputs
    moved = _FP32_BYTES * (pixels * (inputs + outputs) + _TAPS * weights)
    moved_fused = moved + 2.0 * _FP32_BYTES * _SMALL_PATCH * weights
    transformed = _FP32_BYTES * _LARGE_PATCH * large * (inputs + outputs)
    moved_apart = moved + 2.0 * (transformed + _FP32_BYTES * _LARGE_PATCH * weights)
    sms = machines.sm_count
    columns: list[Column] = []
    for blocks in (
        np.ceil(pixels / 128) * np.ceil(outputs / 64),
        np.ceil(small / 32) * np.ceil(outputs / 128),
        _LARGE_PATCH * np.ceil(large / 64) * np.ceil(outputs / 64),
    ):
        waves = np.log(blocks) - np.log(sms)
        columns += [waves - np.log(np.ceil(blocks / sms)), np.clip(waves, -6.0, 4.0)]
    for tall, wide in _PATCH_TILES:
        blocks = _LARGE_PATCH * np.ceil(large / tall) * np.ceil(outputs / wide)
        columns += [
            np.log(large * outputs * _LARGE_PATCH / (blocks * tall * wide)),
            np.log(blocks) - np.log(sms) - np.log(np.ceil(blocks / sms)),
        ]
    columns += [_against_cache(size, machines) for size in (
        transformed, _FP32_BYTES * _LARGE_PATCH * weights, _FP32_BYTES * pixels * inputs, _FP32_BYTES * pixels * outputs
    )]  # fmt: skip
    columns += [np.log(_up(side, unit) / side) for unit in _SPANS]
    columns += [np.log(_up(channels, 32) / channels) for channels in (inputs, outputs)]
    columns += [np.log(inputs), np.log(outputs), np.log(batch), np.log(side)]
    columns += [(channels % unit == 0) for channels in (inputs, outputs) for unit in (4, 8, 32)]
    columns += [(batch % unit == 0) for unit in (4, 8, 32)]
    columns += [
        side % 4 / 4.0, side % 2,
        np.log(apart / flop), np.log(fused / flop), np.log(direct / flop),
        np.clip(np.log(apart / moved_apart), 0.0, 6.0), np.log(flop / moved),
        np.clip(np.log(flop / machines.sm_count / 1e6), -6.0, 12.0),
        *in_burst_columns(machines.in_burst, apart / machines.flop_per_ms),
    ]  # fmt: skip
    compute = as_rows([one / machines.flop_per_ms for one in (direct, fused, apart)])
    memory = as_rows([one / machines.bytes_per_ms for one in (moved, moved_fused, moved_apart)])
    return Terms(as_rows(columns), compute, memory)


def _up(value: Real, unit: float) -> Real:
    whole: Real = np.ceil(value / unit) * unit
    return whole


def _against_cache(size: Real, machines: Machines) -> Real:
    """Of bytes against the L2 cache, a logarithm; a cache of unknown size is taken to be as large as they are."""
    known = machines.l2_bytes > 0
    ratio = np.log(size) - np.log(np.where(known, machines.l2_bytes, 1.0))
    limited: Real = np.where(known, np.clip(ratio, -4.0, 4.0), 0.0)
    return limited

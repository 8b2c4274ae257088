"""The named baseline: wave scaling exactly as published (Yu et al., USENIX ATC'21), to compare with, not to use.

    exact       T_d = ceil(B/W_d) / ceil(B/W_o) * (D_o/D_d * W_d/W_o)^gamma * (C_o/C_d)^(1-gamma) * T_o
    many waves  T_d = (D_o/D_d)^gamma * (W_o/W_d * C_o/C_d)^(1-gamma) * T_o

with D the rated bandwidth, C the rated clock, W the blocks resident at once, gamma from the FLOPs a byte x and the
destination's ridge R (rated FP32 over rated bandwidth): 1 - x/2R for x <= R, R/2x above, 1 where x is unknown. Known
faults: blind to FP32 lanes an SM, to dtypes and to power limits; not monotone, since gamma moves with the destination.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.wave_scaling import memory_share

__all__ = ["literal_gamma", "scale_exact_waves", "scale_many_waves"]

F64 = NDArray[np.float64]


def literal_gamma(flop: F64, moved_bytes: F64, peak_flop_per_s: F64, bandwidth: F64) -> F64:
    """Gamma, (gpus, items), from FLOPs and bytes (items,) and the destinations' rated values (gpus,)."""
    gamma = memory_share(flop, moved_bytes, peak_flop_per_s[:, None], bandwidth[:, None])
    return np.where(np.isfinite(gamma), gamma, 1.0)


def scale_exact_waves(
    measured_ns: F64,
    gamma: F64,
    blocks: F64,
    *,
    waves: tuple[F64, F64],
    bandwidth: tuple[F64, F64],
    clock: tuple[F64, F64],
) -> F64:
    """The exact form. Pairs are (origin, destinations (gpus, items) or (gpus, 1)). An unknown grid is B = W_o."""
    origin_waves, destination_waves = waves
    count = np.where(blocks > 0, blocks, origin_waves)
    steps = np.ceil(count / destination_waves) / np.ceil(count / origin_waves)
    memory = bandwidth[0] / bandwidth[1] * destination_waves / origin_waves
    scaled: F64 = steps * memory**gamma * (clock[0] / clock[1]) ** (1.0 - gamma) * measured_ns
    return scaled


def scale_many_waves(
    measured_ns: F64, gamma: F64, *, waves: tuple[F64, F64], bandwidth: tuple[F64, F64], clock: tuple[F64, F64]
) -> F64:
    """The form for grids of many waves, in which rounding to whole waves no longer matters."""
    compute = waves[0] / waves[1] * clock[0] / clock[1]
    scaled: F64 = (bandwidth[0] / bandwidth[1]) ** gamma * compute ** (1.0 - gamma) * measured_ns
    return scaled

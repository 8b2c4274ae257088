"""How long does a kernel measured on one GPU take on another? Wave scaling with sustained rates.

    T_d = t0 + (T_o - t0) * ( gamma * D_o / D_d + (1 - gamma) * [ceil(B/W_d) * W_d / R_d] / [ceil(B/W_o) * W_o / R_o] )

after Yu et al., "A Runtime-Based Computational Performance Predictor for Deep Neural Network Training" (USENIX ATC'21),
with T time, D bandwidth, R rate of arithmetic, B thread blocks, W blocks of one wave; o origin, d destination. Against
the literal form (`literal_scaling`) four things differ, each for a reason that data showed:

- D and R are sustained rates, R by dtype: an H100 has twice the FP32 lanes of a V100 per SM, a T4 half its rated power.
- gamma, the share of the time that memory bounds, is fixed at the origin: 1 - x/2r for x <= r, r/2x above, with x the
  FLOPs a byte and r = R_o / D_o. So nothing gets slower from more bandwidth, rate or SMs with the rate.
- A wave of a product-like kernel is one block an SM: one block of 128 to 256 threads with a tile of its own fills an
  SM's arithmetic. On 440,000 pairs of measured matrix products and convolutions between five GPUs that leaves smaller
  errors than two or four blocks an SM; other kernels use the occupancy.
- t0, a floor, does not scale: kernels of one to four blocks take 2.0 us (median) on V100, A100 and RTX 2080 Ti alike,
  copies and memsets of a few kB 1.3 us. And bandwidth is what the threads of a grid can draw: 47 MB/s a thread, the
  value that fits 150 kernels of equal name and grid in V100, A100 and RTX 2080 Ti traces best (a 16-byte load in flight
  over some 340 ns).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "BYTES_PER_S_PER_THREAD", "COPY_FLOOR_NS", "KERNEL_FLOOR_NS", "Scaled", "drawn_bandwidth", "memory_share",
    "scale_waves", "wave_time",
]  # fmt: skip

F64 = NDArray[np.float64]
B = NDArray[np.bool_]

KERNEL_FLOOR_NS: Final = 2_000.0
COPY_FLOOR_NS: Final = 1_300.0
BYTES_PER_S_PER_THREAD: Final = 47e6


@dataclass(frozen=True, kw_only=True, eq=False)
class Scaled:
    """Predicted times and what they are made of, (gpus, items) ns; the parts sum to the time."""

    floor_ns: F64
    memory_ns: F64
    compute_ns: F64
    starved: B  # too few threads or blocks to use what bounds the item

    @property
    def duration_ns(self) -> F64:
        duration: F64 = self.floor_ns + self.memory_ns + self.compute_ns
        return duration

    def stretched(self, factor: F64) -> Scaled:
        """The same make-up of times `factor` as long, (gpus, items)."""
        return Scaled(
            floor_ns=self.floor_ns * factor,
            memory_ns=self.memory_ns * factor,
            compute_ns=self.compute_ns * factor,
            starved=self.starved,
        )


def memory_share(flop: F64, moved_bytes: F64, rate: F64 | float, bandwidth: F64 | float) -> F64:
    """Gamma of the module's docstring, (items,); nan where FLOPs or bytes are unknown.

    >>> memory_share(np.array([10.0]), np.array([1.0]), 20.0, 1.0)  # half the ridge of 20 FLOPs a byte
    array([0.75])
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        position = flop / moved_bytes / (rate / bandwidth)
        return np.where(position <= 1.0, 1.0 - 0.5 * position, 0.5 / position)


def drawn_bandwidth(bandwidth: F64, threads: F64) -> F64:
    """Bytes/s that grids can draw, (gpus, items), of `bandwidth` (gpus,); `threads` (items,) of a grid, 0 = unknown."""
    limit = np.where(threads > 0, threads * BYTES_PER_S_PER_THREAD, np.inf)
    drawn: F64 = np.minimum(bandwidth[:, None], limit)
    return drawn


def wave_time(blocks: F64, wave_blocks: F64, rate: F64) -> F64:
    """Time of the arithmetic in units of work over rate, whole waves counted: ceil(B/W) * W / R; B / R without a grid.

    >>> wave_time(np.array([81.0]), np.array([80.0]), np.array([1.0]))  # the 81st block costs a second wave
    array([160.])
    """
    whole = np.ceil(blocks / wave_blocks) * wave_blocks
    return np.where(blocks > 0, whole, 1.0) / rate


def scale_waves(
    measured_ns: F64,
    gamma: F64,
    *,
    floor_ns: F64,
    origin_bandwidth: F64,
    bandwidth: F64,
    origin_rate: F64,
    rate: F64,
    blocks: F64,
    origin_wave_blocks: F64,
    wave_blocks: F64,
    threads: F64,
) -> Scaled:
    """Scale measured kernels, (items,) each, to GPUs: `bandwidth` (gpus,), `rate` and `wave_blocks` (gpus, items).

    Origin values: bandwidth (1,), rate and wave blocks (items,). The equation is the module's.
    """
    floor = np.minimum(measured_ns, floor_ns)
    above = measured_ns - floor
    drawn, drawn_at_origin = drawn_bandwidth(bandwidth, threads), drawn_bandwidth(origin_bandwidth, threads)
    memory = above * gamma * (drawn_at_origin / drawn)
    waves = wave_time(blocks, wave_blocks, rate) / wave_time(blocks, origin_wave_blocks, origin_rate)
    compute = above * (1.0 - gamma) * waves
    starved = np.where(memory >= compute, drawn < 0.5 * bandwidth[:, None], (blocks > 0) & (2 * blocks < wave_blocks))
    return Scaled(floor_ns=np.broadcast_to(floor, memory.shape), memory_ns=memory, compute_ns=compute, starved=starved)

"""How long does work take on a GPU when nothing was measured? A roofline calibrated by family.

    T = n * t0 + sqrt( (F / (u R))^2 + (M / (v D))^2 )

with F FLOPs, M bytes moved, R and D the GPU's sustained rate and the bandwidth that the grid can draw, u and v the
family's usual fractions of them (`utilisation`), n launches, t0 the floor of a kernel. The root of squares stands for
the imperfect overlap of arithmetic and memory: on 42,000 measured operations it leaves smaller errors than the larger
of the two (median 20.3 against 21.9 %) or their sum (25.7 %).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.wave_scaling import KERNEL_FLOOR_NS, Scaled, drawn_bandwidth
from surfer_lab.units import NS_PER_S

__all__ = ["roofline"]

F64 = NDArray[np.float64]


def roofline(
    flop: F64, moved_bytes: F64, launch_count: F64, *, rate: F64, bandwidth: F64, memory_fraction: F64, threads: F64
) -> Scaled:
    """Times of items, (items,) each, on GPUs: `rate` (gpus, items) is u R, `bandwidth` (gpus,) is D.

    `moved_bytes` may be (gpus, items): libraries differ by vendor.

    Unknown FLOPs or bytes (nan) count as none. The parts share the time in proportion to their squares.
    """
    drawn = drawn_bandwidth(bandwidth, threads)
    compute = np.nan_to_num(flop) / rate * NS_PER_S
    memory = np.nan_to_num(moved_bytes) / (memory_fraction * drawn) * NS_PER_S
    together = np.hypot(compute, memory)
    share = np.divide(memory**2, together**2, out=np.ones_like(together), where=together > 0)
    floor = np.broadcast_to(launch_count * KERNEL_FLOOR_NS, together.shape)
    return Scaled(
        floor_ns=floor,
        memory_ns=together * share,
        compute_ns=together * (1.0 - share),
        starved=(share >= 0.5) & (drawn < 0.5 * bandwidth[:, None]),
    )

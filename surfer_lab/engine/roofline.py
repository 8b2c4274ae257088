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

__all__ = ["cached_bandwidth", "roofline"]

F64 = NDArray[np.float64]
B = NDArray[np.bool_]


def cached_bandwidth(bandwidth: F64, l2_bytes: F64, moved_bytes: F64, is_product: B) -> F64:
    """Bytes/s at which items stream their tensors, (gpus, items): up to twice the memory's where the cache holds them.

    What the item before wrote, as far as it lies in the L2 cache still, is not read from memory: D (1 + min(1, L2/M)).
    Of no gain, this and twice it, this leaves the smallest errors on timm's steps on an RTX 3090 (6 MB of L2) and an
    RTX 4090 (72 MB). Products' reuse of the cache is in their fractions. `moved_bytes` (items,) or (gpus, items), of
    one launch; `bandwidth` and `l2_bytes` (gpus,), 0 where the cache's size is not known.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        held = np.minimum(1.0, l2_bytes[:, None] / np.nan_to_num(moved_bytes))
    cached: F64 = bandwidth[:, None] * (1.0 + np.where(is_product, 0.0, np.nan_to_num(held)))
    return cached


def roofline(
    flop: F64, moved_bytes: F64, launch_count: F64, *, rate: F64, bandwidth: F64, memory_fraction: F64, threads: F64
) -> Scaled:
    """Times of items, (items,) each, on GPUs: `rate` (gpus, items) is u R, `bandwidth` (gpus, items) is D.

    `moved_bytes` may be (gpus, items): libraries differ by vendor.

    Unknown FLOPs or bytes (nan) count as none. The parts share the time in proportion to their squares.
    """
    drawn = np.minimum(bandwidth, drawn_bandwidth(np.full(len(bandwidth), np.inf), threads))
    compute = np.nan_to_num(flop) / rate * NS_PER_S
    memory = np.nan_to_num(moved_bytes) / (memory_fraction * drawn) * NS_PER_S
    together = np.hypot(compute, memory)
    share = np.divide(memory**2, together**2, out=np.ones_like(together), where=together > 0)
    floor = np.broadcast_to(launch_count * KERNEL_FLOOR_NS, together.shape)
    return Scaled(
        floor_ns=floor,
        memory_ns=together * share,
        compute_ns=together * (1.0 - share),
        starved=(share >= 0.5) & (drawn < 0.5 * bandwidth),
    )

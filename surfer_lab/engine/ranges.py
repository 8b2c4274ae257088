"""How far may a predicted time be off? Factors by method and kind of work, from errors on GPUs held out.

A range is T / k to T * k: errors of scaling are errors of ratios. k is the factor that holds eight cases in ten. Where
a rate is an architecture-typical fraction of the peak, not measured on the card, its own spread is added (in squares of
logarithms). `tools/fit_ranges.py --data FOLDER` prints the factors from the data; no case of a die is used to scale to
it, and none could be: nothing here is fitted to a destination.

These are ranges of one item. Errors of items on one GPU share their cause (the rate, the bandwidth), so the range of a
step is the replay of all items at their low and at their high ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.estimate import Method

__all__ = [
    "MATRIX_UNITS_FACTOR",
    "RANGE_FACTORS",
    "TYPICAL_BANDWIDTH_FACTOR",
    "TYPICAL_RATE_FACTOR",
    "RangeFactors",
    "range_factor",
]

F64 = NDArray[np.float64]
I8 = NDArray[np.int8]
B = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class RangeFactors:
    """k for work of three kinds: moving (pointwise, copies), norms and reductions, and products."""

    moving: float
    reducing: float
    product: float


RANGE_FACTORS: Final[dict[Method, RangeFactors]] = {
    Method.MEASURED: RangeFactors(moving=1.0, reducing=1.0, product=1.0),
    Method.WAVE: RangeFactors(moving=1.15, reducing=1.37, product=1.54),  # n 50,374, 21,566, 446,314
    # products only; on dies that the networks never saw, n 124,963
    Method.LEARNED: RangeFactors(moving=1.19, reducing=1.34, product=1.45),
    Method.ROOFLINE: RangeFactors(moving=1.19, reducing=1.34, product=1.67),  # the same operations
    # 1.14, 1.38, 1.59 on the same kernels with shapes withheld; widened, since those are few kinds with clear names
    Method.NAMED: RangeFactors(moving=1.20, reducing=1.50, product=1.80),
    # not measured: chosen wide, and named as such
    Method.FALLBACK: RangeFactors(moving=2.0, reducing=2.0, product=2.0),
    Method.COMMUNICATION: RangeFactors(moving=2.0, reducing=2.0, product=2.0),
    Method.HOST: RangeFactors(moving=1.5, reducing=1.5, product=1.5),
    Method.UNSCALED: RangeFactors(moving=4.0, reducing=4.0, product=4.0),
}
# the typical fraction against the measured rate, on the cards that have both, each left out of its own typical value
TYPICAL_RATE_FACTOR: Final = 1.25  # 38 cards fp32, 14 tf32, 31 fp16, 38 bf16
TYPICAL_BANDWIDTH_FACTOR: Final = 1.14  # 23 cards
# products that move from FP32 lanes to matrix units: spread of the gain of one layer about its family's median
# (DeepBench, V100 and T4, n 669: 0.6 to 1.5 of it hold eight in ten)
MATRIX_UNITS_FACTOR: Final = 1.5


def range_factor(
    method: I8, product: B, reducing: B, *, moved: B, typical_rate: B, typical_bandwidth: B, memory_share: F64
) -> F64:
    """The factor k of each estimate, (gpus, items); kinds of work (items,), the rest broadcast to (gpus, items).

    `moved`: arithmetic on matrix units there and on FP32 lanes at the origin, or the other way round.
    """
    kind = np.where(product, 2, np.where(reducing, 1, 0))
    table = np.ones((len(Method), 3))
    for one, factors in RANGE_FACTORS.items():
        table[one] = (factors.moving, factors.reducing, factors.product)
    own = np.log(table[method, kind])
    rate = np.where(typical_rate, np.log(TYPICAL_RATE_FACTOR) * (1.0 - memory_share), 0.0)
    bandwidth = np.where(typical_bandwidth, np.log(TYPICAL_BANDWIDTH_FACTOR) * memory_share, 0.0)
    units = np.where(moved, np.log(MATRIX_UNITS_FACTOR) * (1.0 - memory_share), 0.0)
    scaled = (method != Method.MEASURED) & (method != Method.HOST) & (method != Method.COMMUNICATION)
    spread = np.where(scaled, np.sqrt(own**2 + rate**2 + bandwidth**2 + units**2), own)
    factor: F64 = np.exp(spread)
    return factor

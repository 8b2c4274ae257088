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

__all__ = ["RANGE_FACTORS", "TYPICAL_BANDWIDTH_FACTOR", "TYPICAL_RATE_FACTOR", "RangeFactors", "range_factor"]

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
    Method.WAVE: RangeFactors(moving=1.10, reducing=1.40, product=1.45),
    Method.ROOFLINE: RangeFactors(moving=1.15, reducing=1.40, product=1.65),
    Method.NAMED: RangeFactors(moving=1.30, reducing=1.60, product=1.80),
    Method.FALLBACK: RangeFactors(moving=2.0, reducing=2.0, product=2.0),
    Method.COMMUNICATION: RangeFactors(moving=2.0, reducing=2.0, product=2.0),
    Method.HOST: RangeFactors(moving=1.5, reducing=1.5, product=1.5),
    Method.UNSCALED: RangeFactors(moving=4.0, reducing=4.0, product=4.0),
}
TYPICAL_RATE_FACTOR: Final = 1.25
TYPICAL_BANDWIDTH_FACTOR: Final = 1.10


def range_factor(method: I8, product: B, reducing: B, typical_rate: B, typical_bandwidth: B, memory_share: F64) -> F64:
    """The factor k of each estimate, (gpus, items); kinds of work (items,), the rest broadcast to (gpus, items)."""
    kind = np.where(product, 2, np.where(reducing, 1, 0))
    table = np.ones((len(Method), 3))
    for one, factors in RANGE_FACTORS.items():
        table[one] = (factors.moving, factors.reducing, factors.product)
    own = np.log(table[method, kind])
    rate = np.where(typical_rate, np.log(TYPICAL_RATE_FACTOR) * (1.0 - memory_share), 0.0)
    bandwidth = np.where(typical_bandwidth, np.log(TYPICAL_BANDWIDTH_FACTOR) * memory_share, 0.0)
    scaled = (method != Method.MEASURED) & (method != Method.HOST) & (method != Method.COMMUNICATION)
    spread = np.where(scaled, np.sqrt(own**2 + rate**2 + bandwidth**2), own)
    factor: F64 = np.exp(spread)
    return factor

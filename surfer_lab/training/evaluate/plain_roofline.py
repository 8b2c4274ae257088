"""How long does a step take by a roofline that nothing was fitted to? The plainest baseline, for one constant.

The larger of arithmetic and memory time of each item, at the sustained rate of what does its arithmetic and at the
sustained bandwidth, summed. A constant is the median of measured over predicted times of cases that stand apart.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.estimate import PredictionSet
from surfer_lab.engine.lowering import traits
from surfer_lab.engine.rates import CLASS_INDEX, effective_rate, rates_of
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.units import NS_PER_S

__all__ = ["constants_of_others", "plain_roofline_ns"]

F64 = NDArray[np.float64]


def plain_roofline_ns(prediction: PredictionSet) -> F64:
    """A roofline without any calibration by family, (gpus,): the larger of F / R and M / D of each item, summed.

    R is the GPU's sustained rate for the item's arithmetic (pointwise work: the FP32 lanes), D its bandwidth.
    """
    items, rates = prediction.items, rates_of(prediction.gpus)
    classes = items.rate_class.map(
        lambda name: CLASS_INDEX[RateClass(name)], absent=CLASS_INDEX[RateClass.FP32], dtype=np.int8
    )
    arithmetic = items.family.map(lambda name: traits(name).arithmetic, absent=False, dtype=np.bool_)
    shape = (len(prediction.gpus), len(items))
    rate = effective_rate(rates, np.broadcast_to(classes, shape), arithmetic, np.ones(len(items)))
    compute = np.nan_to_num(items.flop) / rate
    memory = np.nan_to_num(items.bytes) / rates.bytes_per_s[:, None]
    total: F64 = np.maximum(compute, memory).sum(axis=1) * NS_PER_S
    return total


def constants_of_others(ratios: F64, groups: Sequence[Hashable]) -> F64:
    """For each case the median ratio of the cases of all other groups, (cases,); nan where there are none.

    >>> constants_of_others(np.array([1.0, 2.0, 4.0]), ["a", "a", "b"]).tolist()
    [4.0, 4.0, 1.5]
    """
    found = np.full(len(ratios), np.nan)
    for group in dict.fromkeys(groups):
        own = np.array([one == group for one in groups], dtype=bool)
        others = ratios[~own & np.isfinite(ratios)]
        if len(others):
            found[own] = float(np.median(others))
    return found

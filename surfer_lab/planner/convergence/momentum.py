"""How much momentum does asynchrony add, and which explicit momentum leaves the total where it should be?

For g groups whose work times are exponential and alike, an update's staleness is geometric,
P(l) = (1/g) (1 - 1/g)^l, and

    E[w(t+1) - w(t)] = (1 - 1/g) E[w(t) - w(t-1)] - (a/g) E grad f(w(t))

(Mitliagkas et al. 2016, theorem 3). Groups of equal and constant speed take turns instead: staleness g - 1, always, and
no momentum of this kind. So the staleness is measured, and these functions take a histogram.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.errors import OptionError

__all__ = [
    "LOWEST_MOMENTUM",
    "constant_staleness",
    "distance",
    "effective_step",
    "explicit_momentum",
    "geometric_staleness",
    "implicit_momentum",
    "mean_staleness",
    "momentum_of",
]

F64 = NDArray[np.float64]

LOWEST_MOMENTUM: Final = -0.9  # below it a step is undone by the next one, whatever the theory says of its mean


def implicit_momentum(groups: int) -> float:
    """1 - 1/g, of g groups with exponential work times.

    >>> implicit_momentum(4)
    0.75
    """
    if groups < 1:
        raise OptionError(f"{groups} compute groups", remedy="1 or more")
    return 1.0 - 1.0 / groups


def effective_step(learning_rate: float, groups: int) -> float:
    """a/g: the step with which the expected iterate moves."""
    return learning_rate / groups


def explicit_momentum(total: float, groups: int, *, lowest: float = LOWEST_MOMENTUM) -> float:
    """What is left to set, so that explicit and implicit momentum sum to `total`; negative where groups add too much.

    >>> round(explicit_momentum(0.9, 4), 3), round(explicit_momentum(0.6, 4), 3)
    (0.15, -0.15)
    """
    return max(lowest, total - implicit_momentum(groups))


def geometric_staleness(groups: int, *, lags: int) -> F64:
    """P(staleness = l) for l below `lags`, of exponential work times; the last one holds the tail: they sum to 1."""
    lag = np.arange(lags, dtype=np.float64)
    shares: F64 = (1.0 / groups) * implicit_momentum(groups) ** lag
    shares[-1] += 1.0 - shares.sum()
    return shares


def constant_staleness(groups: int) -> F64:
    """P(staleness = l) of equal groups that take turns: g - 1, always."""
    shares = np.zeros(groups)
    shares[-1] = 1.0
    return shares


def mean_staleness(histogram: Sequence[float] | F64) -> float:
    """Updates that others made between a group's reading and its writing, on average, of counts or shares by lag."""
    counts = np.asarray(histogram, dtype=np.float64)
    if counts.sum() <= 0:
        raise OptionError("a staleness histogram without updates", remedy="measure it over some updates")
    return float((counts * np.arange(len(counts))).sum() / counts.sum())


def momentum_of(histogram: Sequence[float] | F64) -> float:
    """The momentum of a geometric staleness with this mean m: m / (1 + m).

    >>> momentum_of([0.5, 0.25, 0.125, 0.0625, 0.0625]) < momentum_of([0, 0, 0, 1])
    True
    """
    mean = mean_staleness(histogram)
    return mean / (1.0 + mean)


def distance(histogram: Sequence[float] | F64, other: Sequence[float] | F64) -> float:
    """Half the summed difference of two histograms as shares: 0 alike, 1 apart (total variation)."""
    length = max(len(histogram), len(other))
    first, second = np.zeros(length), np.zeros(length)
    first[: len(histogram)] = np.asarray(histogram, dtype=np.float64) / np.sum(histogram)
    second[: len(other)] = np.asarray(other, dtype=np.float64) / np.sum(other)
    return float(np.abs(first - second).sum() / 2.0)

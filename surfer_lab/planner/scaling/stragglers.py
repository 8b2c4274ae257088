"""How much longer does a step take because it waits for the slowest of n ranks?

Ranks do not take the same time: clocks and hosts differ a little, and where samples differ in length, so does work.
With times of mean 1 and standard deviation s the slowest of n takes 1 + s m(n), m(n) the expected largest of n standard
normals: 0.56, 1.03, 1.42, 1.77 for 2, 4, 8, 16.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Final

import numpy as np

__all__ = ["EVEN_WORK_SPREAD", "UNEVEN_WORK_SPREAD", "expected_largest", "slowdown"]

# Standard deviation of ranks' step times over their mean, set by `surfer evaluate scaling` (docs/accuracy.md says how
# each judged model is left out of the figure that it is judged with): steps whose samples all have the same size ...
EVEN_WORK_SPREAD: Final = 0.02
# ... and steps of sentences or images of different sizes
UNEVEN_WORK_SPREAD: Final = 0.13
_FARTHEST: Final = 10.0  # standard deviations
_POINTS: Final = 8001


@cache
def expected_largest(count: int) -> float:
    """The mean of the largest of so many standard normal numbers.

    >>> round(expected_largest(8), 2)
    1.42
    """
    if count <= 1:
        return 0.0
    x = np.linspace(-_FARTHEST, _FARTHEST, _POINTS)
    below = np.array([0.5 * (1.0 + math.erf(value / math.sqrt(2.0))) for value in x])
    density = np.exp(-0.5 * x**2) / math.sqrt(2.0 * math.pi)
    return float((x * count * below ** (count - 1) * density).sum() * (x[1] - x[0]))


def slowdown(spread: float, count: int) -> float:
    """The factor on a rank's own time."""
    return 1.0 + spread * expected_largest(count)

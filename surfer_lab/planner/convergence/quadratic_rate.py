"""By what factor does the expected distance to the minimum of a quadratic shrink in one update?

The recursion with explicit momentum m, step a, curvature h and staleness shares q(l),

    E[w(t+1) - w(t)] = m E[w(t) - w(t-1)] - a h sum over l of q(l) E[w(t-l)],

has solutions z^t; the rate is the largest |z|, below 1 where it converges. Multiplied by z^(L-t), L the longest lag:

    z^(L+1) - (1+m) z^L + m z^(L-1) + a h sum q(l) z^(L-l) = 0.

For geometric staleness with implicit momentum s the sum is closed, and the root condition of "Asynchrony begets
Momentum" is (z-1)(z-m)(z-s) + (1-s) a h z^2 = 0. Exact in expectation; the spread around it is not described.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from surfer_lab.errors import OptionError
from surfer_lab.planner.convergence.momentum import LOWEST_MOMENTUM, implicit_momentum

__all__ = ["BestRate", "asynchronous_rate", "best_rate", "condition_of_momentum", "staleness_rate"]

F64 = NDArray[np.float64]

_CURVATURES: Final = 6  # between the flattest and the steepest direction; the worst of them counts
_MOMENTA: Final = 40
_STEPS: Final = 48


def asynchronous_rate(step_curvature: ArrayLike, momentum: ArrayLike, groups: int) -> F64:
    """The rate by the root condition, for exponential work times; arrays of a x h and explicit momentum broadcast."""
    implied = implicit_momentum(groups)
    product, explicit = np.broadcast_arrays(
        np.asarray(step_curvature, dtype=np.float64), np.asarray(momentum, dtype=np.float64)
    )
    coefficients = np.stack(
        [
            -(1.0 + explicit + implied) + (1.0 - implied) * product,
            explicit + implied + explicit * implied,
            -explicit * implied,
        ],
        axis=-1,
    )
    return _largest_root(coefficients)


def staleness_rate(step_curvature: ArrayLike, momentum: ArrayLike, shares: ArrayLike) -> F64:
    """The rate for any staleness histogram (counts or shares by lag), measured or assumed."""
    lags = np.asarray(shares, dtype=np.float64)
    if lags.ndim != 1 or not lags.sum() > 0:
        raise OptionError("a staleness histogram without updates", remedy="counts by lag, at least one of them above 0")
    lags = np.trim_zeros(lags / lags.sum(), "b")
    if len(lags) == 1:
        lags = np.append(lags, 0.0)
    product, explicit = np.broadcast_arrays(
        np.asarray(step_curvature, dtype=np.float64), np.asarray(momentum, dtype=np.float64)
    )
    coefficients = product[..., None] * lags
    coefficients[..., 0] -= 1.0 + explicit
    coefficients[..., 1] += explicit
    return _largest_root(coefficients)


def _largest_root(coefficients: F64) -> F64:
    """|z| of the largest root of z^n + c0 z^(n-1) + ... for each row of (..., n) coefficients."""
    degree = coefficients.shape[-1]
    companion = np.zeros((*coefficients.shape[:-1], degree, degree))
    companion[..., 0, :] = -coefficients
    below = np.arange(degree - 1)
    companion[..., below + 1, below] = 1.0
    return np.asarray(np.abs(np.linalg.eigvals(companion)).max(axis=-1))


def condition_of_momentum(momentum: float) -> float:
    """The condition number of the quadratic for which this momentum is the best of a synchronous run.

    Polyak: m = ((sqrt(K) - 1) / (sqrt(K) + 1))^2, solved for K; so the momentum that was tuned tells the problem.

    >>> round(condition_of_momentum(0.0)), round(condition_of_momentum(0.81))
    (1, 361)
    """
    if not 0.0 <= momentum < 1.0:
        raise OptionError(f"a tuned momentum of {momentum!r}", remedy="0 or more, less than 1")
    root = float(np.sqrt(momentum))
    return ((1.0 + root) / (1.0 - root)) ** 2


@dataclass(frozen=True, kw_only=True)
class BestRate:
    """The smallest worst-direction rate, and where: explicit momentum, and step x steepest curvature."""

    rate: float
    momentum: float
    step_curvature: float

    @property
    def iterations_per_e(self) -> float:
        """Updates in which the slowest direction shrinks by e."""
        return float(-1.0 / np.log(self.rate)) if 0.0 < self.rate < 1.0 else float("inf")


@lru_cache(maxsize=1024)
def best_rate(condition: float, groups: int, *, lowest: float = LOWEST_MOMENTUM, highest: float = 0.98) -> BestRate:
    """The best explicit momentum within these bounds and step for curvatures from 1/condition to 1, by grid."""
    curvature = np.geomspace(1.0 / max(1.0, condition), 1.0, _CURVATURES)
    momenta = np.linspace(lowest, highest, _MOMENTA)
    # stable in expectation below a h = 2 (1 + m)(1 + s) / (1 - s)
    implied = implicit_momentum(groups)
    limit = 2.0 * (1.0 + momenta) * (1.0 + implied) / (1.0 - implied)
    fractions = np.geomspace(1e-4, 0.999, _STEPS)
    for _ in range(2):
        steps = limit[:, None] * fractions
        rates = asynchronous_rate(steps[..., None] * curvature, momenta[:, None, None], groups).max(axis=-1)
        at, which = np.unravel_index(int(rates.argmin()), rates.shape)
        found = BestRate(
            rate=float(rates[at, which]), momentum=float(momenta[at]), step_curvature=float(steps[at, which])
        )
        # once more around the best
        width = momenta[1] - momenta[0]
        momenta = np.clip(np.linspace(momenta[at] - width, momenta[at] + width, _MOMENTA), lowest, highest)
        limit = 2.0 * (1.0 + momenta) * (1.0 + implied) / (1.0 - implied)
        fractions = np.geomspace(fractions[max(0, int(which) - 1)], fractions[min(_STEPS - 1, int(which) + 1)], _STEPS)
    return found

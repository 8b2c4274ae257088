"""How many more iterations does asynchrony cost? SE(g) = I_g / I_1, from theory, corrected by probes.

Theory, as in Omnivore: explicit and implicit momentum sum to one total. While 1 - 1/g is below the total that a
synchronous run is best with, the rest is set explicitly and SE = 1. Beyond, the momentum is too large whatever is set:
the total tells a quadratic's condition number, and the root condition gives the best rate there with an explicit
momentum of 0 or less. Probes: log SE is scaled by one factor, fitted by least squares to what was measured and drawn
towards 1 (the theory) by a prior; what is left at each g is kept as its own, and the spread around that is the range.
The prior counts as a sixteenth of a probe: probes scatter by about 10 %, while the theory, which knows one direction of
the weights' space and no staleness but a geometric one, was off by 40 % in simulated clusters of unequal workers. On
real problems probes find SE above 1 before the theory does: curvature limits the steps.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from surfer_lab.errors import OptionError
from surfer_lab.planner.convergence.momentum import LOWEST_MOMENTUM, explicit_momentum, implicit_momentum
from surfer_lab.planner.convergence.quadratic_rate import best_rate, condition_of_momentum

__all__ = ["StatisticalModel"]

_UNTESTED_SPREAD = 0.15  # of log SE per doubling of g before anything is measured
_THEORY_WEIGHT = (0.1 / 0.4) ** 2  # against a probe's, by their errors: see above


@dataclass(frozen=True, kw_only=True)
class StatisticalModel:
    """SE(g) for a problem whose best synchronous momentum is `total_momentum`."""

    total_momentum: float
    scale: float = 1.0  # of log SE
    offset: Mapping[int, float] = field(default_factory=dict)  # measured log SE by g
    spread: float | None = None  # standard deviation of log SE around the curve; None: nothing measured

    def __post_init__(self) -> None:
        if not 0.0 <= self.total_momentum < 1.0:
            raise OptionError(f"a total momentum of {self.total_momentum!r}", remedy="0 or more, less than 1")

    @property
    def condition(self) -> float:
        """The quadratic's condition number."""
        return condition_of_momentum(self.total_momentum)

    def theory(self, groups: int) -> float:
        """I_g / I_1 by the root condition: 1 while some momentum is left to set, more beyond (explicit <= 0)."""
        if implicit_momentum(groups) <= self.total_momentum:
            return 1.0
        first = best_rate(self.condition, 1)
        other = best_rate(self.condition, groups, highest=0.0)
        return max(1.0, other.iterations_per_e / first.iterations_per_e) if other.rate < 1.0 else math.inf

    def penalty(self, groups: int) -> float:
        """SE(g): the theory's, scaled to what probes measured."""
        return float(math.exp(self.scale * math.log(self.theory(groups)) + self._drift(groups)))

    def _drift(self, groups: int) -> float:
        """What probes found beyond the scaled theory, between them by log g; 0 before any."""
        if not self.offset or groups == 1:
            return 0.0
        known = sorted({1: 0.0, **self.offset}.items())
        at = np.log2([count for count, _ in known])
        return float(np.interp(math.log2(groups), at, [value for _, value in known]))

    def range_of(self, groups: int) -> tuple[float, float]:
        """SE(g), low and high: about 80 % of cases, by the residuals or by what is usual."""
        log = math.log(self.penalty(groups))
        width = 1.28 * (self.spread if self.spread is not None else _UNTESTED_SPREAD * math.log2(max(1, groups)))
        return math.exp(max(0.0, log - width)), math.exp(log + width)

    def momentum(self, groups: int, *, lowest: float = LOWEST_MOMENTUM) -> float:
        """The explicit momentum that keeps the total."""
        return explicit_momentum(self.total_momentum, groups, lowest=lowest)

    def learning_rate(self, groups: int, at_one_group: float) -> float:
        """A step for g groups from the one tuned at g = 1: a_g = a_1 (1 - m_g) / (1 - m_1).

        In the long run a step moves the weights by a / (1 - explicit momentum): the implicit one multiplies and divides
        by g. So this keeps what an update does in the end, however many groups there are.
        """
        return at_one_group * (1.0 - self.momentum(groups)) / (1.0 - self.total_momentum)

    def corrected(self, probes: Iterable[tuple[int, float]]) -> StatisticalModel:
        """With measured (g, I_g / I_1), each from tuned probes; g = 1 says nothing and is passed over."""
        measured = [(groups, math.log(max(1e-3, ratio))) for groups, ratio in probes if groups > 1]
        if not measured:
            return self
        theory = np.array([math.log(self.theory(groups)) for groups, _ in measured])
        found = np.array([log for _, log in measured])
        weight = _THEORY_WEIGHT * float(theory @ theory) / max(1, len(theory))  # in units of the theory's own size
        scale = float((weight + theory @ found) / (weight + theory @ theory)) if theory.any() else 1.0
        residual = found - scale * theory
        offset: dict[int, float] = {}
        for groups in {groups for groups, _ in measured}:
            here = [left for (count, _), left in zip(measured, residual, strict=True) if count == groups]
            offset[groups] = float(np.sum(here) / (len(here) + _THEORY_WEIGHT))
        rest = [left - offset[groups] for (groups, _), left in zip(measured, residual, strict=True)]
        spread = float(np.sqrt((np.square(rest).sum() + _UNTESTED_SPREAD**2) / (len(rest) + 1)))
        return replace(self, scale=max(0.0, scale), offset=offset, spread=spread)

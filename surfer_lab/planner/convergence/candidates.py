"""Which settings are tried with g groups, and in which order? Nearest to the model's proposal first.

Omnivore's grid is momentum {0, 0.3, 0.6, 0.9} x learning rate {last, last / 10}. Added to it: negative momenta, and
learning rates that keep a / (1 - momentum), what an update does in the end. With a budget of few trials the order
decides: what the momentum rule proposes, then its neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from surfer_lab.planner.convergence.setting import Setting

__all__ = ["COLD_START_RATES", "GRID_MOMENTA", "NEGATIVE_MOMENTA", "candidates", "is_ruled_out"]

COLD_START_RATES: Final = (0.1, 0.01, 0.001, 0.0001)  # Omnivore, section 5
GRID_MOMENTA: Final = (0.0, 0.3, 0.6, 0.9)  # likewise
NEGATIVE_MOMENTA: Final = (-0.3, -0.6)
_SAME: Final = 0.2  # settings nearer than this are one
_MOMENTUM_UNIT: Final = 0.3  # one grid step
_RATE_UNIT: Final = 0.3  # a factor of two: momenta at one long-run step are nearer than other steps at one momentum


def candidates(proposed: Setting, *, last_rate: float) -> list[Setting]:
    """Settings with the proposal's groups: the proposal, a rate three times as large, the rest by distance from it.

    Rates come from a grid of decades, and one that trained in a few trials may well be too small: that is asked first.
    """
    step = proposed.learning_rate / (1.0 - proposed.momentum)
    momenta = (*GRID_MOMENTA, *(NEGATIVE_MOMENTA if proposed.groups > 1 else ()))
    larger = replace(proposed, learning_rate=3.0 * proposed.learning_rate)
    rates = [(proposed.momentum, proposed.learning_rate / 3.0)]
    rates += [(momentum, rate) for momentum in GRID_MOMENTA for rate in (last_rate, last_rate / 10.0)]
    rates += [(momentum, scale * step * (1.0 - momentum)) for momentum in momenta for scale in (1.0, 1.0 / 3.0)]
    found = [proposed, larger]
    for momentum, rate in sorted(rates, key=lambda one: _apart(proposed, *one)):
        if all(_apart(other, momentum, rate) >= _SAME for other in found):
            found.append(Setting(groups=proposed.groups, momentum=momentum, learning_rate=rate))
    return found


def _apart(setting: Setting, momentum: float, rate: float) -> float:
    """Grid steps of momentum and of what a step does in the end, together."""
    steps = math.log10(rate / (1.0 - momentum)) - math.log10(setting.learning_rate / (1.0 - setting.momentum))
    return abs(momentum - setting.momentum) / _MOMENTUM_UNIT + abs(steps) / _RATE_UNIT


def is_ruled_out(setting: Setting, diverged: Sequence[Setting]) -> Setting | None:
    """The diverged setting that this one lies above: as many groups or more, no smaller momentum and rate."""
    for other in diverged:
        if (
            setting.groups >= other.groups
            and setting.momentum >= other.momentum
            and setting.learning_rate >= other.learning_rate
        ):
            return other
    return None

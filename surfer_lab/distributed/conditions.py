"""How is a slow device or link made on purpose? For experiments: what is throttled here the planner has to measure.

A throttled worker computes for real, then sleeps for what is missing to the time that the slower device would take, so
that a busy machine disturbs an experiment little. Links sleep for what their messages would take.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surfer_lab.errors import OptionError

__all__ = ["UNTHROTTLED", "Conditions"]


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """Of one worker. All zeros: as the machine is."""

    s_per_sample: float = 0.0
    overhead_s: float = 0.0
    hop_s: float = 0.0  # latency of a message inside a group
    reduce_s: float = 0.0  # all gradients once over a link inside a group
    exchange_s: float = 0.0  # to the server and back
    is_exponential: bool = False  # compute times vary as exponential ones do; else they are constant
    variation: float = 0.0  # else: coefficient of variation of gamma distributed compute times

    def __post_init__(self) -> None:
        times = (self.s_per_sample, self.overhead_s, self.hop_s, self.reduce_s, self.exchange_s, self.variation)
        if min(times) < 0.0:
            raise OptionError("a device or link that is throttled by less than nothing", remedy="0 s or more")

    def compute_s(self, samples: int, random: np.random.Generator) -> float:
        """How long so many samples take at least."""
        mean = self.overhead_s + self.s_per_sample * samples
        if self.is_exponential:
            return float(random.exponential(mean))
        if self.variation > 0.0:
            shape = 1.0 / self.variation**2
            return float(random.gamma(shape, mean / shape))
        return mean

    def all_reduce_s(self, devices: int) -> float:
        """How long a ring all-reduce among so many takes at least."""
        return 2.0 * (devices - 1) * self.hop_s + 2.0 * (devices - 1) / devices * self.reduce_s


UNTHROTTLED = Conditions()

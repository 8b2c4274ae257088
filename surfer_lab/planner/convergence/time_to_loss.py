"""How long until the target loss, with how many groups, and for how much? seconds = T_g x I_1 x SE(g)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from surfer_lab.errors import OptionError
from surfer_lab.planner.convergence.cluster_times import ClusterTimes
from surfer_lab.planner.convergence.hardware_efficiency import GroupTimes, group_counts, group_times
from surfer_lab.planner.convergence.momentum import implicit_momentum
from surfer_lab.planner.convergence.setting import Setting
from surfer_lab.planner.convergence.statistical_efficiency import StatisticalModel

__all__ = ["GroupPlan", "TrainingPlan", "plan_training"]

_ITERATIONS_ERROR = 0.10  # of I_1 where it was measured once
_AS_SOON = 1.05
SECONDS_PER_HOUR = 3600.0


@dataclass(frozen=True, kw_only=True)
class GroupPlan:
    """One row of the plan. `iterations` and what follows from it are None where I_1 is not known."""

    setting: Setting
    times: GroupTimes
    hardware_efficiency: float  # T_g / T_1
    statistical_efficiency: float  # I_g / I_1
    statistical_low: float
    statistical_high: float
    implicit_momentum: float
    iterations: float | None
    seconds: float | None
    low_s: float | None
    high_s: float | None
    usd: float | None

    @property
    def relative_time(self) -> float:
        """Time to the loss against g = 1: HE x SE."""
        return self.hardware_efficiency * self.statistical_efficiency


@dataclass(frozen=True, kw_only=True)
class TrainingPlan:
    """All rows, by groups, and the soonest."""

    rows: tuple[GroupPlan, ...]
    usd_per_hour: float | None
    basis: str = ""  # what the times to the loss follow from, where it was found in a run

    @property
    def best(self) -> GroupPlan:
        """The fewest groups within 5 % of the soonest: what more of them would gain is less than is known of it."""
        soonest = min(row.relative_time for row in self.rows)
        near = (row for row in self.rows if row.relative_time <= _AS_SOON * soonest)
        return min(near, key=lambda row: row.setting.groups)

    def row(self, groups: int) -> GroupPlan:
        """The row of so many groups."""
        for row in self.rows:
            if row.setting.groups == groups:
                return row
        raise OptionError(f"the plan has no row for {groups} groups", remedy="one of its own counts")


def plan_training(
    cluster: ClusterTimes,
    statistics: StatisticalModel,
    *,
    learning_rate: float,
    iterations_at_one: float | None = None,
    counts: Sequence[int] | None = None,
    usd_per_hour: float | None = None,
) -> TrainingPlan:
    """The plan over numbers of groups (1, 2, 4, ... by default); `learning_rate` is the one tuned at one group."""
    if iterations_at_one is not None and not 0.0 < iterations_at_one < math.inf:
        raise OptionError(f"{iterations_at_one!r} iterations", remedy="a positive number, or None where unknown")
    one = group_times(cluster, 1)
    rows = []
    for groups in counts or group_counts(cluster.device_count):
        times = one if groups == 1 else group_times(cluster, groups)
        penalty = statistics.penalty(groups)
        low, high = statistics.range_of(groups)
        seconds = low_s = high_s = iterations = None
        if iterations_at_one is not None:
            iterations = iterations_at_one * penalty
            seconds = times.seconds * iterations
            low_s = times.low_s * iterations_at_one * low * (1.0 - _ITERATIONS_ERROR)
            high_s = times.high_s * iterations_at_one * high * (1.0 + _ITERATIONS_ERROR)
        rows.append(
            GroupPlan(
                setting=Setting(
                    groups=groups,
                    momentum=statistics.momentum(groups),
                    learning_rate=statistics.learning_rate(groups, learning_rate),
                ),
                times=times,
                hardware_efficiency=times.seconds / one.seconds,
                statistical_efficiency=penalty,
                statistical_low=low,
                statistical_high=high,
                implicit_momentum=implicit_momentum(groups),
                iterations=iterations,
                seconds=seconds,
                low_s=low_s,
                high_s=high_s,
                usd=None if seconds is None or usd_per_hour is None else seconds / SECONDS_PER_HOUR * usd_per_hour,
            )
        )
    return TrainingPlan(rows=tuple(rows), usd_per_hour=usd_per_hour)

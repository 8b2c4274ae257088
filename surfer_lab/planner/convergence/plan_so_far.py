"""What does the plan say once a run has found something? The setting it chose, carried to every number of groups.

How long the others would take follows from the updates that this run took, or will have taken if the loss goes on
falling as it does, and from SE(g).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from surfer_lab.planner.convergence.cluster_times import ClusterTimes
from surfer_lab.planner.convergence.hardware_efficiency import group_times
from surfer_lab.planner.convergence.setting import Setting
from surfer_lab.planner.convergence.statistical_efficiency import StatisticalModel
from surfer_lab.planner.convergence.time_to_loss import TrainingPlan, plan_training

__all__ = ["carried_setting", "plan_so_far", "total_momentum"]

_HIGHEST_TOTAL: Final = 0.95


def total_momentum(setting: Setting) -> float:
    """Explicit and implicit momentum of a setting that trains, as the momentum rule carries it to others."""
    return min(_HIGHEST_TOTAL, max(0.0, setting.momentum + 1.0 - 1.0 / setting.groups))


def carried_setting(setting: Setting, groups: int) -> Setting:
    """What the momentum rule makes of a setting, for so many groups."""
    if setting.groups == groups:
        return setting
    momentum = round(StatisticalModel(total_momentum=total_momentum(setting)).momentum(groups), 3)
    rate = setting.learning_rate * (1.0 - momentum) / (1.0 - setting.momentum)
    return Setting(groups=groups, momentum=momentum, learning_rate=float(f"{rate:.3g}"))


def plan_so_far(
    times: ClusterTimes,
    chosen: Setting,
    *,
    updates: int,
    left_s: float | None,
    counts: Sequence[int],
    usd_per_hour: float | None = None,
) -> TrainingPlan:
    """The plan by what was found: `updates` were kept, `left_s` more seconds are expected (0: reached; None: unknown).

    Without updates, or where nobody can tell how many more there will be, times to the loss stay unknown.
    """
    statistics = StatisticalModel(total_momentum=total_momentum(chosen))
    penalty = statistics.penalty(chosen.groups)
    iterations = None
    if left_s is not None and updates > 0 and math.isfinite(penalty):
        iterations = (updates + left_s / group_times(times, chosen.groups).seconds) / penalty
    plan = plan_training(
        times,
        statistics,
        learning_rate=chosen.learning_rate,
        iterations_at_one=iterations,
        counts=counts,
        usd_per_hour=usd_per_hour,
    )
    rows = tuple(replace(row, setting=carried_setting(chosen, row.setting.groups)) for row in plan.rows)
    return replace(plan, rows=rows, basis="" if iterations is None else _basis(updates, left_s))


def _basis(updates: int, left_s: float | None) -> str:
    if left_s:
        return f"{updates:,} updates so far, and as many more as it takes if the loss goes on falling as it does"
    return f"the {updates:,} updates that this run took"

"""How much is run? Two sizes of every experiment, with its budget in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["FULL", "QUICK", "Effort"]


@dataclass(frozen=True, kw_only=True)
class Effort:
    """Sizes of the experiments."""

    name: str
    momentum_runs: int  # runs from one start, for each number of groups
    momentum_groups: tuple[int, ...]
    momentum_problems: tuple[str, ...]
    penalty_seeds: int
    workloads: tuple[str, ...]
    prediction_seeds: int
    tuning_seeds: int
    with_optuna: bool


FULL: Final = Effort(
    name="full",
    momentum_runs=60,
    momentum_groups=(2, 4, 8),
    momentum_problems=("quadratic", "digits"),
    penalty_seeds=5,
    workloads=("compute bound", "mixed", "communication bound"),
    prediction_seeds=1,
    tuning_seeds=5,
    with_optuna=True,
)
QUICK: Final = Effort(
    name="quick",
    momentum_runs=20,
    momentum_groups=(2, 4),
    momentum_problems=("quadratic",),
    penalty_seeds=1,
    workloads=("communication bound",),
    prediction_seeds=1,
    tuning_seeds=1,
    with_optuna=False,
)

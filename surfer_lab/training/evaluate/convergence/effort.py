"""How much is run? Two sizes of every experiment, with its budget in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from surfer_lab.training.evaluate.convergence.workloads import WORKLOADS, Workload

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
    times: float  # of work and links, against the workloads as they are described
    prediction_seeds: int
    tuning_seeds: int
    with_optuna: bool

    def run_workloads(self) -> Iterator[Workload]:
        """The workloads, with these times."""
        return (WORKLOADS[name].in_times(self.times) for name in self.workloads)


FULL: Final = Effort(
    name="full",
    momentum_runs=60,
    momentum_groups=(2, 4, 8),
    momentum_problems=("quadratic", "digits"),
    penalty_seeds=5,
    workloads=("compute bound", "mixed", "communication bound"),
    times=1.0,
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
    times=1 / 3,
    prediction_seeds=1,
    tuning_seeds=1,
    with_optuna=False,
)

"""What is a tuned run asked for, and what came of it? The records around the optimizer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from surfer_lab.planner.convergence.candidates import COLD_START_RATES
from surfer_lab.planner.convergence.cluster_times import ClusterTimes
from surfer_lab.planner.convergence.decisions import Decision
from surfer_lab.planner.convergence.run_record import PhaseRecord, RunState
from surfer_lab.planner.convergence.setting import Setting
from surfer_lab.planner.convergence.time_to_loss import TrainingPlan

__all__ = ["COLD_MOMENTUM", "Goal", "Phase", "PhaseRole", "SearchOptions", "TunedRun"]

COLD_MOMENTUM: Final = 0.9


@dataclass(frozen=True, kw_only=True)
class Goal:
    """What is to be reached: the mean loss of `window` updates, within `max_seconds`; and what an hour costs."""

    batch_size: int
    target_loss: float
    window: int = 20
    max_seconds: float = 3600.0
    seed: int = 0
    usd_per_hour: float | None = None  # of all workers


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """How the search is done; the defaults are Omnivore's where it names them."""

    overhead_fraction: float = 0.10
    trial_updates: int = 16  # trials with few groups make fewer, in the same seconds
    probe_rounds: int = 2  # of each group, for measuring
    least_trials: int = 2  # of the first search, whatever they cost: a short run has no 10 % to spend
    cold_rates: tuple[float, ...] = COLD_START_RATES
    momentum: float = COLD_MOMENTUM
    least_epoch_s: float = 5.0
    max_groups: int | None = None


class PhaseRole:
    """Why a phase ran."""

    TRIAL = "trial"
    PROBE = "probe"
    EPOCH = "epoch"


@dataclass(frozen=True, kw_only=True, eq=False)
class Phase:
    """A phase of the run: `begun_s` on the run's own clock."""

    role: str
    begun_s: float
    record: PhaseRecord


@dataclass(frozen=True, kw_only=True, eq=False)
class TunedRun:
    """What came of it. `seconds` is wall time from begin to end, `tuning_s` the part not spent on kept updates."""

    setting: Setting | None
    state: RunState | None
    is_reached: bool
    is_interrupted: bool
    seconds: float
    tuning_s: float
    phases: tuple[Phase, ...]
    decisions: tuple[Decision, ...]
    times: ClusterTimes | None
    plan: TrainingPlan | None

    @property
    def overhead_fraction(self) -> float:
        """Share of the time that searching took."""
        return self.tuning_s / self.seconds if self.seconds > 0 else 0.0

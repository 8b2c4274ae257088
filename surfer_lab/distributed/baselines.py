"""What would be done without the optimizer? One setting throughout, or Optuna within the same budget of trials.

Untuned runs get their learning rate for nothing, and where one diverges the next smaller decade until one does not
(only that last run's time counts).
"""

from __future__ import annotations

import importlib.util
import math
import time
from dataclasses import dataclass

from surfer_lab.errors import OptionError
from surfer_lab.planner.convergence.run_record import PhaseRecord, PhaseRequest, PhaseRunner
from surfer_lab.planner.convergence.setting import Setting
from surfer_lab.planner.convergence.tuned_run import Goal

__all__ = ["BaselineRun", "run_optuna", "run_untuned"]

_DECADES = 4
_DIVERGED = 4.0


@dataclass(frozen=True, kw_only=True, eq=False)
class BaselineRun:
    """One baseline; `seconds` is inf where the target was not reached in time."""

    name: str
    setting: Setting
    seconds: float
    tuning_s: float
    record: PhaseRecord
    trials: int = 0
    diverged: int = 0  # learning rates that were tried and diverged, whose time is not counted


def run_untuned(
    runner: PhaseRunner, goal: Goal, *, groups: int, learning_rate: float, first_loss: float, momentum: float = 0.9
) -> BaselineRun:
    """So many groups with an untuned momentum, from the initial weights to the target."""
    name = "synchronous, untuned" if groups == 1 else "asynchronous, untuned"
    for decade in range(_DECADES):
        setting = Setting(groups=groups, momentum=momentum, learning_rate=learning_rate / 10.0**decade)
        record = runner.run(_request(goal, setting, first_loss, max_seconds=goal.max_seconds))
        if not record.is_diverged:
            break
    return BaselineRun(
        name=name,
        setting=setting,
        seconds=record.wall_s if record.is_reached else math.inf,
        tuning_s=0.0,
        record=record,
        diverged=decade,
    )


def run_optuna(
    runner: PhaseRunner, goal: Goal, *, budget_s: float, trial_s: float, first_loss: float, counts: tuple[int, ...]
) -> BaselineRun:
    """Optuna (TPE) over groups, momentum and learning rate in short trials until the budget is spent, then its best.

    A trial starts from the initial weights, lasts `trial_s` and is scored by its last losses, as the optimizer's are.
    """
    if importlib.util.find_spec("optuna") is None:
        raise OptionError("Optuna is not installed", remedy='pip install "surfer-lab[evaluate]"')
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=goal.seed))
    spent_s, trials = 0.0, 0
    begun = time.perf_counter()
    while trials == 0 or spent_s + trial_s <= budget_s:
        trial = study.ask()
        setting = Setting(
            groups=trial.suggest_categorical("groups", list(counts)),
            momentum=trial.suggest_float("momentum", -0.6, 0.9),
            learning_rate=trial.suggest_float("learning_rate", 1e-4, 1.0, log=True),
        )
        record = runner.run(_request(goal, setting, first_loss, max_seconds=trial_s))
        late = record.column("loss")[record.column("at_s") > record.seconds / 2.0]
        score = float(late.mean()) if len(late) and not record.is_diverged else math.inf
        study.tell(trial, min(score, 1e6) if math.isfinite(score) else 1e6)
        spent_s, trials = spent_s + record.wall_s, trials + 1
    spent_s = time.perf_counter() - begun
    best = study.best_trial.params
    setting = Setting(groups=best["groups"], momentum=best["momentum"], learning_rate=best["learning_rate"])
    record = runner.run(_request(goal, setting, first_loss, max_seconds=max(1.0, goal.max_seconds - spent_s)))
    return BaselineRun(
        name="Optuna",
        setting=setting,
        seconds=spent_s + record.wall_s if record.is_reached else math.inf,
        tuning_s=spent_s,
        record=record,
        trials=trials,
    )


def _request(goal: Goal, setting: Setting, first_loss: float, *, max_seconds: float) -> PhaseRequest:
    return PhaseRequest(
        setting=setting,
        batch_size=goal.batch_size,
        max_seconds=max_seconds,
        target_loss=goal.target_loss,
        window=goal.window,
        diverged_above=_DIVERGED * first_loss,
        seed=goal.seed,
    )

"""Is a tuned run sooner at the target than untuned ones, and than Optuna's? Paired by seed, tuning included.

The optimizer starts cold and is timed from its first trial to the target. The untuned runs get, for nothing, the best
decade of the learning rate that a synchronous run has. Optuna gets as many seconds of trials as the optimizer's trials
and probes took, and trials as long.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from statistics import median
from typing import Final

import numpy as np

from surfer_lab.distributed.baselines import BaselineRun, run_optuna, run_untuned
from surfer_lab.distributed.cluster import Cluster
from surfer_lab.planner.convergence.hardware_efficiency import group_counts
from surfer_lab.planner.convergence.optimizer import Optimizer
from surfer_lab.planner.convergence.tuned_run import PhaseRole, SearchOptions, TunedRun
from surfer_lab.training.evaluate.cases import Case, Cell, Table
from surfer_lab.training.evaluate.convergence.effort import Effort
from surfer_lab.training.evaluate.convergence.workloads import WORKERS, Workload

__all__ = ["tuning_experiment", "tuning_tables"]

OURS: Final = "optimizer"
SYNCHRONOUS: Final = "synchronous, untuned"
ASYNCHRONOUS: Final = "asynchronous, untuned"
OPTUNA: Final = "Optuna"
_FIRST_SEED: Final = 20
_RESAMPLED: Final = 2000
OPTIONS: Final = SearchOptions(trial_updates=8)
Told = Callable[[str], None]


def tuning_experiment(cluster: Cluster, effort: Effort, told: Told) -> Iterator[Case]:
    """One case for each workload, seed and method; the seconds are inf where the target was not reached."""
    for workload in effort.run_workloads():
        for seed in range(_FIRST_SEED, _FIRST_SEED + effort.tuning_seeds):
            yield from _seed_cases(cluster, workload, seed, effort, told)


def _seed_cases(cluster: Cluster, workload: Workload, seed: int, effort: Effort, told: Told) -> Iterator[Case]:
    goal = workload.goal(seed)

    def fresh(what: str) -> None:
        told(f"{workload.name}, seed {seed}: {what}")
        cluster.use(
            workload.problem(seed), conditions=workload.conditions, serving_s=workload.serving_s, workers=WORKERS
        )

    fresh(OURS)
    tuned = Optimizer(cluster, goal, OPTIONS).run()
    yield _our_case(workload, seed, tuned)
    first_loss = float(tuned.phases[0].record.column("loss")[0])
    rate = workload.untuned_rate
    # groups of the baselines divide batches as they were measured: only the tuning is what differs
    rates = cluster.samples_per_s, cluster.overhead_s
    for groups in (1, WORKERS):
        fresh(f"untuned, {groups} group(s)")
        cluster.samples_per_s, cluster.overhead_s = rates
        yield _case(
            workload, seed, run_untuned(cluster, goal, groups=groups, learning_rate=rate, first_loss=first_loss)
        )
    if effort.with_optuna:
        fresh(OPTUNA)
        cluster.samples_per_s, cluster.overhead_s = rates
        trials = [phase.record for phase in tuned.phases if phase.role != PhaseRole.EPOCH]
        run = run_optuna(
            cluster,
            goal,
            budget_s=sum(record.wall_s for record in trials),
            trial_s=median(record.seconds for record in trials),
            first_loss=first_loss,
            counts=group_counts(WORKERS),
        )
        yield _case(workload, seed, run)


def _our_case(workload: Workload, seed: int, tuned: TunedRun) -> Case:
    setting = tuned.setting
    return Case(
        model=workload.name,
        method="tuned run",
        option=OURS,
        measured_ms=1e3 * tuned.seconds if tuned.is_reached else None,
        reason="" if tuned.is_reached else "the target was not reached",
        columns={
            "seed": seed, "seconds": tuned.seconds if tuned.is_reached else math.inf,
            "tuning_s": tuned.tuning_s, "setting": setting.words if setting is not None else "",
            "groups": setting.groups if setting is not None else None, "trials": _trials(tuned),
            "decisions": "\n".join(decision.words for decision in tuned.decisions),
        },
    )  # fmt: skip


def _trials(tuned: TunedRun) -> int:
    return sum(phase.role != PhaseRole.EPOCH for phase in tuned.phases)


def _case(workload: Workload, seed: int, run: BaselineRun) -> Case:
    is_reached = math.isfinite(run.seconds)
    return Case(
        model=workload.name,
        method="tuned run",
        option=run.name,
        measured_ms=1e3 * run.seconds if is_reached else None,
        reason="" if is_reached else "the target was not reached",
        columns={
            "seed": seed, "seconds": run.seconds, "tuning_s": run.tuning_s, "setting": run.setting.words,
            "groups": run.setting.groups, "trials": run.trials, "diverged_rates": run.diverged,
            "ran_s": run.record.wall_s,
        },
    )  # fmt: skip


def tuning_tables(cases: Sequence[Case]) -> list[Table]:
    """Seconds by method, and how many times faster than each the optimizer was: median of pairs and its interval."""
    rows: list[tuple[Cell, ...]] = []
    ratios: list[tuple[Cell, ...]] = []
    for name in dict.fromkeys(case.model for case in cases):
        mine = [case for case in cases if case.model == name]
        by_method = {
            method: {case.columns["seed"]: _seconds(case) for case in mine if case.option == method}
            for method in (OURS, SYNCHRONOUS, ASYNCHRONOUS, OPTUNA)
        }
        for method, found in by_method.items():
            if not found:
                continue
            tuning = [float(str(case.columns["tuning_s"])) for case in mine if case.option == method]
            middle = median(found.values())
            settings = "; ".join(dict.fromkeys(f"g={case.columns['groups']}" for case in mine if case.option == method))
            rows.append(
                (
                    name, method, len(found), _shown(middle),
                    f"{_words(min(found.values()))} to {_words(max(found.values()))}",
                    round(median(tuning), 1),
                    round(100.0 * median(tuning) / middle, 1) if math.isfinite(middle) else None,
                    settings,
                )
            )  # fmt: skip
        ours = by_method[OURS]
        untuned = [by_method[method] for method in (SYNCHRONOUS, ASYNCHRONOUS)]
        worse = {seed: max(one[seed] for one in untuned) for seed in ours}
        better = {seed: min(one[seed] for one in untuned) for seed in ours}
        rivals = {"the worse untuned": worse, "the better untuned": better, OPTUNA: by_method[OPTUNA]}
        for rival, other in rivals.items():
            if other:
                pairs = [other[seed] / ours[seed] for seed in ours]
                low, high = _interval(pairs)
                ratios.append((name, rival, len(pairs), _shown(median(pairs), 2), f"{_words(low)} to {_words(high)}"))
    return [
        Table(
            title="seconds to the target loss, tuning included",
            columns=("workload", "how", "seeds", "median s", "range", "tuning s", "tuning %", "chosen"),
            rows=tuple(rows),
            notes=("inf: not reached within the limit; untuned runs are given their rate",),
        ),
        Table(
            title="how many times sooner the optimizer is",
            columns=("workload", "than", "pairs", "median", "80 % interval"),
            rows=tuple(ratios),
            notes=("interval of the median by resampling pairs",),
        ),
    ]


def _seconds(case: Case) -> float:
    """What was measured; where the target was not reached, inf."""
    value = case.columns["seconds"]
    return float(value) if isinstance(value, (int, float)) else math.inf


def _interval(pairs: Sequence[float]) -> tuple[float, float]:
    random = np.random.default_rng(0)
    drawn = np.array(pairs)[random.integers(len(pairs), size=(_RESAMPLED, len(pairs)))]
    medians = np.sort(np.median(drawn, axis=1))
    return float(medians[int(0.1 * _RESAMPLED)]), float(medians[int(0.9 * _RESAMPLED)])


def _shown(value: float, digits: int = 1) -> Cell:
    return round(value, digits) if math.isfinite(value) else "inf"


def _words(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"

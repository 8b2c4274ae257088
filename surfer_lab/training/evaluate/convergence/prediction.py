"""Does the planner name the best number of groups, and how long it takes? Predicted from probes, then measured.

For each workload: a synchronous run to the target (what one has), and for every number of groups a probe that stops
at an easier loss. From their times the planner knows the cluster; from the probes' iterations, against those that the
synchronous run took to the same loss, its statistical efficiency is corrected; a number whose probe diverges is ruled
out. Then all numbers of groups are run to the target with other seeds, those ruled out too. Settings follow the
momentum rule from one synchronous setting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import median
from typing import Final

import numpy as np

from surfer_lab.distributed.cluster import Cluster
from surfer_lab.planner.convergence.hardware_efficiency import group_counts
from surfer_lab.planner.convergence.measured_times import cluster_times, worker_rates
from surfer_lab.planner.convergence.run_record import PhaseRecord, PhaseRequest
from surfer_lab.planner.convergence.setting import Setting
from surfer_lab.planner.convergence.statistical_efficiency import StatisticalModel
from surfer_lab.planner.convergence.time_to_loss import TrainingPlan, plan_training
from surfer_lab.training.evaluate.cases import Case, Cell, Table
from surfer_lab.training.evaluate.convergence.effort import Effort
from surfer_lab.training.evaluate.convergence.workloads import WORKERS, Workload

__all__ = ["predicted_plan", "prediction_experiment", "prediction_table"]

_PROBE_SEED: Final = 500
_FIRST_SEED: Final = 10
_DECADE: Final = 10.0
Told = Callable[[str], None]


def prediction_experiment(cluster: Cluster, effort: Effort, told: Told) -> Iterator[Case]:
    """One case for each workload and number of groups."""
    for workload in effort.run_workloads():
        yield from _workload_cases(cluster, workload, effort, told)


def predicted_plan(cluster: Cluster, workload: Workload, told: Told) -> TrainingPlan:
    """The plan from probes; sets the cluster's shares by what was measured."""
    cluster.use(
        workload.problem(_PROBE_SEED), conditions=workload.conditions, serving_s=workload.serving_s, workers=WORKERS
    )
    first = cluster.run(_request(workload, workload.base, max_updates=6, target=None))
    cluster.samples_per_s, cluster.overhead_s = worker_rates([first], WORKERS)
    statistics = StatisticalModel(total_momentum=workload.base.momentum)
    records: list[PhaseRecord] = []
    probes: list[tuple[int, float]] = []
    counts: list[int] = []
    one: PhaseRecord | None = None
    for groups in group_counts(WORKERS):
        told(f"{workload.name}: probe with {groups} group(s)")
        setting = _setting(statistics, workload.base, groups)
        target = workload.target_loss if groups == 1 else workload.easier_loss
        record = cluster.run(_request(workload, setting, max_updates=1500, target=target))
        if not record.is_diverged:
            records.append(record)
            counts.append(groups)
        if groups == 1:
            one = record
        elif one is not None and record.is_reached:
            probes.append((groups, _ratio_at_target(one, record, workload)))
    if one is None or not one.is_reached:
        raise RuntimeError(f"{workload.name}: the synchronous run does not reach its target")
    return plan_training(
        cluster_times(records, WORKERS),
        statistics.corrected(probes),
        learning_rate=workload.base.learning_rate,
        iterations_at_one=float(one.count),
        counts=counts,
    )


def _workload_cases(cluster: Cluster, workload: Workload, effort: Effort, told: Told) -> Iterator[Case]:
    plan = predicted_plan(cluster, workload, told)

    def ran(setting: Setting) -> list[PhaseRecord]:
        found: list[PhaseRecord] = []
        for seed in range(_FIRST_SEED, _FIRST_SEED + effort.prediction_seeds * workload.runs):
            told(f"{workload.name}: {setting.groups} group(s), seed {seed}")
            cluster.use(workload.problem(seed))
            found.append(
                cluster.run(_request(workload, setting, max_updates=3000, target=workload.target_loss, seed=seed))
            )
        return found

    for row in plan.rows:
        found = ran(row.setting)
        reached = [record for record in found if record.is_reached]
        to_ms = 1e3
        yield Case(
            model=workload.name,
            method="time to convergence",
            option=f"g = {row.setting.groups}",
            predicted_ms=None if row.seconds is None else to_ms * row.seconds,
            low_ms=None if row.low_s is None else to_ms * row.low_s,
            high_ms=None if row.high_s is None else to_ms * row.high_s,
            measured_ms=to_ms * median(record.seconds for record in reached) if len(reached) == len(found) else None,
            reason="" if len(reached) == len(found) else "the target was not reached",
            columns={
                "groups": row.setting.groups, "momentum": row.setting.momentum,
                "learning_rate": row.setting.learning_rate,
                "predicted_iteration_s": row.times.seconds,
                "measured_iteration_s": median(record.seconds_per_update for record in found),
                "predicted_updates": row.iterations,
                "measured_updates": median(record.count for record in found),
                "limit": row.times.limit.value, "seeds": len(found),
            },
        )  # fmt: skip
    statistics = StatisticalModel(total_momentum=workload.base.momentum)
    for groups in set(group_counts(WORKERS)) - {row.setting.groups for row in plan.rows}:
        setting = _setting(statistics, workload.base, groups)
        found = ran(setting)
        is_right = not any(record.is_reached for record in found)
        yield Case(
            model=workload.name,
            method="time to convergence",
            option=f"g = {groups}",
            reason=f"its probe diverged: ruled out, {'rightly' if is_right else 'wrongly'}",
            measured_ms=None if is_right else 1e3 * median(record.seconds for record in found if record.is_reached),
            columns={
                "groups": groups, "momentum": setting.momentum, "learning_rate": setting.learning_rate,
                "predicted_iteration_s": None, "measured_iteration_s": None, "predicted_updates": None,
                "measured_updates": None, "limit": "diverges" if is_right else "ruled out", "seeds": len(found),
            },
        )  # fmt: skip


def _setting(statistics: StatisticalModel, base: Setting, groups: int) -> Setting:
    return Setting(
        groups=groups,
        momentum=statistics.momentum(groups),
        learning_rate=statistics.learning_rate(groups, base.learning_rate),
    )


def _request(
    workload: Workload, setting: Setting, *, max_updates: int, target: float | None, seed: int = _PROBE_SEED
) -> PhaseRequest:
    return PhaseRequest(
        setting=setting,
        batch_size=workload.batch_size,
        max_updates=max_updates,
        max_seconds=3.0 * workload.max_seconds,
        target_loss=target,
        window=workload.window,
        diverged_above=50.0,
        seed=seed,
    )


def _ratio_at_target(one: PhaseRecord, probe: PhaseRecord, workload: Workload) -> float:
    """I_g / I_1 at the target, from a probe that stopped before it.

    Groups that start together cost some updates once (the first gradients are stale before anything has moved), so that
    the ratio at an easy loss says too much: from there on the ratio of the last decade of the loss counts.
    """
    easier, earlier = workload.easier_loss, _DECADE * workload.easier_loss
    pace = (probe.count - _updates_to(probe, earlier)) / max(1, _updates_to(one, easier) - _updates_to(one, earlier))
    return (probe.count + pace * (one.count - _updates_to(one, easier))) / one.count


def _updates_to(record: PhaseRecord, loss: float) -> int:
    """The first update at which the window's mean was as low."""
    window = record.request.window
    sums = np.cumsum(np.concatenate([[0.0], record.column("loss")]))
    means = (sums[window:] - sums[:-window]) / window
    below = np.flatnonzero(means <= loss)
    return int(below[0]) + window if len(below) else record.count


def prediction_table(cases: Sequence[Case]) -> list[Table]:
    """Predicted beside measured, and the best number of groups of each."""
    rows: list[tuple[Cell, ...]] = []
    best: list[tuple[Cell, ...]] = []
    for name in dict.fromkeys(case.model for case in cases):
        mine = [case for case in cases if case.model == name]
        for case in mine:
            columns = case.columns
            rows.append(
                (
                    name, columns["groups"], _ms(columns["predicted_iteration_s"]),
                    _ms(columns["measured_iteration_s"]),
                    _rounded(columns["predicted_updates"]), _rounded(columns["measured_updates"]),
                    _s(case.predicted_ms), _range(case), _s(case.measured_ms),
                    None if not case.is_predicted else round(100.0 * case.error, 1), columns["limit"],
                )
            )  # fmt: skip
        known = [case for case in mine if case.is_predicted]
        if not known:
            continue
        predicted = min(known, key=lambda case: case.predicted_ms or 0.0)
        measured = min(
            (case for case in mine if case.measured_ms is not None), key=lambda case: case.measured_ms or 0.0
        )
        loss = 100.0 * ((predicted.measured_ms or 0.0) / (measured.measured_ms or 1.0) - 1.0)
        best.append((name, predicted.columns["groups"], measured.columns["groups"], round(loss, 1)))
    return [
        Table(
            title="time to the target loss by number of groups",
            columns=(
                "workload", "g", "predicted ms/iteration", "measured ms/iteration", "predicted updates",
                "measured updates", "predicted s", "range", "measured s", "error %", "limited by",
            ),
            rows=tuple(rows),
        ),
        Table(
            title="best number of groups",
            columns=("workload", "predicted", "measured", "slower than the best %"),
            rows=tuple(best),
        ),
    ]  # fmt: skip


def _range(case: Case) -> Cell:
    return None if case.low_ms is None else f"{_s(case.low_ms)} to {_s(case.high_ms)}"


def _ms(value: Cell) -> Cell:
    return round(1e3 * float(value), 1) if isinstance(value, (int, float)) else None


def _s(value: float | None) -> Cell:
    return None if value is None else round(value / 1e3, 1)


def _rounded(value: Cell) -> Cell:
    return round(float(value)) if isinstance(value, (int, float)) else None

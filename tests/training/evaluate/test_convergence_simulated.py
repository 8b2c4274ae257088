"""The convergence experiments in simulated time: the planner's predictions and the optimizer, on many seeds in seconds.

The real experiments (`surfer evaluate convergence`) run the same workloads on real workers.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from surfer_lab.distributed.baselines import run_untuned
from surfer_lab.planner.convergence.decisions import DecisionKind
from surfer_lab.planner.convergence.optimizer import Optimizer
from surfer_lab.planner.convergence.tuned_run import Goal
from surfer_lab.training.evaluate.convergence.effort import QUICK
from surfer_lab.training.evaluate.convergence.prediction import prediction_experiment
from surfer_lab.training.evaluate.convergence.tuning import OPTIONS
from surfer_lab.training.evaluate.convergence.workloads import WORKERS, WORKLOADS, Workload
from tests.planner.convergence.simulated import SimulatedCluster


class Simulated(SimulatedCluster):
    """A workload's conditions in simulated time; the problem is a quadratic whichever seed is asked for."""

    def use(self, *_: object, conditions: object = None, **__: object) -> None:
        if conditions is not None:
            self.samples_per_s, self.overhead_s = np.ones(WORKERS), np.zeros(WORKERS)


def simulated(workload: Workload, seed: int) -> Simulated:
    problem: Any = workload.problem(0)()  # a Quadratic, in all of them
    cluster = Simulated(
        s_per_sample=tuple(one.s_per_sample for one in workload.conditions),
        hop_s=workload.hop_s, reduce_s=workload.reduce_s, exchange_s=workload.exchange_s, server_s=workload.serving_s,
        condition=float(1.0 / problem.curvature[0]), dimensions=len(problem.curvature),
        noise=0.03 / math.sqrt(workload.batch_size),
    )  # fmt: skip
    cluster.first_run = 1000 * seed
    return cluster


@pytest.mark.parametrize("name", WORKLOADS)
def test_predicted_times_hold_and_the_best_number_of_groups_is_named(name: str) -> None:
    errors = []
    for seed in range(3):
        effort = replace(QUICK, workloads=(name,), times=1.0)
        cluster: Any = simulated(WORKLOADS[name], seed)
        cases = list(prediction_experiment(cluster, effort, lambda _: None))
        assert [case.option for case in cases] == ["g = 1", "g = 2", "g = 4"]
        ruled_out = [case for case in cases if case.predicted_ms is None]
        assert all("ruled out, rightly" in case.reason and case.measured_ms is None for case in ruled_out)
        errors += [abs(case.error) for case in cases if case.is_predicted]
        assert "g = 4" not in [case.option for case in ruled_out] or name == "compute bound"
        predicted = min(cases, key=lambda case: case.predicted_ms or math.inf)
        soonest = min(case.measured_ms or math.inf for case in cases)
        assert predicted.measured_ms is not None and predicted.measured_ms <= 1.1 * soonest
    assert max(errors) < 0.3 and float(np.mean(errors)) < 0.12


@pytest.mark.parametrize("name", WORKLOADS)
def test_tuned_runs_are_sooner_than_untuned_ones_tuning_included(name: str) -> None:
    workload = WORKLOADS[name]
    for seed in range(20, 24):
        cluster = simulated(workload, seed)
        tuned = Optimizer(cluster, workload.goal(seed), OPTIONS).run()
        assert tuned.is_reached, [decision.words for decision in tuned.decisions]
        first = float(tuned.phases[0].record.column("loss")[0])
        untuned = [
            run_untuned(
                cluster, workload.goal(seed), groups=groups, learning_rate=workload.untuned_rate, first_loss=first
            ).seconds
            for groups in (1, WORKERS)
        ]
        assert 1.9 * tuned.seconds <= max(untuned)
        assert tuned.seconds <= 1.1 * min(untuned)


def test_a_loss_that_hardly_falls_makes_a_smaller_rate_be_tried() -> None:
    """A rate just below divergence swings around the minimum for as long as it is let."""
    workload = WORKLOADS["mixed"]
    tuned = Optimizer(simulated(workload, 20), workload.goal(20), OPTIONS).run()
    reasons = [decision.reason for decision in tuned.decisions if decision.kind is DecisionKind.BACKED_OFF]
    assert any("a third of the rate is tried" in reason for reason in reasons) and tuned.is_reached


def test_a_rate_that_was_right_is_gone_back_to() -> None:
    """A long way down a narrow valley is slow at any rate, and slower at a third of it."""
    cluster = SimulatedCluster(s_per_sample=(0.02,) * WORKERS, condition=1e4, dimensions=4)
    tuned = Optimizer(cluster, Goal(batch_size=16, target_loss=2e-4, window=8, max_seconds=900.0)).run()
    reasons = [decision.reason for decision in tuned.decisions if decision.kind is DecisionKind.BACKED_OFF]
    assert any("back to all of it" in reason for reason in reasons)
    assert tuned.is_reached

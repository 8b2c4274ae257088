"""What asynchrony adds, what is left to set, and whether simulated runs show it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surfer_lab.errors import OptionError
from surfer_lab.planner.convergence.momentum import (
    constant_staleness,
    distance,
    effective_step,
    explicit_momentum,
    geometric_staleness,
    implicit_momentum,
    mean_staleness,
    momentum_of,
)
from surfer_lab.planner.convergence.momentum_estimate import estimated_momentum
from surfer_lab.planner.convergence.run_record import PhaseRequest
from surfer_lab.planner.convergence.setting import Setting
from tests.planner.convergence.simulated import SimulatedCluster


@pytest.mark.parametrize(("groups", "momentum"), [(1, 0.0), (2, 0.5), (4, 0.75), (8, 0.875), (10, 0.9)])
def test_the_implicit_momentum_is_one_less_one_over_the_groups(groups, momentum):
    assert implicit_momentum(groups) == pytest.approx(momentum)
    assert effective_step(0.4, groups) == pytest.approx(0.4 / groups)


@given(total=st.floats(0.0, 0.99), groups=st.integers(1, 64))
def test_explicit_and_implicit_momentum_sum_to_the_total(total, groups):
    explicit = explicit_momentum(total, groups)
    assert explicit + implicit_momentum(groups) == pytest.approx(max(total, implicit_momentum(groups) - 0.9))


@given(groups=st.integers(1, 40))
def test_a_geometric_staleness_has_the_mean_and_momentum_of_its_groups(groups):
    shares = geometric_staleness(groups, lags=4000)
    assert shares.sum() == pytest.approx(1.0)
    assert mean_staleness(shares) == pytest.approx(groups - 1, abs=1e-6)
    assert momentum_of(shares) == pytest.approx(implicit_momentum(groups), abs=1e-6)


def test_taking_turns_is_far_from_geometric():
    assert distance(constant_staleness(4), geometric_staleness(4, lags=200)) > 0.8
    assert distance([1, 2, 3], [2, 4, 6, 0]) == pytest.approx(0.0)


def test_a_histogram_without_updates_is_refused():
    with pytest.raises(OptionError, match="without updates"):
        mean_staleness([0, 0])


def simulated_iterates(groups, *, is_exponential, runs, seed=0):
    cluster = SimulatedCluster(
        s_per_sample=(1.0,) * groups, exchange_s=0.0, is_exponential=is_exponential, condition=10.0
    )
    request = {"setting": Setting(groups=groups, momentum=0.0, learning_rate=0.3), "batch_size": 1, "max_updates": 30}
    found = [cluster.run(PhaseRequest(**request, seed=seed + run, keeps_iterates=True)) for run in range(runs)]
    walked = np.stack([record.iterates for record in found]).astype(float)
    histogram = np.bincount(
        np.concatenate([record.column("staleness")[groups:] for record in found]).astype(int), minlength=60
    )
    return walked, walked * cluster.curvature, histogram


@pytest.mark.parametrize("groups", [2, 4, 8])
def test_simulated_runs_with_exponential_times_show_it(groups):
    walked, gradients, _ = simulated_iterates(groups, is_exponential=True, runs=150)
    estimate = estimated_momentum(walked, gradients)
    assert estimate.momentum == pytest.approx(implicit_momentum(groups), abs=0.05)
    assert estimate.step == pytest.approx(effective_step(0.3, groups), rel=0.25)
    assert estimate.low <= estimate.momentum <= estimate.high


def test_equal_workers_of_constant_speed_take_turns():
    _, _, histogram = simulated_iterates(4, is_exponential=False, runs=1)
    assert histogram.argmax() == 3
    assert histogram[3] == histogram.sum()


def test_an_explicit_momentum_without_asynchrony_is_found_by_the_same_fit():
    cluster = SimulatedCluster(s_per_sample=(1.0,), noise=0.3, condition=10.0)
    request = {"setting": Setting(groups=1, momentum=0.6, learning_rate=0.1), "batch_size": 1, "max_updates": 30}
    found = [cluster.run(PhaseRequest(**request, seed=seed, keeps_iterates=True)) for seed in range(60)]
    walked = np.stack([record.iterates for record in found]).astype(float)
    assert estimated_momentum(walked, walked * cluster.curvature).momentum == pytest.approx(0.6, abs=0.05)


def test_two_runs_are_too_few():
    with pytest.raises(OptionError, match="shape"):
        estimated_momentum(np.zeros((2, 10, 3)), np.zeros((2, 10, 3)))

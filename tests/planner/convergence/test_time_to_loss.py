"""Plans: parts multiply, the best is the soonest, money follows time, ten thousand devices are a moment."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surfer_lab.errors import OptionError
from surfer_lab.planner.convergence.cluster_times import ClusterTimes
from surfer_lab.planner.convergence.setting import Setting
from surfer_lab.planner.convergence.statistical_efficiency import StatisticalModel
from surfer_lab.planner.convergence.time_to_loss import plan_training


def cluster(**times):
    return ClusterTimes(batch_size=64, samples_per_s=np.full(8, 80.0), overhead_s=np.zeros(8), **times)


def plan(times=None, *, total=0.9, **words):
    return plan_training(times or cluster(), StatisticalModel(total_momentum=total), learning_rate=0.01, **words)


def test_time_is_hardware_times_statistical_efficiency_times_the_synchronous_time():
    found = plan(cluster(reduce_s=0.2), iterations_at_one=500.0, usd_per_hour=36.0)
    one = found.row(1)
    assert one.seconds == pytest.approx(500 * (0.1 + 0.35))
    for row in found.rows:
        assert row.seconds == pytest.approx(row.hardware_efficiency * row.statistical_efficiency * one.seconds)
        assert row.usd == pytest.approx(row.seconds * 0.01)
        assert row.low_s < row.seconds < row.high_s


def test_a_compute_bound_run_gains_nothing_and_stays_synchronous():
    assert plan(iterations_at_one=100.0).best.setting.groups == 1


def test_slow_links_ask_for_more_groups_but_not_beyond_the_momentum():
    slow = cluster(reduce_s=0.1)
    assert plan(slow).best.setting.groups == 8
    assert plan(slow, total=0.5).best.setting.groups < 8


@given(total=st.floats(0.0, 0.97), groups=st.integers(1, 32))
def test_the_penalty_starts_where_the_implicit_momentum_exceeds_the_total(total, groups):
    penalty = StatisticalModel(total_momentum=total).penalty(groups)
    assert penalty >= 1.0
    if 1 - 1 / groups <= total:
        assert penalty == 1.0


def test_explicit_momentum_and_rate_keep_what_an_update_does_in_the_end():
    for row in plan().rows:
        setting = row.setting
        assert setting.learning_rate / (1 - setting.momentum) == pytest.approx(0.1)
    assert plan().row(8).setting.momentum == pytest.approx(0.025)
    assert plan(total=0.6).row(8).setting.momentum == pytest.approx(-0.275)


def test_probes_correct_the_curve_and_set_its_range():
    theory = StatisticalModel(total_momentum=0.9)
    corrected = theory.corrected([(4, 1.5), (8, 2.0)])
    assert 1.3 < corrected.penalty(4) < 1.5 < corrected.penalty(8) < 2.0
    assert corrected.penalty(1) == 1.0
    low, high = corrected.range_of(8)
    assert low < corrected.penalty(8) < high
    assert theory.corrected([(1, 1.0)]) is theory


def test_more_probes_of_one_number_of_groups_draw_nearer_to_them():
    theory = StatisticalModel(total_momentum=0.9)
    once, often = theory.corrected([(4, 1.5)]), theory.corrected([(4, 1.5)] * 6)
    assert abs(often.penalty(4) - 1.5) < abs(once.penalty(4) - 1.5)


def test_a_probe_counts_far_more_than_the_theory():
    theory = StatisticalModel(total_momentum=0.6)
    assert theory.theory(4) > 1.6
    assert theory.corrected([(4, 1.05)]).penalty(4) < 1.1


def test_a_number_of_groups_that_is_not_planned_is_refused():
    with pytest.raises(OptionError, match="no row for 3"):
        plan().row(3)


@pytest.mark.parametrize(("field", "value"), [("groups", 0), ("momentum", 1.0), ("learning_rate", 0.0)])
def test_settings_that_cannot_be_meant_are_refused(field, value):
    with pytest.raises(OptionError):
        Setting(**{"groups": 1, "momentum": 0.0, "learning_rate": 0.1, field: value})


def test_ten_thousand_unequal_devices_are_planned():
    random = np.random.default_rng(0)
    large = ClusterTimes(
        batch_size=65536,
        samples_per_s=random.uniform(50, 500, 10_000),
        overhead_s=random.uniform(0, 0.01, 10_000),
        hop_s=1e-4,
        reduce_s=0.01,
        exchange_s=0.01,
        server_s=0.001,
        spread=tuple(random.exponential(size=200)),
    )
    found = plan(large, iterations_at_one=10_000.0, usd_per_hour=1e4)
    assert found.rows[-1].setting.groups == 10_000
    assert 1 < found.best.setting.groups < 10_000

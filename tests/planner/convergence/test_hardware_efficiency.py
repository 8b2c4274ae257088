"""Seconds per iteration: Omnivore's own form, saturation, waiting, what probes give back."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surfer_lab.planner.convergence.cluster_times import ClusterTimes
from surfer_lab.planner.convergence.hardware_efficiency import Limit, group_counts, group_times, omnivore_seconds
from surfer_lab.planner.convergence.measured_times import cluster_times
from surfer_lab.planner.convergence.run_record import PhaseRequest
from surfer_lab.planner.convergence.setting import Setting
from tests.planner.convergence.simulated import SimulatedCluster


def cluster(devices=8, *, rate=100.0, batch=80, **times):
    return ClusterTimes(
        batch_size=batch, samples_per_s=np.full(devices, rate), overhead_s=np.zeros(devices), **times
    )  # fmt: skip


@pytest.mark.parametrize("groups", [1, 2, 4, 8])
def test_equal_workers_and_a_merged_server_give_omnivores_formula(groups):
    # compute(1) = 0.8 s on one worker, no network; t_fc = 0.03 s
    mine = group_times(cluster(head_s=0.03), groups)
    theirs = omnivore_seconds(
        workers=8, groups=groups, compute_1_s=0.8, network_1_s=0.0, fully_connected_s=0.03
    )  # fmt: skip
    assert mine.seconds == pytest.approx(theirs)


def test_more_groups_help_until_the_server_saturates():
    times = [group_times(cluster(server_s=0.2, exchange_s=0.5), groups) for groups in (1, 2, 4, 8)]
    assert [one.seconds for one in times] == pytest.approx([0.8, 0.45, 0.275, 0.2])
    assert [one.limit for one in times] == [Limit.LINK, Limit.LINK, Limit.LINK, Limit.SERVER]


@given(hop=st.floats(0.0, 0.1), reduce=st.floats(0.0, 0.5), server=st.floats(0.0, 0.1))
def test_more_groups_are_never_slower_without_stragglers(hop, reduce, server):
    times = [group_times(cluster(hop_s=hop, reduce_s=reduce, server_s=server), g).seconds for g in (1, 2, 4, 8)]
    assert all(later <= earlier * (1 + 1e-9) for earlier, later in pairwise(times))


@given(variable=st.lists(st.floats(0.1, 5.0), min_size=2, max_size=30), groups=st.sampled_from([1, 2, 4, 8]))
def test_the_estimate_lies_in_its_range(variable, groups):
    one = group_times(cluster(server_s=0.05, spread=tuple(variable)), groups)
    assert one.low_s <= one.seconds <= one.high_s


def test_stragglers_make_large_groups_wait():
    spread = tuple(np.random.default_rng(0).exponential(size=4000))
    times = cluster(spread=spread)
    # the mean of the largest of k exponential times is the k-th harmonic number
    assert times.straggling(4) == pytest.approx(1 + 1 / 2 + 1 / 3 + 1 / 4, rel=0.05)
    assert group_times(times, 1).compute_s > 2.5 * group_times(cluster(), 1).compute_s


def test_numbers_of_groups_are_powers_of_two_and_all_devices():
    assert group_counts(1) == (1,)
    assert group_counts(6) == (1, 2, 4, 6)


def test_probes_of_a_simulated_cluster_give_its_times_back():
    simulated = SimulatedCluster(
        s_per_sample=(0.01, 0.01, 0.02, 0.02), hop_s=0.002, reduce_s=0.05, exchange_s=0.015, server_s=0.004
    )
    records = [
        simulated.run(
            PhaseRequest(setting=Setting(groups=groups, momentum=0.0, learning_rate=0.1), batch_size=48, max_updates=24)
        )
        for groups in (1, 2, 4)
    ]
    found = cluster_times(records, 4)
    assert found.samples_per_s == pytest.approx([100, 100, 50, 50], rel=0.02)
    assert found.hop_s == pytest.approx(0.002, rel=0.05)
    assert found.reduce_s == pytest.approx(0.05, rel=0.05)
    assert found.exchange_s == pytest.approx(0.015)
    assert found.server_s == pytest.approx(0.004)
    simulated.samples_per_s = found.samples_per_s
    for groups in (1, 2, 4):
        measured = simulated.run(
            PhaseRequest(setting=Setting(groups=groups, momentum=0.0, learning_rate=0.1), batch_size=48, max_updates=80)
        )
        predicted = group_times(found, groups)
        assert predicted.seconds == pytest.approx(measured.seconds_per_update, rel=0.08)


def test_the_predicted_wait_at_a_busy_server_is_that_of_a_simulation_with_exponential_times():
    simulated = SimulatedCluster(s_per_sample=(0.1,) * 8, server_s=0.01, is_exponential=True)
    request = PhaseRequest(setting=Setting(groups=8, momentum=0.0, learning_rate=0.01), batch_size=1, max_updates=6000)
    measured = simulated.run(request)
    predicted = group_times(cluster_times([measured], 8), 8)
    assert predicted.low_s <= measured.seconds_per_update <= predicted.high_s
    assert predicted.seconds == pytest.approx(measured.seconds_per_update, rel=0.06)

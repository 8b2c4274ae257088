"""Real workers on two Ray nodes: what groups do, what is measured, and what happens when something dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from surfer_lab.distributed.cluster import Cluster, ClusterError
from surfer_lab.distributed.conditions import Conditions
from surfer_lab.distributed.problem import Quadratic
from surfer_lab.errors import OptionError
from surfer_lab.planner.convergence.measured_times import cluster_times, worker_rates
from surfer_lab.planner.convergence.optimizer import Optimizer
from surfer_lab.planner.convergence.run_record import PhaseRequest
from surfer_lab.planner.convergence.setting import Setting
from surfer_lab.planner.convergence.tuned_run import Goal, SearchOptions
from tests.distributed import driver

ROOT = Path(__file__).resolve().parents[2]
WORKERS = 4
PROBLEM = partial(Quadratic, noise=0.1)
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def shared(two_nodes):
    with Cluster(PROBLEM, workers=WORKERS, address=two_nodes) as cluster:
        yield cluster


@pytest.fixture
def cluster(shared):
    shared.use(PROBLEM, conditions=Conditions(), serving_s=0.0, merge_head=False, workers=WORKERS)
    return shared


def request(groups, *, updates=24, batch=16, momentum=0.0, rate=0.1, **words):
    setting = Setting(groups=groups, momentum=momentum, learning_rate=rate)
    return PhaseRequest(setting=setting, batch_size=batch, max_updates=updates, **words)


def test_workers_are_on_both_nodes(cluster):
    places = cluster.places()
    assert len({pid for _, pid, _ in places}) == WORKERS
    assert len({node for _, _, node in places}) == 2


def test_one_group_is_a_synchronous_run(cluster):
    record = cluster.run(request(1))
    assert record.count == 24
    assert record.column("staleness").max() == 0
    assert sorted(member.samples for member in record.members) == [4, 4, 4, 4]
    # the loss of the whole quadratic, computed here by the same recursion without noise
    quadratic = Quadratic()
    weights = quadratic.initial_weights().astype(float)
    expected = []
    for _ in range(24):
        expected.append(0.5 * float((quadratic.curvature * weights**2).sum()))
        weights -= 0.1 * quadratic.curvature * weights
    np.testing.assert_allclose(record.column("loss"), expected, rtol=0.1)


def test_groups_overtake_one_another_and_are_counted(cluster):
    cluster.use(conditions=Conditions(s_per_sample=0.002))
    record = cluster.run(request(4, updates=40))
    assert record.count == 40
    assert set(record.column("group")) == {0, 1, 2, 3}
    assert record.staleness_histogram.sum() == 36
    assert record.column("staleness")[4:].mean() == pytest.approx(3.0, abs=1.0)


def test_unequal_workers_get_shares_by_what_was_measured(cluster):
    cluster.use(conditions=[Conditions(s_per_sample=s) for s in (0.004, 0.004, 0.012, 0.012)])
    cluster.samples_per_s, cluster.overhead_s = worker_rates([cluster.run(request(1, updates=6, batch=32))], WORKERS)
    record = cluster.run(request(1, updates=6, batch=32))
    shares = {member.worker: member.samples for member in record.members}
    assert shares[0] >= 2 * shares[2]
    assert sum(shares.values()) == 32


def test_links_and_server_are_measured_not_told(cluster):
    cluster.use(
        conditions=Conditions(s_per_sample=0.001, hop_s=0.01, reduce_s=0.1, exchange_s=0.05), serving_s=0.03
    )  # fmt: skip
    found = cluster_times([cluster.run(request(groups, updates=3 * groups + 3)) for groups in (1, 2, 4)], WORKERS)
    assert found.all_reduce_s(4) >= 0.9 * (6 * 0.01 + 1.5 * 0.1)
    assert found.exchange_s >= 0.05
    assert found.server_s >= 0.03


def test_workers_that_join_again_have_the_newest_problem(cluster):
    cluster.use(workers=2)
    cluster.use(partial(Quadratic, dimensions=24))
    cluster.use(workers=WORKERS)
    assert cluster.run(request(4, updates=8)).state.weights.shape == (24,)


def test_a_merged_head_is_the_same_training(cluster):
    from surfer_lab.distributed.example_problems import digits_problem

    cluster.use(partial(digits_problem, 0))
    whole = cluster.run(request(1, updates=12, batch=32, momentum=0.5))
    cluster.use(partial(digits_problem, 0), merge_head=True)
    merged = cluster.run(request(1, updates=12, batch=32, momentum=0.5))
    np.testing.assert_allclose(merged.column("loss"), whole.column("loss"), rtol=1e-3)
    np.testing.assert_allclose(merged.state.weights, whole.state.weights, atol=1e-4)
    apart = cluster.run(request(2, updates=40, batch=32, rate=0.2))
    assert apart.count == 40
    assert apart.last_loss(10) < 0.8 * apart.column("loss")[0]


def killed_while(cluster, workers, asked):
    """Run a phase while these workers are killed, once some updates are made."""
    started = threading.Event()

    def kill():
        started.wait(timeout=120)
        for worker in workers:
            cluster.kill(worker)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        return cluster.run(asked, told=lambda status: started.set() if status.updates >= 5 else None)
    finally:
        started.set()
        thread.join()


@pytest.mark.parametrize(("groups", "killed"), [(2, [0]), (2, [1, 2]), (4, [3])])
def test_dead_workers_and_groups_are_replaced_and_the_target_is_reached(cluster, groups, killed):
    cluster.use(conditions=Conditions(s_per_sample=0.006))
    before = [pid for _, pid, _ in cluster.places()]
    record = killed_while(cluster, killed, request(groups, updates=4000, target_loss=0.05, rate=0.03))
    assert record.is_reached
    assert any("died" in fault for fault in record.faults)
    after = [pid for _, pid, _ in cluster.places()]
    assert all(before[worker] != after[worker] for worker in killed)
    # no update is lost: they are numbered by the server, and the loss goes on where it was
    losses = record.column("loss")
    assert losses[0] > losses[-1]
    assert (np.diff(record.column("at_s")) >= 0).all()


def test_a_users_error_reaches_the_driver_as_it_is(cluster):
    def broken():
        raise ValueError("no such file of mine")

    with pytest.raises(ValueError, match="no such file of mine"):
        cluster.use(broken)


def test_an_error_in_the_middle_of_training_does_too(cluster):
    class Broken(Quadratic):
        def gradient(self, weights, samples):
            raise ArithmeticError("a bug of mine")

    cluster.use(Broken)
    with pytest.raises(ArithmeticError, match="a bug of mine"):
        cluster.run(request(2))


def test_workers_that_die_again_and_again_end_the_run(cluster):
    class Deadly(Quadratic):
        def gradient(self, weights, samples):
            os._exit(1)

    cluster.use(conditions=Conditions())
    cluster.most_replaced = 2
    try:
        cluster.use(Deadly)
        with pytest.raises(ClusterError, match="died"):
            cluster.run(request(4))
    finally:
        cluster.most_replaced = Cluster.most_replaced
        cluster.revive_all()


def test_more_groups_than_workers_are_refused(cluster):
    with pytest.raises(OptionError, match="1 to 4"):
        cluster.run(request(5))


def test_the_optimizer_tunes_a_real_run(cluster):
    cluster.use(partial(Quadratic, condition=20.0, noise=0.05), conditions=Conditions(s_per_sample=0.002))
    heard = []
    run = Optimizer(
        cluster,
        Goal(batch_size=16, target_loss=0.05, window=4, max_seconds=120.0),
        SearchOptions(trial_updates=8, least_epoch_s=2.0),
        told=lambda role, setting, status: heard.append((role, setting.groups, status.updates)),
    ).run()
    assert run.is_reached
    assert run.times is not None
    assert heard


def test_a_killed_driver_loses_at_most_one_interval(cluster, tmp_path):
    """Its own local Ray ends with it; the checkpoint is taken up on this cluster, and reaches the target."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "tests" / "distributed" / "driver.py"), str(tmp_path)],
        stdout=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip
    seconds, pids = 0.0, []
    assert process.stdout is not None
    with process.stdout as lines:
        for line in lines:
            kind, *rest = line.split()
            if kind == "pids":
                pids = [int(pid) for pid in rest]
            elif kind == "status":
                seconds = float(rest[0])
                if seconds > 4 * driver.INTERVAL_S:
                    break
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert pids
    patience = time.monotonic() + 60
    while any(Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < patience:
        time.sleep(0.2)
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
    cluster.folder, before = tmp_path, cluster.folder
    try:
        state, facts = cluster.resumed()
    finally:
        cluster.folder = before
    assert facts == {"kind": "driver"}
    longest_step = 0.5
    assert state.seconds >= seconds - driver.INTERVAL_S - longest_step
    cluster.use(driver.PROBLEM, conditions=Conditions(), workers=2)
    setting = driver.SETTING
    record = cluster.run(
        PhaseRequest(setting=setting, batch_size=8, max_updates=4000, target_loss=0.05, window=5), state
    )  # fmt: skip
    assert record.is_reached
    assert record.state.updates == state.updates + record.count


def test_throughput_shares_use_unequal_workers_better_than_equal_ones(cluster):
    from surfer_lab.training.evaluate.convergence.shares import share_table, shares_experiment

    case = shares_experiment(cluster)
    equal, divided = (float(case.columns[f"{kind}_samples_per_s"]) for kind in ("equal", "divided"))
    assert divided > 1.2 * equal
    assert len(share_table(case).rows) == 3


def test_the_momentum_experiment_tells_theory_fit_and_staleness(cluster):
    from dataclasses import replace

    from surfer_lab.training.evaluate.convergence.effort import QUICK
    from surfer_lab.training.evaluate.convergence.momentum import momentum_experiment, momentum_table

    found = list(momentum_experiment(cluster, replace(QUICK, momentum_runs=8, momentum_groups=(2,))))
    assert [case.columns["work_times"] for case, _, _ in found] == ["exponential", "constant"]
    exponential = found[0][0]
    assert exponential.columns["theory"] == 0.5
    assert 0.2 < exponential.columns["measured"] < 0.8
    assert found[0][2].sum() > 0
    assert "1 - 1/g" in momentum_table([row for _, row, _ in found]).as_text()

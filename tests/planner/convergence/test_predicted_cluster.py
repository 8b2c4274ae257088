"""Times of a known machine: its links, a CPU beside its GPUs, counts that do not fit."""

from __future__ import annotations

import pytest

from surfer_lab.errors import OptionError
from surfer_lab.hardware.machines import load_machines
from surfer_lab.planner.convergence.devices import Device, DeviceKind
from surfer_lab.planner.convergence.predicted_cluster import predicted_cluster
from surfer_lab.planner.convergence.statistical_efficiency import StatisticalModel
from surfer_lab.planner.convergence.time_to_loss import plan_training
from surfer_lab.planner.scaling.collectives import Collective, collective_ns, group_of

GPU = Device(name="GPU", samples_per_s=400.0, overhead_s=0.002)
BYTES = 100_000_000


def machine():
    return load_machines().find("DGX A100")


def test_the_whole_machines_all_reduce_is_the_collectives():
    found = predicted_cluster(GPU, machine(), 8, batch_size=256, gradient_bytes=BYTES)
    expected = collective_ns(Collective.ALL_REDUCE, BYTES, group_of(machine(), 8)) / 1e9
    assert found.all_reduce_s(8) == pytest.approx(expected, rel=1e-6)
    assert 0 < found.all_reduce_s(2) < found.all_reduce_s(8)


def test_a_network_is_slower_to_reach_than_the_link_in_a_node():
    inside = predicted_cluster(GPU, machine(), 8, batch_size=256, gradient_bytes=BYTES)
    across = predicted_cluster(GPU, machine(), 32, batch_size=256, gradient_bytes=BYTES)
    assert across.server_s > inside.server_s
    assert across.all_reduce_s(32) > inside.all_reduce_s(8)


def test_a_cpu_beside_the_gpus_is_one_more_device():
    cpu = Device(name="CPU", samples_per_s=20.0, kind=DeviceKind.CPU)
    with_it = predicted_cluster(GPU, machine(), 8, batch_size=4096, gradient_bytes=BYTES, beside=[cpu])
    without = predicted_cluster(GPU, machine(), 8, batch_size=4096, gradient_bytes=BYTES)
    assert with_it.device_count == 9
    times = [
        plan_training(one, StatisticalModel(total_momentum=0.9), learning_rate=0.01).rows[0].times.compute_s
        for one in (with_it, without)
    ]
    assert times[0] < times[1]


def test_gradients_of_nothing_are_refused():
    with pytest.raises(OptionError, match="gradients"):
        predicted_cluster(GPU, machine(), 8, batch_size=8, gradient_bytes=0)

"""Shares of a batch: by throughput, whole, summing, done together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surfer_lab.errors import OptionError
from surfer_lab.planner.convergence.devices import (
    Device,
    DeviceKind,
    batch_shares,
    finish_s,
    group_devices,
    throughput_curve,
)

rates = st.lists(st.floats(0.5, 500.0), min_size=1, max_size=12)


@given(batch=st.integers(1, 5000), speeds=rates, overhead=st.floats(0.0, 2.0))
def test_shares_are_whole_and_sum_to_the_batch(batch, speeds, overhead):
    overheads = overhead * np.arange(len(speeds))
    shares = batch_shares(batch, speeds, overheads)
    assert shares.sum() == batch
    assert (shares >= 0).all()


@given(batch=st.integers(100, 5000), speeds=rates)
def test_without_overhead_all_devices_finish_within_one_sample(batch, speeds):
    shares = batch_shares(batch, speeds)
    late = shares / np.array(speeds)
    assert late.max() <= finish_s(batch, speeds) + 1.0 / min(speeds) + 1e-9


def test_a_throttled_worker_gets_its_share():
    assert batch_shares(90, [200.0, 100.0]).tolist() == [60, 30]


def test_a_slow_starter_gets_nothing_of_a_small_batch():
    # the first is done after 0.8 s; the second would start after 1 s
    assert batch_shares(8, [10.0, 10.0], [0.0, 1.0]).tolist() == [8, 0]
    assert batch_shares(40, [10.0, 10.0], [0.0, 1.0]).tolist() == [25, 15]


def test_shares_of_several_groups_are_found_at_once():
    speeds = np.array([[3.0, 1.0], [1.0, 1.0]])
    assert batch_shares(8, speeds).tolist() == [[6, 2], [4, 4]]


@given(speeds=st.lists(st.floats(1.0, 100.0), min_size=4, max_size=40), groups=st.integers(1, 4))
def test_groups_have_the_same_number_of_devices_within_one(speeds, groups):
    sizes = np.bincount(group_devices(speeds, groups), minlength=groups)
    assert sizes.sum() == len(speeds)
    assert sizes.max() - sizes.min() <= 1


def test_fast_and_slow_devices_are_mixed_in_every_group():
    member_of = group_devices([10.0, 10.0, 1.0, 1.0], 2)
    assert sorted(member_of[:2]) == [0, 1]
    assert sorted(member_of[2:]) == [0, 1]


def test_a_cpus_curve_is_read_off_measured_times():
    sizes = [1, 8, 64]
    rate, overhead = throughput_curve(sizes, [0.02 + size / 400.0 for size in sizes])
    assert (rate, overhead) == (pytest.approx(400.0), pytest.approx(0.02))
    cpu = Device(name="this CPU", samples_per_s=rate, overhead_s=overhead, kind=DeviceKind.CPU)
    assert cpu.samples_per_s_at(8) == pytest.approx(200.0)
    assert cpu.samples_per_s_at(8) < cpu.samples_per_s_at(64) < 400.0


def test_flops_by_the_dollar_compare_a_cpu_with_a_gpu():
    cpu = Device(name="CPU", samples_per_s=50.0, kind=DeviceKind.CPU, usd_per_hour=0.5, flop_per_sample=1e9)
    gpu = Device(name="GPU", samples_per_s=2000.0, usd_per_hour=2.0, flop_per_sample=1e9)
    # 50 x 1e9 x 3600 / 0.5 and 2000 x 1e9 x 3600 / 2
    assert (cpu.flops_per_usd, gpu.flops_per_usd) == (pytest.approx(3.6e14), pytest.approx(3.6e15))
    assert Device(name="x", samples_per_s=1.0).flops_per_usd is None


@pytest.mark.parametrize("speeds", [[], [0.0], [-1.0], [float("nan")]])
def test_what_is_no_throughput_is_refused(speeds):
    with pytest.raises(OptionError, match="throughputs"):
        batch_shares(8, speeds)


def test_one_batch_size_gives_no_curve():
    with pytest.raises(OptionError, match="two or more"):
        throughput_curve([8, 8], [0.1, 0.1])

"""A captured step characterised: parts make the whole, links order as they are fast, and the host is fed."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from surfer_lab.engine.predict import predict
from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.kernel_benchmarks import kernels_of, load_kernels
from surfer_lab.hardware.machines import load_machines
from surfer_lab.planner.characterise.characterisation import characterise, recorded_run
from surfer_lab.planner.characterise.characteristics import (
    REFERENCE_GPU,
    UNITS,
    kernel_characteristics,
    workload_characteristics,
)
from surfer_lab.planner.characterise.host_need import PREFETCHED_BATCHES, host_need, host_step
from surfer_lab.planner.characterise.roofline_position import roof_flop_per_s
from surfer_lab.planner.characterise.similarity import PointGroup
from surfer_lab.planner.characterise.topologies import Wiring, topologies_of
from surfer_lab.trace.reader import read
from surfer_lab.workloads import build
from surfer_lab.workloads.any_batch import capture_step
from surfer_lab.workloads.named_step import model_step

MACHINES = load_machines()
CATALOG = load_catalog()
V100, A100 = CATALOG.find(REFERENCE_GPU), CATALOG.find("A100 SXM4 80GB")
BATCH = 64
RANKS = ("timeline_analysis__sampled_rank-0.json.gz", "trace_filter__sampled_rank-1.json.gz")


@pytest.fixture(scope="module")
def step():
    small = {"layers": 2, "width": 128, "heads": 2, "vocabulary": 1000, "sequence": 64}
    return capture_step(model_step(lambda: build("gpt2", **small), name="gpt2"), BATCH).trace


@pytest.fixture(scope="module")
def page(step):
    return characterise(step, [A100, V100], MACHINES, name="small", counts=(1, 2, 8, 16))


def test_parts_of_the_work_make_the_whole(page):
    for on in page.on:
        whole = on.position.whole
        assert sum(part.time_ns for part in on.position.parts) == pytest.approx(whole.time_ns)
        assert sum(part.flop for part in on.position.parts) == pytest.approx(whole.flop)
        assert sum(part.share_fraction for part in on.position.parts) == pytest.approx(1.0)
        assert whole.flop_per_s == pytest.approx(whole.intensity * whole.bytes_per_s)


def test_work_is_the_same_on_all_gpus_and_times_are_not(page):
    first, second = (on.position.whole for on in page.on)
    assert first.flop == pytest.approx(second.flop)
    assert first.time_ns < second.time_ns


def test_the_roof_is_the_lower_of_memory_and_arithmetic():
    peak, bandwidth = V100.peak_flop_per_s[RateClass.FP32], V100.bandwidth_bytes_per_s
    assert roof_flop_per_s(V100, RateClass.FP32, 1.0) == pytest.approx(bandwidth)
    assert roof_flop_per_s(V100, RateClass.FP32, 1e6) == pytest.approx(peak)


def test_a_faster_way_to_connect_is_never_slower(page):
    for on in page.on:
        curves = {curve.topology.wiring: curve for curve in on.curves}
        switch, through_cpu = curves[Wiring.SWITCH], curves[Wiring.PCIE_CPU]
        for count in (2, 8):
            fast, middle, slow = (
                curves[wiring].at(count).step_ns for wiring in (Wiring.SWITCH, Wiring.PCIE_SWITCH, Wiring.PCIE_CPU)
            )
            assert fast <= middle <= slow
        assert switch.at(1).step_ns == through_cpu.at(1).step_ns
        assert on.link_gain(8) == pytest.approx(through_cpu.at(8).step_ns / switch.at(8).step_ns)


def test_all_points_of_a_count_send_the_same_bytes(page):
    for on in page.on:
        sent = {round(curve.at(8).wire_bytes) for curve in on.curves}
        assert len(sent) == 1


def test_changes_come_with_the_largest_gain_first_and_pay(page):
    for on in page.on:
        factors = [change.factor for change in on.changes]
        assert factors == sorted(factors, reverse=True)
        assert all(factor > 1 for factor in factors)


@pytest.mark.parametrize(
    ("gpu", "wirings"),
    [
        ("V100 SXM2 16GB", {Wiring.MESH, Wiring.SWITCH}),
        ("H100 SXM5", {Wiring.SWITCH}),
        ("RTX 3090", {Wiring.BRIDGE}),
        ("RTX 4090", set()),
        ("MI300X", {Wiring.FABRIC}),
        ("Tesla P100 SXM2", {Wiring.MESH}),
    ],
)
def test_links_are_those_of_the_card(gpu, wirings):
    found = topologies_of(CATALOG.find(gpu), MACHINES)
    always = {Wiring.PCIE_SWITCH, Wiring.PCIE_CPU, Wiring.NETWORK}
    assert {topology.wiring for topology in found} == wirings | always
    assert all(topology.machine.gpu == CATALOG.find(gpu).name for topology in found)
    assert all(topology.link_name for topology in found)


def test_every_gpu_of_the_catalogue_can_be_connected():
    for gpu in CATALOG.select(("all",)):
        assert topologies_of(gpu, MACHINES)


def test_the_host_is_counted_from_its_parts(page, step):
    times = predict(step, [V100])
    on = page.on_gpu(REFERENCE_GPU)
    point, machine = on.curves[0].at(8), MACHINES.find("DGX-1")
    asked = host_step(times)
    known = host_need(asked, point, machine, core_ns_per_sample=2e6)
    assert known.launch_cores == pytest.approx(8 * asked.launch_ns / point.step_ns)
    assert known.loader_cores == pytest.approx(point.samples_per_s * 2e-3)
    workers = max(8, math.ceil(known.loader_cores))
    batches = PREFETCHED_BATCHES * workers + 8
    assert known.host_bytes == batches * asked.batch_bytes + 8 * asked.parameter_bytes
    budget = host_need(asked, point, machine).sample_budget_ns
    assert budget == pytest.approx((machine.cpu_core_count - 8) / point.samples_per_s * 1e9)
    assert host_need(asked, point, replace(machine, cpu_core_count=None)).sample_budget_ns is None


def test_a_workload_and_a_kernel_have_the_same_characteristics(page):
    workload = workload_characteristics(page, PointGroup.OWN)
    assert workload is not None
    assert set(workload.values) == set(UNITS) == set(kernel_characteristics(load_kernels()[0]).values)
    assert workload_characteristics(replace(page, on=page.on[:1]), PointGroup.OWN) is None


def test_kernels_of_deepbench_lie_under_the_roof_where_nothing_saves_work():
    for gpu in ("V100 SXM2 16GB", "T4"):
        products = [kernel for kernel in kernels_of(gpu) if kernel.kind == "product"]
        card = CATALOG.find(gpu)
        # the stated peak is at the boost clock of the data sheet: cards run up to a tenth above it
        assert all(kernel.flop_per_s() <= 1.15 * roof_flop_per_s(card, RateClass.FP32, 1e9) for kernel in products)
        assert len(products) > 100


def test_deepbench_counts_the_work_of_its_first_product():
    kernel = next(k for k in kernels_of(REFERENCE_GPU) if k.shape == "1760 x 16 x 1760")
    assert kernel.flop == 2 * 1760 * 16 * 1760
    assert kernel.elements == 1760 * 1760 + 2 * 1760 * 16
    # 0.038 ms stand in the workbook
    assert kernel.flop_per_s() == pytest.approx(kernel.flop / 0.038e-3, rel=0.02)


def test_ranks_of_one_run_are_told_beside_one_another(traces_dir: Path):
    run = recorded_run([read(traces_dir / name) for name in RANKS], RANKS)
    assert run is not None
    assert [len(rank.rows) for rank in run.ranks] == [1, 1]
    assert sum(row.is_straggler for row in run.compared) == 1


def test_ranks_of_different_runs_keep_their_own_figures_and_say_so(traces_dir: Path):
    names = (RANKS[0], "nccl_parser_config__nccl_data.json.gz")
    run = recorded_run([read(traces_dir / name) for name in names], names)
    assert run is not None
    assert run.compared == ()
    assert "not the same" in run.note


def test_a_step_without_gradients_is_told_without_several_gpus(traces_dir: Path):
    trace = read(traces_dir / "tracelens_h100_bert-small.json.gz")
    page = characterise(trace, [A100], MACHINES, name="inference", origin=CATALOG.find("H100 SXM5"))
    assert page.on[0].curves == ()
    assert page.on[0].link_gain() is None
    assert any("several GPUs are not predicted" in note for note in page.notes)
    assert page.on[0].position.whole.intensity is not None


def test_work_may_stop_a_characterisation(step):
    def stop(what: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        characterise(step, [V100], MACHINES, name="small", between=stop)


def test_what_has_no_communication_is_no_recorded_run(traces_dir: Path):
    trace = read(traces_dir / "tracelens_h100_bert-small.json.gz")
    assert recorded_run([trace], ["one"]) is None


def test_nothing_is_said_to_pay_where_the_profiler_slowed_the_launches(traces_dir: Path):
    trace = read(traces_dir / "nccl_parser_config__nccl_data.json.gz")
    on = characterise(trace, [A100], MACHINES, name="one rank", origin=CATALOG.find("A100 SXM4 40GB")).on[0]
    assert on.hides_gains
    assert on.changes == ()

"""Machines and links: the rows are sound, names are found, a user's own row and measured links are read."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surfer_lab.errors import GpuError, OptionError
from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.hardware.machines import (
    AllReduceSample,
    LinkKind,
    fitted_link,
    load_machines,
    machine_from_file,
    nccl_tests_samples,
    save_measured_link,
)

KNOWN = load_machines()


@pytest.mark.parametrize("machine", KNOWN.machines, ids=lambda machine: machine.name)
def test_every_machine_names_a_gpu_of_the_catalogue_and_a_link_for_each_count(machine):
    assert load_catalog().find(machine.gpu).name == machine.gpu
    for count in range(2, machine.gpus_per_node + 1):
        link = machine.link_for(count)
        assert link is not None
        assert link.group_count >= count
        assert 0 < link.bus_bytes_per_s(count) <= link.rated_bytes_per_s * 1.3
    assert machine.source
    assert machine.network is None or machine.network.kind is LinkKind.NETWORK


@pytest.mark.parametrize("link", KNOWN.links, ids=lambda link: link.name)
def test_every_link_has_a_source_and_reaches_no_more_than_it_is_rated_for(link):
    assert link.source
    assert 0 < link.achieved_fraction <= 1


def test_the_machines_of_the_studies_are_there():
    for name in ("DGX-1", "DGX-2", "DGX A100", "DGX H100", "HGX H200", "HGX B200", "p3", "p4", "p5", "g5", "g6", "a2",
                 "a3", "ND", "PCIe server 8 x A100", "Desktop 2 x RTX 3090", "Desktop 2 x RTX 4090"):  # fmt: skip
        assert KNOWN.find(name).gpus_per_node >= 2


def test_neighbours_in_a_dgx_1_share_one_link_of_six():
    link = KNOWN.find("DGX-1 V100").links[0]
    assert link.rated(2) == 25e9
    assert link.rated(4) == 100e9
    assert link.rated(8) == 150e9


def test_a_bridge_of_two_gives_way_to_pcie_beyond_two():
    machine = KNOWN.find("PCIe server 8 x A100 with bridges")
    two, four = machine.link_for(2), machine.link_for(4)
    assert two is not None
    assert four is not None
    assert two.kind is LinkKind.NVLINK
    assert four.kind is LinkKind.PCIE


def test_a_name_that_is_not_known_is_refused_with_near_ones():
    with pytest.raises(OptionError, match="DGX"):
        KNOWN.find("DGX Z100")


def test_a_card_without_nvlink_cannot_be_asked_for_it():
    with pytest.raises(OptionError, match="no NVLink"):
        KNOWN.of_gpu(load_catalog().find("L4"), "nvlink")


def test_every_gpu_gets_a_machine():
    for gpu in load_catalog().all():
        machine = KNOWN.of_gpu(gpu)
        assert machine.gpu == gpu.name
        assert machine.link_for(machine.gpus_per_node) is not None


def test_part_of_a_node_beyond_the_first_is_refused():
    machine = KNOWN.find("DGX A100")
    assert machine.node_count(16) == 2
    with pytest.raises(OptionError, match="multiple of 8"):
        machine.node_count(12)
    with pytest.raises(OptionError, match="at most"):
        machine.node_count(100_000)


def test_a_users_row_may_hold_a_link_of_its_own(tmp_path: Path):
    row = tmp_path / "box.toml"
    row.write_text(
        'name = "my box"\ngpu = "RTX 3090"\ngpus_per_node = 2\n'
        'links = [{name = "riser", kind = "pcie", rated_gb_per_s = 7.9, group_count = 2}]\n'
    )
    machine = machine_from_file(row)
    link = machine.link_for(2)
    assert link is not None
    assert link.bus_bytes_per_s(2) == 7.9e9


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('gpu = "T4"\ngpus_per_node = 2\n', "no name"),
        ('name = "x"\ngpu = "T4"\ngpus_per_node = 2\nlinks = []\n', "no link connects"),
        ('name = "x"\ngpu = "T4"\ngpus_per_node = 2\nlinks = ["PCIe 9"]\n', "no link is called"),
        ('name = "x"\ngpu = "T4"\ngpus_per_node = "two"\nlinks = ["PCIe 4 switch"]\n', "gpus_per_node"),
        ('name = "x"\ngpu = "T4"\ngpus_per_node = 2\ncolour = "red"\n', "colour"),
    ],
)
def test_a_mistake_in_a_users_row_is_named(tmp_path: Path, text: str, said: str):
    row = tmp_path / "box.toml"
    row.write_text(text)
    with pytest.raises(GpuError, match=said):
        machine_from_file(row)


def test_a_broken_row_in_the_users_folder_is_a_warning_and_the_rest_stays(tmp_path: Path):
    (tmp_path / "machines").mkdir()
    (tmp_path / "machines" / "bad.toml").write_text("gpu = 1\n")
    (tmp_path / "machines" / "good.toml").write_text(
        'name = "good"\ngpu = "T4"\ngpus_per_node = 2\nlinks = ["PCIe 3 switch"]\n'
    )
    known = load_machines(tmp_path)
    assert known.find("good").gpu == "T4"
    assert len(known.warnings) == 1


@given(
    rate=st.floats(1e8, 1e12), hop=st.floats(1e-6, 1e-3), ranks=st.integers(2, 16),
)  # fmt: skip
def test_a_link_is_found_again_from_the_all_reduces_that_it_would_give(rate: float, hop: float, ranks: int):
    samples = [
        AllReduceSample(
            rank_count=ranks,
            size_bytes=size,
            duration_s=2 * (ranks - 1) * hop + 2 * (ranks - 1) / ranks * size / rate,
        )
        for size in (2**10, 2**16, 2**20, 2**24, 2**28)
    ]
    link = fitted_link("mine", samples, source="a test")
    assert link.bus_bytes_per_s(ranks) == pytest.approx(rate, rel=1e-3)
    assert link.hop_latency_ns == pytest.approx(hop * 1e9, rel=1e-2)


def test_one_slow_sample_does_no_harm_to_a_fit():
    samples = [
        AllReduceSample(rank_count=2, size_bytes=size, duration_s=20e-6 + size / 10e9)
        for size in (2**k for k in range(10, 28))
    ]
    slow = AllReduceSample(rank_count=2, size_bytes=2**20, duration_s=1.0)
    link = fitted_link("mine", [*samples, slow], source="a test")
    assert link.bus_bytes_per_s(2) == pytest.approx(10e9, rel=0.02)


def test_a_table_of_nccl_tests_is_read_and_another_text_refused():
    table = """
#  Rank  0 Group  0 Pid 1 on host device  0 [0x07] NVIDIA A100
#  Rank  1 Group  0 Pid 1 on host device  1 [0x0b] NVIDIA A100
     1048576        262144     float     sum      -1     43.9   23.88   23.88      0     43.0   24.4   24.4      0
   134217728      33554432     float     sum      -1    660.0  203.36  203.36      0    661.0  203.0  203.0      0
"""
    samples = nccl_tests_samples(table)
    assert [sample.size_bytes for sample in samples] == [1_048_576, 134_217_728]
    assert {sample.rank_count for sample in samples} == {2}
    assert fitted_link("mine", samples, source="a test").bus_bytes_per_s(2) > 203e9
    with pytest.raises(GpuError, match="nccl-tests"):
        nccl_tests_samples("hello")


def test_a_saved_link_is_found_by_name_and_replaced_by_a_newer_one(tmp_path: Path):
    samples = [AllReduceSample(rank_count=2, size_bytes=size, duration_s=1e-5 + size / 1e9) for size in (2**12, 2**24)]
    link = fitted_link("my loopback", samples, source="a test")
    save_measured_link(link, tmp_path)
    save_measured_link(link.scaled(bandwidth=2.0), tmp_path)
    kept = load_machines(tmp_path).link("my loopback")
    assert kept.bus_bytes_per_s(2) == pytest.approx(2 * link.bus_bytes_per_s(2))

from __future__ import annotations

import csv
import dataclasses
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surfer_lab.errors import UnknownGpuError
from surfer_lab.hardware.cards import PEAK_COLUMNS, read_cards, read_measurements
from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.gpu import RateOrigin
from surfer_lab.trace.model import RecordedDevice

GB = 10**9
FACT_PEAKS = {
    "fp32_tflops": RateClass.FP32,
    "tf32_tflops_dense": RateClass.TF32,
    "fp16_tensor_tflops_dense": RateClass.FP16,
    "bf16_tensor_tflops_dense": RateClass.BF16,
    "fp8_tensor_tflops_dense": RateClass.FP8,
}


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_row_of_the_facts_is_in_the_catalogue_with_the_same_numbers(data_dir: Path) -> None:
    catalog = load_catalog()
    facts = rows_of(data_dir / "facts" / "gpus.csv")
    assert len(facts) == len(catalog) == 75
    for row in facts:
        gpu = catalog.find(row["name"])
        assert gpu.name == row["name"]
        assert gpu.sm_count == int(row["sm_count"])
        assert gpu.fp32_lanes_per_sm == int(row["cuda_cores_fp32_per_sm"])
        assert gpu.memory_bytes == pytest.approx(float(row["memory_gb"]) * 1e9)
        assert gpu.bandwidth_bytes_per_s == pytest.approx(float(row["memory_bandwidth_gb_per_s"]) * 1e9)
        assert gpu.compute_capability == row["compute_capability_or_gfx"]
        assert set(row["aliases"].split(";")) <= set(gpu.aliases)
        if row["boost_clock_mhz"]:
            assert gpu.clock_hz == pytest.approx(float(row["boost_clock_mhz"]) * 1e6)
        for column, rate in FACT_PEAKS.items():
            if row[column]:
                assert gpu.peak_flop_per_s[rate] == pytest.approx(float(row[column]) * 1e12)
            else:
                assert rate not in gpu.peak_flop_per_s or row["name"].startswith("Tesla P100")
        assert (gpu.l2_bytes is None) == (not row["l2_mb"])
        assert gpu.tdp_w == (float(row["tdp_w"]) if row["tdp_w"] else None)
        links = row["nvlink_gb_per_s_total_bidirectional"]
        assert gpu.nvlink_bytes_per_s == (pytest.approx(float(links) / 2 * 1e9) if links else None)
        assert gpu.source


def test_every_measurement_of_the_facts_is_kept_with_its_source(data_dir: Path) -> None:
    facts = rows_of(data_dir / "facts" / "sustained.csv")
    kept = read_measurements()
    assert [(row["gpu"], row["dtype"], float(row["value"])) for row in facts] == [
        (row.gpu, row.quantity, row.value) for row in kept
    ]


def test_the_fp32_peak_follows_from_lanes_and_clock() -> None:
    for card in read_cards():
        if card.clock_mhz is not None:
            arithmetic = 2 * card.sm_count * card.fp32_lanes_per_sm * card.clock_mhz / 1e6
            assert card.peak_tflops[RateClass.FP32] == pytest.approx(arithmetic, rel=0.02), card.name


def test_cards_of_one_die_share_it_and_no_card_lacks_it() -> None:
    die = {gpu.name: gpu.die for gpu in load_catalog().all()}
    assert all(die.values())
    assert die["A100 SXM4 40GB"] == die["A100 PCIe 80GB"] == die["A30"] == "GA100"
    assert die["V100 PCIe 32GB"] == die["V100 SXM2 16GB"] == die["Titan V"] == "GV100"
    assert die["RTX 2080 Ti"] == "TU102" and die["RTX 4090"] == die["L40S"] == "AD102"
    assert die["H100 SXM5"] == die["H200 SXM"] == "GH100" and die["RTX 5090"] == "GB202"


def test_every_name_and_alias_finds_its_card_with_the_facts_a_recording_has() -> None:
    catalog = load_catalog()
    for gpu in catalog.all():
        facts = {
            "sm_count": gpu.sm_count,
            "memory_bytes": gpu.memory_bytes,
            "compute_capability": gpu.compute_capability,
        }
        for name in (gpu.name, *gpu.aliases):
            assert catalog.find(name, **facts).name == gpu.name
            if name != "AMD Radeon Graphics":  # printed for any card whose name the driver lacks
                assert catalog.find(name).name == gpu.name


@given(st.data())
def test_case_spaces_and_punctuation_do_not_matter(data: st.DataObject) -> None:
    catalog = load_catalog()
    gpu = data.draw(st.sampled_from(catalog.all()))
    name = data.draw(st.sampled_from([gpu.name, *(alias for alias in gpu.aliases if alias != "AMD Radeon Graphics")]))
    style = data.draw(st.sampled_from([str.lower, str.upper, str.title, str.swapcase]))
    joint = data.draw(st.sampled_from([" ", "-", "_", "  ", ""]))
    written = style(name).replace(" ", joint).replace("(", "").replace(")", "")
    assert catalog.find(f" {written} ").name == gpu.name


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("3090", "RTX 3090"),
        ("RTX3090", "RTX 3090"),
        ("geforce rtx 3080 ti", "RTX 3080 Ti"),
        ("1080ti", "GTX 1080 Ti"),
        ("h100 sxm", "H100 SXM5"),
        ("H200", "H200 SXM"),
        ("a6000", "RTX A6000"),
        ("MI250", "MI250 (per GCD)"),
        ("gb200", "GB200 (per GPU)"),
        ("RTX PRO 6000 Max-Q", "RTX PRO 6000 Blackwell Max-Q"),
        ("A100-SXM4-80GB", "A100 SXM4 80GB"),
        ("Tesla T4", "T4"),
        ("H100-SXM5-80GB", "H100 SXM5"),
        ("titan v", "Titan V"),
    ],
)
def test_names_as_people_write_them(asked: str, name: str) -> None:
    assert load_catalog().find(asked).name == name


@pytest.mark.parametrize(
    ("asked", "candidates"),
    [
        ("V100", {"V100 PCIe 16GB", "V100 PCIe 32GB", "V100 SXM2 16GB", "V100 SXM2 32GB"}),
        ("a100 80gb", {"A100 PCIe 80GB", "A100 SXM4 80GB"}),
        ("H100", {"H100 PCIe", "H100 SXM5", "H100 NVL"}),
        ("P100", {"Tesla P100 PCIe 16GB", "Tesla P100 SXM2"}),
        ("RTX 4000", {"Quadro RTX 4000", "RTX 4000 Ada"}),
        ("titan", {"Titan V", "Titan RTX"}),
        ("gh200", {"GH200 96GB", "GH200 144GB"}),
    ],
)
def test_an_ambiguous_name_lists_its_candidates(asked: str, candidates: set[str]) -> None:
    with pytest.raises(UnknownGpuError) as caught:
        load_catalog().find(asked)
    assert set(caught.value.candidates) == candidates
    assert all(name in str(caught.value) for name in candidates)


@pytest.mark.parametrize(
    ("device", "name"),
    [
        (RecordedDevice(name="Tesla V100-DGXS-32GB", sm_count=80, memory_bytes=34_084_028_416), "V100 SXM2 32GB"),
        (RecordedDevice(name="NVIDIA A100-PG509-200", sm_count=108, memory_bytes=42_297_524_224), "A100 SXM4 40GB"),
        (
            RecordedDevice(
                name="AMD Radeon Graphics", sm_count=104, memory_bytes=68_702_699_520, compute_capability="9.0"
            ),
            "MI250 (per GCD)",
        ),
        (
            RecordedDevice(name="AMD Radeon Graphics", sm_count=304, memory_bytes=206_141_652_992),
            "MI300X",  # the name says nothing, the facts do
        ),
        (RecordedDevice(name="AMD Instinct MI300X VF", sm_count=304, compute_capability="9.4"), "MI300X"),
        (RecordedDevice(name="AMD Instinct MI250X / MI250", sm_count=110), "MI250X (per GCD)"),
        (RecordedDevice(name="NVIDIA GeForce RTX 3080", sm_count=68, memory_bytes=10_500_000_000), "RTX 3080 10GB"),
        (RecordedDevice(name="NVIDIA RTX A2000", sm_count=26, memory_bytes=12_600_000_000), "RTX A2000 12GB"),
        (RecordedDevice(name="H100", sm_count=114), "H100 PCIe"),
        (RecordedDevice(name=None, sm_count=58, memory_bytes=24_000_000_000), "L4"),
        (RecordedDevice(name="NVIDIA H100 80GB HBM3", sm_count=132, memory_bytes=85_024_112_640), "H100 SXM5"),
        (RecordedDevice(name="NVIDIA H200", sm_count=132, memory_bytes=150_754_820_096), "H200 SXM"),
        (RecordedDevice(name="Tesla T4", sm_count=40, memory_bytes=15_843_721_216, compute_capability="7.5"), "T4"),
    ],
)
def test_the_facts_of_a_recording_single_a_card_out(device: RecordedDevice, name: str) -> None:
    assert load_catalog().find_device(device).name == name


def test_facts_that_contradict_every_card_of_the_name_are_no_such_card() -> None:
    with pytest.raises(UnknownGpuError, match="56 SMs"):
        load_catalog().find("A100", sm_count=56)  # and too little is known to put one together


def test_every_device_of_the_recorded_traces_is_found(data_dir: Path) -> None:
    catalog = load_catalog()
    spelled = [row for row in rows_of(data_dir / "facts" / "gpu_names.csv") if row["where"] == "traces"]
    index = {row["gpu"]: row for row in rows_of(data_dir / "traces" / "index.csv")}
    for row in spelled:
        sms = index[row["name"]]["sms"]
        found = catalog.find(row["name"], sm_count=int(float(sms)) if sms else None)
        assert found.name == row["gpu"]


def test_spellings_of_the_measured_data_find_their_cards(data_dir: Path) -> None:
    catalog = load_catalog()
    for row in rows_of(data_dir / "facts" / "gpu_names.csv"):
        found = catalog.find_spelling(row["where"], row["name"])
        assert (found.name if found is not None else "") == row["gpu"]
    with pytest.raises(UnknownGpuError, match="deepbench"):
        catalog.find_spelling("deepbench", "RTX 9090")


def test_a_typing_error_brings_near_names() -> None:
    with pytest.raises(UnknownGpuError) as caught:
        load_catalog().find("H100 SMX5")
    assert caught.value.candidates[0] == "H100 SXM5"
    with pytest.raises(UnknownGpuError, match="add_gpu"):
        load_catalog().find("banana")
    with pytest.raises(UnknownGpuError, match="--from"):
        load_catalog().find(None)


@given(st.text(max_size=60))
def test_any_text_finds_a_gpu_or_says_why_not(text: str) -> None:
    catalog = load_catalog()
    try:
        assert catalog.find(text) in catalog.all()
    except UnknownGpuError as error:
        assert error.seen and error.remedy


@given(
    st.none() | st.text(max_size=200) | st.sampled_from([gpu.name for gpu in read_cards()]),
    st.none() | st.integers(),
    st.none() | st.integers(),
    st.none() | st.text(max_size=8) | st.sampled_from(["8.0", "9.0", "gfx90a", "12.0"]),
)
def test_hostile_facts_of_a_recording_give_a_gpu_or_the_one_error(
    name: str | None, sms: int | None, memory: int | None, capability: str | None
) -> None:
    try:
        gpu = load_catalog().find(name, sm_count=sms, memory_bytes=memory, compute_capability=capability)
    except UnknownGpuError as error:
        assert error.seen and error.remedy
    else:
        assert gpu.name.isprintable()
        assert gpu.sm_count > 0 and gpu.memory_bytes > 0 and gpu.sustained_bandwidth.per_s > 0


def test_lists_and_all() -> None:
    catalog = load_catalog()
    assert [gpu.name for gpu in catalog.select("t4, a100 sxm4 80gb,T4")] == ["T4", "A100 SXM4 80GB"]
    assert catalog.select("all") == catalog.all()
    assert catalog.select(["ALL"]) == catalog.all()


def test_a_smaller_memory_of_a_known_name_is_a_marked_variant() -> None:
    catalog = load_catalog()
    gpu = catalog.find("NVIDIA GeForce RTX 4060 Ti", sm_count=34, memory_bytes=8_300_000_000, compute_capability="8.9")
    base = catalog.find("RTX 4060 Ti 16GB")
    assert gpu.estimated and not gpu.user_defined
    assert gpu.memory_bytes == 8_300_000_000
    assert gpu.bandwidth_bytes_per_s == base.bandwidth_bytes_per_s
    assert gpu.die == base.die


def test_a_mig_instance_has_its_share_of_sms_and_memory_channels() -> None:
    gpu = load_catalog().find(
        "NVIDIA A100-SXM4-40GB MIG 3g.20gb", sm_count=42, memory_bytes=20_937_965_568, compute_capability="8.0"
    )
    full = load_catalog().find("A100 SXM4 40GB")
    assert gpu.estimated
    assert gpu.peak_flop_per_s[RateClass.BF16] == pytest.approx(full.peak_flop_per_s[RateClass.BF16] * 42 / 108)
    assert gpu.bandwidth_bytes_per_s == pytest.approx(full.bandwidth_bytes_per_s * 20.937965568 / 40)


def test_a_card_outside_the_catalogue_is_estimated_from_its_facts_and_marked() -> None:
    gpu = load_catalog().find(
        "NVIDIA GeForce RTX 4090 Laptop GPU", sm_count=76, memory_bytes=17_170_956_288, compute_capability="8.9"
    )
    assert gpu.estimated and gpu.name == "NVIDIA GeForce RTX 4090 Laptop GPU"
    assert "not in the catalogue" in gpu.notes
    assert all(rate.origin is RateOrigin.TYPICAL for rate in (*gpu.sustained.values(), gpu.sustained_bandwidth))
    assert 20e12 < gpu.peak_flop_per_s[RateClass.FP32] < 60e12


def test_a_card_nobody_can_estimate_asks_for_a_row() -> None:
    with pytest.raises(UnknownGpuError, match=r"compute_capability, sm_count, memory_gb"):
        load_catalog().find("Radeon RX 7900 XTX", sm_count=48, memory_bytes=25 * GB, compute_capability="gfx1100")


@given(st.integers(1, 300), st.integers(1, 400), st.sampled_from(["7.0", "7.5", "8.0", "8.6", "8.9", "9.0", "12.0"]))
def test_an_unknown_card_with_more_sms_is_never_slower(sms: int, memory_gb: int, capability: str) -> None:
    catalog = load_catalog()
    facts = {"memory_bytes": memory_gb * GB, "compute_capability": capability}
    one = catalog.find("Some New Card X", sm_count=sms, **facts)
    more = catalog.find("Some New Card X", sm_count=sms + 10, **facts)
    assert more.sustained_bandwidth.per_s >= one.sustained_bandwidth.per_s
    assert all(more.sustained[rate].per_s >= one.sustained[rate].per_s for rate in one.sustained)


def test_the_catalogue_is_read_once() -> None:
    assert load_catalog() is load_catalog()


def test_peak_columns_cover_the_rate_classes_of_the_data() -> None:
    used = {rate for card in read_cards() for rate in card.peak_tflops}
    assert used == set(PEAK_COLUMNS.values())


def test_records_are_frozen() -> None:
    gpu = load_catalog().find("T4")
    with pytest.raises(dataclasses.FrozenInstanceError):
        gpu.sm_count = 1  # type: ignore[misc]

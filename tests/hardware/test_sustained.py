from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surfer_lab.hardware.cards import BANDWIDTH, Card, Kind, Measurement, Segment, read_cards, read_measurements
from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.gpu import RateOrigin, Vendor
from surfer_lab.hardware.sustained import Sustained

FP32, BF16, FP16, TF32 = RateClass.FP32, RateClass.BF16, RateClass.FP16, RateClass.TF32


def card(name: str, **changes: object) -> Card:
    plain = Card(
        name=name, aliases=(), vendor=Vendor.NVIDIA, architecture="Ampere", die="GA100", segment=Segment.DATACENTRE,
        compute_capability="8.0", sm_count=100, fp32_lanes_per_sm=64, clock_mhz=1000.0, memory_gb=40.0,
        bandwidth_gb_per_s=1000.0, l2_mb=40.0, tdp_w=400.0, peak_tflops={FP32: 20.0, TF32: 100.0, BF16: 200.0},
        source="a data sheet",
    )  # fmt: skip
    return dataclasses.replace(plain, **changes)


def measured(gpu: str, quantity: str, value: float, kind: Kind) -> Measurement:
    return Measurement(gpu=gpu, quantity=quantity, value=value, kind=kind, how_measured="", source=f"source {value:g}")


def test_ordinary_measurements_win_and_their_median_is_taken() -> None:
    rows = [measured("A", "fp32", value, Kind.MATMUL) for value in (14.0, 15.0, 19.0)]
    rows += [measured("A", "fp32", 20.0, Kind.SEARCH), measured("A", "fp32_add_only", 9.0, Kind.ADDS_ONLY)]
    rate = Sustained([card("A")], rows).arithmetic(card("A"))[FP32]
    assert rate.per_s == pytest.approx(15e12)
    assert rate.origin is RateOrigin.MEASURED
    assert "median of 3" in rate.source and "source 14" in rate.source


def test_a_search_counts_times_its_usual_lead_over_ordinary_runs() -> None:
    # A: ordinary 18, search 20 -> correction 0.9; B has only a search of 10 -> 9
    rows = [
        measured("A", "fp32", 18.0, Kind.MATMUL),
        measured("A", "fp32", 20.0, Kind.SEARCH),
        measured("B", "fp32", 10.0, Kind.SEARCH),
    ]
    b = card("B", die="GA102")
    rate = Sustained([card("A"), b], rows).arithmetic(b)[FP32]
    assert rate.per_s == pytest.approx(9e12)
    assert "times 0.900" in rate.source


@pytest.mark.parametrize("kind", [Kind.ADDS_ONLY, Kind.DATA_SHEET, Kind.DOUBTFUL])
def test_figures_that_are_no_measurements_are_never_used(kind: Kind) -> None:
    rows = [measured("A", "fp32", 3.0, kind), measured("A", BANDWIDTH, 300.0, kind)]
    sustained = Sustained([card("A")], rows)
    assert sustained.arithmetic(card("A"))[FP32].origin is RateOrigin.TYPICAL
    assert sustained.bandwidth(card("A")).origin is RateOrigin.TYPICAL


def test_a_twin_is_measured_by_its_twin() -> None:
    b = card("B", memory_gb=80.0, bandwidth_gb_per_s=1500.0)
    sustained = Sustained([card("A"), b], [measured("A", "fp32", 15.0, Kind.MATMUL)])
    rate = sustained.arithmetic(b)[FP32]
    assert (rate.per_s, rate.origin) == (15e12, RateOrigin.MEASURED)
    assert "on its twin A" in rate.source


def test_another_power_limit_is_no_twin_but_a_neighbour() -> None:
    b = card("B", tdp_w=250.0, peak_tflops={FP32: 10.0})
    rate = Sustained([card("A"), b], [measured("A", "fp32", 15.0, Kind.MATMUL)]).arithmetic(b)[FP32]
    assert rate.per_s == pytest.approx(7.5e12)  # 15 of 20 is 0.75, of 10
    assert rate.origin is RateOrigin.TYPICAL
    assert "0.75 of the rated peak" in rate.source and "same die, segment" in rate.source


def test_boards_fed_by_the_slot_say_nothing_of_others() -> None:
    small = card("T", tdp_w=70.0)
    near = card("N", die="GA103", compute_capability="8.0", segment=Segment.WORKSTATION)
    rows = [measured("T", "fp32", 8.0, Kind.MATMUL), measured("N", "fp32", 14.0, Kind.MATMUL)]
    rate = Sustained([small, near, card("A")], rows).arithmetic(card("A"))[FP32]
    assert rate.per_s == pytest.approx(14e12)  # not the 8 of the same die


def test_a_missing_tensor_class_follows_from_the_cards_own_other_one() -> None:
    # C measured in both: bf16 0.8, tf32 0.72 of peak: ratio 0.9. A: bf16 0.6 -> tf32 0.54 of 100
    c = card("C", die="GA102")
    rows = [
        measured("C", "bf16", 160.0, Kind.MATMUL),
        measured("C", "tf32", 72.0, Kind.MATMUL),
        measured("A", "bf16", 120.0, Kind.MATMUL),
    ]
    rates = Sustained([card("A"), c], rows).arithmetic(card("A"))
    assert rates[TF32].per_s == pytest.approx(54e12)
    assert rates[TF32].origin is RateOrigin.TYPICAL
    assert FP16 not in rates  # no peak: the card lacks it


def test_streams_win_over_copies_of_unknown_method() -> None:
    rows = [measured("A", BANDWIDTH, 900.0, Kind.STREAM), measured("A", BANDWIDTH, 700.0, Kind.UNSPECIFIED)]
    assert Sustained([card("A")], rows).bandwidth(card("A")).per_s == pytest.approx(900e9)


def test_a_die_sisters_stream_wins_over_an_own_copy_of_unknown_method() -> None:
    b = card("B", bandwidth_gb_per_s=2000.0)
    rows = [measured("A", BANDWIDTH, 900.0, Kind.STREAM), measured("B", BANDWIDTH, 1200.0, Kind.UNSPECIFIED)]
    rate = Sustained([card("A"), b], rows).bandwidth(b)
    assert rate.per_s == pytest.approx(1800e9)
    assert rate.origin is RateOrigin.TYPICAL


@given(st.floats(0.1, 10.0))
def test_rates_scale_with_what_was_measured(factor: float) -> None:
    rows = [measured("A", "fp32", 15.0, Kind.MATMUL), measured("A", BANDWIDTH, 900.0, Kind.STREAM)]
    scaled = [dataclasses.replace(row, value=row.value * factor) for row in rows]
    one, other = Sustained([card("A")], rows), Sustained([card("A")], scaled)
    assert other.bandwidth(card("A")).per_s == pytest.approx(one.bandwidth(card("A")).per_s * factor)
    assert other.arithmetic(card("A"))[FP32].per_s == pytest.approx(one.arithmetic(card("A"))[FP32].per_s * factor)


def test_every_gpu_has_fp32_and_bandwidth_within_what_hardware_can() -> None:
    cards = {one.name: one for one in read_cards()}
    for gpu in load_catalog().all():
        assert 0.6 <= gpu.sustained_bandwidth.per_s / gpu.bandwidth_bytes_per_s <= 1.0, gpu.name
        for rate_class, rate in gpu.sustained.items():
            peak = gpu.peak_flop_per_s.get(rate_class)
            matrix = cards[gpu.name].fp32_matrix_tflops
            if rate_class is FP32 and matrix is not None:
                peak = matrix * 1e12
            assert peak is None or 0.4 <= rate.per_s / peak <= 1.2, (gpu.name, rate_class)
            assert rate.source
        assert FP32 in gpu.sustained


def test_tensor_rates_are_there_where_tensor_cores_are_and_nowhere_else() -> None:
    catalog = load_catalog()
    for name in ("Tesla P4", "Tesla P40", "GTX 1080 Ti", "Quadro P4000"):
        assert set(catalog.find(name).sustained) == {FP32}
    assert set(catalog.find("Tesla P100 SXM2").sustained) == {FP32, FP16}  # vector fp16
    assert BF16 not in catalog.find("V100 SXM2 16GB").sustained
    for gpu in catalog.all():
        if gpu.compute_capability in ("8.0", "8.6", "8.9", "9.0", "10.0", "12.0"):
            assert {TF32, FP16, BF16} <= set(gpu.sustained), gpu.name
            assert gpu.sustained[BF16].per_s > gpu.sustained[TF32].per_s > gpu.sustained[FP32].per_s, gpu.name


def test_the_pitfalls_of_the_measured_tables_are_heeded() -> None:
    catalog = load_catalog()
    assert catalog.find("H100 SXM5").sustained_bandwidth.per_s > 2.7e12  # 2090 GB/s is contradicted by its note
    assert catalog.find("GTX 1080 Ti").sustained_bandwidth.per_s < 484e9  # repeats the data sheet
    assert catalog.find("RTX 4060 Ti 16GB").sustained[FP16].per_s < 45e12  # 59 was fp16 accumulation
    assert catalog.find("A40").sustained[FP32].per_s > 20e12  # 18.68 counts additions only
    assert catalog.find("T4").sustained[FP32].per_s == pytest.approx(4.2e12)  # throttled, and it stays so
    assert catalog.find("RTX 5090").sustained[BF16].per_s > catalog.find("RTX 5090").peak_flop_per_s[BF16]


def test_v100_to_a100_rates_are_those_of_ordinary_runs() -> None:
    catalog = load_catalog()
    v100, a100 = catalog.find("V100 SXM2 16GB"), catalog.find("A100 SXM4 40GB")
    assert a100.sustained[TF32].per_s / v100.sustained[FP32].per_s == pytest.approx(116 / 14.06)
    assert a100.sustained_bandwidth.per_s / v100.sustained_bandwidth.per_s == pytest.approx(1.69, abs=0.02)


def test_all_measurements_are_of_known_cards_and_have_a_source() -> None:
    names = {one.name for one in read_cards()}
    for row in read_measurements():
        assert row.gpu in names
        assert row.source and row.value > 0

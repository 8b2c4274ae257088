"""Learned efficiencies: never faster than the hardware, linear in large batches, one pass as many."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surfer_lab.engine import EngineOptions, predict
from surfer_lab.engine.estimate import Method
from surfer_lab.engine.learned import learned_ratio, learned_times
from surfer_lab.engine.learned.efficiency import efficiency, has_efficiency_without, items_ns
from surfer_lab.engine.learned.facts import facts_of
from surfer_lab.engine.learned.item_terms import Group, item_features
from surfer_lab.engine.learned.routing import learned_groups, manifest
from surfer_lab.engine.rates import class_on, rates_of
from surfer_lab.engine.work_items import Work, work_of
from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.gpu import Gpu
from surfer_lab.training.evaluate.listed_ops import captured

CATALOG = load_catalog()
GPUS = tuple(CATALOG.find(name) for name in ("V100 SXM2 16GB", "T4", "RTX 3090", "RTX 4090", "H100 SXM5"))
WITH_UNITS = tuple(
    gpu for gpu in CATALOG.all() if gpu.vendor.value == "NVIDIA" and RateClass.FP16 in gpu.sustained
    and gpu.sustained[RateClass.FP16].per_s > 1.5 * gpu.sustained[RateClass.FP32].per_s
)  # fmt: skip
SIZES = st.integers(16, 8192)


def products(shapes: list[tuple[int, int, int]], dtype: str = "float16") -> Work:
    return work_of(captured([("aten::mm", ((m, k), (k, n))) for m, k, n in shapes], dtype=dtype))


def used(work: Work, gpus: tuple[Gpu, ...]) -> np.ndarray:
    return class_on(work.base_class, work.tf32, rates_of(gpus), convolution_tf32=True, matmul_tf32=False)


def learned_ns(work: Work, gpus: tuple[Gpu, ...] = GPUS) -> np.ndarray:
    return items_ns(facts_of(work), used(work, gpus), gpus)


@given(SIZES, SIZES, SIZES)
@settings(max_examples=40, deadline=None)
def test_no_product_is_faster_than_peak_and_sustained_rate_allow(m: int, k: int, n: int) -> None:
    times = learned_ns(products([(m, k, n)]))[:, 0]
    for gpu, said in zip(GPUS, times, strict=True):
        fastest = max(gpu.peak_flop_per_s[RateClass.FP16], gpu.sustained[RateClass.FP16].per_s)
        assert said >= 2.0 * m * k * n / fastest * 1e9 * (1 - 1e-5)


def test_no_convolution_is_faster_than_winograds_count_of_flops() -> None:
    op = ("aten::conv2d", ((64, 512, 56, 56), (512, 512, 3, 3), None))
    times = learned_ns(work_of(captured([op], dtype="float16")))[:, 0]
    flop = 2.0 * 64 * 56 * 56 * 512 * 512 * 9 / 2.25
    for gpu, said in zip(GPUS, times, strict=True):
        fastest = max(gpu.peak_flop_per_s[RateClass.FP16], gpu.sustained[RateClass.FP16].per_s)
        assert said >= 0.9 * flop / fastest * 1e9  # borders: 54 of 56 lines count where padding is not recorded


def test_half_precision_is_never_slower_for_large_products_on_matrix_units() -> None:
    shapes = [(size, size, size) for size in (4096, 8192, 16384)]
    assert len(WITH_UNITS) > 20
    half, single = (
        predict(captured([("aten::mm", ((m, k), (k, n))) for m, k, n in shapes], dtype=dtype), WITH_UNITS).duration_ns
        for dtype in ("float16", "float32")
    )
    assert (half <= single).all()


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_large_batches_take_as_many_times_as_long(dtype: str) -> None:
    ops = [("aten::mm", ((rows, 4096), (4096, 4096))) for rows in (2**16, 2**17, 2**18)]
    moving = [("aten::add", ((rows, 4096), (rows, 4096))) for rows in (2**16, 2**17, 2**18)]
    for listed in (ops, moving):
        said = predict(captured(listed, dtype=dtype), GPUS).duration_ns
        assert said[:, 1:] / said[:, :-1] == pytest.approx(np.full((len(GPUS), 2), 2.0), rel=0.05)


def test_one_pass_says_what_single_questions_say() -> None:
    shapes = [(512, 256, 128), (4096, 1024, 64), (33, 65, 129)]
    together = learned_ns(products(shapes))
    for at, shape in enumerate(shapes):
        assert learned_ns(products([shape]))[:, 0] == pytest.approx(together[:, at], rel=1e-5)


def test_the_ratio_is_one_on_the_origin_itself() -> None:
    work, origin = products([(4096, 1024, 1024), (64, 64, 64)]), GPUS[2]
    at_origin = used(work, (origin,))[0]
    both, ratio = learned_ratio(work, used(work, GPUS), GPUS, origin, at_origin, EngineOptions())
    assert (ratio[2] == 1.0).all()
    assert (ratio[~both] == 1.0).all()


def test_work_of_routed_groups_is_learned_and_fp8_and_amd_are_not() -> None:
    trace = captured([("aten::add", ((1 << 20, 64), (1 << 20, 64)))], dtype="float16")
    amd = next(gpu for gpu in CATALOG.all() if gpu.vendor.value == "AMD")
    said = predict(trace, [*GPUS, amd])
    expected = Method.LEARNED if "moving" in learned_groups() else Method.ROOFLINE
    assert (said.method[:-1] == expected).all()
    assert (said.method[-1] == Method.ROOFLINE).all()
    plain = predict(trace, GPUS, options=EngineOptions(learned=False))
    assert (plain.method == Method.ROOFLINE).all()


def test_weights_have_a_row_for_each_feature_and_layout() -> None:
    weights = efficiency()
    features = item_features(facts_of(products([(64, 64, 64)])))
    assert weights.of_item.shape == (len(Group), features.shape[1], 2)
    assert np.isfinite(weights.base).all()
    assert 0.0 < weights.floor_ms < 0.02


def test_a_die_held_out_has_weights_of_its_own() -> None:
    assert has_efficiency_without("AD102")
    assert not has_efficiency_without("GH100")
    assert (efficiency("AD102").base != efficiency().base).any()


def test_a_group_is_routed_where_it_won_on_a_gpu_held_out() -> None:
    groups = manifest()["steps"]["groups"]
    assert set(groups) == {group.name.lower() for group in Group}
    for name, figures in groups.items():
        nearer = figures["learned_median_percent"] < figures["roofline_median_percent"] and figures["won"] > 0.5
        assert (name in learned_groups()) == nearer
        assert figures["cases"] > 100


def test_nothing_asked_is_nothing_said() -> None:
    work = products([(64, 64, 64)])
    assert items_ns(facts_of(work)[:0], used(work, GPUS)[:, :0], GPUS).shape == (len(GPUS), 0)
    assert learned_times(work, used(work, GPUS)[:0], (), EngineOptions()).ns.shape == (0, 1)

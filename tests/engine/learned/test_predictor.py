"""Learned predictors: bounded by the roofline, equal for equal shapes, the same in one pass and one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from surfer_lab.engine import EngineOptions, predict
from surfer_lab.engine.estimate import Method
from surfer_lab.engine.learned import LearnedFamily, predict_times, routes
from surfer_lab.engine.learned.form import COMPUTE_CEILING
from surfer_lab.engine.learned.machine import machines_of
from surfer_lab.engine.learned.parametric import drawn_to_roofline_ms
from surfer_lab.engine.learned.predictor import ALL_DIES, network, terms
from surfer_lab.engine.learned.routing import learned_groups, manifest
from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.training.evaluate.listed_ops import captured

GPUS = tuple(load_catalog().find(name) for name in ("Tesla P100 PCIe 16GB", "T4", "V100 PCIe 32GB", "H100 SXM5"))
FAMILIES = tuple(LearnedFamily)
SIZES = st.integers(1, 4096)


def some_shapes(family: LearnedFamily, count: int = 40) -> NDArray[np.float64]:
    random = np.random.default_rng(0)
    low, high = (1, 64) if family is LearnedFamily.CONV else (16, 1024)
    shapes = random.integers(low, high, size=(count, 4)).astype(np.float64)
    if family is LearnedFamily.LINEAR:
        shapes[:, 0] = 1
    return shapes


@pytest.mark.parametrize("family", FAMILIES)
def test_one_pass_says_what_single_questions_say(family: LearnedFamily) -> None:
    shapes = some_shapes(family)
    together = predict_times(family, shapes, GPUS)
    assert together.shape == (len(GPUS), len(shapes))
    assert np.isfinite(together).all() and (together > 0).all()
    for row, gpu in enumerate(GPUS):
        alone = [predict_times(family, shapes[[at]], [gpu])[0, 0] for at in range(5)]
        assert together[row, :5] == pytest.approx(alone, rel=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_equal_shapes_take_equally_long(family: LearnedFamily) -> None:
    shapes = some_shapes(family, 3)
    times = predict_times(family, np.concatenate([shapes, shapes]), GPUS)
    assert (times[:, :3] == times[:, 3:]).all()


@given(st.integers(1, 64), SIZES, SIZES, SIZES)
@settings(max_examples=60)
def test_no_product_is_faster_than_the_ceiling_of_the_sustained_rate(batch: int, m: int, k: int, n: int) -> None:
    family = LearnedFamily.LINEAR if batch == 1 else LearnedFamily.BMM
    times = predict_times(family, np.array([[batch, m, k, n]]), GPUS, long_run=False)[:, 0]
    flop = 2.0 * batch * m * k * n
    rates = machines_of(GPUS, family, long_run=False).flop_per_ms  # sustained, or of a burst
    assert (times >= flop / (COMPUTE_CEILING * rates) * 1e6 * (1 - 1e-5)).all()


def test_products_of_models_grow_with_their_batch() -> None:
    rows = 2.0 ** np.arange(12, 16)
    shapes = np.stack([np.ones(4), rows, np.full(4, 4096.0), np.full(4, 4096.0)], axis=1)
    times = predict_times(LearnedFamily.LINEAR, shapes, GPUS)
    assert times[:, 1:] / times[:, :-1] == pytest.approx(np.full((len(GPUS), 3), 2.0), rel=0.1)


def test_nothing_asked_is_nothing_said() -> None:
    assert predict_times(LearnedFamily.BMM, np.empty((0, 4)), GPUS).shape == (len(GPUS), 0)
    assert predict_times(LearnedFamily.BMM, np.ones((3, 4)), []).shape == (0, 3)


def test_a_board_fed_by_the_slot_holds_half_of_its_peak_over_a_step() -> None:
    p4 = load_catalog().find("Tesla P4")
    burst, held = (machines_of([p4], LearnedFamily.BMM, long_run=long) for long in (False, True))
    assert held.flop_per_ms[0] == pytest.approx(0.5 * p4.peak_flop_per_s[RateClass.FP32] / 1e3)
    assert burst.flop_per_ms[0] == pytest.approx(p4.sustained[RateClass.FP32].per_s / 1e3, rel=0.01)
    assert (burst.in_burst[0], held.in_burst[0]) == (1, 0)


def test_features_know_no_name_of_a_gpu() -> None:
    """Two cards with the same rates, SMs and tiles are the same to a network."""
    shapes = some_shapes(LearnedFamily.LINEAR, 4)
    one = machines_of([GPUS[0]], LearnedFamily.LINEAR).take(np.zeros(4, dtype=np.int64))
    assert terms(LearnedFamily.LINEAR, shapes, one).features.shape[1] == len(network(LearnedFamily.LINEAR).mean)


def test_every_family_has_a_route_with_held_out_figures_and_the_rule_is_kept() -> None:
    table = routes()
    assert set(table) == set(FAMILIES)
    for family, route in table.items():
        assert route.cases > 10_000
        better = route.learned_error < route.roofline_error and route.won > 0.5
        assert route.learned == better, route.why
        assert family.value in route.why


def test_weights_fit_their_manifest_and_two_megabytes() -> None:
    kernels = {f"kernels/{one.value}.parquet" for one in FAMILIES}
    assert set(manifest()["data"]) == {*kernels, "timm/bench.csv", "deepbench/kernels.csv"}
    for family in FAMILIES:
        learned = network(family)
        assert len(learned.layers) == manifest()["settings"][family.value]["members"]
        assert len(learned.mean) == manifest()["families"][family.value]["features"]
        assert network(family, "GV100").mean.tolist() != network(family, ALL_DIES).mean.tolist()


@given(st.floats(0.01, 100.0), st.floats(0.01, 100.0))
def test_what_is_said_lies_between_the_network_and_the_roofline(network_ms: float, roofline_ms: float) -> None:
    for family in FAMILIES:
        said = drawn_to_roofline_ms(family, np.array([network_ms]), np.array([roofline_ms]))[0]
        assert min(network_ms, roofline_ms) * (1 - 1e-9) <= said <= max(network_ms, roofline_ms) * (1 + 1e-9)


def test_fp32_products_of_a_capture_are_learned_and_what_no_step_taught_is_not() -> None:
    trace = captured([("aten::mm", ((512, 256), (256, 128))), ("aten::sort", ((64, 64),))])
    said = predict(trace, GPUS)
    assert (said.method[:, 0] == Method.LEARNED).all()
    assert (said.method[:, 1] == Method.ROOFLINE).all()
    shapes = np.array([[1, 512, 256, 128]])
    assert said.duration_ns[:, 0] == pytest.approx(predict_times(LearnedFamily.LINEAR, shapes, GPUS)[:, 0])
    plain = predict(trace, GPUS, options=EngineOptions(learned=False))
    assert (plain.method == Method.ROOFLINE).all()


def test_products_on_matrix_units_are_learned_only_where_steps_of_a_gpu_held_out_say_so() -> None:
    trace = captured([("aten::mm", ((512, 256), (256, 128)))], dtype="float16")
    expected = Method.LEARNED if "product" in learned_groups() else Method.ROOFLINE
    assert (predict(trace, GPUS[2:]).method == expected).all()


def test_3x3_convolutions_of_fp32_are_learned_and_strided_ones_are_not() -> None:
    plain = ("aten::conv2d", ((8, 64, 56, 56), (64, 64, 3, 3), None))
    said = predict(captured([plain]), GPUS, options=EngineOptions(convolution_tf32=False))
    assert (said.method == Method.LEARNED).all()
    pointwise = ("aten::conv2d", ((8, 64, 56, 56), (64, 64, 1, 1), None))
    other = predict(captured([pointwise]), GPUS, options=EngineOptions(convolution_tf32=False))
    assert (other.method == Method.ROOFLINE).all()

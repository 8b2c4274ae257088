"""What does a step take in another precision, and who is refused? Captures, measured kernels, GPUs without units."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surfer_lab.engine import EngineOptions, predict
from surfer_lab.engine.estimate import Method
from surfer_lab.engine.whatif import Precision, precision_blocker, precision_note, with_precision
from surfer_lab.errors import PredictionError
from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.gpu import Gpu
from surfer_lab.trace.model import Trace
from surfer_lab.trace.tables import TensorRole
from tests.engine.hand_made import ELEMENTWISE, SGEMM, HandMade, gpu
from tests.planner.captured import Captured
from tests.trace.graphs import Graph, perceptron

CATALOG = load_catalog()
WITH_TENSOR_CORES = [
    card for card in CATALOG.all()
    if RateClass.FP16 in card.sustained
    and card.sustained[RateClass.FP16].per_s > 2 * card.sustained[RateClass.FP32].per_s
]  # fmt: skip


def named(name: str) -> Gpu:
    return CATALOG.find(name)


def product(m: int, n: int, k: int) -> Trace:
    graph = Graph()
    graph.before("x", (m, k))
    graph.before("w", (k, n), TensorRole.PARAMETER)
    graph.op("mm", ["x", "w"], {"y": (m, n)}, kept=["y"])
    return graph.trace()


def step_ns(trace: Trace, cards: list[Gpu], precision: Precision) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return predict(trace, cards, options=EngineOptions(precision=precision)).steps.step_ns


def test_as_run_is_the_same_trace() -> None:
    step = perceptron()
    assert with_precision(step, Precision.AS_RUN).trace is step


def test_float32_asked_of_a_float32_step_is_the_same_trace() -> None:
    step = perceptron()
    for precision in (Precision.FP32, Precision.TF32):
        assert with_precision(step, precision).trace is step


@pytest.mark.parametrize("precision", [Precision.AMP_FP16, Precision.AMP_BF16, Precision.BF16])
def test_asking_twice_changes_nothing_more(precision: Precision) -> None:
    once = with_precision(perceptron(), precision).trace
    twice = with_precision(once, precision).trace
    assert list(twice.ops.name) == list(once.ops.name)
    assert list(twice.ops.output_dtypes) == list(once.ops.output_dtypes)
    assert sorted(twice.tensors.size_bytes.tolist()) == sorted(once.tensors.size_bytes.tolist())


@pytest.mark.parametrize("precision", [Precision.AMP_FP16, Precision.AMP_BF16, Precision.BF16])
def test_there_and_back_is_the_step_as_it_was(precision: Precision) -> None:
    plain = perceptron()
    back = with_precision(with_precision(plain, precision).trace, Precision.FP32).trace
    names = [name for name in back.ops.name if name not in ("aten::mul", "aten::_to_copy", "aten::reciprocal")]
    kept = [name for name in names if name not in ("aten::full", "aten::_local_scalar_dense")]
    assert kept == list(plain.ops.name)


@given(
    m=st.sampled_from([1024, 2048, 4096]), n=st.sampled_from([1024, 4096]), k=st.sampled_from([1024, 3072, 8192]),
    card=st.sampled_from(WITH_TENSOR_CORES),
)  # fmt: skip
def test_a_large_product_is_never_slower_in_float16_where_there_are_tensor_cores(
    m: int, n: int, k: int, card: Gpu
) -> None:
    work = product(m, n, k)
    single = predict(work, [card], options=EngineOptions(precision=Precision.FP32))
    half = predict(work, [card], options=EngineOptions(precision=Precision.AMP_FP16))
    product_ns = half.duration_ns[0][np.flatnonzero(np.array(list(half.items.family)) == "mm")]
    assert product_ns.sum() <= single.duration_ns[0].sum()


def test_tf32_speeds_products_up_only_where_there_is_any() -> None:
    cards = [named("V100 SXM2 16GB"), named("A100 SXM4 40GB")]
    work = product(4096, 4096, 4096)
    plain, tf32 = step_ns(work, cards, Precision.FP32), step_ns(work, cards, Precision.TF32)
    assert tf32[0] == pytest.approx(plain[0])
    assert tf32[1] < 0.4 * plain[1]
    assert precision_note(cards[0], Precision.TF32) == "V100 SXM2 16GB has no TF32: it computes in float32"
    assert precision_note(cards[1], Precision.TF32) is None


@pytest.mark.parametrize(
    ("card", "precision", "is_refused"),
    [
        ("T4", Precision.AMP_BF16, True), ("T4", Precision.AMP_FP16, False), ("V100 SXM2 16GB", Precision.BF16, True),
        ("Tesla P4", Precision.AMP_FP16, True), ("A100 SXM4 40GB", Precision.AMP_BF16, False),
        ("Tesla P4", Precision.TF32, False), ("H100 SXM5", Precision.BF16, False),
    ],
)  # fmt: skip
def test_a_gpu_without_the_units_is_refused_with_the_reason(card: str, precision: Precision, is_refused: bool) -> None:
    reason = precision_blocker(named(card), precision)
    assert (reason is not None) is is_refused
    if reason is not None:
        assert reason.startswith(f"{named(card).name} has no ")


def test_a_prediction_says_which_gpus_lack_what_was_asked() -> None:
    answer = predict(
        perceptron(), [named("T4"), named("A100 SXM4 40GB")], options=EngineOptions(precision=Precision.AMP_BF16)
    )
    assert "T4 has no bf16 tensor cores: torch would emulate it" in answer.warnings
    assert any("autocast to bfloat16" in one for one in answer.assumptions)


def test_a_capture_without_uses_is_refused_and_says_what_to_do() -> None:
    capture = Captured()
    capture.op("aten::mm", inputs=((4, 4), (4, 4)), outputs=((4, 4),))
    with pytest.raises(PredictionError, match="capture the step again"):
        with_precision(capture.trace(), Precision.AMP_FP16)


def measured() -> Trace:
    """A product, an element-wise kernel after it, and one before any product; the GPU is never waiting."""
    made = HandMade()
    kernels = (
        (ELEMENTWISE, "aten::relu", ((4096, 4096),)),
        (SGEMM, "aten::mm", ((4096, 4096), (4096, 4096))),
        (ELEMENTWISE, "aten::relu", ((4096, 4096),)),
    )
    for number, (name, op, shapes) in enumerate(kernels):
        row = made.op(op, shapes, at_us=10.0 * number)
        made.launch(10.0 * number, 20_000.0 if name is SGEMM else 150.0, op=row, name=name, grid=4096, block=256)
    made.step(0.0, 20_400.0)
    return made.trace()


def test_measured_kernels_are_scaled_by_the_ratio_of_rooflines_with_a_wider_range() -> None:
    origin = named("V100 SXM2 16GB")
    plain = predict(measured(), [origin], origin=origin)
    half = predict(measured(), [origin], origin=origin, options=EngineOptions(precision=Precision.AMP_FP16))
    before, product_kernel, after = half.duration_ns[0] / plain.duration_ns[0]
    assert before == 1.0  # nothing says that it reads halves
    assert 0.45 < after < 0.6  # half of the bytes, the floor stays
    assert product_kernel < 0.5
    assert half.method[0].tolist() == [Method.MEASURED, Method.ROOFLINE, Method.ROOFLINE]
    spread = half.high_ns[0] / half.duration_ns[0]
    assert (spread[1:] > 1.25).all()
    assert spread[0] == 1.0


def test_kernels_that_precision_does_not_touch_stay_as_they_were_measured() -> None:
    origin = named("V100 SXM2 16GB")
    made = HandMade()
    for at, name in enumerate(("aten::_foreach_add_", "aten::native_layer_norm")):
        row = made.op(
            name, ((((256, 256),) * 2), ((256, 256),) * 2) if at == 0 else ((256, 256), None), at_us=at * 10.0
        )
        made.launch(at * 10.0, 50.0, op=row, name=ELEMENTWISE)
    made.step(0.0, 200.0)
    half = predict(made.trace(), [origin], origin=origin, options=EngineOptions(precision=Precision.AMP_FP16))
    assert half.duration_ns[0].tolist() == [50_000.0, 50_000.0]


def test_kernels_without_shapes_are_scaled_by_what_their_names_tell() -> None:
    origin = named("V100 SXM2 16GB")
    made = HandMade()
    made.launch(0.0, 1_000.0, name=SGEMM)
    made.step(0.0, 1_100.0)
    plain = predict(made.trace(), [origin], origin=origin)
    half = predict(made.trace(), [origin], origin=origin, options=EngineOptions(precision=Precision.AMP_FP16))
    assert half.duration_ns[0, 0] < 0.5 * plain.duration_ns[0, 0]
    assert half.high_ns[0, 0] / half.duration_ns[0, 0] >= 1.6


def test_float32_asked_of_a_recording_takes_tf32_away() -> None:
    origin = named("V100 SXM2 16GB")
    made = HandMade()
    row = made.op("aten::conv2d", ((32, 64, 56, 56), (64, 64, 3, 3), (64,)), at_us=0.0)
    made.launch(0.0, 1_000.0, op=row, name="volta_scudnn_128x64_relu_interior_nn_v1", grid=4096, block=256)
    made.step(0.0, 1_100.0)
    card = [named("A100 SXM4 40GB")]
    as_run = predict(made.trace(), card, origin=origin)
    single = predict(made.trace(), card, origin=origin, options=EngineOptions(precision=Precision.FP32))
    assert single.duration_ns[0, 0] > as_run.duration_ns[0, 0]


def test_the_hand_made_gpu_has_the_units_that_its_rates_name() -> None:
    assert precision_blocker(gpu(), Precision.FP32) is None

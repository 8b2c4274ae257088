"""Does work of every family obey, on every GPU of the catalogue, what no GPU can escape: roofline, batch and dtype?

The roofline is that at the greater of peak and sustained rates. FLOPs of k x k convolutions are divided by 2.25, as
Winograd's F(2x2, 3x3) does without them; FFT would need fewer still for large kernels, and is never predicted.
What an L2 cache may hold is taken off the bytes, once read and once written; bytes of casts are counted from above.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
import pytest
from numpy.typing import NDArray

from surfer_lab.engine import EngineOptions, predict
from surfer_lab.engine.estimate import PredictionSet
from surfer_lab.engine.lowering import Family, traits
from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.gpu import Gpu
from surfer_lab.trace.tables import ArgShapes
from surfer_lab.training.evaluate.listed_ops import captured, recorded
from tests.engine.every_family import NOT_IN_A_STEP, training_step

GPUS: Final = load_catalog().all()
AS_TOLD: Final = EngineOptions(convolution_tf32=False, matmul_tf32=False)
BATCH: Final = 32768
LARGE_NS: Final = 1e6  # work of at least so long fills any GPU
CACHES: Final = 64  # and what is so many times as large as the L2 cache finds nothing in it
WINOGRAD: Final = 2.25
CLASS_OF: Final = {"float32": RateClass.FP32, "float16": RateClass.FP16}
KXK: Final = ("conv kxk", "data gradient kxk", "weight gradient kxk")
F64 = NDArray[np.float64]


@pytest.fixture(scope="module", params=["float32", "float16"])
def dtype(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def once(dtype: str) -> PredictionSet:
    return predict(training_step(BATCH, dtype), GPUS, options=AS_TOLD)


@pytest.fixture(scope="module")
def twice(dtype: str) -> PredictionSet:
    return predict(training_step(2 * BATCH, dtype), GPUS, options=AS_TOLD)


def families(said: PredictionSet) -> list[str]:
    return [str(said.items.family[at]) for at in range(len(said.items))]


def fastest(gpu: Gpu, rate_class: RateClass) -> float:
    """The greater of peak and sustained rate; a GPU without units for a class does it on its FP32 lanes."""
    sustained = gpu.sustained.get(rate_class)
    own = max(gpu.peak_flop_per_s.get(rate_class, 0.0), sustained.per_s if sustained is not None else 0.0)
    return max(own, fastest(gpu, RateClass.FP32)) if rate_class is not RateClass.FP32 else own


def test_the_step_runs_every_family(once: PredictionSet) -> None:
    assert {Family(name) for name in families(once)} >= set(Family) - NOT_IN_A_STEP


def test_no_arithmetic_is_faster_than_the_rates_allow(once: PredictionSet, dtype: str) -> None:
    names = families(once)
    arithmetic = np.array([traits(name).arithmetic for name in names])
    flop = once.items.flop / np.where(np.isin(names, KXK), WINOGRAD, 1.0)
    for gpu, times in zip(GPUS, once.duration_ns, strict=True):
        classes = np.array([str(once.items.rate_class[at]) for at in range(len(names))])
        rate = np.where(classes == RateClass.FP16.value, fastest(gpu, CLASS_OF[dtype]), fastest(gpu, RateClass.FP32))
        below = np.flatnonzero(arithmetic & (times * (1 + 1e-5) < 1e9 * flop / rate))
        assert not len(below), [(gpu.name, names[at], times[at] / (1e9 * flop[at] / rate[at])) for at in below]


def test_nothing_moves_its_bytes_faster_than_the_memory(once: PredictionSet) -> None:
    names = families(once)
    counted = ~np.isin(names, ["cast"])
    for gpu, times in zip(GPUS, once.duration_ns, strict=True):
        held = 2.0 * (gpu.l2_bytes or 0) * once.items.launch_count
        bandwidth = max(gpu.bandwidth_bytes_per_s, gpu.sustained_bandwidth.per_s)
        least = 1e9 * np.maximum(np.nan_to_num(once.items.bytes) - held, 0.0) / bandwidth
        below = np.flatnonzero(counted & (times * (1 + 1e-5) < least))
        assert not len(below), [(gpu.name, names[at], times[at] / least[at]) for at in below]


def test_large_batches_of_every_family_are_within_a_twentieth_of_linear(
    once: PredictionSet, twice: PredictionSet
) -> None:
    names = families(once)
    assert names == families(twice)
    work = (np.nan_to_num(once.items.flop), np.nan_to_num(once.items.bytes))
    larger = (np.nan_to_num(twice.items.flop), np.nan_to_num(twice.items.bytes))
    # a sort's comparisons grow a little faster
    doubled = [np.isclose(after, 2.0 * before, rtol=0.05) for before, after in zip(work, larger, strict=True)]
    caches = np.array([[gpu.l2_bytes or 0] for gpu in GPUS])
    grows: NDArray[np.bool_] = doubled[0] & doubled[1] & (once.duration_ns > LARGE_NS) & (work[1] > CACHES * caches)
    ratio = twice.duration_ns / once.duration_ns
    off = [
        (GPUS[gpu].name, names[item], round(float(ratio[gpu, item]), 3))
        for gpu, item in np.argwhere(grows & (np.abs(ratio / 2.0 - 1.0) > 0.05)).tolist()
    ]
    assert not off, off
    # what parameters alone decide does not grow with the batch
    assert {Family(name) for name, one in zip(names, np.any(grows, axis=0).tolist(), strict=True) if one} >= (
        set(Family) - NOT_IN_A_STEP - {Family.OPTIMIZER}
    )


def test_half_precision_is_never_slower_for_large_products_on_any_gpu_with_matrix_units() -> None:
    with_units = [gpu for gpu in GPUS if fastest(gpu, RateClass.FP16) > 2.5 * fastest(gpu, RateClass.FP32)]
    assert len(with_units) > 40
    sizes = (2048, 4096, 8192, 16384)
    ops: list[tuple[str, ArgShapes]] = [("aten::mm", ((m, k), (k, n))) for m in sizes for k in sizes for n in sizes]
    ops += [("aten::bmm", ((64, m, 1024), (64, 1024, m))) for m in sizes[:3]]
    half, single = (predict(captured(ops, dtype), with_units, options=AS_TOLD) for dtype in ("float16", "float32"))
    slower = np.argwhere(half.duration_ns > single.duration_ns * (1 + 1e-9)).tolist()
    assert not slower, [(with_units[gpu].name, ops[item]) for gpu, item in slower]


OPS: Final = [
    ("aten::mm", ((2048, 1024), (1024, 512))), ("aten::bmm", ((64, 256, 64), (64, 64, 256))),
    ("aten::conv2d", ((32, 64, 56, 56), (64, 64, 3, 3), None)),
    ("aten::conv2d", ((32, 64, 56, 56), (256, 64, 1, 1), None)), ("aten::gelu", ((4096, 4096),)),
    ("aten::add", ((4096, 4096), (4096, 4096))), ("aten::_softmax", ((4096, 1024),)),
    ("aten::layer_norm", ((4096, 1024), (1024,), (1024,))), ("aten::sort", ((1024, 1024),)),
]  # fmt: skip


@pytest.mark.parametrize("gpu", GPUS, ids=lambda gpu: gpu.name)
def test_on_the_origin_and_on_a_card_that_is_its_equal_the_ratio_is_one(gpu: Gpu) -> None:
    """The equal has another name: it is predicted, not looked up; nothing is drawn to a prediction without origin."""
    measured: F64 = np.linspace(1e5, 9e5, len(OPS))
    trace, equal = recorded(OPS, measured.tolist(), None), replace(gpu, name="its equal")
    said = predict(trace, [gpu, equal], origin=gpu, options=replace(AS_TOLD, blended=False))
    assert said.duration_ns[0] == pytest.approx(said.trace.kernels.duration_ns, rel=1e-12)
    assert said.duration_ns[1] == pytest.approx(said.duration_ns[0], rel=1e-5)
    assert said.steps.step_ns[1] == pytest.approx(said.steps.step_ns[0], rel=1e-5)

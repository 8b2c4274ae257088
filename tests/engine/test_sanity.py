"""Does what is predicted from shapes obey what no GPU can escape: the roofline, the batch, the dtype?"""

from __future__ import annotations

from typing import Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surfer_lab.engine import EngineOptions, predict
from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.gpu import Gpu
from surfer_lab.training.evaluate.listed_ops import captured

Ops = list[tuple[str, tuple[tuple[int, ...], ...]]]

AS_TOLD: Final = EngineOptions(convolution_tf32=False, matmul_tf32=False)
NAMES: Final = (
    "Tesla P100 PCIe 16GB",
    "V100 SXM2 16GB",
    "T4",
    "A100 SXM4 80GB",
    "RTX 4090",
    "L4",
    "H100 SXM5",
    "MI300X",
)
WINOGRAD: Final = 2.25  # a 3x3 convolution of stride 1 by the largest usual tile of its fast algorithm
MIB: Final = 1 << 20


def cards() -> list[Gpu]:
    catalog = load_catalog()
    return [catalog.find(name) for name in NAMES]


def times_ms(ops: Ops, gpus: list[Gpu], dtype: str = "float32") -> list[float]:
    """Sum of the operations' times on each GPU, without the host."""
    said = predict(captured(ops, dtype), gpus, options=AS_TOLD)
    return [float(row.sum()) / 1e6 for row in said.duration_ns]


def rate(gpu: Gpu, rate_class: RateClass) -> float:
    sustained = gpu.sustained.get(rate_class)
    return max(gpu.peak_flop_per_s.get(rate_class, 0.0), sustained.per_s if sustained is not None else 0.0)


def bandwidth(gpu: Gpu) -> float:
    return max(gpu.bandwidth_bytes_per_s, gpu.sustained_bandwidth.per_s)


@settings(max_examples=40, deadline=None)
@given(st.integers(1024, 16384), st.integers(1024, 16384), st.integers(1024, 16384))
def test_no_product_is_below_the_roofline(m: int, k: int, n: int) -> None:
    gpus = cards()
    for gpu, time_ms in zip(gpus, times_ms([("aten::mm", ((m, k), (k, n)))], gpus), strict=True):
        assert time_ms >= 2e3 * m * k * n / rate(gpu, RateClass.FP32) * (1 - 1e-6), gpu.name


@settings(max_examples=40, deadline=None)
@given(st.integers(8, 128), st.sampled_from([64, 128, 256, 512]), st.sampled_from([64, 128, 256]), st.integers(28, 112))
def test_no_3x3_convolution_is_below_the_roofline_of_its_fast_algorithm(
    batch: int, inputs: int, outputs: int, side: int
) -> None:
    gpus, shapes = cards(), ((batch, inputs, side, side), (outputs, inputs, 3, 3))
    flop = 2.0 * 9 * batch * inputs * outputs * side**2
    for gpu, time_ms in zip(gpus, times_ms([("aten::conv2d", shapes)], gpus), strict=True):
        assert time_ms >= 1e3 * flop / WINOGRAD / rate(gpu, RateClass.FP32) * (1 - 1e-6), gpu.name


@settings(max_examples=40, deadline=None)
@given(st.integers(512 * MIB, 2048 * MIB), st.sampled_from(["aten::add", "aten::mul", "aten::relu", "aten::gelu"]))
def test_no_pointwise_operation_on_more_than_a_cache_is_below_the_roofline(elements: int, name: str) -> None:
    gpus, operands = cards(), 2 if name in ("aten::add", "aten::mul") else 1
    moved = 4.0 * (operands + 1) * elements
    for gpu, time_ms in zip(gpus, times_ms([(name, ((elements,),) * operands)], gpus), strict=True):
        assert time_ms >= 1e3 * moved / bandwidth(gpu) * (1 - 1e-6), gpu.name


@settings(max_examples=30, deadline=None)
@given(st.integers(128, 256), st.sampled_from([512, 1024, 2048]))
def test_large_batches_are_within_a_twentieth_of_linear(batch: int, width: int) -> None:
    def block(images: int) -> Ops:
        rows = 512 * images
        return [
            ("aten::mm", ((rows, width), (width, 4 * width))), ("aten::gelu", ((rows, 4 * width),)),
            ("aten::mm", ((rows, 4 * width), (4 * width, width))), ("aten::add", ((rows, width), (rows, width))),
        ]  # fmt: skip

    gpus = cards()
    once, twice = (np.array(times_ms(block(count), gpus)) for count in (batch, 2 * batch))
    assert twice == pytest.approx(2 * once, rel=0.05)


@settings(max_examples=30, deadline=None)
@given(st.integers(16, 64), st.integers(16, 64), st.integers(16, 64))
def test_half_precision_is_never_slower_for_large_products_where_there_are_matrix_units(m: int, k: int, n: int) -> None:
    gpus = [
        gpu
        for gpu in cards()
        if RateClass.FP16 in gpu.sustained
        and gpu.sustained[RateClass.FP16].per_s > 2 * gpu.sustained[RateClass.FP32].per_s
    ]
    shapes = ((128 * m, 128 * k), (128 * k, 128 * n))
    half, single = (times_ms([("aten::mm", shapes)], gpus, dtype) for dtype in ("float16", "float32"))
    assert len(gpus) >= 6
    for gpu, fast, slow in zip(gpus, half, single, strict=True):
        assert fast <= slow * (1 + 1e-9), gpu.name

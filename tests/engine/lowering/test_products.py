"""Matrix products: FLOPs and bytes by hand, in every spelling."""

import pytest

from surfer_lab.engine.lowering import Family, Gemm, Source, Tf32Switch, lower_op
from surfer_lab.hardware.dtypes import RateClass

F32 = "float32"


def test_addmm_counts_two_flops_a_multiply_add_and_each_operand_once() -> None:
    # (2048, 2304) = bias (2304) + (2048, 768) x (768, 2304)
    (work,) = lower_op("aten::addmm", ((2304,), (2048, 768), (768, 2304), None, None), (F32, F32, F32, None, None))
    assert work.flop == 2 * 2048 * 2304 * 768
    assert work.read_bytes == 4 * (2304 + 2048 * 768 + 768 * 2304)
    assert work.write_bytes == 4 * 2048 * 2304
    assert work.gemm == Gemm(batch=1, m=2048, n=2304, k=768)
    assert (work.family, work.rate_class, work.tf32) == (Family.MM, RateClass.FP32, Tf32Switch.MATMUL)
    assert work.launch_count == 1


@pytest.mark.parametrize(
    ("name", "shapes", "gemm"),
    [
        ("aten::mm", ((3, 5), (5, 7)), Gemm(1, 3, 7, 5)),
        ("aten::bmm", ((2, 3, 5), (2, 5, 7)), Gemm(2, 3, 7, 5)),
        ("aten::baddbmm", ((2, 3, 7), (2, 3, 5), (2, 5, 7)), Gemm(2, 3, 7, 5)),
        ("aten::addbmm", ((3, 7), (2, 3, 5), (2, 5, 7)), Gemm(1, 3, 7, 10)),
        ("aten::mv", ((3, 5), (5,)), Gemm(1, 3, 1, 5)),
        ("aten::addmv", ((3,), (3, 5), (5,)), Gemm(1, 3, 1, 5)),
        ("aten::dot", ((9,), (9,)), Gemm(1, 1, 1, 9)),
        ("aten::linear", ((4, 6, 5), (7, 5), (7,)), Gemm(1, 24, 7, 5)),
        ("aten::matmul", ((4, 6, 5), (5, 7)), Gemm(1, 24, 7, 5)),
        ("aten::matmul", ((2, 8, 6, 5), (2, 8, 5, 7)), Gemm(16, 6, 7, 5)),
        ("aten::matmul", ((5,), (5, 7)), Gemm(1, 1, 7, 5)),
        ("aten::_scaled_mm", ((3, 5), (5, 7)), Gemm(1, 3, 7, 5)),
        ("aten::_grouped_mm", ((256, 64), (8, 64, 32), (8,)), Gemm(1, 256, 32, 64)),
    ],
)  # fmt: skip
def test_each_spelling_is_the_same_product(name: str, shapes: tuple[tuple[int, ...], ...], gemm: Gemm) -> None:
    (work,) = lower_op(name, shapes, (F32,) * len(shapes))
    assert work.gemm == gemm
    assert work.flop == 2 * gemm.batch * gemm.m * gemm.n * gemm.k


@pytest.mark.parametrize(
    ("dtype", "rate"),
    [
        ("float16", RateClass.FP16), ("bfloat16", RateClass.BF16), ("float64", RateClass.FP64),
        ("int8", RateClass.INT8), ("float8_e4m3fn", RateClass.FP8),
    ],
)  # fmt: skip
def test_the_operands_dtype_decides_the_rate(dtype: str, rate: RateClass) -> None:
    (work,) = lower_op("aten::mm", ((64, 64), (64, 64)), (dtype, dtype))
    assert work.rate_class is rate


def test_a_complex_product_costs_four_real_ones() -> None:
    (real,) = lower_op("aten::mm", ((8, 8), (8, 8)), (F32, F32))
    (complex_,) = lower_op("aten::mm", ((8, 8), (8, 8)), ("complex64", "complex64"))
    assert complex_.flop == 4 * real.flop
    assert complex_.bytes == 2 * real.bytes


def test_the_result_of_a_half_product_in_float_is_written_in_float() -> None:
    (work,) = lower_op("aten::mm", ((8, 8), (8, 8)), ("bfloat16", "bfloat16"), ((8, 8),), output_dtypes=(F32,))
    assert work.write_bytes == 4 * 64


def test_backward_of_a_cpu_linear_is_two_products() -> None:
    data, weight = lower_op("aten::linear_backward", ((32, 100), (32, 10), (10, 100)), (F32,) * 3)
    assert data.flop == weight.flop == 2 * 32 * 10 * 100


def test_an_unrecorded_shape_is_said_and_never_guessed() -> None:
    (work,) = lower_op("aten::mm", (None, None))
    assert work.source is Source.NONE
    assert work.flop != work.flop
    assert "no usable shape" in work.reason

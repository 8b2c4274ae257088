"""Ops that move bytes: what each reads and writes, by hand."""

import pytest

from surfer_lab.engine.lowering import Family, lower_op
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.trace.tables import MemoryFormat

F32, F16, I64 = "float32", "float16", "int64"
T = (32, 256, 56, 56)
N = 32 * 256 * 56 * 56


@pytest.mark.parametrize(
    ("name", "shapes", "dtypes", "read", "write", "family"),
    [
        ("aten::add", (T, T), (F32, F32), 8 * N, 4 * N, Family.BINARY),
        ("aten::add_", (T, T), (F32, F32), 8 * N, 4 * N, Family.BINARY),
        ("aten::mul", (T, ()), (F16, F32), 2 * N + 4, 2 * N, Family.BINARY),
        ("aten::mul", (T, (256, 1, 1)), (F32, F32), 4 * N + 4 * 256, 4 * N, Family.BINARY),
        ("aten::relu", (T,), (F32,), 4 * N, 4 * N, Family.UNARY),
        ("aten::gelu", (T,), (F16,), 2 * N, 2 * N, Family.UNARY),
        # the output handed in as an argument is not read
        ("aten::clamp_min", (T, None, T), (F32, None, F32), 4 * N, 4 * N, Family.UNARY),
        ("aten::threshold_backward", (T, T, None), (F32, F32, None), 8 * N, 4 * N, Family.BINARY),
        ("aten::gt", (T, ()), (F32, F32), 4 * N + 4, N, Family.BINARY),
        ("aten::where", (T, T, ()), ("bool", F32, F32), N + 4 * N + 4, 4 * N, Family.BINARY),
        ("aten::addcdiv_", (T, T, T), (F32, F32, F32), 12 * N, 4 * N, Family.BINARY),
        ("aten::elu_backward", (T, None, None, None, None, T), (F32, *(None,) * 4, F32), 8 * N, 4 * N, Family.BINARY),
        ("aten::copy_", (T, T), (F32, F32), 4 * N, 4 * N, Family.COPY),
        ("aten::copy_", (T, T), (F16, F32), 4 * N, 2 * N, Family.CAST),
        ("aten::fill_", (T, None), (F32, None), 0, 4 * N, Family.FILL),
        ("aten::cat", (((8, 4), (8, 12)), None), (F32, None), 512, 512, Family.CAT),
        ("aten::native_dropout", (T, None, None), (F16, None, None), 2 * N, 3 * N, Family.DROPOUT),
        ("aten::embedding", ((50257, 768), (8, 1024)), (F32, I64), 8192 * 768 * 4 + 8192 * 8, 8192 * 768 * 4,
         Family.GATHER),
        ("aten::_softmax", ((96, 128, 128), None, None), (F32, None, None), 4 * 96 * 128 * 128, 4 * 96 * 128 * 128,
         Family.SOFTMAX),
        ("aten::_log_softmax_backward_data", ((32, 1000), (32, 1000)), (F32, F32), 8 * 32000, 4 * 32000,
         Family.SOFTMAX_BACKWARD),
        # statistics, then the application: two passes
        ("aten::cudnn_batch_norm", (T, (256,)), (F32, F32), 8 * N, 4 * N, Family.BATCH_NORM),
        ("aten::cudnn_batch_norm_backward", (T, T), (F32, F32), 16 * N, 4 * N, Family.BATCH_NORM_BACKWARD),
        ("aten::native_layer_norm", ((8, 1024, 768), None, (768,)), (F16, None, F16), 2 * 8192 * 768, 2 * 8192 * 768,
         Family.LAYER_NORM),
        ("aten::max_pool2d_with_indices_backward", ((8, 64, 56, 56), (8, 64, 112, 112)), (F32, F32),
         12 * 8 * 64 * 56 * 56, 4 * 8 * 64 * 112 * 112, Family.POOL_BACKWARD),
        ("aten::nll_loss_forward", ((8192, 50257), (8192,)), (F32, I64), 8192 * 12, 8, Family.LOSS),
        ("aten::mse_loss_backward", ((), T, T), (F32, F32, F32), 8 * N + 4, 4 * N, Family.BINARY),
        ("aten::glu", ((8, 64),), (F32,), 4 * 512, 4 * 256, Family.UNARY),
    ],
)  # fmt: skip
def test_bytes_by_hand(
    name: str, shapes: tuple[object, ...], dtypes: tuple[str, ...], read: int, write: int, family: Family
) -> None:
    (work,) = lower_op(name, shapes, dtypes)  # type: ignore[arg-type]
    assert (work.read_bytes, work.write_bytes, work.family) == (read, write, family)


def test_half_tensors_are_computed_in_float_on_the_vector_lanes() -> None:
    assert lower_op("aten::add", (T, T), (F16, F16))[0].rate_class is RateClass.FP32
    assert lower_op("aten::add", (T, T), ("float64", "float64"))[0].rate_class is RateClass.FP64


def test_a_strided_source_makes_a_copy_a_change_of_layout() -> None:
    (work,) = lower_op("aten::clone", (T,), (F32,), memory_format=MemoryFormat.OTHER)
    assert work.family is Family.LAYOUT


def test_a_reduction_writes_what_its_dimensions_leave() -> None:
    (whole,) = lower_op("aten::sum", (T,), (F32,))
    (channels,) = lower_op("aten::sum", (T, None, None), (F32, None, None), arguments=("", "[0, 2, 3]", "False"))
    (mean,) = lower_op("aten::mean", (T, None), (F32, None), arguments=("", "[-1, -2]"))
    assert (whole.write_bytes, channels.write_bytes, mean.write_bytes) == (4, 4 * 256, 4 * 32 * 256)
    assert whole.read_bytes == channels.read_bytes == 4 * N


def test_max_of_two_tensors_is_elementwise_and_along_a_dimension_a_reduction() -> None:
    assert lower_op("aten::max", (T, T), (F32, F32))[0].family is Family.BINARY
    assert lower_op("aten::max", (T, None), (F32, None), arguments=("", "1"))[0].family is Family.REDUCTION


def test_batch_norm_in_evaluation_is_one_pass() -> None:
    arguments = ("", "", "", "", "", "False")
    (work,) = lower_op("aten::native_batch_norm", (T, (256,)), (F32, F32), arguments=arguments)
    assert (work.read_bytes, work.write_bytes) == (4 * N, 4 * N)


@pytest.mark.parametrize(
    ("name", "lists", "read", "write"),
    [
        ("aten::_fused_adamw_", 6, 4, 3),
        ("aten::_fused_sgd_", 3, 3, 2),
        ("aten::_foreach_add_", 2, 2, 1),
        ("aten::_foreach_addcdiv_", 3, 3, 1),
        ("aten::_foreach_sqrt", 1, 1, 1),
        ("aten::_amp_foreach_non_finite_check_and_unscale_", 1, 1, 1),
    ],
)
def test_optimizer_ops_read_and_write_whole_lists(name: str, lists: int, read: int, write: int) -> None:
    parameters = ((4096, 1024), (4096,))
    count = 4096 * 1024 + 4096
    (work,) = lower_op(name, (parameters,) * lists, (F32,) * lists)
    assert (work.read_bytes, work.write_bytes) == (4 * read * count, 4 * write * count)


def test_foreach_with_a_scalar_reads_one_list() -> None:
    (work,) = lower_op("aten::_foreach_mul_", (((10,), (20,)), None), (F32, None))
    assert (work.read_bytes, work.write_bytes) == (120, 120)


def test_a_long_list_takes_several_launches() -> None:
    # 400 tensors in two lists: at most 64 a launch; 161 small parameters of ResNet-50 with one list: 110 a launch
    many = tuple((16,) for _ in range(400))
    assert lower_op("aten::_foreach_add_", (many, many), (F32, F32))[0].launch_count == 7
    assert lower_op("aten::_foreach_zero_", (many[:161],), (F32,))[0].launch_count == 2


@pytest.mark.parametrize(
    "name",
    ["view", "_unsafe_view", "reshape", "expand", "permute", "transpose", "t", "slice", "select", "unsqueeze",
     "squeeze", "detach", "as_strided", "split", "chunk", "unbind", "empty", "empty_like", "empty_strided", "resize_",
     "size", "_local_scalar_dense", "contiguous", "to", "set_", "alias"],
)  # fmt: skip
def test_views_and_metadata_launch_nothing(name: str) -> None:
    assert lower_op(f"aten::{name}", (T,), (F32,), (T,)) == ()


def test_empty_tensors_launch_nothing() -> None:
    assert lower_op("aten::add", ((0, 4), (0, 4)), (F32, F32)) == ()
    assert lower_op("aten::mm", ((0, 4), (4, 8)), (F32, F32)) == ()

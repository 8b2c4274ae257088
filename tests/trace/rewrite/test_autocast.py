"""Where does autocast cast, and what does it leave alone? Steps worked out by hand."""

from __future__ import annotations

from collections import Counter

import pytest

from surfer_lab.trace.invariants import violations
from surfer_lab.trace.model import Trace
from surfer_lab.trace.rewrite import CUDA_AUTOCAST, CastPolicy, add_grad_scaler, autocast, floats_of, to_one_float
from surfer_lab.trace.tables import Phase, TensorRole
from tests.trace.graphs import Graph, perceptron


def casts(trace: Trace) -> Counter[tuple[str, str, str]]:
    """Casts by phase, from and to."""
    ops = trace.ops
    rows = [row for row, name in enumerate(ops.name) if name == "aten::_to_copy"]
    return Counter((Phase(int(ops.phase[row])).name, *_first_dtypes(trace, row)) for row in rows)


def _first_dtypes(trace: Trace, row: int) -> tuple[str, str]:
    return str((trace.ops.input_dtypes[row] or ("",))[0]), str((trace.ops.output_dtypes[row] or ("",))[0])


def dtypes_of(trace: Trace, name: str) -> list[tuple[tuple[str | None, ...], tuple[str | None, ...]]]:
    rows = [row for row, one in enumerate(trace.ops.name) if one == f"aten::{name}"]
    return [(trace.ops.input_dtypes[row] or (), trace.ops.output_dtypes[row] or ()) for row in rows]


def test_a_perceptron_gets_the_casts_that_can_be_counted_by_hand() -> None:
    step = autocast(perceptron(), "bfloat16")
    assert not list(violations(step))
    # forward: two weights, two biases, the input of the first layer; the loss is float32: the output cast back.
    # The second layer's input comes out of relu as a half already.
    assert casts(step)["FORWARD", "float32", "bfloat16"] == 5
    assert casts(step)["FORWARD", "bfloat16", "float32"] == 1
    # backward: the loss's gradient goes through the output's cast; four gradients of parameters are cast back
    assert casts(step)["BACKWARD", "float32", "bfloat16"] == 1
    assert casts(step)["BACKWARD", "bfloat16", "float32"] == 4
    assert sum(casts(step).values()) == 11


def test_products_and_what_follows_them_are_halves_the_loss_and_the_optimizer_are_not() -> None:
    step = autocast(perceptron(), "float16")
    half = ("float16",) * 3
    assert dtypes_of(step, "addmm") == [(half, ("float16",))] * 2
    assert dtypes_of(step, "relu") == [(("float16",), ("float16",))]
    assert dtypes_of(step, "mse_loss") == [(("float32", "float32"), ("float32",))]
    assert dtypes_of(step, "threshold_backward") == [(("float16", "float16"), ("float16",))]
    assert all(inputs == ("float32", "float32") for inputs, _ in dtypes_of(step, "add_"))


def test_a_cast_keeps_the_shape_and_comes_before_what_needs_it() -> None:
    step = autocast(perceptron(), "float16")
    ops, uses = step.ops, step.uses
    for row, name in enumerate(ops.name):
        if name == "aten::_to_copy":
            assert (ops.input_shapes[row] or ())[0] == (ops.output_shapes[row] or ())[0]
    found = list(zip(uses.op.tolist(), uses.tensor.tolist(), uses.is_write.tolist(), strict=True))
    first_write = {tensor: op for op, tensor, is_write in reversed(found) if is_write}
    for op, tensor, is_write in found:
        if not is_write and tensor in first_write and step.tensors.allocated_by[tensor] >= 0:
            assert first_write[tensor] < op


def test_a_parameter_is_cast_once_a_step_an_activation_at_each_use() -> None:
    graph = Graph()
    graph.before("x", (8, 8))
    graph.before("w", (8, 8), TensorRole.PARAMETER)
    graph.op("mm", ["x", "w"], {"p": (8, 8)})
    graph.op("mm", ["x", "w"], {"q": (8, 8)}, kept=["q"])
    assert casts(autocast(graph.trace(), "float16")) == {("FORWARD", "float32", "float16"): 3}


def test_softmax_reads_float16_itself_and_has_bfloat16_cast() -> None:
    graph = Graph()
    graph.before("x", (8, 8))
    graph.before("w", (8, 8), TensorRole.PARAMETER)
    graph.op("mm", ["x", "w"], {"p": (8, 8)})
    graph.op("_softmax", ["p"], {"s": (8, 8)}, kept=["s"])
    assert casts(autocast(graph.trace(), "float16"))["FORWARD", "float16", "float32"] == 0
    assert casts(autocast(graph.trace(), "bfloat16"))["FORWARD", "bfloat16", "float32"] == 1
    assert dtypes_of(autocast(graph.trace(), "float16"), "_softmax") == [(("float16",), ("float32",))]


def test_a_half_added_to_a_float_gives_a_float_without_a_cast() -> None:
    graph = Graph()
    graph.before("x", (8, 8))
    graph.before("w", (8, 8), TensorRole.PARAMETER)
    graph.op("mm", ["x", "w"], {"p": (8, 8)})
    graph.op("add", ["x", "p"], {"s": (8, 8)}, kept=["s"])
    step = autocast(graph.trace(), "float16")
    assert dtypes_of(step, "add") == [(("float32", "float16"), ("float32",))]
    assert sum(casts(step).values()) == 2


def test_what_is_written_in_place_keeps_its_dtype() -> None:
    graph = Graph()
    graph.before("x", (8, 8))
    graph.before("w", (8, 8), TensorRole.PARAMETER)
    graph.op("mm", ["x", "w"], {"p": (8, 8)})
    graph.op("add_", ["p", "x"], ["p"])
    assert dtypes_of(autocast(graph.trace(), "float16"), "add_") == [(("float16", "float32"), ("float16",))]


def test_outside_of_the_region_nothing_is_cast() -> None:
    step = perceptron()
    assert casts(autocast(step, "float16", region=[False] * len(step.ops))) == {}


def test_doubles_and_integers_are_left_alone() -> None:
    graph = Graph()
    graph.before("x", (8, 8), dtype="float64")
    graph.before("w", (8, 8), TensorRole.PARAMETER, dtype="float64")
    graph.op("mm", ["x", "w"], {"p": (8, 8)}, dtype="float64", kept=["p"])
    assert casts(autocast(graph.trace(), "float16")) == {}


def test_activations_take_half_the_memory_and_parameters_all_of_theirs() -> None:
    plain, step = perceptron(), autocast(perceptron(), "float16")
    by_role = {
        role: [int(trace.tensors.size_bytes[trace.tensors.role == role].sum()) for trace in (plain, step)]
        for role in (TensorRole.PARAMETER, TensorRole.GRADIENT)
    }
    assert all(before == after for before, after in by_role.values())
    half = [dtype == "float16" for dtype in step.tensors.dtype]
    assert sum(half) >= 5


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_taking_the_casts_out_again_gives_the_step_as_it_was(dtype: str) -> None:
    plain = perceptron()
    back = to_one_float(autocast(plain, dtype), "float32")
    assert list(back.ops.name) == list(plain.ops.name)
    assert floats_of(back) == {"float32"}
    assert sorted(back.tensors.size_bytes.tolist()) == sorted(plain.tensors.size_bytes.tolist())
    assert not list(violations(back))


def test_a_pure_half_halves_every_tensor_and_adds_no_op() -> None:
    plain = perceptron()
    pure = to_one_float(plain, "bfloat16")
    assert len(pure.ops) == len(plain.ops)
    large = plain.tensors.size_bytes > 4
    assert (pure.tensors.size_bytes[large] * 2 == plain.tensors.size_bytes[large]).all()


def test_one_float_that_is_there_already_is_the_same_trace() -> None:
    plain = perceptron()
    assert to_one_float(plain, "float32") is plain


def test_a_scaler_unscales_each_gradient_once_and_makes_the_host_wait() -> None:
    step = add_grad_scaler(autocast(perceptron(), "float16"))
    names = list(step.ops.name)
    check = names.index("aten::_amp_foreach_non_finite_check_and_unscale_")
    shapes = (step.ops.input_shapes[check] or ())[0]
    assert shapes is not None and len(shapes) == 4
    wait, steps = names.index("aten::_local_scalar_dense"), names.index("aten::add_")
    assert check < wait < steps < names.index("aten::_amp_update_scale_")
    assert add_grad_scaler(step) is step
    assert not list(violations(step))


def test_inference_gets_no_scaler() -> None:
    graph = Graph()
    graph.before("x", (8, 8))
    graph.op("relu", ["x"], {"y": (8, 8)}, kept=["y"])
    plain = graph.trace()
    assert add_grad_scaler(plain) is plain


def test_no_op_is_on_two_lists() -> None:
    assert CUDA_AUTOCAST.policy("mm") is CastPolicy.LOWER
    assert CUDA_AUTOCAST.policy("native_layer_norm") is CastPolicy.FP32
    assert CUDA_AUTOCAST.policy("scatter_add") is CastPolicy.PROMOTE
    assert CUDA_AUTOCAST.policy("relu_") is CastPolicy.AS_GIVEN

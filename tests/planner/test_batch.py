"""A step reshaped to another batch has the sizes that a capture at that batch has."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surfer_lab.errors import PredictionError
from surfer_lab.planner.batch import PRIME_BATCH, BatchScaling, at_batch
from surfer_lab.planner.graph_memory import step_memory
from surfer_lab.planner.largest_batch import batch_memory, largest_batches
from surfer_lab.planner.memory import Fit
from surfer_lab.trace.model import Trace, TraceOrigin
from surfer_lab.trace.tables import Phase, TensorRole
from tests.planner.captured import Captured, no_kernels
from tests.planner.predictions import gpu

P, ACT, IN, G = TensorRole.PARAMETER, TensorRole.ACTIVATION, TensorRole.INPUT, TensorRole.GRADIENT


def step(n: int, *, extra: str = "aten::relu", class_tokens: int = 0) -> Trace:
    """A linear layer on n x 5 tokens of 8, pairwise products of the n samples, one op with sizes in its arguments."""
    graph = Captured(batch_size=n)
    graph.before("w", 4 * 8 * 8, P)
    graph.before("x", 4 * n * 5 * 8, IN)
    rows = n * 5 + class_tokens
    graph.op(
        "aten::mm",
        makes={"y": (4 * rows * 8, ACT)},
        inputs=((rows, 8), (8, 8)),
        outputs=((rows, 8),),
    )
    graph.op(extra, makes={"a": 4 * rows * 8}, inputs=((rows, 8),), outputs=((rows, 8),))
    graph.op("aten::mm", makes={"pairs": 4 * n * n}, inputs=((n, 40), (40, n)), outputs=((n, n),), frees=["a"])
    graph.op(
        "aten::new_zeros",
        makes={"z": 4 * n * 8},
        inputs=((rows, 8), None),
        outputs=((n, 8),),
        arguments=("", f"[{n}, 8]", "0.125", "1e-05"),
    )
    graph.op(
        "aten::cat",
        makes={"c": 8 * n * 8},
        inputs=(((n, 8), (n, 8)), None),
        outputs=((2 * n, 8),),
        dtypes=("float32", None),
    )
    graph.op(
        "aten::mm", phase=Phase.BACKWARD, makes={"dw": (4 * 64, G)}, inputs=((8, rows), (rows, 8)), outputs=((8, 8),),
        frees=["y"],
    )  # fmt: skip
    return graph.trace()


def same_sizes(one: Trace, other: Trace) -> bool:
    return (
        one.ops.input_shapes.same_as(other.ops.input_shapes)
        and one.ops.output_shapes.same_as(other.ops.output_shapes)
        and one.ops.arguments.same_as(other.ops.arguments)
        and np.array_equal(one.tensors.size_bytes, other.tensors.size_bytes)
    )


@given(st.integers(1, 5000))
def test_one_capture_at_a_prime_gives_every_other_batch(n: int) -> None:
    assert same_sizes(at_batch(step(PRIME_BATCH), n), step(n))


@given(st.integers(1, 300), st.integers(1, 300), st.integers(1, 5000))
def test_two_captures_give_every_other_batch(first: int, second: int, n: int) -> None:
    if first == second:
        return
    assert same_sizes(BatchScaling.of_two(step(first), step(second)).at(n), step(n))


@given(st.integers(1, 2000), st.integers(0, 9))
def test_two_captures_see_sizes_that_are_not_proportional(n: int, class_tokens: int) -> None:
    first, second = (step(size, class_tokens=class_tokens) for size in (3, 10))
    assert same_sizes(BatchScaling.of_two(first, second).at(n), step(n, class_tokens=class_tokens))


def test_captured_batches_come_back_as_they_are() -> None:
    first, second = step(4), step(6)
    scaling = BatchScaling.of_two(first, second)
    assert scaling.batch_sizes == (4, 6)
    assert scaling.at(4).ops is first.ops
    assert scaling.at(6).tensors is second.tensors


def test_a_reshaped_trace_is_one_of_shapes_and_keeps_everything_else() -> None:
    captured = dataclasses.replace(step(PRIME_BATCH), origin=TraceOrigin.CPU_RUN, peak_allocated_bytes=12345)
    reshaped = at_batch(captured, 16)
    assert reshaped.origin is TraceOrigin.SYMBOLIC
    assert reshaped.batch_size == 16
    assert reshaped.peak_allocated_bytes is None
    assert reshaped.ops.name.same_as(captured.ops.name)
    assert np.array_equal(reshaped.tensors.role, captured.tensors.role)


def test_numbers_that_are_no_sizes_are_left_alone() -> None:
    reshaped = at_batch(step(PRIME_BATCH), 7)
    assert reshaped.ops.arguments[3] == ("", "[7, 8]", "0.125", "1e-05")


def test_a_batch_that_is_not_prime_is_refused_with_the_way_out() -> None:
    with pytest.raises(PredictionError, match="capture at a prime batch"):
        at_batch(step(64), 32)


def test_a_model_with_a_size_divisible_by_the_prime_is_refused() -> None:
    graph = Captured(batch_size=PRIME_BATCH)
    graph.before("w", 4 * PRIME_BATCH * 3, P)
    graph.op("aten::mm", makes={"y": 4 * PRIME_BATCH})
    with pytest.raises(PredictionError, match="another prime batch, or at two"):
        at_batch(graph.trace(), 4)


def test_captures_of_different_programs_are_refused() -> None:
    with pytest.raises(PredictionError, match="differ at op 1: aten::relu and aten::gelu"):
        BatchScaling.of_two(step(2), step(3, extra="aten::gelu"))
    shorter = Captured(batch_size=3)
    shorter.op("aten::mm", makes={"y": 4})
    with pytest.raises(PredictionError, match="ran 6 and 1 ops"):
        BatchScaling.of_two(step(2), shorter.trace())
    with pytest.raises(PredictionError, match="different batch sizes"):
        BatchScaling.of_two(step(2), step(2))


def test_a_trace_with_measured_kernels_is_refused() -> None:
    measured = dataclasses.replace(step(PRIME_BATCH), kernels=no_kernels(3))
    with pytest.raises(PredictionError, match="measured kernels"):
        at_batch(measured, 4)


@pytest.mark.parametrize("n", [0, -3])
def test_a_batch_of_none_is_refused(n: int) -> None:
    with pytest.raises(PredictionError, match="batch size is"):
        at_batch(step(PRIME_BATCH), n)


def test_a_size_that_would_not_be_whole_is_refused() -> None:
    # at batch 2 one row, at batch 4 two rows: half a row a sample
    def halves(n: int) -> Trace:
        graph = Captured(batch_size=n)
        graph.op("aten::mm", makes={"y": 4 * (n // 2)}, inputs=((n // 2, 8),), outputs=((n // 2, 8),))
        return graph.trace()

    scaling = BatchScaling.of_two(halves(2), halves(4))
    assert scaling.at(6).ops.output_shapes[0] == ((3, 8),)
    with pytest.raises(PredictionError, match="not whole at batch 3"):
        scaling.at(3)


# -- the largest batch that fits ---------------------------------------------------------------------------------------


def image_step(n: int) -> Trace:
    """1 GB of parameters, 50 MB of activations a sample."""
    graph = Captured(batch_size=n)
    graph.before("w", 1_000_000_000, P)
    graph.op("aten::conv", makes={"y": (50_000_000 * n, ACT)})
    graph.op("aten::conv_backward", phase=Phase.BACKWARD, makes={"dw": (1_000_000_000, G)}, frees=["y"])
    return graph.trace()


def test_the_largest_batch_fits_and_the_next_does_not() -> None:
    scaling = BatchScaling.of_prime(image_step(PRIME_BATCH))
    card = gpu("Card", memory_gb=24)
    (largest,) = largest_batches(scaling, [card])
    fits = [row.fit for row in batch_memory(scaling, [card], [1, largest, largest + 1])[0]]
    assert fits[:2] == [Fit.FITS, Fit.FITS]
    assert fits[2] is not Fit.FITS
    # 24 GB less 2 GB of weights and gradients, a context of at most 1 GB and what may be cached: 18 to 21 GB of 50 MB
    assert 18_000 / 50 < largest < 21_000 / 50


def test_no_sample_fits_where_the_weights_do_not() -> None:
    assert largest_batches(BatchScaling.of_prime(image_step(PRIME_BATCH)), [gpu("Card", memory_gb=2)]) == [0]


@given(st.floats(4, 200), st.floats(1, 2))
def test_more_memory_never_holds_a_smaller_batch(memory_gb: float, factor: float) -> None:
    scaling = BatchScaling.of_prime(image_step(PRIME_BATCH))
    small, large = largest_batches(scaling, [gpu("Card", memory_gb=gb) for gb in (memory_gb, memory_gb * factor)])
    assert small <= large


def test_memory_of_a_captured_batch_is_that_of_the_capture() -> None:
    captured = image_step(PRIME_BATCH)
    rows = batch_memory(BatchScaling.of_prime(captured), [gpu("Card")], [PRIME_BATCH])
    assert rows[0][0].estimate.allocated.likely == step_memory(captured).allocated.likely

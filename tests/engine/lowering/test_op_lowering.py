"""Lowering a table of ops: each piece of work once, whatever is nested in what."""

import numpy as np

from surfer_lab.engine.lowering import lower
from tests.engine.lowering.tables import OpRow, op_table

X, W, Y = (8, 64, 56, 56), (64, 64, 1, 1), (8, 64, 56, 56)


def test_what_a_backend_did_inside_an_op_is_not_counted_again() -> None:
    ops = op_table(
        [
            OpRow("aten::conv2d", (X, W, None)),
            OpRow("aten::convolution", (X, W, None), parent=0),
            OpRow("aten::_convolution", (X, W, None), parent=1),
            OpRow("aten::mkldnn_convolution", (X, W, None), parent=2),
            OpRow("aten::empty", (None,), parent=3),
        ]
    )
    lowered = lower(ops)
    assert lowered.op.tolist() == [1]
    assert lowered.flop.tolist() == [2.0 * 8 * 56 * 56 * 64 * 64]


def test_a_composite_counts_by_what_is_inside_and_itself_only_when_nothing_is() -> None:
    inside = op_table(
        [
            OpRow("aten::linear", ((32, 100), (10, 100), (10,))),
            OpRow("aten::t", ((10, 100),), parent=0),
            OpRow("aten::addmm", ((10,), (32, 100), (100, 10)), parent=0),
        ]
    )
    alone = op_table([OpRow("aten::linear", ((32, 100), (10, 100), (10,)))])
    assert lower(inside).op.tolist() == [2]
    assert lower(alone).flop.tolist() == lower(inside).flop.tolist() == [2.0 * 32 * 100 * 10]


def test_casts_and_copies_are_found_under_to_and_contiguous() -> None:
    ops = op_table(
        [
            OpRow("aten::to", (X,)),
            OpRow("aten::_to_copy", (X,), parent=0),
            OpRow("aten::copy_", (X, X), parent=1),
            OpRow("aten::to", (X,)),
        ]
    )
    lowered = lower(ops)
    assert lowered.op.tolist() == [1]  # the second `to` had nothing to do


def test_frames_views_and_marks_have_no_row() -> None:
    ops = op_table(
        [
            OpRow("autograd::engine::evaluate_function: ReluBackward0"),
            OpRow("ReluBackward0", parent=0),
            OpRow("aten::threshold_backward", (X, X, None), parent=1),
            OpRow("aten::view", (X,)),
            OpRow("Optimizer.step#SGD.step"),
        ]
    )
    assert lower(ops).op.tolist() == [2]


def test_an_unknown_operator_is_a_fallback_only_when_nothing_inside_it_works() -> None:
    ops = op_table(
        [
            OpRow("mylib::block", (X,)),
            OpRow("aten::relu", (X,), parent=0),
            OpRow("mylib::opaque", (X,)),
            OpRow("aten::empty", (None,), parent=2),
            OpRow("mylib::inner", (X,), parent=2),
        ]
    )
    lowered = lower(ops)
    assert lowered.op.tolist() == [1, 2]
    assert list(lowered.source) == ["shapes", "fallback"]


def test_rows_can_be_named() -> None:
    ops = op_table([OpRow("aten::relu", (X,)), OpRow("aten::relu", (Y,)), OpRow("aten::add", (X, Y))])
    assert lower(ops, np.array([2, 0])).op.tolist() == [2, 0]


def test_an_op_that_launches_several_kinds_of_kernels_has_a_row_for_each() -> None:
    lowered = lower(op_table([OpRow("aten::convolution_backward", (Y, X, W), arguments=("",) * 10 + ("[1, 1, 0]",))]))
    assert lowered.op.tolist() == [0, 0]
    assert list(lowered.family) == ["data gradient 1x1", "weight gradient 1x1"]
    assert lowered.kernel.tolist() == [-1, -1]
    assert lowered.gemm.shape == (2, 4)


def test_equal_ops_share_their_work_and_every_row_is_there() -> None:
    ops = op_table([OpRow("aten::relu", (X,)), OpRow("aten::view", (X,)), OpRow("aten::gelu", (X,))] * 50)
    lowered = lower(ops)
    assert len(lowered) == 100
    assert (np.diff(lowered.op) > 0).all()
    assert len(set(lowered.flop.tolist())) == 2


def test_an_empty_table_has_no_work() -> None:
    lowered = lower(op_table([]))
    assert len(lowered) == 0
    assert lowered.bytes.shape == (0,)


def test_unknown_figures_stay_unknown_and_say_why() -> None:
    lowered = lower(op_table([OpRow("aten::cat", ((), None))]))
    assert np.isnan(lowered.bytes).all()
    assert lowered.family[0] is None
    assert list(lowered.source) == ["none"]
    assert "not recorded" in (lowered.reason[0] or "")

"""Which operations the GPU time goes to: sums that can be worked out by hand, and sums that must agree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surfer_lab.engine.estimate import Limit, Method
from surfer_lab.planner.operations import by_family, by_operation, by_phase, outermost_aten_op
from surfer_lab.trace.model import TraceOrigin
from surfer_lab.trace.tables import Phase
from tests.planner.predictions import BUSY_MS, MS, STEP_KERNELS, gpu, prediction, trace

V100 = gpu("V100")
FAST = gpu("Fast")


def test_operations_are_named_by_their_outermost_aten_op_and_phase_costliest_first():
    groups = by_operation(prediction(trace(), [(V100, 1), (FAST, 2)], origin=V100))
    assert groups.name == ("convolution_backward", "conv2d", "relu", "_foreach_add_")
    assert groups.phase == (Phase.BACKWARD, Phase.FORWARD, Phase.FORWARD, Phase.OPTIMIZER)


def test_times_are_of_one_step_however_many_were_recorded():
    for steps in (1, 2, 5):
        groups = by_operation(prediction(trace(steps=steps), [(V100, 1), (FAST, 2)], origin=V100))
        assert groups.origin_ns.tolist() == [40 * MS, 30 * MS, 10 * MS, 10 * MS]
        assert groups.duration_ns[1].tolist() == [20 * MS, 15 * MS, 5 * MS, 5 * MS]
        assert groups.launches_per_step.tolist() == [1, 1, 1, 1]


def test_an_incomplete_step_does_not_count():
    recorded = trace(steps=3)
    recorded.steps.complete[2] = False
    groups = by_operation(prediction(recorded, [(V100, 1)], origin=V100))
    assert groups.origin_ns.sum() == BUSY_MS * MS


def test_without_a_gpu_nothing_counts_as_measured_here():
    groups = by_operation(prediction(trace(origin=TraceOrigin.CPU_RUN), [(FAST, 2)], origin=None))
    assert np.isnan(groups.origin_ns).all()
    assert groups.duration_ns[0, 0] == 20 * MS


def test_the_line_with_most_of_the_time_stands_for_a_group():
    groups = by_operation(prediction(trace(source="train.py:41"), [(V100, 1)], origin=V100))
    assert groups.source == ("train.py:41",) * 4
    assert groups.source_count == (1,) * 4
    assert by_operation(prediction(trace(source=None), [(V100, 1)], origin=V100)).source == (None,) * 4


def test_what_is_not_scaled_says_why():
    groups = by_operation(prediction(trace(), [(FAST, 2)], origin=V100, unscaled="a CUDA graph"))
    conv2d = groups.name.index("conv2d")
    assert groups.unscaled_reason[conv2d] == "a CUDA graph"
    assert Method(int(groups.method[0, conv2d])) is Method.UNSCALED
    assert Method(int(groups.method[0, 0])) is Method.WAVE


def test_the_limit_of_a_group_is_that_of_most_of_its_time():
    groups = by_operation(prediction(trace(), [(FAST, 2)], origin=V100, limit=Limit.COMPUTE))
    assert {Limit(int(limit)) for limit in groups.limited_by.ravel()} == {Limit.COMPUTE}


def test_kernels_without_an_op_are_named_by_their_kernel():
    predicted = prediction(trace(), [(V100, 1)], origin=V100)
    predicted.items.op[:] = -1
    assert by_operation(predicted).name == ("kernel",)


def test_an_op_inside_ops_finds_the_outermost_aten_one():
    recorded = trace(steps=1)
    outermost = outermost_aten_op(recorded)
    names = [recorded.ops.name[row] for row in range(len(recorded.ops))]
    inner = names.index("aten::cudnn_convolution")
    assert names[int(outermost[inner])] == "aten::conv2d"
    assert all(int(outermost[row]) == row for row in range(len(names)) if row != inner)


def test_a_cycle_of_parents_does_not_hang():
    recorded = trace(steps=1)
    recorded.ops.parent[:] = np.roll(np.arange(len(recorded.ops)), 1)
    assert len(outermost_aten_op(recorded)) == len(recorded.ops)


@pytest.mark.parametrize("grouping", [by_operation, by_family, by_phase])
@given(
    lengths=st.lists(st.integers(1, 1000), min_size=4, max_size=4),
    speeds=st.lists(st.floats(0.1, 10), min_size=1, max_size=3),
    steps=st.integers(1, 3),
)
def test_the_groups_sum_to_the_step_and_their_shares_to_one(grouping, lengths, speeds, steps):
    kernels = [(*kernel[:5], length) for kernel, length in zip(STEP_KERNELS, lengths, strict=True)]
    cards = [(gpu(f"Card {index}"), speed) for index, speed in enumerate(speeds)]
    groups = grouping(prediction(trace(steps=steps, kernels=kernels), cards, origin=V100, kernels=kernels))
    assert groups.origin_ns.sum() == pytest.approx(sum(lengths) * MS)
    assert groups.share.sum(axis=1) == pytest.approx(np.ones(len(cards)))
    for index, speed in enumerate(speeds):
        assert groups.duration_ns[index].sum() == pytest.approx(sum(lengths) * MS / speed)
    assert list(groups.origin_ns) == sorted(groups.origin_ns, reverse=True)

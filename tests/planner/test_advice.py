"""What bounds a step and what would help, by the parts of its time; never advice from a profiler's artefact."""

from __future__ import annotations

import pytest

from surfer_lab.engine.estimate import Limit
from surfer_lab.planner.advice import Bound, RemedyKind, bound_on, diagnose, host_time_is_inflated
from surfer_lab.trace.model import CellRecord, TraceOrigin
from tests.planner.predictions import MS, gpu, prediction, trace

V100 = gpu("V100")
PLAIN = CellRecord(wall_ns=10**10, step_count=50, profiled_step_count=5, unprofiled_step_ns=120 * MS)


def diagnosis(waits, *, cell=PLAIN, limit=Limit.MEMORY, kernels=None, origin=TraceOrigin.PROFILER):
    extra = {} if kernels is None else {"kernels": kernels}
    recorded = trace(cell=cell, origin=origin, **extra)
    card = V100 if origin is TraceOrigin.PROFILER else None
    predicted = prediction(recorded, [(V100, 1)], origin=card, waits=waits, limit=limit, **extra)
    return diagnose(predicted, 0, measured=True)


@pytest.mark.parametrize(
    ("waits", "bound", "remedy"),
    [
        ((0.4, 0.0, 0.0, 0.0), Bound.LAUNCH, RemedyKind.FEWER_LAUNCHES),
        ((0.0, 0.7, 0.0, 0.0), Bound.INPUT, RemedyKind.FEED_FASTER),
        ((0.0, 0.0, 0.3, 0.0), Bound.SYNCHRONIZATION, RemedyKind.SYNCHRONIZE_LESS),
        ((0.0, 0.0, 0.0, 0.3), Bound.COMMUNICATION, RemedyKind.OVERLAP_COMMUNICATION),
    ],
)
def test_a_step_that_waits_is_bound_by_what_it_waits_for(waits, bound, remedy):
    found = diagnosis(waits)
    assert found.bound is bound
    assert found.remedies[0].kind is remedy
    assert found.remedies[0].saves_at_most_ns == pytest.approx(sum(waits) * 100 * MS)


@pytest.mark.parametrize(
    ("limit", "bound"),
    [
        (Limit.COMPUTE, Bound.COMPUTE),
        (Limit.MEMORY, Bound.MEMORY),
        (Limit.LATENCY, Bound.LATENCY),
        (Limit.UNKNOWN, Bound.GPU),
    ],
)
def test_a_step_that_hardly_waits_is_bound_by_what_limits_its_kernels(limit, bound):
    assert diagnosis((0.05, 0.0, 0.0, 0.0), limit=limit).bound is bound


def test_a_profiled_trace_without_a_plain_step_time_is_never_told_to_mend_its_launches():
    found = diagnosis((0.4, 0.0, 0.0, 0.0), cell=None)
    assert found.bound is Bound.LAUNCH
    assert found.host_is_inflated
    kinds = [remedy.kind for remedy in found.remedies]
    assert kinds[0] is RemedyKind.MEASURE_WITHOUT_PROFILER
    assert RemedyKind.FEWER_LAUNCHES not in kinds


def test_host_times_are_inflated_only_under_a_profiler_with_nothing_to_compare():
    assert host_time_is_inflated(trace())
    assert not host_time_is_inflated(trace(cell=PLAIN))
    assert not host_time_is_inflated(trace(origin=TraceOrigin.CPU_RUN))


def test_plain_fp32_matrix_work_on_a_busy_gpu_is_told_of_tensor_cores():
    found = diagnosis((0.02, 0.0, 0.0, 0.0), limit=Limit.COMPUTE)
    assert found.remedies[0].kind is RemedyKind.TENSOR_CORES
    assert found.remedies[0].share_fraction == pytest.approx(70 / 90)


def test_16_bit_matrix_work_is_not():
    from surfer_lab.trace.tables import Phase

    kernels = [("aten::mm", None, Phase.FORWARD, "mm", "bf16", 90)]
    found = diagnosis((0.02, 0.0, 0.0, 0.0), limit=Limit.COMPUTE, kernels=kernels)
    assert [remedy.kind for remedy in found.remedies] == [RemedyKind.FASTER_GPU]


def test_the_bound_is_that_of_the_gpu_asked_about():
    predicted = prediction(trace(cell=PLAIN), [(V100, 1), (gpu("Fast"), 8)], origin=V100, limit=Limit.COMPUTE)
    assert bound_on(predicted, 0) is Bound.COMPUTE
    assert bound_on(predicted, 1) is Bound.LAUNCH  # 90 / 8 = 11 ms of kernels, 10 ms of waiting

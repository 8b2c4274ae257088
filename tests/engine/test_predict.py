"""Is a prediction exact on the origin, monotone elsewhere, and do its parts sum to the whole?"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surfer_lab.engine import EngineOptions, ScalingMethod, op_totals, predict
from surfer_lab.engine.estimate import Limit, Method, StepTimes
from surfer_lab.engine.modelled_timeline import HOST_NS_PER_LAUNCH
from surfer_lab.errors import OptionError, PredictionError
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.gpu import RateOrigin
from surfer_lab.trace.model import TraceOrigin
from surfer_lab.trace.tables import HostCallKind, KernelKind
from tests.engine.hand_made import ELEMENTWISE, SGEMM, UNHEARD_OF, US, HandMade, changed, gpu

ORIGIN = gpu()
TWICE = gpu("twice", bandwidth=2e12, rate=2e13, sm_count=160)
MIB = 1 << 20


def parts(steps: StepTimes) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.array(
        [
            steps.gpu_busy_ns,
            steps.launch_bound_ns,
            steps.input_wait_ns,
            steps.synchronization_ns,
            steps.communication_ns,
        ]
    )


def busy_steps(count: int = 2, *, kernel_us: float = 100, kernels: int = 5) -> HandMade:
    """Steps of `kernels` elementwise kernels launched every 10 us, then a synchronisation."""
    made = HandMade()
    length = kernels * (kernel_us + 1) + 40.0
    for step in range(count):
        begin = step * length
        add = made.op("aten::add", ((1024, 1024), (1024, 1024)), at_us=begin)
        for number in range(kernels):
            made.launch(begin + 10 * number, kernel_us, op=add, grid=4096, block=256)
        made.synchronize(begin + 10 * kernels, begin + length - 5)
        made.step(begin, begin + length)
    return made


def test_the_origin_itself_is_measured_and_exact() -> None:
    trace = busy_steps().trace()
    said = predict(trace, [ORIGIN, TWICE], origin=ORIGIN)
    assert (said.method[0] == Method.MEASURED).all()
    assert said.duration_ns[0].tolist() == trace.kernels.duration_ns.tolist()
    assert said.low_ns[0].tolist() == said.high_ns[0].tolist() == said.duration_ns[0].tolist()
    assert said.measured is not None
    assert said.steps.step_ns[0] == pytest.approx(said.measured.step_ns[0])
    assert said.measured.step_ns[0] == pytest.approx(trace.step_ns)
    assert said.steps.low_ns[0] == said.steps.high_ns[0] == said.steps.step_ns[0]


def test_twice_the_bandwidth_halves_the_time_above_the_floor_of_pointwise_work() -> None:
    said = predict(busy_steps().trace(), [TWICE], origin=ORIGIN)
    assert said.duration_ns[0] == pytest.approx(2_000 + 98_000 / 2, rel=0.01)
    assert set(said.method[0].tolist()) == {Method.WAVE}
    assert set(said.limited_by[0].tolist()) == {Limit.MEMORY}
    assert (said.low_ns < said.duration_ns).all()
    assert (said.duration_ns < said.high_ns).all()


def test_the_parts_of_a_step_sum_to_it_on_every_gpu() -> None:
    said = predict(busy_steps().trace(), [ORIGIN, TWICE, gpu("slow", bandwidth=1e11, rate=1e12)], origin=ORIGIN)
    assert parts(said.steps).sum(axis=0) == pytest.approx(said.steps.step_ns)
    assert said.steps.share_by_method.sum(axis=1) == pytest.approx([1.0, 1.0, 1.0])
    assert (parts(said.steps) >= 0).all()
    assert (said.steps.low_ns <= said.steps.step_ns).all()
    assert (said.steps.step_ns <= said.steps.high_ns).all()


def test_the_ops_of_a_step_sum_to_gpu_busy() -> None:
    said = predict(busy_steps().trace(), [ORIGIN, TWICE], origin=ORIGIN)
    for row in range(2):
        totals = op_totals(said, row)
        assert totals.busy_ns.sum() == pytest.approx(said.steps.gpu_busy_ns[row])
        assert totals.launch_count.sum() == pytest.approx(5)
        assert totals.communication_ns.sum() == 0


def test_a_step_bound_by_launches_stays_as_long_on_a_faster_gpu() -> None:
    made = HandMade()
    for step in range(2):
        for number in range(10):
            made.launch(step * 1000 + 100 * number, 20)
        made.step(step * 1000, (step + 1) * 1000)
    said = predict(made.trace(), [ORIGIN, gpu("fast", bandwidth=1e13, rate=1e14)], origin=ORIGIN)
    assert said.steps.step_ns[1] == pytest.approx(1_000_000, rel=0.001)
    assert said.steps.gpu_busy_ns == pytest.approx([200_000, 10 * (2_000 + 18_000 / 10)], rel=0.01)
    assert said.steps.launch_bound_ns[1] > said.steps.launch_bound_ns[0] > 700_000


def test_waiting_for_input_is_told_apart_from_launching() -> None:
    made = HandMade()
    for step in range(2):
        begin = step * 1000
        made.input_wait(begin, begin + 600)
        for number in range(4):
            made.launch(begin + 600 + 20 * number, 95)
        made.synchronize(begin + 690, begin + 995)
        made.step(begin, begin + 1000)
    said = predict(made.trace(), [ORIGIN, gpu("fast", bandwidth=1e13, rate=1e14)], origin=ORIGIN)
    assert said.measured is not None
    assert said.measured.input_wait_ns[0] == pytest.approx(600_000, rel=0.01)
    assert said.steps.input_wait_ns[1] == pytest.approx(600_000, rel=0.01)
    assert said.steps.step_ns[1] < 800_000


def test_time_lost_in_blocking_calls_is_synchronisation() -> None:
    made = HandMade()
    for step in range(2):
        begin = step * 400
        made.launch(begin, 100)
        made.synchronize(begin + 10, begin + 300)  # the GPU is done at 107
        made.step(begin, begin + 400)
    said = predict(made.trace(), [ORIGIN], origin=ORIGIN)
    assert said.steps.synchronization_ns[0] == pytest.approx((300 - 106.7) * US, rel=0.01)
    assert said.steps.launch_bound_ns[0] == pytest.approx((400 - 300 + 6.7) * US, rel=0.01)


def test_only_communication_that_nothing_hides_counts_as_communication() -> None:
    made = HandMade()
    for step in range(2):
        begin = step * 1000
        made.launch(begin, 300, stream=7)
        made.launch(begin + 10, 500, stream=20, kind=KernelKind.COMMUNICATION, name="ncclDevKernel_AllReduce_Sum_f32")
        made.synchronize(begin + 20, begin + 990)
        made.step(begin, begin + 1000)
    said = predict(made.trace(), [ORIGIN, TWICE], origin=ORIGIN)
    assert said.steps.gpu_busy_ns[0] == pytest.approx(300_000, rel=0.001)
    assert said.steps.communication_ns[0] == pytest.approx(210_000, rel=0.01)
    assert said.steps.communication_ns[1] == pytest.approx(210_000 + 149_000, rel=0.01)  # hidden less
    assert set(said.method[1].tolist()) == {Method.NAMED, Method.COMMUNICATION}
    assert parts(said.steps).sum(axis=0) == pytest.approx(said.steps.step_ns)


def test_overlapping_kernels_are_counted_once_and_their_ops_share_the_time() -> None:
    made = HandMade()
    one, other = made.op("aten::add"), made.op("aten::mul")
    made.launch(0, 100, stream=7, op=one)
    made.launch(10, 100, stream=8, op=other)
    made.synchronize(20, 120)
    made.step(0, 130)
    said = predict(made.trace(), [ORIGIN], origin=ORIGIN)
    assert said.steps.gpu_busy_ns[0] == pytest.approx(110_000)
    assert op_totals(said, 0).busy_ns.tolist() == pytest.approx([55_000, 55_000])


def test_kernels_are_told_apart_by_what_is_known_of_them() -> None:
    made = HandMade()
    add = made.op("aten::add", ((MIB,), (MIB,)))
    made.launch(0, 100, op=add)
    made.launch(10, 100, name=ELEMENTWISE)
    made.launch(20, 100, name=SGEMM)
    made.launch(30, 100, name=UNHEARD_OF)
    made.step(0, 500)
    said = predict(made.trace(), [TWICE], origin=ORIGIN)
    assert said.method[0].tolist() == [Method.WAVE, Method.NAMED, Method.NAMED, Method.FALLBACK]
    width = said.high_ns[0] / said.duration_ns[0]
    assert width[0] <= width[1] < width[2] < width[3]


def test_only_kernels_known_to_be_bound_by_memory_follow_the_bandwidth_alone() -> None:
    made = HandMade()
    made.launch(0, 102, name=ELEMENTWISE)
    made.launch(10, 102, name=SGEMM)
    made.step(0, 500)
    wide = changed(ORIGIN, "wide", sustained_bandwidth=gpu(bandwidth=1e13).sustained_bandwidth)
    pointwise, product = predict(made.trace(), [wide], origin=ORIGIN).duration_ns[0]
    assert pointwise == pytest.approx(2_000 + 100_000 / 10)
    assert product == pytest.approx(2_000 + 85_000 + 15_000 / 10)


def copies() -> HandMade:
    made = HandMade()
    for at, name in ((0, "Memcpy HtoD (Pinned -> Device)"), (100, "Memcpy DtoD (Device -> Device)")):
        made.launch(at, 101.3, name=name, kind=KernelKind.MEMCPY, size_bytes=MIB, call="cudaMemcpyAsync")
    made.launch(
        300, 101.3, call_us=120, name="Memcpy DtoH (Device -> Pageable)", kind=KernelKind.MEMCPY, size_bytes=MIB,
        call="cudaMemcpyAsync",
    )  # fmt: skip
    made.step(0, 500)
    return made


def test_copies_scale_with_what_they_cross() -> None:
    newer = gpu("newer", bandwidth=4e12, pcie_generation=5)
    said = predict(copies().trace(), [newer], origin=ORIGIN)
    assert said.duration_ns[0] == pytest.approx([1_300 + 25_000, 1_300 + 25_000, 101_300])
    assert said.method[0].tolist() == [Method.HOST, Method.NAMED, Method.HOST]
    assert said.limited_by[0].tolist() == [Limit.HOST, Limit.MEMORY, Limit.HOST]


def test_copies_keep_their_time_where_a_link_is_not_known() -> None:
    unknown = gpu("unknown", bandwidth=4e12, pcie_generation=None)
    assert predict(copies().trace(), [unknown], origin=ORIGIN).duration_ns[0, 0] == pytest.approx(101_300)


MATRIX = gpu("matrix", rates={RateClass.TF32: 1e14, RateClass.FP16: 2e14, RateClass.BF16: 2e14})


def products() -> HandMade:
    made = HandMade()
    convolution = made.op("aten::cudnn_convolution", ((32, 256, 28, 28), (256, 256, 3, 3)))
    product = made.op("aten::mm", ((4096, 4096), (4096, 4096)))
    made.launch(0, 15_000, op=convolution, name="cudnn_infer_volta_scudnn_128x64_relu_interior_nn_v1")
    made.launch(10, 15_000, op=product, name=SGEMM)
    made.step(0, 40_000)
    return made


def test_convolutions_use_tf32_where_it_is_and_matrix_products_do_not() -> None:
    said = predict(products().trace(), [MATRIX], origin=ORIGIN)
    convolution, product = said.duration_ns[0]
    assert convolution < 0.4 * 15_000_000
    assert product == pytest.approx(15_000_000, rel=0.001)
    assert any("convolutions use TF32" in sentence for sentence in said.assumptions)
    assert any("matrix products do not use TF32" in sentence for sentence in said.assumptions)


def test_the_tf32_flags_can_be_told() -> None:
    as_told = EngineOptions(convolution_tf32=False, matmul_tf32=True)
    convolution, product = predict(products().trace(), [MATRIX], origin=ORIGIN, options=as_told).duration_ns[0]
    assert convolution == pytest.approx(15_000_000, rel=0.001)
    assert product == pytest.approx(2_000 + 14_998_000 * (0.0073 + 0.9927 / 10), rel=0.01)


def test_where_the_origin_has_tf32_what_ran_decides() -> None:
    other = gpu("other", bandwidth=1e12, rates={RateClass.TF32: 2e14})
    said = predict(products().trace(), [other], origin=MATRIX)
    assert said.duration_ns[0] == pytest.approx([15_000_000, 15_000_000], rel=0.001)
    assert "float32 work uses TF32 where the recording did" in said.assumptions


def test_a_range_is_wider_where_a_rate_is_only_typical() -> None:
    trace = products().trace()
    known, typical = gpu("known", rate=2e13), gpu("typical", rate=2e13, origin=RateOrigin.TYPICAL)
    said = predict(trace, [known, typical], origin=ORIGIN)
    assert said.duration_ns[0].tolist() == said.duration_ns[1].tolist()
    assert (said.high_ns[1] > said.high_ns[0]).all()


def test_a_dtype_without_units_runs_on_those_that_emulate_it() -> None:
    made = HandMade()
    made.launch(0, 700, op=made.op("aten::mm", ((4096, 4096), (4096, 4096)), "bfloat16"), name="ampere_bf16_gemm")
    made.step(0, 40_000)
    old = gpu("old", rates={RateClass.FP16: 2e14})
    assert predict(made.trace(), [old], origin=MATRIX).duration_ns[0, 0] > 10 * 700_000


def test_the_published_method_can_be_chosen_and_ignores_lanes() -> None:
    lanes = gpu("lanes", rate=4e13)
    trace = products().trace()
    assert predict(trace, [lanes], origin=ORIGIN, method="literal").duration_ns[0, 1] == pytest.approx(
        15_000_000, rel=0.01
    )
    assert predict(trace, [lanes], origin=ORIGIN).duration_ns[0, 1] < 6_000_000
    assert (
        predict(trace, [lanes], origin=ORIGIN, method=ScalingMethod.LITERAL_MANY_WAVES).duration_ns[0, 1]
        == pytest.approx(15_000_000, rel=0.01)
    )  # fmt: skip


def test_a_faster_host_shortens_what_launches_bound() -> None:
    made = HandMade()
    for step in range(2):
        for number in range(10):
            made.launch(step * 1000 + 100 * number, 20)
        made.step(step * 1000, (step + 1) * 1000)
    said = predict(made.trace(), [ORIGIN], origin=ORIGIN, host_factor=2.0)
    assert said.steps.step_ns[0] == pytest.approx(500_000, rel=0.01)
    assert said.measured is not None
    assert said.measured.step_ns[0] == pytest.approx(1_000_000)


def test_the_profilers_share_of_host_time_is_taken_out_where_the_step_without_it_is_known() -> None:
    made = HandMade(unprofiled_step_us=600)
    for step in range(3):
        for number in range(10):
            made.launch(step * 1000 + 100 * number, 20)
        made.step(step * 1000, (step + 1) * 1000)
    said = predict(made.trace(), [ORIGIN, gpu("slow", bandwidth=2e11, rate=2e12)], origin=ORIGIN)
    assert said.measured is not None
    assert said.measured.step_ns[0] == pytest.approx(600_000)
    assert said.measured.gpu_busy_ns[0] == pytest.approx(200_000, rel=0.01)  # kernels are not shortened
    assert said.steps.gpu_busy_ns[1] == pytest.approx(10 * (2_000 + 18_000 * 5), rel=0.01)


def test_a_gpu_bound_step_without_the_profiler_is_put_on_the_measured_scale() -> None:
    made = busy_steps()
    trace = made.trace()
    made.unprofiled_step_us = trace.step_ns / US * 0.9  # shorter than the kernels' own time
    said = predict(made.trace(), [ORIGIN], origin=ORIGIN)
    assert said.measured is not None
    assert said.measured.step_ns[0] == pytest.approx(trace.step_ns * 0.9)
    assert parts(said.measured).sum() == pytest.approx(trace.step_ns * 0.9)


def test_incomplete_steps_do_not_count() -> None:
    made = busy_steps(3)
    begin, end, _ = made.steps[2]
    made.steps[2] = (begin, end + 10_000, False)
    assert predict(made.trace(), [ORIGIN], origin=ORIGIN).steps.step_ns[0] == pytest.approx(545_000, rel=0.001)


def test_a_trace_without_steps_is_predicted_over_its_span() -> None:
    made = busy_steps(1)
    made.steps.clear()
    trace = made.trace()
    said = predict(trace, [ORIGIN], origin=ORIGIN)
    assert said.steps.step_ns[0] == pytest.approx(trace.wall_ns)
    assert parts(said.steps).sum() == pytest.approx(trace.wall_ns)


def capture(batch: int, *, item: bool = False) -> HandMade:
    made = HandMade(origin=TraceOrigin.CPU_RUN)
    for step in range(2):
        begin = step * 10_000.0
        for number in range(20):
            made.op("aten::relu", ((batch, 1024),), at_us=begin + number)
        if item:
            made.op("aten::_local_scalar_dense", ((),), at_us=begin + 30)
        made.step(begin, begin + 100)
    return made


def test_a_capture_without_a_gpu_is_bound_by_launches_at_small_batches_and_by_the_gpu_at_large_ones() -> None:
    plain = EngineOptions(learned=False)
    small, large = (predict(capture(batch).trace(), [ORIGIN], options=plain) for batch in (8, 100_000))
    for said in (small, large):
        assert said.measured is None
        assert said.origin is None
        assert set(said.method[0].tolist()) == {Method.ROOFLINE}
        assert parts(said.steps).sum(axis=0) == pytest.approx(said.steps.step_ns)
    assert small.steps.step_ns[0] == pytest.approx(20 * HOST_NS_PER_LAUNCH, rel=0.05)
    assert small.steps.launch_bound_ns[0] > small.steps.gpu_busy_ns[0]
    # 100,000 x 1,024 floats read and written at 1 TB/s, 1.02 of it reached: 803 us, and the floor
    assert large.duration_ns[0, 0] == pytest.approx(2_000 + 803_000, rel=0.01)
    assert large.steps.gpu_busy_ns[0] / large.steps.step_ns[0] > 0.98


def test_a_value_handed_to_python_makes_a_captured_step_wait_for_the_gpu() -> None:
    with_item = predict(capture(100_000, item=True).trace(), [ORIGIN], options=EngineOptions(learned=False))
    assert with_item.steps.step_ns[0] >= 20 * 803_000


def test_loader_waits_of_a_cpu_run_are_kept() -> None:
    made = capture(8)
    made.input_wait(9_000, 9_900)  # between the steps, and inside of the second
    made.steps[1] = (8_900, 10_100, True)
    said = predict(made.trace(), [ORIGIN])
    assert said.steps.input_wait_ns[0] == pytest.approx(0.5 * 900_000, rel=0.02)  # of two steps, the mean
    assert any("data loader" in sentence for sentence in said.assumptions)


def test_steps_follow_their_kernels_where_no_launch_was_recorded() -> None:
    made = HandMade()
    for step in range(3):
        begin = 1_000.0 * step
        for number in range(9):
            made.kernel(begin + 105 * number + 10, 100)
        made.step(begin, begin + 1_000)
    said = predict(made.trace(), [ORIGIN, TWICE, gpu("half", bandwidth=5e11, rate=5e12)], origin=ORIGIN)
    same, faster, slower = said.steps.step_ns / US
    assert same == pytest.approx(1_000)
    assert 450 < faster < 800
    assert slower > 1_300
    assert np.allclose(parts(said.steps).sum(axis=0), said.steps.step_ns)


def test_shapes_alone_are_one_step() -> None:
    made = HandMade(origin=TraceOrigin.SYMBOLIC)
    for _ in range(20):
        made.op("aten::relu", ((8, 1024),))
    made.step(0, 0)
    said = predict(made.trace(), [ORIGIN])
    assert said.steps.step_ns[0] == pytest.approx(20 * HOST_NS_PER_LAUNCH, rel=0.05)
    assert (said.items.step == 0).all()


def test_a_recording_needs_the_gpu_that_it_was_made_on() -> None:
    with pytest.raises(PredictionError, match="--from"):
        predict(busy_steps().trace(), [ORIGIN])


def test_a_host_factor_is_a_speed() -> None:
    with pytest.raises(OptionError, match="above 0"):
        predict(busy_steps().trace(), [ORIGIN], origin=ORIGIN, host_factor=0.0)


def test_a_method_that_is_none_is_refused_with_those_that_are() -> None:
    with pytest.raises(OptionError, match="default or literal or literal-many-waves"):
        predict(busy_steps().trace(), [ORIGIN], origin=ORIGIN, method="habitat")


def test_a_trace_without_work_and_a_list_without_gpus_are_answered() -> None:
    made = HandMade()
    made.call("cudaGetDevice", HostCallKind.OTHER, 0, 1)
    made.step(0, 100)
    empty = predict(made.trace(), [ORIGIN], origin=ORIGIN)
    assert empty.steps.step_ns[0] == pytest.approx(100_000)
    assert empty.steps.share_by_method[0, Method.HOST] == 1.0
    nothing = predict(busy_steps().trace(), [], origin=ORIGIN)
    assert nothing.duration_ns.shape == (0, 10)
    assert nothing.measured is not None


facts = st.sampled_from(["bandwidth", "rate", "sm_count", "clock"])
works = st.lists(
    st.tuples(
        st.sampled_from(["aten::add", "aten::mm", "aten::native_layer_norm", "name only", "unknown"]),
        st.floats(0.5, 5_000),
        st.integers(0, 3_000),
        st.integers(4, 10),
    ),
    min_size=1,
    max_size=8,
)


def mixed(made_of: list[tuple[str, float, int, int]]) -> HandMade:
    made = HandMade()
    for number, (what, kernel_us, grid, power) in enumerate(made_of):
        size = 1 << power
        shapes = {
            "aten::add": ((size, size), (size, size)),
            "aten::mm": ((size, size), (size, size)),
            "aten::native_layer_norm": ((size, size), None, (size,), (size,)),
        }
        op = made.op(what, shapes[what]) if what in shapes else -1
        name = {"aten::mm": SGEMM, "unknown": UNHEARD_OF}.get(what, ELEMENTWISE)
        made.launch(10 * number, kernel_us, op=op, name=name, grid=grid, block=128 if grid else 0)
    made.step(0, 100_000)
    return made


@settings(max_examples=60, deadline=None)
@given(works, facts, st.floats(0.2, 5), st.floats(0.2, 5), st.integers(20, 200), st.floats(1.0, 4.0))
def test_a_better_gpu_never_makes_an_item_slower(
    made_of: list[tuple[str, float, int, int]], fact: str, bandwidth: float, rate: float, sms: int, more: float
) -> None:
    trace = mixed(made_of).trace()
    more_sms = round(sms * more)
    base = gpu("base", bandwidth=bandwidth * 1e12, rate=rate * 1e13, sm_count=sms)
    better = {
        "bandwidth": gpu("better", bandwidth=bandwidth * more * 1e12, rate=rate * 1e13, sm_count=sms),
        "rate": gpu("better", bandwidth=bandwidth * 1e12, rate=rate * more * 1e13, sm_count=sms),
        "sm_count": gpu("better", bandwidth=bandwidth * 1e12, rate=rate * 1e13 * more_sms / sms, sm_count=more_sms),
        "clock": gpu(
            "better", bandwidth=bandwidth * 1e12, rate=rate * more * 1e13, sm_count=sms, clock_hz=1.5e9 * more
        ),
    }[fact]
    said = predict(trace, [base, better], origin=ORIGIN)
    assert (said.duration_ns[1] <= said.duration_ns[0] * (1 + 1e-9)).all()
    assert (said.duration_ns > 0).all()


@settings(max_examples=40, deadline=None)
@given(works)
def test_parts_sum_to_the_step_and_ops_to_gpu_busy_whatever_the_kernels(
    made_of: list[tuple[str, float, int, int]],
) -> None:
    said = predict(mixed(made_of).trace(), [ORIGIN, TWICE], origin=ORIGIN)
    assert parts(said.steps).sum(axis=0) == pytest.approx(said.steps.step_ns)
    for row in range(2):
        assert op_totals(said, row).busy_ns.sum() == pytest.approx(said.steps.gpu_busy_ns[row])

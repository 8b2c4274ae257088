"""Are an origin's times and what is predicted without it weighed as the table says, and is the origin itself exact?"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surfer_lab.engine import EngineOptions, predict
from surfer_lab.engine.blending import LEARNED_SHARE, absolute_share, blended_ns
from surfer_lab.engine.estimate import Method
from tests.engine.hand_made import SGEMM, HandMade, changed, gpu

ORIGIN = gpu()
SAME_DIE = gpu("same die", bandwidth=1.2e12, rate=1.2e13)
OTHER_DIE = changed(gpu("other die", bandwidth=2e12, rate=2e13, sm_count=160), "other die", die="T2")
positive = st.floats(1e3, 1e9)


@given(positive, positive, st.floats(0, 1))
def test_a_blend_lies_between_its_two_times(from_origin: float, absolute: float, share: float) -> None:
    blended = blended_ns(np.array([from_origin]), np.array([absolute]), np.array([share]))[0]
    assert min(from_origin, absolute) * (1 - 1e-9) <= blended <= max(from_origin, absolute) * (1 + 1e-9)


def test_a_time_of_nothing_stays_nothing() -> None:
    assert blended_ns(np.zeros(1), np.ones(1), np.ones(1))[0] == 0.0


def test_only_products_of_other_dies_are_blended_and_all_of_an_origin_that_is_not_trusted_is_absolute() -> None:
    learned, same_die, arithmetic = np.ones((2, 2), bool), np.array([True, False]), np.array([True, False])
    share = absolute_share(learned, same_die, arithmetic, is_trusted=True)
    assert share.tolist() == [[0.0, 0.0], [LEARNED_SHARE, 0.0]]
    assert absolute_share(learned, same_die, arithmetic, is_trusted=False).tolist() == [[1.0, 1.0], [1.0, 1.0]]


def step(product_us: float, *, unprofiled_us: float | None = None) -> HandMade:
    """A 4096 x 4096 product, 14.9 ms at 92 % of 10 TFLOP/s, and an addition of 16 MiB tensors, 50 us at 1 TB/s."""
    made = HandMade(unprofiled_step_us=unprofiled_us)
    product = made.op("aten::mm", ((4096, 4096), (4096, 4096)))
    add = made.op("aten::add", ((2048, 2048), (2048, 2048)))
    made.launch(0, product_us, op=product, name=SGEMM)
    made.launch(10, 52, op=add, grid=4096, block=256)
    made.synchronize(20, product_us + 70)
    made.step(0, product_us + 75)
    return made


def test_a_product_goes_half_way_to_what_is_predicted_without_the_origin() -> None:
    trace = step(15_000).trace()
    said = predict(trace, [ORIGIN, SAME_DIE, OTHER_DIE], origin=ORIGIN)
    assert said.method.tolist() == [
        [Method.MEASURED, Method.MEASURED], [Method.WAVE, Method.WAVE], [Method.BLEND, Method.WAVE]
    ]  # fmt: skip
    scaled = predict(trace, [OTHER_DIE], origin=ORIGIN, options=EngineOptions(blended=False))
    assert scaled.method.tolist() == [[Method.WAVE, Method.WAVE]]
    assert said.duration_ns[2, 1] == scaled.duration_ns[0, 1]


def test_at_the_origin_the_ratio_is_1_whatever_its_health() -> None:
    for product_us, unprofiled_us in ((15_000, None), (15_000, 9_000), (60_000, None)):
        trace = step(product_us, unprofiled_us=unprofiled_us).trace()
        said = predict(trace, [ORIGIN], origin=ORIGIN)
        assert said.measured is not None
        assert said.steps.step_ns[0] == pytest.approx(said.measured.step_ns[0])
        assert said.duration_ns[0].tolist() == trace.kernels.duration_ns.tolist()


def test_a_throttled_origin_is_said_and_left_aside() -> None:
    healthy, throttled = (predict(step(length).trace(), [OTHER_DIE], origin=ORIGIN) for length in (15_000.0, 45_000.0))
    assert healthy.origin_is_trusted
    assert not throttled.origin_is_trusted
    assert "times slower than the origin sustains" in throttled.warnings[0]
    assert Method.BLEND not in throttled.method
    assert throttled.steps.step_ns[0] < 1.5 * healthy.steps.step_ns[0]  # not three times


def test_kernels_that_do_not_make_the_measured_step_are_said_and_left_aside() -> None:
    said = predict(step(15_000, unprofiled_us=9_000).trace(), [OTHER_DIE], origin=ORIGIN)
    assert not said.origin_is_trusted
    assert "make a step of 15" in said.warnings[0] and "it took 9 ms" in said.warnings[0]


def test_a_gpu_that_waited_for_its_host_is_said_and_trusted() -> None:
    made = HandMade()
    for number in range(10):
        made.launch(100 * number, 20)
    made.step(0, 1000)
    said = predict(made.trace(), [OTHER_DIE], origin=ORIGIN)
    assert said.origin_is_trusted
    assert any("busy in 20 % of the recorded step" in warning for warning in said.warnings)


def test_a_recording_without_a_whole_step_is_said() -> None:
    made = HandMade()
    made.launch(0, 500)
    made.step(0, 600, complete=False)
    said = predict(made.trace(), [OTHER_DIE], origin=ORIGIN)
    assert any("none of the 1 recorded steps is whole" in warning for warning in said.warnings)

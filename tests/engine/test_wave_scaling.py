"""Is wave scaling the published arithmetic, and is the default form monotone? Worked by hand, then as properties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from surfer_lab.engine.literal_scaling import literal_gamma, scale_exact_waves, scale_many_waves
from surfer_lab.engine.wave_scaling import (
    BYTES_PER_S_PER_THREAD,
    KERNEL_FLOOR_NS,
    drawn_bandwidth,
    memory_share,
    scale_waves,
    wave_time,
)

F64 = NDArray[np.float64]


def one(value: float) -> F64:
    return np.array([value])


def scaled(
    measured_ns: float = 102_000.0, gamma: float = 0.4, *, bandwidth: float = 1.0, rate: float = 1.0, blocks: float = 0,
    waves: tuple[float, float] = (80.0, 80.0), threads: float = 0,
) -> float:  # fmt: skip
    """Time on a GPU whose bandwidth and rate are multiples of the origin's 1 TB/s and 10 TFLOP/s."""
    return float(
        scale_waves(
            one(measured_ns), one(gamma), floor_ns=one(KERNEL_FLOOR_NS), origin_bandwidth=one(1e12),
            bandwidth=one(bandwidth * 1e12), origin_rate=one(1e13), rate=np.array([[rate * 1e13]]), blocks=one(blocks),
            origin_wave_blocks=one(waves[0]), wave_blocks=np.array([[waves[1]]]), threads=one(threads),
        ).duration_ns[0, 0]
    )  # fmt: skip


@pytest.mark.parametrize(
    ("flop", "gamma"),
    [
        (0.0, 1.0),  # nothing to compute
        (5.0, 0.75),  # half the ridge of 10 FLOPs a byte: 1 - 0.5 * 5/10
        (10.0, 0.5),  # at the ridge, from both sides
        (20.0, 0.25),  # 0.5 * 10/20
        (1e9, 0.0),
    ],
)
def test_the_memory_share_follows_the_arithmetic_intensity(flop: float, gamma: float) -> None:
    assert memory_share(one(flop), one(1.0), 1e13, 1e12)[0] == pytest.approx(gamma, abs=1e-6)


def test_an_unknown_intensity_stays_unknown() -> None:
    assert np.isnan(memory_share(one(np.nan), one(1.0), 1e13, 1e12)[0])


def test_the_default_form_by_hand() -> None:
    # 2 us floor; of the 100 us above it 40 are memory's, 60 arithmetic's; twice the bandwidth, four times the rate
    assert scaled(bandwidth=2.0, rate=4.0) == pytest.approx(2_000 + 40_000 / 2 + 60_000 / 4)


def test_whole_waves_count_in_the_arithmetic() -> None:
    # 81 blocks: two waves of 80 here, one of 160 there. Here 160 / R, there 160 / 2R
    assert scaled(gamma=0.0, rate=2.0, blocks=81, waves=(80, 160)) == pytest.approx(2_000 + 100_000 / 2)
    # 80 blocks: one wave here (80 / R) and one of 160, half empty, there (160 / 2R): no gain
    assert scaled(gamma=0.0, rate=2.0, blocks=80, waves=(80, 160)) == pytest.approx(102_000)


def test_a_grid_that_was_not_recorded_scales_by_rate_alone() -> None:
    assert wave_time(one(0.0), one(80.0), one(2.0))[0] == pytest.approx(0.5)


def test_a_kernel_of_two_microseconds_takes_as_long_everywhere() -> None:
    assert scaled(2_000.0, bandwidth=10, rate=10) == pytest.approx(2_000)
    assert scaled(1_500.0, bandwidth=0.1, rate=0.1) == pytest.approx(1_500)


def test_a_grid_of_few_threads_cannot_draw_more_bandwidth() -> None:
    threads = 128.0
    drawn = drawn_bandwidth(np.array([1e12, 2e12]), one(threads))
    assert drawn[:, 0].tolist() == pytest.approx([threads * BYTES_PER_S_PER_THREAD] * 2)
    assert scaled(gamma=1.0, bandwidth=5.0, threads=threads) == pytest.approx(102_000)
    assert scaled(gamma=1.0, bandwidth=5.0, threads=1e6) == pytest.approx(2_000 + 100_000 / 5)


@pytest.mark.parametrize(
    ("gamma", "expected"),
    [
        # B = 200, W 80 -> 160, D 1 -> 2, C 1 -> 1.5: ceil(200/160) / ceil(200/80) = 2/3
        (1.0, 2 / 3 * (1 / 2 * 160 / 80) * 90),  # = 60
        (0.0, 2 / 3 * (1 / 1.5) * 90),  # = 40
        (0.5, 2 / 3 * 1.0**0.5 * (1 / 1.5) ** 0.5 * 90),
    ],
)
def test_the_published_exact_form_by_hand(gamma: float, expected: float) -> None:
    time = scale_exact_waves(
        one(90.0), one(gamma), one(200.0), waves=(one(80.0), one(160.0)), bandwidth=(one(1.0), one(2.0)),
        clock=(one(1.0), one(1.5)),
    )  # fmt: skip
    assert time[0] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("gamma", "expected"),
    [(1.0, 90 / 2), (0.0, 90 * 80 / 160 * 1 / 1.5), (0.5, 90 * (1 / 2) ** 0.5 * (1 / 3) ** 0.5)],
)
def test_the_published_form_for_many_waves_by_hand(gamma: float, expected: float) -> None:
    time = scale_many_waves(
        one(90.0), one(gamma), waves=(one(80.0), one(160.0)), bandwidth=(one(1.0), one(2.0)), clock=(one(1.0), one(1.5))
    )
    assert time[0] == pytest.approx(expected)


def test_the_published_forms_agree_when_waves_are_many() -> None:
    arguments = {"waves": (one(80.0), one(160.0)), "bandwidth": (one(1.0), one(2.0)), "clock": (one(1.0), one(1.5))}
    many = scale_many_waves(one(90.0), one(0.3), **arguments)[0]
    exact = scale_exact_waves(one(90.0), one(0.3), one(160e6), **arguments)[0]
    assert exact == pytest.approx(many)


def test_the_published_gamma_is_the_destinations_and_one_where_unknown() -> None:
    gamma = literal_gamma(
        np.array([10.0, np.nan]), np.array([1.0, 1.0]), np.array([1e13, 4e13]), np.array([1e12, 1e12])
    )
    assert gamma.tolist() == [[0.5, 1.0], [1 - 0.5 / 4, 1.0]]


factors = st.floats(0.1, 20)


@settings(max_examples=200, deadline=None)
@given(
    st.floats(100, 1e8), st.floats(0, 1), factors, factors, st.integers(0, 5000), st.integers(1, 300),
    st.integers(0, 500_000), st.floats(1, 5), st.integers(1, 4),
)  # fmt: skip
def test_more_bandwidth_rate_or_sms_is_never_slower(
    measured_ns: float, gamma: float, bandwidth: float, rate: float, blocks: int, sms: int, threads: int, more: float,
    times: int,
) -> None:  # fmt: skip
    def time(bandwidth: float, rate: float, waves: float) -> float:
        return scaled(
            measured_ns, gamma, bandwidth=bandwidth, rate=rate, blocks=blocks, waves=(80, waves), threads=threads
        )

    base = time(bandwidth, rate, sms) * (1 + 1e-9)
    assert time(bandwidth * more, rate, sms) <= base
    assert time(bandwidth, rate * more, sms) <= base
    # more SMs: the rate is theirs together
    assert time(bandwidth, rate * (sms + times) / sms, sms + times) <= base

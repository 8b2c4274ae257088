"""Does the roofline count arithmetic, bytes and launches as written?"""

from __future__ import annotations

import numpy as np
import pytest

from surfer_lab.engine.roofline import cached_bandwidth, roofline
from surfer_lab.engine.wave_scaling import KERNEL_FLOOR_NS


def time_ns(flop: float, moved_bytes: float, launches: int = 1, *, threads: float = 0.0) -> float:
    """On 10 TFLOP/s and 1 TB/s, of which half is reached."""
    return float(
        roofline(
            np.array([flop]), np.array([moved_bytes]), np.array([float(launches)]), rate=np.array([[1e13]]),
            bandwidth=np.array([[1e12]]), memory_fraction=np.array([0.5]), threads=np.array([threads]),
        ).duration_ns[0, 0]
    )  # fmt: skip


def test_arithmetic_alone() -> None:
    assert time_ns(1e9, 0.0) == pytest.approx(KERNEL_FLOOR_NS + 100_000)


def test_bytes_alone_at_the_fraction_reached() -> None:
    assert time_ns(0.0, 1e8) == pytest.approx(KERNEL_FLOOR_NS + 200_000)


def test_both_overlap_imperfectly() -> None:
    assert time_ns(3e9, 2e8) == pytest.approx(KERNEL_FLOOR_NS + 500_000)  # 300 and 400 us


def test_every_launch_has_its_floor() -> None:
    assert time_ns(0.0, 0.0, launches=3) == pytest.approx(3 * KERNEL_FLOOR_NS)


def test_what_is_unknown_adds_nothing() -> None:
    assert time_ns(np.nan, 1e8) == pytest.approx(time_ns(0.0, 1e8))


def test_few_threads_draw_less() -> None:
    assert time_ns(0.0, 1e8, threads=64) > 10 * time_ns(0.0, 1e8)


def test_what_the_cache_holds_streams_at_up_to_twice_the_rate() -> None:
    moved, is_product = np.array([1e6, 4e7, 4e8, 0.0, 1e6]), np.array([False, False, False, False, True])
    reached = cached_bandwidth(np.array([1e12, 1e12]), np.array([4e7, 0.0]), moved, is_product)
    assert reached[0] / 1e12 == pytest.approx([2.0, 2.0, 1.1, 2.0, 1.0])
    assert reached[1] / 1e12 == pytest.approx([1.0] * 5)

"""The root condition: its closed forms, its agreement with iterating, and with any staleness histogram."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surfer_lab.planner.convergence.momentum import constant_staleness, geometric_staleness
from surfer_lab.planner.convergence.quadratic_rate import (
    asynchronous_rate,
    best_rate,
    condition_of_momentum,
    staleness_rate,
)


def test_gradient_descent_shrinks_by_one_less_step_times_curvature():
    assert float(asynchronous_rate(0.3, 0.0, 1)) == pytest.approx(0.7)


def test_heavy_ball_in_its_robust_region_shrinks_by_the_root_of_the_momentum():
    assert float(asynchronous_rate(0.5, 0.81, 1)) == pytest.approx(0.9)


def test_two_groups_without_explicit_momentum_are_a_heavy_ball_of_momentum_a_half():
    # z^2 - (1.5 - 0.5 x) z + 0.5 = 0 at x = a h = 1: complex roots of modulus sqrt(0.5)
    assert float(asynchronous_rate(1.0, 0.0, 2)) == pytest.approx(np.sqrt(0.5))


@given(product=st.floats(0.01, 1.0), momentum=st.floats(-0.5, 0.8), groups=st.integers(1, 6))
def test_the_closed_form_is_that_of_a_long_geometric_histogram(product, momentum, groups):
    closed = float(asynchronous_rate(product, momentum, groups))
    listed = float(staleness_rate(product, momentum, geometric_staleness(groups, lags=120)))
    if closed > 0.9:  # beyond the histogram's own poles, whose tail is cut
        assert listed == pytest.approx(closed, rel=2e-3)


@pytest.mark.parametrize("shares", [[1.0], [0.2, 0.5, 0.3], [0, 0, 0, 1]])
def test_iterating_the_expected_recursion_shrinks_at_that_rate(shares):
    product, momentum = 0.15, 0.2
    walked = [1.0] * (len(shares) + 1)
    for _ in range(400):
        gradient = sum(share * walked[-1 - lag] for lag, share in enumerate(shares))
        walked.append(walked[-1] + momentum * (walked[-1] - walked[-2]) - product * gradient)
    measured = (np.max(np.abs(walked[-40:])) / np.max(np.abs(walked[-240:-200]))) ** (1 / 200)
    assert float(staleness_rate(product, momentum, shares)) == pytest.approx(measured, rel=5e-3)


def test_taking_turns_bears_smaller_steps_than_exponential_times():
    assert float(staleness_rate(0.5, 0.0, constant_staleness(8))) > 1.0
    assert float(asynchronous_rate(0.5, 0.0, 8)) < 1.0


@pytest.mark.parametrize("condition", [4.0, 25.0, 100.0])
def test_the_best_synchronous_rate_is_polyaks(condition):
    found = best_rate(condition, 1)
    root = np.sqrt(condition)
    assert found.rate == pytest.approx((root - 1) / (root + 1), rel=0.05)
    assert condition_of_momentum(((root - 1) / (root + 1)) ** 2) == pytest.approx(condition)

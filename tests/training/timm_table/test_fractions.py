"""Are the fractions found that made the steps, through nothing but their sums?"""

from __future__ import annotations

import numpy as np
import pytest

from surfer_lab.engine import predict
from surfer_lab.engine.lowering import Family
from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.training.timm_table.fractions import FAMILIES, StepTerms, fit_factors, steps_ms, terms_of
from tests.trace.graphs import perceptron

MADE_OF = (Family.MM, Family.CONV_KXK, Family.UNARY, Family.BATCH_NORM)


def made_steps(count: int) -> list[StepTerms]:
    draw = np.random.default_rng(3)
    family = np.array([FAMILIES.index(one) for one in MADE_OF])
    compute_share = np.array([0.9, 0.7, 0.0, 0.0])
    steps = []
    for _ in range(count):
        size = draw.lognormal(0.0, 1.0, len(family))
        steps.append(
            StepTerms(family=family, compute_ms=size * compute_share, memory_ms=size * (1 - compute_share), rest_ms=0.1)
        )  # fmt: skip
    return steps


def test_known_factors_are_found_and_families_without_work_keep_theirs() -> None:
    steps = made_steps(200)
    true = np.ones((2, len(FAMILIES)))
    true[0, FAMILIES.index(Family.MM)] = 1.3
    true[0, FAMILIES.index(Family.CONV_KXK)] = 0.6
    true[1, FAMILIES.index(Family.UNARY)] = 0.8
    measured = steps_ms(steps, true)
    found = fit_factors(steps, measured)
    assert np.median(np.abs(steps_ms(steps, found) / measured - 1.0)) < 0.01
    assert np.abs(steps_ms(steps) / measured - 1.0).max() > 0.05
    unused = [at for at, family in enumerate(FAMILIES) if family not in MADE_OF]
    assert found[:, unused] == pytest.approx(1.0)


def test_a_predicted_step_is_the_sum_of_its_terms() -> None:
    gpus = [load_catalog().find(name) for name in ("RTX 4090", "MI300X")]
    prediction = predict(perceptron(), gpus)
    for at in range(len(gpus)):
        (summed,) = steps_ms([terms_of(prediction, at)])
        assert summed == pytest.approx(float(prediction.steps.step_ns[at]) / 1e6, rel=1e-6)

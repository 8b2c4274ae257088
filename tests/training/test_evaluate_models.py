"""Evaluation of models and single operations: every row of the index is told of, an origin's health is not a guess."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from surfer_lab.training.evaluate.cases import error_stats
from surfer_lab.training.evaluate.e2e import BLENDED, LEARNED, RATIO_OF_SUMS, evaluate_e2e, is_healthy
from surfer_lab.training.evaluate.kernels import OWN_RATE, evaluate_kernels
from surfer_lab.training.evaluate.model_ops import ModelCase, ModelOp


def origin(step_ms: float, product_ms: float) -> ModelCase:
    product = ModelOp(name="aten::mm", shapes=((1, 1), (1, 1)), repeats=2, measured_ms=product_ms)
    return ModelCase(
        gpu="T4", model="m", mode="inf", seq=1, batch=1, step_ms=step_ms, sum_ms=2 * product_ms, ops=(product,)
    )


def test_an_origin_whose_operations_do_not_add_up_to_its_step_is_distrusted() -> None:
    assert is_healthy(origin(10.0, 5.0), np.array([5.0]))
    assert not is_healthy(origin(7.0, 5.0), np.array([5.0]))


def test_an_origin_whose_long_products_run_far_from_its_rate_is_distrusted() -> None:
    assert not is_healthy(origin(10.0, 5.0), np.array([2.5]))
    assert is_healthy(origin(1.0, 0.5), np.array([0.1]))  # short products say nothing of a rate


def test_every_case_is_predicted_or_has_its_reason_and_every_pair_counts(data_dir: Path) -> None:
    found = evaluate_e2e(data_dir)
    alone = [case for case in found.cases if case.method == LEARNED]
    assert len(alone) == 44
    assert all(case.is_predicted or case.reason for case in alone)
    for method in (BLENDED, RATIO_OF_SUMS):
        pairs = [case for case in found.cases if case.method == method]
        assert len(pairs) == 90
        assert all(case.origin_gpu != case.gpu and case.is_predicted for case in pairs)


def test_timings_that_set_a_rate_are_not_judged(data_dir: Path) -> None:
    found = evaluate_kernels(data_dir, sample=20)
    assert {case.model for case in found.cases} == {"linear", "bmm", "conv"}
    assert error_stats([case for case in found.cases if case.method == OWN_RATE]).count == 3 * 5 * 20

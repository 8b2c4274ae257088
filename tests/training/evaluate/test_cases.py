from __future__ import annotations

import json
import math

import numpy as np
import pytest

from surfer_lab.training.evaluate.cases import Case, Evaluation, error_stats, stats_by
from surfer_lab.training.evaluate.held_out import fitted_without, folds_of

KEYS = {
    "gpu", "model", "mode", "batch", "precision", "compile", "option", "num_gpus", "origin_gpu", "method",
    "predicted_ms", "low_ms", "high_ms", "measured_ms",
}  # fmt: skip


def case(predicted: float | None, measured: float, low: float | None = None, high: float | None = None) -> Case:
    return Case(method="m", predicted_ms=predicted, measured_ms=measured, low_ms=low, high_ms=high)


def test_statistics_are_those_worked_out_by_hand() -> None:
    # errors +10, -20, +50 percent: mean 26.7, median 20, worst 50; two of three measured times lie in their ranges
    stats = error_stats([case(110, 100, 99, 121), case(80, 100, 72, 88), case(150, 100, 75, 225)])
    assert (stats.count, stats.worst, stats.median, stats.bias) == (
        3,
        pytest.approx(50),
        pytest.approx(20),
        pytest.approx(10),
    )
    assert stats.mean == pytest.approx(80 / 3)
    assert stats.coverage == pytest.approx(200 / 3)
    assert stats.half_width == pytest.approx(10)


def test_a_case_without_a_prediction_counts_in_no_mean_and_stays_in_the_json() -> None:
    unpredicted = Case(method="m", measured_ms=5.0, reason="its GPU is in no catalogue", columns={"seq": 512})
    cases = (case(11, 10), unpredicted)
    assert error_stats(cases).count == 1
    written = json.loads(Evaluation(name="e", cases=cases, tables=()).as_json())
    assert len(written["cases"]) == 2
    assert all(set(row) >= KEYS for row in written["cases"])
    assert written["cases"][1]["reason"] == "its GPU is in no catalogue"
    assert written["cases"][1]["seq"] == 512
    assert written["cases"][1]["predicted_ms"] is None


def test_a_rows_own_columns_never_hide_ours() -> None:
    row = Case(method="m", gpu="T4", columns={"gpu": "t4-16gb", "seq": 512}).as_row()
    assert (row["gpu"], row["seq"]) == ("T4", 512)


def test_numbers_that_are_not_known_are_null() -> None:
    written = json.loads(Evaluation(name="e", cases=(), tables=(), facts={"share": math.nan}).as_json())
    assert written["summary"]["share"] is None


def test_groups_appear_in_the_order_of_their_cases() -> None:
    cases = [Case(method=name, predicted_ms=1.0, measured_ms=1.0) for name in ("b", "a", "b")]
    table = stats_by(cases, title="t", by=lambda one: (one.method,), names=("method",))
    assert [row[:2] for row in table.rows] == [("b", 2), ("a", 1)]


def test_a_group_lies_in_one_fold_and_is_never_in_its_own_fit() -> None:
    groups = ["vit"] * 5 + ["resnet"] * 3 + ["swin"] * 2 + ["levit"]
    folds = folds_of(groups, 3)
    assert all(len(set(folds[np.array(groups) == name])) == 1 for name in set(groups))
    values = np.arange(len(groups), dtype=float)
    fitted = fitted_without(folds, lambda others: float(values[others].sum()))
    for at in range(len(groups)):
        assert fitted[at] == values[folds != folds[at]].sum()

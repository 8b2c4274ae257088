"""Evaluation of models and single operations: every row of the index is told of, and the figures are those claimed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest

from surfer_lab.errors import OptionError
from surfer_lab.training.evaluate.cases import Evaluation, error_stats
from surfer_lab.training.evaluate.e2e import BLENDED, LEARNED, SUMMED, evaluate_e2e
from surfer_lab.training.evaluate.kernels import OWN_RATE, evaluate_kernels


@pytest.fixture(scope="module")
def found(data_dir: Path) -> Evaluation:
    return evaluate_e2e(data_dir)


def test_every_row_is_predicted_or_has_its_reason_and_every_pair_counts(found: Evaluation, data_dir: Path) -> None:
    alone = [case for case in found.cases if case.method == LEARNED]
    assert len(alone) == len(pd.read_csv(data_dir / "e2e" / "index.csv"))
    assert all(case.is_predicted or case.reason for case in alone)
    for method in (BLENDED, SUMMED):
        pairs = [case for case in found.cases if case.method == method]
        assert len(pairs) == 90
        assert all(case.origin_gpu != case.gpu and case.is_predicted for case in pairs)
    ranged = [case for case in found.cases if case.method in (LEARNED, BLENDED) and case.is_predicted]
    for case in ranged:
        narrow, wide = (case.low_ms, case.high_ms), (case.columns["low90_ms"], case.columns["high90_ms"])
        assert wide[0] <= narrow[0] <= case.predicted_ms <= narrow[1] <= wide[1]  # type: ignore[operator] # predicted


def test_the_errors_and_ranges_are_those_that_are_claimed(found: Evaluation) -> None:
    """The targets of the project, on GPUs whose dies nothing learned saw."""
    for method, mean, median in ((LEARNED, 8.0, 5.5), (BLENDED, 8.0, 5.0)):
        cases = [case for case in found.cases if case.method == method and case.is_predicted]
        stats = error_stats(cases)
        assert stats.mean <= mean
        assert stats.median <= median
        assert stats.coverage >= 76.0
        assert stats.half_width <= 12.0
        for gpu in {case.gpu for case in cases}:
            assert error_stats([case for case in cases if case.gpu == gpu]).coverage >= 60.0


def folder_of_two(tmp_path: Path, data_dir: Path) -> Path:
    """An index of two rows, on a GPU that no catalogue knows and on one whose operations are not there."""
    index = pd.read_csv(data_dir / "e2e" / "index.csv")
    rows = index[index.trace_path.notna()].head(2).copy()
    rows["gpu"] = ["Voodoo 2", "T4"]
    source = data_dir / "e2e" / str(rows.trace_path.iloc[0])
    (tmp_path / "e2e").mkdir()
    shutil.copy(source, tmp_path / "e2e" / "one.parquet")
    rows["trace_path"] = ["one.parquet", "missing.parquet"]
    rows.to_csv(tmp_path / "e2e" / "index.csv", index=False)
    return tmp_path


def test_a_gpu_outside_the_catalogue_and_missing_operations_are_said_and_not_fatal(
    tmp_path: Path, data_dir: Path
) -> None:
    found = evaluate_e2e(folder_of_two(tmp_path, data_dir))
    reasons = {case.gpu: case.reason for case in found.cases}
    assert reasons == {
        "Voodoo 2": "Voodoo 2 is outside the catalogue",
        "T4": "its operations are missing: missing.parquet",
    }


def test_a_folder_without_models_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"no table of measured models"):
        evaluate_e2e(tmp_path)


def test_timings_that_set_a_rate_are_not_judged(data_dir: Path) -> None:
    found = evaluate_kernels(data_dir, sample=20)
    assert {case.model for case in found.cases} == {"linear", "bmm", "conv"}
    assert error_stats([case for case in found.cases if case.method == OWN_RATE]).count == 3 * 5 * 20

"""Are programs that were recorded on one GPU and measured on another predicted there, and inside their ranges?"""

from __future__ import annotations

from pathlib import Path

import pytest

from surfer_lab.training.evaluate.cases import Case
from surfer_lab.training.evaluate.traces import evaluate_traces


@pytest.fixture(scope="module")
def elsewhere(data_dir: Path) -> tuple[Case, ...]:
    return evaluate_traces(data_dir, sample=0).cases


def test_bert_small_on_an_h100_and_an_mi300x_is_predicted_from_each_other(elsewhere: tuple[Case, ...]) -> None:
    pair = [case for case in elsewhere if case.model == "bert-small"]
    assert sorted((case.origin_gpu, case.gpu, case.measured_ms) for case in pair) == [
        ("H100 SXM5", "MI300X", 0.3883), ("MI300X", "H100 SXM5", 0.3072)
    ]  # fmt: skip
    for case in pair:
        assert abs(case.error) <= 0.25
        assert case.low_ms <= case.measured_ms <= case.high_ms  # type: ignore[operator] # None would fail here


def test_resnet50_is_faster_on_an_a100_by_the_published_ratio(elsewhere: tuple[Case, ...]) -> None:
    steps = [case for case in elsewhere if case.model == "resnet50"]
    assert len(steps) == 2
    for case in steps:
        assert case.columns["ratio"] == pytest.approx(case.columns["published_ratio"], rel=0.10)
        assert case.low_ms <= case.measured_ms <= case.high_ms  # type: ignore[operator] # None would fail here

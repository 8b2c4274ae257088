"""Each evaluation on a sample of the data: everything is listed, and what holds for all cases holds for these."""

from __future__ import annotations

from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pytest

if find_spec("timm") is None:  # importing it would need torchvision
    pytest.skip("timm is not installed: it is in the evaluate extra", allow_module_level=True)

from surfer_lab.training.evaluate.coverage import evaluate_coverage
from surfer_lab.training.evaluate.memory import evaluate_memory
from surfer_lab.training.evaluate.op_lists import evaluate_op_lists
from surfer_lab.training.evaluate.timm import CALIBRATED, GAIN, PLAIN_CONSTANT, REFITTED, evaluate_timm
from surfer_lab.training.evaluate.timm_held_out import CONSTANTS, WAYS
from surfer_lab.training.evaluate.traces import evaluate_traces
from surfer_lab.training.evaluate.workloads import evaluate_workloads
from surfer_lab.training.timm_table.rows import RENAMED


def one_network(folder: Path, data: Path, arch: str) -> Path:
    """A data folder that holds the rows of one architecture."""
    rows = pd.read_csv(data / "timm" / "bench.csv", dtype={"torch": str, "cuda": str})
    (folder / "timm").mkdir()
    rows[rows["arch"] == arch].to_csv(folder / "timm" / "bench.csv", index=False)
    return folder


def test_every_row_of_timm_is_a_case_of_each_method(tmp_path: Path, data_dir: Path) -> None:
    data = one_network(tmp_path, data_dir, "mobilenetv3_small_100")
    row_count = len(pd.read_csv(data / "timm" / "bench.csv"))
    assert row_count > 5
    found = evaluate_timm(data, cache=tmp_path / "cache", workers=0)
    steps = [case for case in found.cases if not case.method.startswith("compile gain")]
    by_method = Counter(case.method for case in steps)
    assert set(by_method.values()) == {row_count}
    assert {CALIBRATED, REFITTED, PLAIN_CONSTANT, *WAYS.values(), *CONSTANTS.values()} < set(by_method)
    assert found.facts["rows not predicted"] == 0
    for case in steps:
        assert case.is_predicted or case.reason
        if case.low_ms is not None and case.predicted_ms is not None and case.high_ms is not None:
            assert case.low_ms <= case.predicted_ms <= case.high_ms


def test_a_network_that_was_renamed_is_listed_with_the_reason(tmp_path: Path, data_dir: Path) -> None:
    data = one_network(tmp_path, data_dir, "densenet121")
    table = data / "timm" / "bench.csv"
    table.write_text(table.read_text().replace("densenet121", next(iter(RENAMED))))
    found = evaluate_timm(data, cache=tmp_path / "cache", workers=0)
    assert found.cases
    assert {case.reason for case in found.cases} == set(RENAMED.values())


def test_a_compiled_row_has_its_gain_beside_a_constant(tmp_path: Path, data_dir: Path) -> None:
    found = evaluate_timm(one_network(tmp_path, data_dir, "densenet121"), cache=tmp_path / "cache", workers=0)
    gains = [case for case in found.cases if case.method == GAIN]
    assert gains
    for case in gains:
        assert case.origin_gpu == case.gpu
        assert float(case.columns["gain_predicted"] or 0) > 1.0  # densenet gains in every row of the table


def test_captures_are_kept_between_runs(tmp_path: Path, data_dir: Path) -> None:
    data, cache = one_network(tmp_path, data_dir, "densenet121"), tmp_path / "cache"
    first = evaluate_timm(data, cache=cache, workers=0)
    before = {path: path.stat().st_mtime_ns for path in cache.rglob("*.trace")}
    again = evaluate_timm(data, cache=cache, workers=0)
    assert before and {path: path.stat().st_mtime_ns for path in cache.rglob("*.trace")} == before
    assert again.as_json() == first.as_json()


def test_samples_of_transformers_and_workloads_are_in_the_tables() -> None:
    found = evaluate_coverage(sources=("transformers", "workloads"), sample=2)
    assert {(case.columns["source"], case.mode) for case in found.cases} == {
        ("transformers", "train"), ("transformers", "infer"), ("workloads", "train"), ("workloads", "infer"),
    }  # fmt: skip
    for case in found.cases:
        assert case.reason == ""
        assert float(case.columns["unscaled_share"] or 0) <= 0.01
        assert float(case.columns["fallback_time_share"] or 0) <= 0.10


def test_small_steps_are_counted_to_the_byte_by_hand() -> None:
    found = evaluate_memory()
    assert {case.model: case.reason for case in found.cases if case.reason} == {}
    assert len(found.cases) >= 9


def test_a_resnet_step_is_within_ten_percent_of_the_recorded_peak(data_dir: Path) -> None:
    recorded = [case for case in evaluate_memory(data_dir).cases if case.gpu == "V100"]
    assert len(recorded) == 2
    for case in recorded:
        measured = float(case.columns["measured_bytes"] or 0)
        assert measured == pytest.approx(2.79e9, rel=0.001)
        assert float(case.columns["predicted_bytes"] or 0) == pytest.approx(measured, rel=0.10)


def test_workloads_have_the_published_counts() -> None:
    found = evaluate_workloads(sample=2)
    assert found.facts["counts"] == found.facts["counts that agree"] == 5


def test_tiny_workloads_are_captured_as_they_run() -> None:
    found = evaluate_op_lists(sample=1)
    assert {(case.mode, case.reason) for case in found.cases} == {("train", ""), ("infer", "")}


def test_traces_on_other_gpus_are_near_what_was_measured(data_dir: Path) -> None:
    elsewhere = [case for case in evaluate_traces(data_dir, sample=3).cases if case.gpu != case.origin_gpu]
    assert {case.model for case in elsewhere} == {"resnet50", "bert-small"}
    for case in elsewhere:
        assert abs(case.error) <= (0.20 if case.model == "resnet50" else 0.25)
        if case.model == "bert-small":
            assert case.low_ms is not None and case.high_ms is not None and case.measured_ms is not None
            assert case.low_ms <= case.measured_ms <= case.high_ms


def test_spans_and_steps_are_those_of_the_recordings(data_dir: Path) -> None:
    own = [case for case in evaluate_traces(data_dir, sample=9).cases if case.gpu == case.origin_gpu]
    assert all(abs(case.error) <= 0.02 for case in own)

"""Is a saved prediction read, held against a time, kept, and used in the ranges that follow?"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from surfer_lab.cli.measured import app
from surfer_lab.engine import EngineOptions, predict
from surfer_lab.errors import OptionError, PredictionError, UnknownGpuError
from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.hardware.configuration import FOLDER_VARIABLE
from surfer_lab.hardware.verifications import Verification, load_verifications, verified_factor
from surfer_lab.report.example import example_trace
from surfer_lab.report.prediction import predict as predict_trace
from surfer_lab.trace.storage import save
from surfer_lab.training.evaluate.listed_ops import captured, recorded
from surfer_lab.training.verify import measured_here, measured_in_trace, saved_prediction, verify


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "configuration"))
    return tmp_path / "configuration"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "prediction.json"
    path.write_text(predict_trace(example_trace(), on=["L4", "T4"]).to_json(), encoding="utf-8")
    return path


def saved(tmp_path: Path, **changes: object) -> Path:
    step = {"text": "2 s", "unit": "s", "value": 2.0, "low": 1.5, "high": 2.5}
    view = {"name": "m", "batch_size": 8, "command": "", "rows": [{"gpu": "T4", "step": step}], **changes}
    path = tmp_path / "one.json"
    path.write_text(json.dumps(view), encoding="utf-8")
    return path


def test_the_row_of_a_gpu_is_read_in_milliseconds(tmp_path: Path, file: Path) -> None:
    said = saved_prediction(saved(tmp_path))
    assert (said.gpu, said.batch) == ("T4", 8)
    assert (said.predicted_ms, said.low_ms, said.high_ms) == (2000.0, 1500.0, 2500.0)
    own = predict_trace(example_trace(), on=["T4"]).on("T4")
    assert saved_prediction(file, "T4").predicted_ms == pytest.approx(own.step_ns / 1e6, rel=1e-3)


def test_what_cannot_be_read_is_said(tmp_path: Path, file: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text("{", encoding="utf-8")
    with pytest.raises(OptionError, match="is not a saved prediction"):
        saved_prediction(broken)
    with pytest.raises(OptionError, match="predicts 2 GPUs"):
        saved_prediction(file)
    with pytest.raises(UnknownGpuError, match="A100 SXM4 40GB is not predicted"):
        saved_prediction(file, "A100 SXM4 40GB")


def test_a_case_is_judged_kept_and_written_in_the_layout_of_the_measured_models(tmp_path: Path) -> None:
    said = saved_prediction(saved(tmp_path))
    inside = verify(said, 1600.0, how="as given", out=tmp_path / "shared")
    outside = verify(said, 1000.0, how="as given", out=tmp_path / "shared")
    assert (inside.is_inside, outside.is_inside) == (True, False)
    assert inside.error == pytest.approx(0.25)
    assert outside.error == pytest.approx(1.0)
    assert [one.measured_ms for one in load_verifications()] == [1600.0, 1000.0]
    with (tmp_path / "shared" / "e2e" / "index.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["gpu"], row["model"], row["batch"], row["e2e_ms"]) for row in rows] == [
        ("T4", "m", "8", "1600.000000"), ("T4", "m", "8", "1000.000000")
    ]  # fmt: skip


def test_four_verified_predictions_set_the_range_of_the_next(tmp_path: Path) -> None:
    said = saved_prediction(saved(tmp_path))
    factors = [verify(said, 2000.0 / 1.02, how="as given").factor for _ in range(4)]
    assert factors == [None, None, None, pytest.approx(1.02)]
    shown = predict_trace(example_trace(), on=["A100 SXM4 40GB"]).view.rows[0].step
    assert shown.high is not None and shown.value is not None
    assert shown.high / shown.value < 1.08  # the host's own uncertainty is left
    assert verified_factor([], 0.8) is None


def test_a_verified_factor_takes_the_place_of_the_fitted_one() -> None:
    trace = captured([("aten::mm", ((4096, 4096), (4096, 4096)))] * 10)
    gpu = load_catalog().find("T4")
    plain, own = (predict(trace, [gpu], options=EngineOptions(verified_factor=factor)).steps for factor in (None, 1.03))
    assert own.step_ns[0] == plain.step_ns[0]
    assert own.high_ns[0] / own.step_ns[0] < 1.04 < plain.high_ns[0] / plain.step_ns[0]


def test_a_trace_of_the_gpu_gives_the_time_and_one_of_another_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.surfertrace"
    save(recorded([("aten::mm", ((64, 64), (64, 64)))], [1e6], 5e6), path)
    assert measured_in_trace(path, "T4") == pytest.approx(5.0)
    save(captured([("aten::mm", ((64, 64), (64, 64)))]), path)
    with pytest.raises(PredictionError, match="ran on no GPU"):
        measured_in_trace(path, "T4")


def test_the_step_of_a_predicted_model_is_run_on_its_gpu(tmp_path: Path) -> None:
    module = tmp_path / "tiny_model.py"
    module.write_text(
        "import torch\ndef tiny():\n    return torch.nn.Linear(4, 4), (torch.rand(2, 4),)\n", encoding="utf-8"
    )
    said = saved_prediction(saved(tmp_path, command=f"surfer predict-model {module}:tiny --on T4", batch_size=None))
    ran: list[object] = []

    def timer(step: Callable[[], object]) -> float:
        ran.append(step())
        return 7.5

    assert measured_here(said, timer, here="T4") == 7.5
    assert len(ran) == 1
    with pytest.raises(PredictionError, match="this machine has L4, predicted is T4"):
        measured_here(said, timer, here="L4")


def test_a_recordings_program_is_not_known(tmp_path: Path) -> None:
    with pytest.raises(PredictionError, match="the program that ran is not in it"):
        measured_here(saved_prediction(saved(tmp_path)), here="T4")


@pytest.mark.skipif(torch.cuda.is_available(), reason="what is said where there is no GPU")
def test_without_a_gpu_it_says_what_to_do(tmp_path: Path) -> None:
    said = saved_prediction(saved(tmp_path, command="surfer predict-model surfer_lab.workloads:resnet50"))
    with pytest.raises(PredictionError, match="no GPU here"):
        measured_here(said)


@given(st.lists(st.floats(0.5, 2.0), min_size=4, max_size=30))
def test_more_verified_cases_or_a_lower_level_never_need_a_wider_range(errors: list[float]) -> None:
    cases = [
        Verification(gpu="T4", model="m", predicted_ms=error, measured_ms=1.0, measured_on="2025-01-01")
        for error in errors
    ]
    narrow, wide = verified_factor(cases, 0.8), verified_factor(cases, 0.9)
    assert narrow is not None and narrow >= 1.0
    assert wide is None or wide >= narrow


def test_the_command_says_it_in_a_sentence(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["verify", str(saved(tmp_path)), "--measured-ms", "1600"])
    assert done.exit_code == 0, done.output
    assert (
        "predicted 2,000 ms (1,500 to 2,500), measured 1,600 ms (as given): 25 % too long, inside its range"
        in done.output
    )


def test_a_gpu_is_calibrated_from_steps_on_the_command_line(tmp_path: Path) -> None:
    capture = tmp_path / "step.surfertrace"
    save(captured([("aten::mm", ((4096, 4096), (4096, 4096)))] * 10), capture)
    done = CliRunner().invoke(app, ["calibrate", "--from-steps", f"{capture}=700", "--on", "V100 PCIe 32GB"])
    assert done.exit_code == 0, done.output
    assert "arithmetic takes 3.00" in done.output
    without = CliRunner().invoke(app, ["calibrate", "--from-steps", str(capture)])
    assert without.exit_code == 2
    assert "ran on no GPU" in without.output

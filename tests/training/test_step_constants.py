"""Do a few measured steps move a card's rates to where those steps say they are, and no further than they say?"""

from __future__ import annotations

from pathlib import Path

import pytest

from surfer_lab.engine import EngineOptions, predict
from surfer_lab.errors import PredictionError
from surfer_lab.hardware import catalog
from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.hardware.configuration import FOLDER_VARIABLE
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.gpu import Gpu, RateOrigin
from surfer_lab.trace.model import Trace
from surfer_lab.training.evaluate.listed_ops import captured, recorded
from surfer_lab.training.step_constants import (
    MeasuredStep,
    captured_step,
    fit_step_constants,
    recorded_step,
    save_constants,
    with_constants,
)

PLAIN = EngineOptions(learned=False, convolution_tf32=False, matmul_tf32=False)


def product(size: int) -> Trace:
    return captured([("aten::mm", ((size, size), (size, size)))] * 20)


def addition(rows: int) -> Trace:
    return captured([("aten::add", ((rows, 1024), (rows, 1024)))] * 200)


def steps_of(true: Gpu) -> list[MeasuredStep]:
    """Products and additions, as a card of these rates would run them."""
    traces = {"a": product(4096), "b": product(3072), "c": addition(40_000), "d": addition(20_000)}
    return [
        captured_step(trace, float(predict(trace, [true], options=PLAIN).steps.step_ns[0]), name=name, options=PLAIN)
        for name, trace in traces.items()
    ]


def test_steps_of_both_kinds_tell_which_rate_is_off() -> None:
    known = load_catalog().find("V100 PCIe 32GB")
    found = fit_step_constants(steps_of(with_constants(known, 1.4, 0.9)), known)
    assert found.arithmetic == pytest.approx(1.4, rel=0.05)
    assert found.memory == pytest.approx(0.9, rel=0.05)
    assert max(map(abs, found.errors_after)) < 0.25 * max(map(abs, found.errors_before))


def test_steps_as_predicted_move_nothing() -> None:
    known = load_catalog().find("V100 PCIe 32GB")
    found = fit_step_constants(steps_of(known), known)
    assert found.arithmetic == pytest.approx(1.0, abs=0.01)
    assert found.memory == pytest.approx(1.0, abs=0.01)


def test_one_absurd_step_moves_a_rate_only_so_far() -> None:
    known = load_catalog().find("V100 PCIe 32GB")
    trace = product(4096)
    absurd = captured_step(trace, 1e12, name="a", options=PLAIN)
    assert 1.0 < fit_step_constants([absurd], known).arithmetic <= 3.0 + 1e-9


def test_a_recording_on_the_card_gives_its_kernels_time() -> None:
    known = load_catalog().find("V100 PCIe 32GB")
    ops = [("aten::mm", ((4096, 4096), (4096, 4096)))] * 5
    step = recorded_step(recorded(ops, [20e6] * 5, None), name="run", options=PLAIN)
    assert step.measured_ns == pytest.approx(100e6)
    assert fit_step_constants([step], known).arithmetic > 1.1


def test_a_recording_is_no_capture_and_no_steps_are_no_calibration() -> None:
    trace = recorded([("aten::mm", ((64, 64), (64, 64)))], [1e5], None)
    with pytest.raises(PredictionError, match="was recorded on a GPU"):
        captured_step(trace, 1.0, name="run")
    with pytest.raises(PredictionError, match="no measured step"):
        fit_step_constants([], load_catalog().find("T4"))


def test_the_constants_are_this_users_rates_from_then_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "configuration"))
    monkeypatch.setattr(catalog, "_SESSION", catalog._Session())
    known = load_catalog().find("V100 PCIe 32GB")
    found = fit_step_constants(steps_of(with_constants(known, 1.4, 0.9)), known)
    save_constants(found, known)
    now = load_catalog().find("V100 PCIe 32GB")
    assert now.sustained[RateClass.FP32].origin is RateOrigin.CALIBRATED
    assert now.sustained[RateClass.FP32].per_s == pytest.approx(
        known.sustained[RateClass.FP32].per_s / found.arithmetic
    )
    assert now.sustained_bandwidth.per_s == pytest.approx(known.sustained_bandwidth.per_s / found.memory)

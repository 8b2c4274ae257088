from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from surfer_lab.errors import GpuError
from surfer_lab.hardware.calibrations import CALIBRATIONS_FILE, Calibration, load_calibrations, save_calibrations
from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.gpu import RateOrigin

T4_FP16 = Calibration(gpu="T4", quantity="fp16", value_per_s=24e12, measured_on="2026-02-03", how="on this T4")
T4_COPY = dataclasses.replace(T4_FP16, quantity="bandwidth", value_per_s=240e9)


def test_a_calibration_wins_over_the_catalogue_and_says_so() -> None:
    published = load_catalog().find("T4")
    save_calibrations([T4_FP16, T4_COPY])
    gpu = load_catalog().find("T4")
    assert gpu.sustained[RateClass.FP16].per_s == 24e12
    assert gpu.sustained[RateClass.FP16].origin is RateOrigin.CALIBRATED
    assert "2026-02-03" in gpu.sustained[RateClass.FP16].source
    assert gpu.sustained_bandwidth.per_s == 240e9
    assert gpu.sustained[RateClass.FP32] == published.sustained[RateClass.FP32]
    assert gpu.peak_flop_per_s == published.peak_flop_per_s


def test_the_newest_figure_of_a_gpu_and_quantity_is_kept() -> None:
    save_calibrations([T4_FP16, T4_COPY])
    newer = dataclasses.replace(T4_FP16, value_per_s=25e12, measured_on="2026-03-04")
    save_calibrations([newer])
    assert set(load_calibrations()) == {newer, T4_COPY}


def test_no_file_is_no_calibration() -> None:
    assert load_calibrations() == ()


def test_a_calibration_of_a_card_outside_the_catalogue_serves_when_that_card_is_met() -> None:
    facts = {"sm_count": 76, "memory_bytes": 17_170_956_288, "compute_capability": "8.9"}
    name = "NVIDIA GeForce RTX 4090 Laptop GPU"
    save_calibrations([dataclasses.replace(T4_FP16, gpu=name)])
    assert load_catalog().find(name, **facts).sustained[RateClass.FP16].origin is RateOrigin.CALIBRATED


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "not valid JSON"),
        ("[]", "no list named calibrations"),
        (json.dumps({"calibrations": [1]}), "entry 1 is no object"),
        (
            json.dumps({"calibrations": [dataclasses.asdict(T4_FP16) | {"value_per_s": "fast"}]}),
            "value_per_s is 'fast'",
        ),
        (json.dumps({"calibrations": [dataclasses.asdict(T4_FP16) | {"value_per_s": -1}]}), "value_per_s is -1"),
        (json.dumps({"calibrations": [dataclasses.asdict(T4_FP16) | {"quantity": "fp3"}]}), "quantity is 'fp3'"),
        (json.dumps({"calibrations": [{"gpu": "T4"}]}), "entry 1: quantity is None"),
    ],
)
def test_a_broken_file_names_itself_and_leaves_the_catalogue_usable(own_folder: Path, content: str, said: str) -> None:
    own_folder.mkdir(parents=True)
    (own_folder / CALIBRATIONS_FILE).write_text(content, encoding="utf-8")
    with pytest.raises(GpuError) as caught:
        load_calibrations()
    assert said in str(caught.value) and CALIBRATIONS_FILE in str(caught.value)
    catalog = load_catalog()
    assert len(catalog) == 75
    assert said in catalog.warnings[0]

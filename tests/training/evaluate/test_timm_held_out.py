"""Are gains of compiling worked out per image, and rows without weights or ranges said to have none?"""

from __future__ import annotations

import math
from pathlib import Path
from typing import cast

import numpy as np
import pandas as pd
import pytest

from surfer_lab.engine.ranges import range_sets
from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.training.evaluate import timm_held_out
from surfer_lab.training.evaluate.protocol import Protocol
from surfer_lab.training.evaluate.timm_held_out import CONSTANT, GAIN, ROOFLINE, WAYS, held_out_timm
from surfer_lab.training.fit.efficiency_fit import Evidence
from surfer_lab.training.fit.step_protocols import StepRows


def rows() -> pd.DataFrame:
    """Two networks on one GPU: eager and compiled, the second compiled at twice the batch."""
    same = {"gpu": "RTX 4090", "mode": "infer", "precision": "amp", "layout": "NCHW", "torch": "2.9.1", "img_size": 224}
    return pd.DataFrame(
        [
            {**same, "model": "a", "arch": "a", "compile": "none", "batch": 8, "step_ms": 100.0},
            {**same, "model": "a", "arch": "a", "compile": "dynamo", "batch": 8, "step_ms": 50.0},
            {**same, "model": "b", "arch": "b", "compile": "none", "batch": 8, "step_ms": 100.0},
            {**same, "model": "b", "arch": "b", "compile": "dynamo", "batch": 16, "step_ms": 160.0},
        ]
    )


def steps() -> StepRows:
    """The two networks as two families; of the evidence nothing is asked."""
    return StepRows(rows=rows(), family=np.array(["a", "a", "b", "b"]), evidence=cast(Evidence, None))


def test_a_gain_is_the_eager_step_over_the_compiled_one_per_image() -> None:
    # measured 100/50 = 2 and 100/160 * 2 = 1.25; said 90/60 = 1.5 and 100/160 * 2 = 1.25; a constant is the other's
    found = timm_held_out._gain_cases(steps(), np.arange(4), np.array([90.0, 60.0, 100.0, 160.0]))
    by_method = {row[0]: row for row in timm_held_out._gain_table(found).rows}
    assert by_method[GAIN] == (GAIN, "RTX 4090", "2.9.1", 2, 12.5, 12.5, 25.0, None)
    assert by_method[CONSTANT] == (CONSTANT, "RTX 4090", "2.9.1", 2, 48.8, 48.8, 60.0, None)
    learned = [case for case in found if case.method == GAIN]
    assert [case.predicted_ms for case in learned] == pytest.approx([100 / 1.5, 160.0])
    assert [case.measured_ms for case in learned] == [50.0, 160.0]


def test_held_out_steps_have_the_ranges_of_steps_on_matrix_units_and_the_roofline_has_none() -> None:
    chosen, times = np.arange(4), np.array([90.0, 60.0, 100.0, math.nan])
    learned = timm_held_out._cases(rows(), WAYS["GPU"], times, ["AD102"] * 4, chosen)
    sets = range_sets()["sets"]
    narrow, wide = sets.get("AD102", sets["all"])["steps"]["matrix"]
    assert learned[0].high_ms == pytest.approx(90.0 * narrow)
    assert learned[0].columns["high90_ms"] == pytest.approx(90.0 * wide)
    assert learned[3].predicted_ms is None
    assert learned[3].reason
    assert timm_held_out._cases(rows(), ROOFLINE, times, ["AD102"] * 4, chosen)[0].high_ms is None


def test_without_weights_there_are_no_cases(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(timm_held_out, "has_efficiency_without", lambda part: False)
    assert held_out_timm(tmp_path, tmp_path, load_catalog(), protocol=Protocol.HELD_OUT) == ([], ())

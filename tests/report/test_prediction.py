"""What is refused before anything is worded."""

from __future__ import annotations

import pytest

from surfer_lab.errors import PredictionError
from surfer_lab.report.prediction import predict
from surfer_lab.trace import read_bytes
from tests.trace.written import Written, dumped


def test_a_recording_without_durations_is_refused_with_a_sentence():
    document = Written().steps(2).document()
    for event in document["traceEvents"]:
        if "dur" in event:
            event["dur"] = 0
    with pytest.raises(PredictionError, match="no time"):
        predict(read_bytes(dumped(document)), on="T4", origin="V100 SXM2 16GB")

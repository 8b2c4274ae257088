"""What is refused before anything is worded."""

from __future__ import annotations

import pytest

from surfer_lab.errors import PredictionError, TraceError
from surfer_lab.report.example import example_trace
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


def test_what_record_returns_can_be_predicted_as_it_is():
    class Held:
        trace = example_trace()

    assert predict(Held(), on="T4").on("T4").step_ns > 0


def test_what_is_no_recording_is_refused_with_what_is():
    with pytest.raises(TraceError, match="a Trace, or what"):
        predict(42)  # type: ignore[arg-type] # the mistake under test

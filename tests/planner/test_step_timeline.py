"""Is a step's timeline true to its events, at every zoom?"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surfer_lab.planner.step_timeline import Lane, LaneKind, merged, step_timeline
from surfer_lab.report.example import example_trace
from surfer_lab.report.prediction import predict
from surfer_lab.trace.reader import read

EVENTS = st.lists(st.tuples(st.floats(0, 100), st.floats(0.01, 10), st.integers(0, 3)), min_size=1, max_size=200)


def lane(events):
    """Events one behind the other: (pause before it, length, name)."""
    begin, ends, at = [], [], 0.0
    for pause, length, _ in events:
        begin.append(at + pause)
        at += pause + length
        ends.append(at)
    return Lane(
        kind=LaneKind.GPU,
        label="GPU",
        begin_ns=np.array(begin),
        end_ns=np.array(ends),
        name=np.array([name for *_, name in events]),
        names=("a", "b", "c", "d"),
    )


@given(EVENTS, st.integers(4, 50))
def test_merging_loses_no_event_and_no_time_and_stays_few(events, most):
    whole = lane(events)
    found = merged(whole, 0.0, float(whole.end_ns[-1]), most)
    assert found.count.sum() == len(events)
    assert found.taken_ns.sum() == pytest.approx((whole.end_ns - whole.begin_ns).sum())
    assert len(found.count) <= 2 * most + 1
    assert np.all(found.end_ns - found.begin_ns >= found.taken_ns - 1e-6)
    assert np.all(found.begin_ns[1:] >= found.end_ns[:-1] - 1e-6)


@given(EVENTS, st.floats(0, 0.9), st.floats(0.1, 1))
def test_a_window_shows_what_lies_in_it_cut_at_its_ends(events, start, share):
    whole = lane(events)
    end_ns = float(whole.end_ns[-1])
    window = start * end_ns, start * end_ns + share * (1 - start) * end_ns
    found = merged(whole, *window, 10_000)
    assert np.all(found.begin_ns >= window[0]) and np.all(found.end_ns <= window[1])
    inside = np.minimum(whole.end_ns, window[1]) - np.maximum(whole.begin_ns, window[0])
    assert found.taken_ns.sum() == pytest.approx(inside[inside > 0].sum(), abs=1e-6)


def test_a_stretch_is_named_by_what_takes_most_of_it():
    whole = lane([(0, 1, 0), (0, 1, 0), (0, 5, 2), (1000, 1, 1)])
    found = merged(whole, 0.0, 1009.0, 2)
    assert found.name.tolist() == [2, 1]
    assert found.count.tolist() == [3, 1]


def test_without_events_in_the_window_there_are_no_stretches():
    assert len(merged(lane([(50, 1, 0)]), 0.0, 10.0, 10).count) == 0


def test_a_capture_without_a_gpu_shows_the_step_that_is_predicted():
    prediction = predict(example_trace(), on=["L4", "H100 SXM5"])
    for row, gpu in enumerate(prediction.times.gpus):
        step = step_timeline(prediction.times, row)
        assert not step.is_measured
        assert [one.kind for one in step.lanes] == [LaneKind.HOST, LaneKind.GPU, LaneKind.IDLE]
        assert step.step_ns == pytest.approx(prediction.on(gpu.name).step_ns, rel=0.1)


def test_the_gpu_is_idle_where_none_of_its_streams_works(data_dir):
    trace = read(data_dir / "traces" / "kineto_v100_resnet50_num_workers_0.json.gz")
    prediction = predict(trace)
    step = step_timeline(prediction.times, 0)
    assert step.is_measured
    kinds = {one.kind for one in step.lanes}
    assert kinds == {LaneKind.HOST, LaneKind.INPUT, LaneKind.GPU, LaneKind.IDLE}
    busy = sum((one.end_ns - one.begin_ns).sum() for one in step.lanes if one.kind is LaneKind.GPU)
    idle = sum((one.end_ns - one.begin_ns).sum() for one in step.lanes if one.kind is LaneKind.IDLE)
    # one stream: what it does not fill is idle, but for pauses too short to be told
    assert busy + idle == pytest.approx(step.step_ns, rel=0.1)
    assert busy + idle <= step.step_ns * (1 + 1e-9)

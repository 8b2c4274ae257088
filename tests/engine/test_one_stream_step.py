"""Are the parts of a step on one stream the same, worked out at once or row by row?"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surfer_lab.engine.modelled_timeline import modelled_timeline
from surfer_lab.engine.one_stream_step import is_one_stream_step, parts_of_rows
from surfer_lab.engine.replay import replay
from surfer_lab.engine.step_times import parts_of_median_step, windows_of
from surfer_lab.engine.work_items import work_of
from tests.trace.graphs import Graph


@given(
    names=st.lists(st.sampled_from(["relu", "tanh", "_local_scalar_dense"]), min_size=1, max_size=30),
    durations=st.lists(st.floats(0, 1e5), min_size=90, max_size=90),
)
def test_parts_are_those_that_the_general_rule_gives(names: list[str], durations: list[float]) -> None:
    graph = Graph()
    graph.before("x", (64, 64))
    for number, name in enumerate(names):
        if name == "_local_scalar_dense":
            graph.op(name, ["x"])
        else:
            graph.op(name, ["x"], {f"y{number}": (64, 64)})
    trace = graph.trace()
    work = work_of(trace)
    timeline = modelled_timeline(trace, work.items)
    windows = windows_of(timeline.marks, np.ones(1, dtype=bool))
    times = np.array(durations[: 3 * len(work)]).reshape(len(work), 3)
    run = replay(timeline, np.zeros(len(work)), times)
    assert is_one_stream_step(timeline, windows, work.is_communication)
    together = parts_of_rows(run, windows, slice(1, 4))
    for row in range(3):
        alone = parts_of_median_step(run, timeline, windows, work.is_communication, row + 1)
        assert together[row] == pytest.approx(alone, abs=1e-3)

"""Is a Trace that contradicts itself refused, and the broken rule named?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from surfer_lab.errors import TraceError
from surfer_lab.trace import check, read_bytes, violations
from surfer_lab.trace.columns import Interned
from tests.trace.written import Written


@pytest.fixture(scope="module")
def trace():
    return read_bytes(Written().steps(2).text())


def broken(trace, table, **columns):
    return replace(trace, **{table: replace(getattr(trace, table), **columns)})


def test_a_trace_that_was_read_breaks_no_rule(trace):
    assert list(violations(trace)) == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda t: replace(t, wall_ns=10), "outside the wall time"),
        (lambda t: replace(t, wall_ns=-1), "wall time is -1"),
        (lambda t: broken(t, "kernels", duration_ns=-t.kernels.duration_ns), "negative durations"),
        (lambda t: broken(t, "kernels", start_ns=t.kernels.start_ns[::-1]), "not in order"),
        (lambda t: broken(t, "kernels", op=np.full(len(t.kernels), 10_000, np.int32)), "points outside ops"),
        (lambda t: broken(t, "kernels", host_call=np.full(len(t.kernels), -2, np.int32)), "points outside host_calls"),
        (lambda t: broken(t, "kernels", kind=np.full(len(t.kernels), 9, np.int8)), "unknown kinds"),
        (lambda t: broken(t, "kernels", stream=t.kernels.stream[:-1]), "rows"),
        (lambda t: broken(t, "kernels", grid=t.kernels.grid[:, 0]), "dimensions"),
        (lambda t: broken(t, "kernels", grid=t.kernels.grid[:, :2]), "directions"),
        (lambda t: broken(t, "ops", name=Interned(t.ops.name.codes, ())), "codes without a value"),
        (lambda t: broken(t, "ops", parent=np.arange(len(t.ops), dtype=np.int32)), "before its parent"),
        (lambda t: broken(t, "host_calls", waits_for=np.zeros(len(t.host_calls), np.int32)), "records no event"),
        (lambda t: broken(t, "steps", end_ns=t.steps.start_ns - 1), "steps end before they start"),
        (lambda t: broken(t, "memory", time_ns=t.memory.time_ns + 10**12), "memory events"),
        (lambda t: replace(t, environment={"HOME": "x"}), "environment holds 'HOME'"),
        (lambda t: replace(t, batch_size=0), "batch size is 0"),
    ],
)
def test_a_broken_rule_is_named(trace, change, says):
    with pytest.raises(TraceError, match="contradicts itself") as caught:
        check(change(trace))
    assert says in str(caught.value) or says in " ".join(violations(change(trace)))

"""Do the what-ifs count a step's memory as the rest of a view does?"""

from __future__ import annotations

import pytest

from surfer_lab.engine.precision import Precision
from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.planner import what_ifs
from surfer_lab.planner.memory_need import memory_needs
from surfer_lab.planner.what_ifs import alternatives
from tests.trace.graphs import perceptron

H100 = load_catalog().find("H100 SXM5")


@pytest.mark.parametrize("many_ops", [what_ifs._MANY_OPS, 0])
def test_one_step_has_one_memory(many_ops: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the allocator replayed for every precision, and for the step as asked about alone."""
    monkeypatch.setattr(what_ifs, "_MANY_OPS", many_ops)
    step = perceptron(batch=1 << 16, width=4096)
    (need,) = memory_needs(step, [H100])
    assert need is not None
    rows = {(row.precision, row.compile.value): row for row in alternatives(step, H100)}
    same = [row for (precision, _), row in rows.items() if precision in (Precision.AS_RUN, Precision.FP32)]
    assert len(same) >= 3
    assert {(row.memory_bytes, row.fit) for row in same} == {(need.likely_bytes, need.fit)}
    halved = rows[Precision.BF16, "off"].memory_bytes
    assert halved is not None and halved < 0.9 * need.likely_bytes

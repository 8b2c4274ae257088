"""What a person is shown: sentences that are true of the numbers, rows in order, nothing lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surfer_lab.engine.estimate import Limit
from surfer_lab.trace.model import CellRecord, TraceOrigin, TraceWarning
from surfer_lab.view.model import PartitionFigure, RangeFigure, Role, ScatterFigure, Verdict
from tests.planner.predictions import MS, gpu, trace
from tests.view.views import CHEAP, FAST, V100, view

PLAIN = CellRecord(wall_ns=60 * 10**9, step_count=500, profiled_step_count=5, unprofiled_step_ns=100 * MS)


def said(shown, role):
    return next((sentence.text for sentence in shown.sentences if sentence.role is role), None)


def test_an_imported_trace_is_told_as_recorded_under_the_profiler_with_the_busy_bound_beside_it():
    shown = view()
    assert said(shown, Role.STEP) == (
        "Training step, batch 32: 120 ms on V100 SXM2 16GB as recorded under the profiler; the GPU is busy for 90.0 ms "
        "of it (75 %)."
    )
    bound = said(shown, Role.BOUND)
    assert bound.startswith("Launch bound under its profiler")
    assert "between 90.0 ms (GPU busy alone) and 120 ms" in bound
    assert "under its profiler" in shown.rows[0].bound
    assert "launches (larger batch" not in said(shown, Role.ADVICE)


def test_a_live_recording_is_told_as_measured_on_your_gpu():
    shown = view(trace(cell=PLAIN))
    assert "on your V100 SXM2 16GB (measured, median of 495 steps outside the profiler)" in said(shown, Role.STEP)
    assert said(shown, Role.BOUND).startswith("Launch bound: ")
    assert "saves up to 30.0 ms (25 %) a step" in said(shown, Role.ADVICE)


def test_the_fastest_and_the_cheapest_are_told_with_range_money_and_direction():
    shown = view()
    # 90 / 4 + 30 = 52.5 ms; 0.9 as fast: 130 ms at $0.50 an hour
    assert said(shown, Role.FASTEST) == "Fast 80GB, 52.5 ms (47.2 to 57.8 ms) a step, 2.29x faster than here."
    assert said(shown, Role.CHEAPEST) == (
        "Cheap 24GB, $0.0181 per 1,000 steps at $0.500 an hour, 130 ms (117 to 143 ms) a step."
    )


def test_a_tie_is_told_as_one():
    shown = view(speeds=((V100, 1.0), (FAST, 4.0), (gpu("Other"), 4.01)))
    assert "2 GPUs are within 2 % of it" in said(shown, Role.FASTEST)


def test_the_whole_cell_is_told_here_and_there():
    assert said(view(trace(cell=PLAIN)), Role.CELL) == (
        "it took 60.0 s here; on Fast 80GB it would have taken 36.2 s and cost $0.0403; on Cheap 24GB it would have "
        "taken 75.0 s and cost $0.0104 (500 steps; 10.0 s of it is not in its steps and taken to stay)."
    )


def test_without_a_gpu_here_the_cpu_is_named_and_the_bound_is_that_of_the_gpu_shown():
    shown = view(trace(origin=TraceOrigin.CPU_RUN, device=None, cell=PLAIN), origin=None)
    assert said(shown, Role.STEP).endswith(
        "recorded without a GPU: it takes 100 ms on that CPU, and predicted from its operations, 52.5 ms (47.2 to 57.8 "
        "ms) on Fast 80GB, the fastest of 3 GPUs."
    )
    assert said(shown, Role.BOUND).startswith("Launch bound on Fast 80GB")
    assert "faster than" not in said(shown, Role.FASTEST)
    assert "on the CPU" in said(shown, Role.CELL)
    assert shown.here is not None
    assert not shown.here.is_gpu
    assert {row.here.text for row in shown.operations} == {"–"}


def test_rows_are_in_order_of_step_time_and_the_origin_is_marked():
    shown = view()
    assert [row.gpu for row in shown.rows] == ["Fast 80GB", "V100 SXM2 16GB", "Cheap 24GB"]
    assert [row.is_origin for row in shown.rows] == [False, True, False]


def test_memory_is_judged_for_each_card():
    shown = view(trace(peak_bytes=int(20e9)))
    assert [row.verdict for row in shown.rows] == [Verdict.FITS, Verdict.DOES_NOT_FIT, Verdict.FITS]
    assert said(shown, Role.MEMORY) == "20 GB needed (measured); fits on 2 of 3 GPUs."


def test_a_gpu_without_a_price_is_shown_without_money():
    shown = view(speeds=((V100, 1.0), (gpu("Rare"), 3.0)))
    rare = shown.rows[0]
    assert rare.usd_per_hour.text == rare.usd_per_1000_steps.text == "–"
    assert "1 of 2 GPUs has no known offer" in shown.price_note


def test_beyond_ten_operations_the_rest_is_one_row_and_shares_sum_to_one():
    from surfer_lab.trace.tables import Phase

    kernels = [(f"aten::op{index}", None, Phase.FORWARD, "elementwise", "fp32", index + 1) for index in range(15)]
    shown = view(trace(kernels=kernels), kernels=kernels)
    assert len(shown.operations) == 11
    assert shown.operations[-1].name == "all other operations (5 kinds)"
    assert sum(row.share for row in shown.operations) == pytest.approx(1, abs=0.01)
    assert shown.title == "Forward pass, batch 32"


def test_an_operation_that_is_not_scaled_says_why():
    shown = view(unscaled="kernels of a CUDA graph")
    conv = next(row for row in shown.operations if row.name == "conv2d")
    assert conv.note == "not scaled: kernels of a CUDA graph"
    assert "not scaled" in shown.rows[0].methods_text


def test_what_the_trace_lacks_is_told_once():
    warning = TraceWarning(seen="12 kernels have no launch", consequence="they are not replayed")
    shown = view(trace(warnings=(warning, warning)))
    assert shown.warnings == ["12 kernels have no launch: they are not replayed."]


def test_every_figure_has_its_table():
    shown = view()
    assert [type(figure) for figure in shown.figures] == [PartitionFigure, RangeFigure, ScatterFigure]
    for figure in shown.figures:
        assert figure.table.rows
        assert all(len(row) == len(figure.table.columns) for row in figure.table.rows)


def test_the_parts_of_every_step_sum_to_it():
    for row in view().rows:
        assert sum(row.parts_ms) == pytest.approx(row.step.value, rel=1e-4)


def test_a_gpu_named_alone_is_shown_first():
    assert view(focus="Cheap 24GB").focus == "Cheap 24GB"
    assert view().focus == "Fast 80GB"


HOSTILE = st.text(max_size=200)


@given(
    name=HOSTILE,
    device=HOSTILE,
    source=HOSTILE,
    waits=st.tuples(*[st.floats(0, 3)] * 4),
    limit=st.sampled_from(list(Limit)),
    batch_size=st.none() | st.integers(1, 10**6),
)
def test_any_recording_becomes_a_view(name, device, source, waits, limit, batch_size):
    shown = view(
        trace(device=device, source=source, warnings=(TraceWarning(seen=source, consequence=name),)),
        name=name,
        waits=waits,
        limit=limit,
        batch_size=batch_size,
    )
    assert said(shown, Role.STEP)
    assert said(shown, Role.BOUND)
    assert len(shown.rows) == 3
    assert CHEAP.name in {row.gpu for row in shown.rows}


def test_after_a_loop_what_the_cell_took_and_would_have_taken_comes_right_after_the_step():
    assert [sentence.role for sentence in view(trace(cell=PLAIN)).sentences][:2] == [Role.STEP, Role.CELL]


def test_where_the_step_fits_nowhere_the_gpu_looked_at_is_on_the_short_list_all_the_same():
    speeds = tuple((gpu(f"Card {place}", memory_gb=1, year=2010 + place), 1.0 + place) for place in range(20))
    shown = view(trace(peak_bytes=int(20e9)), speeds=((V100, 1.0), *speeds))
    assert {row.verdict for row in shown.rows} == {Verdict.DOES_NOT_FIT}
    assert shown.focus in shown.shortlist

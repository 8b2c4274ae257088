"""Communication of recorded runs on several GPUs: real traces, and what their figures must obey."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from surfer_lab.engine.compute_timeline import compute_timeline
from surfer_lab.engine.predict import predict
from surfer_lab.errors import PredictionError
from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.planner.scaling.recorded import recorded_communication, recorded_ranks
from surfer_lab.trace.reader import read
from surfer_lab.trace.tables import KernelKind
from surfer_lab.view.scaling_view import communication_warnings

WITH_SIZES = "nccl_parser_config__nccl_data.json.gz"
RANKS = ("timeline_analysis__sampled_rank-0.json.gz", "trace_filter__sampled_rank-1.json.gz")


@pytest.mark.parametrize("name", [WITH_SIZES, *RANKS])
def test_parts_of_a_recorded_step_fit_into_it(traces_dir: Path, name: str):
    found = recorded_communication(read(traces_dir / name))
    assert 0 <= found.exposed_ns <= found.communication_ns <= found.step_ns
    assert found.compute_ns + found.exposed_ns <= found.step_ns
    assert 0 <= found.hidden_fraction <= 1
    assert sum(row.waiting_ns for row in found.rows) <= sum(row.total_ns for row in found.rows)


def test_sizes_and_groups_give_a_bus_bandwidth(traces_dir: Path):
    found = recorded_communication(read(traces_dir / WITH_SIZES))
    first = found.rows[0]
    assert (first.name, first.count, first.group_size) == ("allreduce", 15, 2)
    assert first.bus_bytes_per_s is not None
    assert 1e9 < first.bus_bytes_per_s < 100e9


def test_of_two_ranks_the_one_that_waits_least_holds_the_other_up(traces_dir: Path):
    rows = recorded_ranks([read(traces_dir / name) for name in RANKS])
    straggler = next(row for row in rows if row.is_straggler)
    assert straggler.waiting_ns == min(row.waiting_ns for row in rows)
    assert [row.rank for row in rows] == [0, 1]


def test_traces_of_other_runs_are_no_ranks_of_one(traces_dir: Path):
    with pytest.raises(PredictionError, match="not the same"):
        recorded_ranks([read(traces_dir / WITH_SIZES), read(traces_dir / RANKS[0])])


def test_a_run_on_one_gpu_has_no_communication(traces_dir: Path):
    trace = read(traces_dir / "ns_resolution_trace__rank-0.json.gz")
    with pytest.raises(PredictionError, match="one GPU"):
        recorded_communication(trace)
    assert communication_warnings(trace) == []


def test_collectives_are_taken_out_before_compute_is_put_on_another_gpu(traces_dir: Path):
    trace = read(traces_dir / WITH_SIZES)
    catalog = load_catalog()
    times = predict(trace, [catalog.find("H100 SXM5")], origin=catalog.find("A100 SXM4 40GB"))
    line = compute_timeline(times, 0)
    kinds = trace.kernels.kind[times.items.kernel[line.item]]
    assert not np.any(kinds == KernelKind.COMMUNICATION)
    assert line.step_ns == pytest.approx(times.steps.step_ns[0] - times.steps.communication_ns[0])
    assert "2 GPUs" in communication_warnings(trace)[0]

"""Is a predicted job as long as its samples take at the predicted throughput, and a given one as long as it is said?"""

from __future__ import annotations

from pathlib import Path

import pytest

from surfer_lab import report
from surfer_lab.errors import SurferError
from surfer_lab.hardware.machines import load_machines
from surfer_lab.planner.schedule import job_specs
from surfer_lab.report.example import EXAMPLE_FILE
from surfer_lab.workloads.job_times import timed_jobs

HOUR = 3600.0


def machines(*names: tuple[str, int]):
    known = load_machines()
    return [(known.find(name), count) for name, count in names]


def timed(row: dict[str, object], *names: tuple[str, int], folder: Path | None = None):
    specs = job_specs({"job": [{"name": "a", **row}]}, where="jobs")
    jobs, notes = timed_jobs(specs, machines(*names), folder=folder)
    return jobs[0], notes


def by_count(job):
    return {mode.gpu_count: mode for mode in job.modes}


def test_given_hours_hold_on_every_machine_of_that_gpu_as_far_as_it_has_gpus():
    job, notes = timed(
        {"hours": {"1": 4, "4": 1.5, "16": 1}, "memory_gb": {"1": 20, "4": 6}},
        ("DGX-1", 8), ("p3.16xlarge", 2),
    )  # fmt: skip
    assert [(mode.machine, mode.gpu_count, mode.duration_s / HOUR, mode.memory_bytes) for mode in job.modes] == [
        ("DGX-1 V100", 1, 4.0, 20e9), ("DGX-1 V100", 4, 1.5, 6e9), ("p3.16xlarge", 1, 4.0, 20e9),
    ]  # fmt: skip
    assert notes == ()


def test_hours_by_machine_are_found_by_any_of_its_names():
    hours = {"dgx a100 80gb": {"1": 2}, "DGX-1": {"1": 5}, "C4140": {"1": 6}}
    job, _ = timed({"hours_on": hours}, ("DGX A100", 8), ("DGX-1 V100", 8))
    assert [(mode.machine, mode.duration_s / HOUR) for mode in job.modes] == [("DGX A100", 2.0), ("DGX-1 V100", 5.0)]


def test_counts_keep_only_those_named():
    job, _ = timed({"hours": {"1": 4, "2": 3, "4": 2}, "counts": [2, 4]}, ("DGX-1", 8))
    assert [mode.gpu_count for mode in job.modes] == [2, 4]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"hours": {"1": 4}}, "job 'a': its hours are said once, for A100 SXM4 80GB and V100 SXM2 16GB alike"),
        ({"hours_on": {"DGX Z": {"1": 4}}}, "no machine is called 'DGX Z'"),
        ({"hours_on": {"DGX A100": {"16": 4}}}, "its times are for 16 GPUs of these machines, which have 8"),
        ({"trace": "nowhere.json", "steps": 3}, "there is no trace"),
        ({"model": "surfer_lab.workloads:absent", "steps": 3}, "absent"),
    ],
)
def test_what_cannot_be_timed_names_the_job(row, said):
    with pytest.raises(SurferError) as raised:
        timed(row, ("DGX A100", 8), ("DGX-1 V100", 8))
    assert said in str(raised.value)
    assert "'a'" in str(raised.value)


@pytest.fixture(scope="module")
def weak():
    """LeNet from shapes, on two nodes."""
    pytest.importorskip("torch")
    return timed({"model": "surfer_lab.workloads:lenet", "batch_size": 64, "samples": 6_400_000}, ("DGX A100", 16))


def test_each_number_of_gpus_that_fills_nodes_is_a_mode(weak):
    assert [mode.gpu_count for mode in weak[0].modes] == [1, 2, 4, 8, 16]


def test_steps_are_shared_out(weak):
    times = by_count(weak[0])
    step_s = times[1].duration_s / 100_000
    assert 1e-5 < step_s < 0.1
    for count, mode in times.items():
        assert mode.low_s < mode.duration_s < mode.high_s
        # never faster than in proportion, and a step grows by its communication only
        assert mode.duration_s * count >= times[1].duration_s * 0.999
        assert mode.memory_bytes


def test_steps_of_one_gpus_batch_are_as_many_samples(weak):
    job, _ = timed({"model": "surfer_lab.workloads:lenet", "batch_size": 64, "steps": 100_000}, ("DGX A100", 8))
    assert by_count(job)[8].duration_s == pytest.approx(by_count(weak[0])[8].duration_s)


def test_strong_scaling_takes_all_steps_at_a_smaller_batch(weak):
    job, _ = timed(
        {"model": "surfer_lab.workloads:lenet", "batch_size": 64, "steps": 100_000, "scaling": "strong"},
        ("DGX A100", 8),
    )
    assert by_count(job)[1].duration_s == pytest.approx(by_count(weak[0])[1].duration_s)
    assert by_count(job)[8].duration_s > by_count(weak[0])[8].duration_s


def test_what_the_times_leave_out_is_a_note(weak):
    assert any("loading data, checkpoints and evaluation are not in them" in note for note in weak[1])


def test_memory_that_is_given_is_taken():
    row = {"model": "surfer_lab.workloads:lenet", "batch_size": 64, "steps": 10, "memory_gb": 3, "counts": [2]}
    job, _ = timed(row, ("DGX A100", 8))
    assert by_count(job)[2].memory_bytes == 3e9


def test_a_trace_is_looked_for_beside_the_file_and_predicted():
    folder = Path(report.__file__).parent / "examples"
    row = {"trace": EXAMPLE_FILE, "batch_size": 32, "epochs": 1, "dataset_size": 3200, "counts": [1, 2]}
    job, _ = timed(row, ("DGX A100", 8), folder=folder)
    times = by_count(job)
    assert times[1].duration_s == pytest.approx(100 * 0.0295, rel=0.3)
    assert times[1].duration_s / 2 < times[2].duration_s < times[1].duration_s

"""Does the engine hold on real profiler traces, V100 to MI300X?"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from surfer_lab.engine import op_totals, predict
from surfer_lab.engine.estimate import Method, PredictionSet
from surfer_lab.engine.recorded_timeline import recorded_timeline
from surfer_lab.engine.replay import replay
from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.hardware.gpu import Gpu
from surfer_lab.trace import read
from surfer_lab.trace.model import Trace
from surfer_lab.trace.tables import HostCallKind

F64 = NDArray[np.float64]
RESNET = {workers: f"kineto_v100_resnet50_num_workers_{workers}.json.gz" for workers in (0, 4)}
NAMED_GPUS = ("T4", "A100 SXM4 80GB", "RTX 2080 Ti", "H100 SXM5")


@cache
def trace_at(path: Path) -> Trace:
    return read(path)


def all_paths(traces_dir: Path) -> list[Path]:
    return sorted(traces_dir.glob("*.json.gz"))


def origin_of(trace: Trace) -> Gpu:
    catalog = load_catalog()
    if trace.device is None or trace.device.name is None:
        return catalog.find("A100 SXM4 40GB")
    if trace.device.name == "AMD Radeon Graphics":
        return catalog.find("MI250 (per GCD)")
    return catalog.find_device(trace.device)


def withheld(trace: Trace) -> Trace:
    """The trace with the starts of all kernels that have a launch of their own thrown away, their order kept."""
    kernels, calls = trace.kernels, trace.host_calls
    launched = kernels.host_call >= 0
    own = launched.copy()
    own[launched] = calls.kind[kernels.host_call[launched]] != HostCallKind.GRAPH_LAUNCH
    if not own.all():
        return trace  # kernels without a launch keep their gap to the one before, whose start it is measured from
    return replace(trace, kernels=replace(kernels, start_ns=np.arange(len(kernels), dtype=np.int64)))


def test_a_replay_gives_the_recorded_span_within_two_percent_for_every_trace(traces_dir: Path) -> None:
    errors = {}
    for path in all_paths(traces_dir):
        trace = trace_at(path)
        kernels = trace.kernels
        ends = kernels.start_ns + kernels.duration_ns
        recorded = float(ends.max() - kernels.start_ns.min())
        durations = kernels.duration_ns.astype(np.float64)
        run = replay(recorded_timeline(withheld(trace)), durations, durations[:, None])
        errors[path.name] = float(run.end_ns[:, 1].max() - run.start_ns[:, 1].min()) / recorded - 1
    print({name: f"{error:+.2%}" for name, error in errors.items()})
    assert len(errors) == 24
    assert {name: error for name, error in errors.items() if abs(error) > 0.02} == {}


def test_every_trace_is_predicted_and_its_parts_sum(traces_dir: Path) -> None:
    catalog = load_catalog()
    gpus = [catalog.find(name) for name in (*NAMED_GPUS, "MI300X")]
    for path in all_paths(traces_dir):
        trace = trace_at(path)
        said = predict(trace, gpus, origin=origin_of(trace))
        steps = said.steps
        total = (
            steps.gpu_busy_ns + steps.launch_bound_ns + steps.input_wait_ns + steps.synchronization_ns
            + steps.communication_ns
        )  # fmt: skip
        assert total == pytest.approx(steps.step_ns), path.name
        assert said.measured is not None
        assert said.measured.step_ns[0] == pytest.approx(trace.step_ns), path.name
        assert (np.isfinite(said.duration_ns) & (said.duration_ns >= 0)).all(), path.name
        assert (said.low_ns <= said.duration_ns).all()
        assert (said.duration_ns <= said.high_ns).all()
        for row in range(len(gpus)):
            assert op_totals(said, row).busy_ns.sum() == pytest.approx(float(steps.gpu_busy_ns[row])), path.name


def test_on_its_own_gpu_every_trace_takes_what_it_took(traces_dir: Path) -> None:
    for path in all_paths(traces_dir):
        trace = trace_at(path)
        origin = origin_of(trace)
        said = predict(trace, [origin], origin=origin)
        assert said.duration_ns[0].tolist() == trace.kernels.duration_ns.tolist(), path.name
        assert said.steps.step_ns[0] == pytest.approx(trace.step_ns), path.name


def resnet(traces_dir: Path, workers: int, *names: str) -> PredictionSet:
    catalog = load_catalog()
    trace = trace_at(traces_dir / RESNET[workers])
    return predict(trace, [catalog.find(name) for name in names], origin=origin_of(trace))


def test_resnet_with_four_workers_is_launch_bound_and_stays_so_on_faster_gpus(traces_dir: Path) -> None:
    said = resnet(traces_dir, 4, *NAMED_GPUS)
    own, elsewhere = said.measured, said.steps
    assert own is not None
    assert own.step_ns[0] == pytest.approx(126.5e6, rel=0.01)
    assert own.gpu_busy_ns[0] == pytest.approx(102e6, rel=0.01)  # 99 in kernels, 3 in copying the batch
    waits = {"launch": own.launch_bound_ns[0], "input": own.input_wait_ns[0], "sync": own.synchronization_ns[0]}
    assert max(waits, key=lambda name: float(waits[name])) == "launch"
    t4, a100, _, h100 = range(4)
    assert elsewhere.step_ns[[a100, h100]] == pytest.approx([126.5e6, 126.5e6], rel=0.02)
    assert (elsewhere.launch_bound_ns[[a100, h100]] > 0.5 * elsewhere.step_ns[[a100, h100]]).all()
    assert elsewhere.gpu_busy_ns[t4] > 0.95 * elsewhere.step_ns[t4]


def test_resnet_that_loads_in_the_main_process_is_input_bound_and_stays_so_on_faster_gpus(traces_dir: Path) -> None:
    said = resnet(traces_dir, 0, *NAMED_GPUS)
    own, elsewhere = said.measured, said.steps
    assert own is not None
    assert own.step_ns[0] == pytest.approx(176.3e6, rel=0.01)
    assert own.input_wait_ns[0] > own.launch_bound_ns[0] > own.synchronization_ns[0]
    faster = [1, 3]
    assert elsewhere.step_ns[faster] == pytest.approx([176e6, 176e6], rel=0.02)
    assert (elsewhere.input_wait_ns[faster] > 0.35 * elsewhere.step_ns[faster]).all()


@pytest.mark.parametrize("workers", [0, 4])
def test_resnet_has_next_to_nothing_unscaled_or_generic(traces_dir: Path, workers: int) -> None:
    shares = resnet(traces_dir, workers, *NAMED_GPUS).steps.share_by_method
    assert (shares[:, Method.UNSCALED] <= 0.02).all()
    assert (shares[:, Method.FALLBACK] <= 0.10).all()


@pytest.mark.parametrize("workers", [0, 4])
def test_resnet_from_v100_to_a100_with_tf32_is_near_the_published_ratio(traces_dir: Path, workers: int) -> None:
    published = 938 / 367  # images/s of one GPU, NVIDIA DeepLearningExamples, ResNet-50 v1.5: A100 TF32, V100 FP32
    said = resnet(traces_dir, workers, "A100 SXM4 80GB")
    assert said.measured is not None
    predicted = float(said.measured.gpu_busy_ns[0] / said.steps.gpu_busy_ns[0])
    print(f"{workers} workers: {predicted:.2f} times, published {published:.2f}: {predicted / published - 1:+.1%}")
    assert predicted == pytest.approx(published, rel=0.20)

"""Windows of the profiler on a program with many steps: which are profiled, which are timed, what gives way.

The profiler runs with CPU activities here, so that the windowing is tested on any machine; `gpu` tests use the device.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.profiler import ProfilerActivity

from surfer_lab.capture import record
from surfer_lab.capture.gpu_run import PROFILED_STEPS, WARM_UP_STEPS, GpuRun
from surfer_lab.capture.observe import Observer
from surfer_lab.errors import CaptureError, TraceError
from surfer_lab.trace.model import Trace
from surfer_lab.trace.tables import StepSource, StepTable
from tests.capture.fingerprints import digest, seed_all, surroundings
from tests.capture.programs import mlp, train


class _HostClock:
    """Stands in for CUDA events."""

    def __init__(self) -> None:
        self.ticks: list[int] = []
        self.peak = (100, 200)

    def tick(self) -> None:
        self.ticks.append(time.perf_counter_ns())

    def reset(self) -> None:
        self.ticks = []

    def ends_ns(self) -> list[int] | None:
        return self.ticks or None

    def synchronize(self) -> None:
        pass

    def peak_bytes(self) -> tuple[int, int]:
        return self.peak


class _Reader:
    """Keeps what was exported, and gives a trace with the marks found in it."""

    def __init__(self, empty: Trace) -> None:
        self.empty = empty
        self.events: list[dict[str, Any]] = []

    def __call__(self, path: Path) -> Trace:
        from dataclasses import replace

        self.events = json.loads(path.read_text())["traceEvents"]
        marks = sorted(e["ts"] for e in self.events if str(e.get("name", "")).startswith("ProfilerStep#"))
        if not self.names("aten::"):
            raise TraceError("no GPU work")
        count = len(marks)
        steps = StepTable(
            number=np.arange(count, dtype=np.int64), start_ns=np.arange(count, dtype=np.int64) * 10,
            end_ns=np.arange(1, count + 1, dtype=np.int64) * 10, complete=np.ones(count, dtype=np.bool_),
        )  # fmt: skip
        return replace(self.empty, steps=steps, step_source=StepSource.PROFILER_STEP)

    def names(self, prefix: str) -> list[str]:
        return [e["name"] for e in self.events if str(e.get("name", "")).startswith(prefix)]


@pytest.fixture
def reader() -> _Reader:
    with record() as r:
        torch.ones(2) + 1
    return _Reader(r.trace)


def _observer(reader: _Reader, clock: _HostClock | None = None) -> Observer:
    run = GpuRun(
        clock=time.perf_counter_ns, activities=[ProfilerActivity.CPU], read=reader, step_clock=clock or _HostClock()
    )
    return Observer(recorder=run)


def _program(steps: int) -> Callable[[], Any]:
    def program() -> Any:
        model = mlp()
        optimizer = torch.optim.AdamW(model.parameters())
        train(model, optimizer, torch.randn(8, 16), steps)
        return model, optimizer

    return program


def test_a_few_steps_after_warm_up_are_profiled_and_the_rest_runs_plainly(reader: _Reader) -> None:
    with _observer(reader) as o:
        _program(12)()
    trace = o.result().trace
    assert trace.step_source is StepSource.OPTIMIZER
    assert len(reader.names("ProfilerStep#")) == PROFILED_STEPS and trace.steps.complete.all()
    assert reader.names("aten::addmm") == ["aten::addmm"] * 2 * PROFILED_STEPS
    assert trace.cell is not None
    assert trace.cell.step_count == 12 and trace.cell.profiled_step_count == PROFILED_STEPS
    assert trace.cell.unprofiled_step_ns is not None and trace.cell.unprofiled_step_ns > 0


def test_shapes_stacks_and_memory_are_recorded(reader: _Reader) -> None:
    with _observer(reader):
        _program(8)()
    (product, *_) = [e for e in reader.events if e.get("name") == "aten::addmm"]
    assert product["args"]["Input Dims"][1] == [8, 16]
    assert any(e.get("cat") == "python_function" for e in reader.events)
    assert any(e.get("name") == "[memory]" for e in reader.events)


def test_a_single_step_is_profiled_from_its_module_call_on_and_called_cold(reader: _Reader) -> None:
    with _observer(reader) as o:
        torch.ones(3).exp()
        _program(1)()
    trace = o.result().trace
    assert len(trace.steps) == 1 and trace.cell is not None and trace.cell.profiled_step_count == 1
    assert "single step" in trace.warnings[-1].seen and "loop" in trace.warnings[-1].consequence
    assert "aten::exp" not in reader.names("aten::")


def test_a_loop_that_ends_inside_the_window_gives_its_complete_steps(reader: _Reader) -> None:
    with _observer(reader) as o:
        model, _ = _program(WARM_UP_STEPS + 2)()
        model(torch.ones(8, 16))  # begins another step
    trace = o.result().trace
    assert trace.steps.complete.sum() == 2 and trace.cell is not None and trace.cell.profiled_step_count == 2


def test_inference_is_profiled_call_by_call(reader: _Reader) -> None:
    model = mlp().eval()
    with _observer(reader) as o, torch.no_grad():
        for _ in range(9):
            model(torch.ones(4, 16))
    trace = o.result().trace
    assert trace.step_source is StepSource.MODULE_CALL and trace.cell is not None and trace.cell.step_count == 9
    assert reader.names("aten::addmm") == ["aten::addmm"] * 2 * PROFILED_STEPS


def test_accumulation_is_not_taken_for_inference(reader: _Reader) -> None:
    with _observer(reader) as o:
        model = mlp()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for micro in range(40):
            model(torch.randn(4, 16)).sum().backward()
            if micro % 4 == 3:
                optimizer.step()
    trace = o.result().trace
    assert trace.step_source is StepSource.OPTIMIZER and trace.cell is not None and trace.cell.step_count == 10
    assert reader.names("aten::addmm") == ["aten::addmm"] * 2 * 4 * PROFILED_STEPS


def test_marks_overrule_the_optimizer(reader: _Reader) -> None:
    with _observer(reader) as o:
        model = mlp()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for _ in range(8):
            train(model, optimizer, torch.randn(8, 16), 2)
            o.step()
    trace = o.result().trace
    assert trace.step_source is StepSource.MARKED and trace.cell is not None and trace.cell.step_count == 8
    assert reader.names("aten::addmm") == ["aten::addmm"] * 2 * 2 * PROFILED_STEPS


def test_a_profiler_of_the_users_comes_first(reader: _Reader) -> None:
    with _observer(reader) as o:
        model = mlp()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        with torch.profiler.profile(activities=[ProfilerActivity.CPU]) as profile:
            train(model, optimizer, torch.randn(8, 16), 8)
    counts = {event.key: event.count for event in profile.key_averages()}
    assert counts["aten::addmm"] == 16
    with pytest.raises(CaptureError, match="profiler of its own"):
        o.result()


def test_steps_before_a_profiler_of_the_users_are_kept(reader: _Reader) -> None:
    with _observer(reader) as o:
        model = mlp()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        train(model, optimizer, torch.randn(8, 16), 8)
        with torch.autograd.profiler.profile() as profile:
            train(model, optimizer, torch.randn(8, 16), 2)
    assert {event.key: event.count for event in profile.key_averages()}["aten::addmm"] == 4
    assert o.result().trace.cell is not None and o.result().trace.cell.profiled_step_count == PROFILED_STEPS


def test_an_error_amid_the_window_passes_and_ends_the_profiler(reader: _Reader) -> None:
    observer = _observer(reader)
    with pytest.raises(ValueError, match="own"), observer:
        _program(WARM_UP_STEPS + 1)()
        raise ValueError("the user's own")
    assert not torch.autograd._profiler_enabled()
    assert observer.result().trace.steps.complete.sum() == 1


def test_the_peak_is_this_cells_only_where_it_raised_the_counters(reader: _Reader) -> None:
    for rise, expected in ((0, None), (50, 150)):
        clock = _HostClock()
        with _observer(reader, clock) as o:
            _program(6)()
            clock.peak = (100 + rise, 200 + rise)
        assert o.result().trace.peak_allocated_bytes == expected


def test_state_is_as_if_the_program_had_run_plainly(reader: _Reader) -> None:
    left = []
    for recorded in (False, True):
        seed_all()
        if recorded:
            with _observer(reader):
                value = _program(8)()
        else:
            value = _program(8)()
        left.append((digest(value), {name: digest(v) for name, v in surroundings().items()}))
    assert left[0] == left[1]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA or ROCm GPU")
def test_a_training_loop_on_the_gpu_is_recorded_with_its_kernels() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    with record() as r:
        train(model, optimizer, torch.randn(64, 512, device="cuda"), 20)
    assert len(r.trace.kernels) > 0 and r.trace.device is not None
    assert r.cell.step_count == 20 and len(r.trace.steps) == PROFILED_STEPS
    assert r.cell.unprofiled_step_ns is not None and r.notices == ()
    assert r.trace.peak_allocated_bytes is not None


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA or ROCm GPU")
def test_state_on_the_gpu_is_as_if_the_program_had_run_plainly() -> None:
    left = []
    for recorded in (False, True):
        seed_all()
        model = mlp().cuda()
        optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
        x = torch.randn(8, 16, device="cuda")
        if recorded:
            with record():
                train(model, optimizer, x, 8)
        else:
            train(model, optimizer, x, 8)
        left.append((digest((model, optimizer)), digest(torch.cuda.get_rng_state())))
    assert left[0] == left[1]

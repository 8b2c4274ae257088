"""How is a program recorded that runs on a GPU? A few steps under the profiler after warm-up, the rest at full speed.

The first step is profiled too, for programs that have no other; it is dropped as soon as later ones are there. What is
exported is read by the same importer as anybody's file. The unprofiled step time is measured by CUDA events on either
side of the window: host time lies while the GPU lags behind.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import torch
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.optim import Optimizer
from torch.profiler import ProfilerActivity

from surfer_lab import trace as traces
from surfer_lab.capture.patches import Patches
from surfer_lab.capture.profiler_window import ProfilerWindow
from surfer_lab.capture.users_profiler import UsersProfiler
from surfer_lab.errors import TraceError
from surfer_lab.trace.model import Trace, TraceWarning
from surfer_lab.trace.tables import StepSource
from surfer_lab.units import NS_PER_MS

__all__ = ["PROFILED_STEPS", "WARM_UP_STEPS", "CudaStepClock", "GpuRun", "StepClock"]

# Step 1 loads libraries and picks algorithms, step 2 settles the allocator; three steps give a median
WARM_UP_STEPS: Final = 2
PROFILED_STEPS: Final = 3
# Module calls with gradients wanted, before a program without an optimizer step counts as inference: accumulation
_CALLS_BEFORE_INFERENCE: Final = 8
_MAX_EVENTS: Final = 512  # steps timed by CUDA events; enough for a median

_COLD: Final = "loading of libraries and choice of algorithms are in it; run a loop of a few steps in the cell"


class StepClock(Protocol):
    """Times the ends of steps where they happen: on the GPU."""

    def tick(self) -> None:
        """A step has ended."""

    def reset(self) -> None:
        """Forget: other steps are the ones that count."""

    def ends_ns(self) -> list[int] | None:
        """Ends so far since the first, None where not known."""

    def synchronize(self) -> None:
        """Wait for the device, so that a window begins with nothing pending."""

    def peak_bytes(self) -> tuple[int, int] | None:
        """Peak allocated and reserved so far on the device."""


class CudaStepClock:
    """CUDA events on the current stream."""

    def __init__(self) -> None:
        self._events: list[torch.cuda.Event] = []

    def tick(self) -> None:
        """Record an event; the host does not wait."""
        if len(self._events) < _MAX_EVENTS:
            event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call] # torch has no types here
            event.record()
            self._events.append(event)

    def reset(self) -> None:
        """Begin anew."""
        self._events = []

    def ends_ns(self) -> list[int] | None:
        """Waits for the device."""
        if not self._events:
            return None
        torch.cuda.synchronize()
        first = self._events[0]
        return [int(first.elapsed_time(event) * NS_PER_MS) for event in self._events]

    def synchronize(self) -> None:
        """All streams of the current device."""
        torch.cuda.synchronize()

    def peak_bytes(self) -> tuple[int, int] | None:
        """Torch's own counters; never reset here: they are the user's."""
        return torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()


class GpuRun:
    """Records by torch's profiler. `activities`, `read` and `step_clock` are the GPU's by default."""

    def __init__(
        self, *, clock: Callable[[], int], activities: Iterable[ProfilerActivity] | None = None,
        read: Callable[[Path], Trace] = traces.read, step_clock: StepClock | None = None,
    ) -> None:  # fmt: skip
        self._clock = clock
        self._activities = tuple(activities or (ProfilerActivity.CPU, ProfilerActivity.CUDA))
        self._read = read
        self._step_clock: StepClock = CudaStepClock() if step_clock is None else step_clock
        self._cold: ProfilerWindow | None = None
        self._cold_source = StepSource.CELL
        self._steady: ProfilerWindow | None = None
        self._source: StepSource | None = None  # of the steps that count so far
        self._calls = _RootCalls(self._called)
        self._call_starts: list[int] = []
        self._peak_before = self._step_clock.peak_bytes()
        self._users_profiler = UsersProfiler()
        self._is_switching = False  # our own profiler is being started or stopped right now
        self.recorded_numbers: set[int] = set()

    # -- from start to finish ------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Profile from the start, without stacks: a long preparation must not fill the memory."""
        self._users_profiler.watch(
            before_start=self._give_way, after_stop=lambda: None, ours=lambda: self._is_switching
        )
        self._cold = self._open(with_stack=False)
        self._calls.start()

    def finish(self) -> Trace | None:
        """The steady window's trace, else the first step's."""
        self._calls.stop()
        self._users_profiler.leave()
        for window in (self._steady, self._cold):
            self._close(window)
        if self._steady is not None and self._steady.step_count:
            trace = self._imported(self._steady, self._steady.step_count, self._source or StepSource.CELL)
            if trace is not None:
                return trace
        self.recorded_numbers = {1}
        if self._cold is None:
            return None
        trace = self._imported(self._cold, max(self._cold.step_count, 1), self._cold_source)
        if trace is None:
            return None
        return replace(
            trace, warnings=(*trace.warnings, TraceWarning(seen="the cell ran a single step", consequence=_COLD))
        )

    @property
    def met_users_profiler(self) -> bool:
        """The program ran a profiler."""
        return self._users_profiler.was_seen

    def step_ends(self, source: StepSource, ends_ns: list[int]) -> list[int]:
        """Ends of all steps; for inference, starts of its module's calls."""
        return self._call_starts if source is StepSource.MODULE_CALL else ends_ns

    def measured_ends(self, source: StepSource, ends_ns: list[int]) -> list[int]:
        """The first few hundred of them, by the device's own clock where it has one."""
        return self._step_clock.ends_ns() or self.step_ends(source, ends_ns)

    # -- what the step finder says -------------------------------------------------------------------------------------

    def optimizer_started(self, optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Nothing to do: the profiler sees it."""

    def optimizer_finished(self, optimizer: Optimizer) -> None:
        """Nothing to do."""

    def boundary(self, source: StepSource, number: int, time_ns: int) -> None:
        """A step of this source has ended; marks overrule optimizers, optimizers module calls."""
        if self._source is StepSource.MARKED and source is not StepSource.MARKED:
            return
        if source is not StepSource.MODULE_CALL:
            self._calls.stop()
        if source is not self._source:
            self._source = source
            self._step_clock.reset()
            self._close(self._steady)
            self._steady = None
            self.recorded_numbers = set()
        self._step_clock.tick()
        self._end_cold(source)
        self._move_window(number)

    def _end_cold(self, source: StepSource) -> None:
        if self._cold is not None and self._cold.is_running:
            self._step_clock.synchronize()
            self._close(self._cold, at_step_end=True)
            self._cold_source = source

    def _move_window(self, number: int) -> None:
        window = self._steady
        if window is None:
            if number >= WARM_UP_STEPS and not (self._cold is not None and self._cold.is_running):
                self._steady = self._open(with_stack=True)
            return
        if not window.is_running:
            return
        self.recorded_numbers.add(number)
        if window.step_count + 1 >= PROFILED_STEPS:
            self._close(window, at_step_end=True)
            self._cold = None  # no longer needed
        else:
            window.step()

    # -- module calls, while nothing else ends steps -------------------------------------------------------------------

    def _called(self, module: torch.nn.Module, first: bool) -> None:
        """The first module with parameters is called: everything before was preparation; then, perhaps, inference."""
        if first and self._cold is not None and self._cold.is_running and self._close(self._cold):
            self._cold = self._open(with_stack=True)
        self._call_starts.append(self._clock())
        ended = len(self._call_starts) - 1
        trains = torch.is_grad_enabled() and module.training
        if ended and (not trains or ended >= _CALLS_BEFORE_INFERENCE):
            self.boundary(StepSource.MODULE_CALL, ended, self._call_starts[-1])
        elif not trains:
            self._cold_source = StepSource.MODULE_CALL

    # -- windows -------------------------------------------------------------------------------------------------------

    def _open(self, *, with_stack: bool) -> ProfilerWindow | None:
        if UsersProfiler.is_running():
            self._users_profiler.was_seen = True
            return None
        self._step_clock.synchronize()
        window = ProfilerWindow(self._activities, with_stack=with_stack)
        self._is_switching = True
        try:
            window.start()
        finally:
            self._is_switching = False
        return window

    def _close(self, window: ProfilerWindow | None, *, at_step_end: bool = False) -> bool:
        self._is_switching = True
        try:
            return window is None or window.stop(at_step_end=at_step_end)
        finally:
            self._is_switching = False

    def _give_way(self) -> None:
        """Only one profiler can run, and the user's comes first. A first step that it cuts off is none."""
        self._close(self._steady)
        if self._cold is not None and self._cold.is_running:
            self._close(self._cold)
            self._cold = None

    def _imported(self, window: ProfilerWindow, complete: int, source: StepSource) -> Trace | None:
        try:
            trace = window.read(self._read)
        except TraceError:
            return None  # no work on the GPU in this window
        count = len(trace.steps)
        if count > complete:  # the last mark was cut by the end of the cell
            keep = np.arange(count) < complete
            trace = replace(trace, steps=replace(trace.steps, complete=trace.steps.complete & keep))
        warnings = list(trace.warnings)
        if self._users_profiler.was_seen:
            warnings.append(
                TraceWarning(
                    seen="the cell ran a profiler of its own", consequence="only one can run; fewer steps were profiled"
                )
            )
        return self._with_peak(replace(trace, step_source=source, warnings=tuple(warnings)))

    def _with_peak(self, trace: Trace) -> Trace:
        """Torch's own counters, where this cell raised them; else what the importer found."""
        before, after = self._peak_before, self._step_clock.peak_bytes()
        if before is None or after is None or after[0] <= before[0]:
            return trace
        return replace(trace, peak_allocated_bytes=after[0], peak_reserved_bytes=after[1])


class _RootCalls:
    """Calls of the first module with parameters that is called, by one global pre-hook in this thread.

    Not where something was compiled, and gone as soon as something is: `torch.compile` minds global hooks.
    """

    def __init__(self, on_call: Callable[[torch.nn.Module, bool], None]) -> None:
        self._on_call = on_call
        self._root_id: int | None = None
        self._thread = 0
        self._remove: Callable[[], None] | None = None
        self._patches = Patches()

    def start(self) -> None:
        counters = getattr(sys.modules.get("torch._dynamo.utils"), "counters", None)
        if counters and counters["frames"]["total"]:
            return
        self._thread = threading.get_ident()
        self._remove = register_module_forward_pre_hook(self._hook).remove
        plain = torch.compile

        def compile_(*args: Any, **kwargs: Any) -> Any:
            self.stop()
            return plain(*args, **kwargs)

        self._patches.replace(torch, "compile", compile_)

    def stop(self) -> None:
        self._patches.undo()
        if self._remove is not None:
            self._remove()
            self._remove = None

    def _hook(self, module: torch.nn.Module, args: Any) -> None:
        if threading.get_ident() != self._thread:
            return
        if self._root_id is None:
            if next(module.parameters(), None) is None:
                return
            self._root_id = id(module)
            self._on_call(module, True)
        elif id(module) == self._root_id:
            self._on_call(module, False)

"""What does a program cost, step by step, while it runs once and as if nobody looked?

`observe()` is put around the execution of a cell; `record()` is the same for scripts. On a machine with a GPU a few
steps are profiled; without one the first steps are followed op by op on the CPU, and calls for CUDA are redirected.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median
from types import FrameType, TracebackType
from typing import Any, Protocol

import torch
from torch.optim import Optimizer

from surfer_lab.capture.cpu_run import CpuRun
from surfer_lab.capture.gpu_run import GpuRun
from surfer_lab.capture.redirect import CudaRedirect
from surfer_lab.capture.steps import StepFinder
from surfer_lab.capture.unseen import leave_out_own_frames
from surfer_lab.capture.where import Label, StackReader, caller
from surfer_lab.errors import CaptureError
from surfer_lab.trace.model import CellRecord, Trace, TraceWarning
from surfer_lab.trace.tables import StepSource

__all__ = ["Observation", "Observer", "observe"]


@dataclass(frozen=True, kw_only=True)
class Observation:
    """What was seen: the trace of one step or a few, and lines for the user (what was redirected)."""

    trace: Trace
    notices: tuple[str, ...] = ()


class Recorder(Protocol):
    """Records one run of a program; told by the step finder what happens in it."""

    recorded_numbers: set[int]

    @property
    def met_users_profiler(self) -> bool:
        """The program ran a profiler, and was not recorded meanwhile."""

    def start(self) -> None:
        """The program is about to run."""

    def finish(self) -> Trace | None:
        """It has ended, well or not. None: nothing to predict ran."""

    def optimizer_started(self, optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """An optimizer is about to step."""

    def optimizer_finished(self, optimizer: Optimizer) -> None:
        """An optimizer has stepped."""

    def boundary(self, source: StepSource, number: int, time_ns: int) -> None:
        """A step has ended."""

    def step_ends(self, source: StepSource, ends_ns: list[int]) -> list[int]:
        """When all steps of this source ended, by the host's clock, ns."""

    def measured_ends(self, source: StepSource, ends_ns: list[int]) -> list[int]:
        """The first of them, or all, by the clock that their durations are best measured by."""


class Observer:
    """A context manager that records what runs inside, once. `result()` afterwards, also after an error in the block.

    `label` names files in source lines (a notebook's cells: "cell 3"); None, or a None from it: the file's own name.
    """

    def __init__(
        self, *, label: Label | None = None, clock: Callable[[], int] = time.perf_counter_ns,
        recorder: Recorder | None = None,
    ) -> None:  # fmt: skip
        self._label = label
        self._clock = clock
        self._recorder = recorder
        self._finder: StepFinder | None = None
        self._redirect = CudaRedirect()
        self._started_ns = 0
        self._observation: Observation | None = None
        self._problem: CaptureError | None = None

    def __enter__(self) -> Observer:
        return self.begin(caller())

    def begin(self, base: FrameType | None) -> Observer:
        """Start recording what runs in and below the frame `base`."""
        if self._finder is not None:
            raise CaptureError("this recording has run already", remedy="start another one")
        if self._recorder is None:
            if torch.cuda.is_available():
                self._recorder = GpuRun(clock=self._clock)
            else:
                self._recorder = CpuRun(
                    reader=lambda: StackReader(base=base, label=self._label), clock=self._clock,
                    prepare_log=self._redirect.prepare_log,
                )  # fmt: skip
        self._finder = StepFinder(self._recorder, self._clock)
        self._redirect.start(StackReader(base=base, label=self._label))
        self._finder.start()
        self._recorder.start()
        self._started_ns = self._clock()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        recorder, finder = self._recorder, self._finder
        if recorder is None or finder is None:
            return
        wall_ns = self._clock() - self._started_ns
        finder.stop()
        self._redirect.stop()
        trace = recorder.finish()
        if error is not None:
            leave_out_own_frames(error)
        if trace is None:
            self._problem = _problem(recorder, error)
            return
        self._observation = self._put_together(trace, recorder, finder, wall_ns, cut_short=error is not None)

    def step(self) -> None:
        """The user says that a step has ended. Outside of the block: ignored."""
        if self._finder is not None and self._observation is None:
            self._finder.mark()

    def result(self) -> Observation:
        """What was recorded; CaptureError where no op ran, or while the block still runs."""
        if self._observation is not None:
            return self._observation
        raise self._problem or CaptureError(
            "the recording has not ended", remedy="ask for its result after the block, not inside"
        )

    def _put_together(
        self, trace: Trace, recorder: Recorder, finder: StepFinder, wall_ns: int, *, cut_short: bool
    ) -> Observation:
        source = trace.step_source
        ends = recorder.step_ends(source, finder.ends_ns.get(source, []))
        measured = recorder.measured_ends(source, finder.ends_ns.get(source, []))
        unprofiled = _unprofiled_ns(measured, recorder.recorded_numbers)
        cell = CellRecord(
            wall_ns=wall_ns,
            step_count=max(len(ends), 1),
            profiled_step_count=max(len(recorder.recorded_numbers), 1),
            unprofiled_step_ns=unprofiled,
        )
        warnings = list(trace.warnings)
        if cut_short:
            warnings.append(
                TraceWarning(seen="the cell ended in an error", consequence="what it ran until then is predicted")
            )
        if finder.later_step_count > 1 and source is StepSource.OPTIMIZER:
            warnings.append(
                TraceWarning(
                    seen=f"another optimizer stepped {finder.later_step_count} times after the first one's last step",
                    consequence="those steps are not in the prediction; predict them in a cell of their own",
                )
            )
        if self._redirect.assumed_autocast:
            dtypes = " and ".join(sorted(self._redirect.assumed_autocast))
            warnings.append(
                TraceWarning(
                    seen=f"autocast for CUDA ({dtypes}) was computed in float32 on this CPU",
                    consequence="its casts and dtypes are taken from CUDA autocast's lists, not from the run",
                )
            )
        notice = self._redirect.notice
        return Observation(
            trace=replace(trace, cell=cell, warnings=tuple(warnings)), notices=(notice,) if notice else ()
        )


def _problem(recorder: Recorder, error: BaseException | None) -> CaptureError:
    if recorder.met_users_profiler:
        return CaptureError(
            "the cell ran a profiler of its own, and only one can run at a time",
            remedy="leave it out, or give its exported trace to `surfer predict`",
        )
    return CaptureError(
        "nothing to predict: no PyTorch op ran" if error is None else "the error came before any PyTorch op ran",
        remedy="record a block that calls a model, or a few steps of a training loop",
    )


def _unprofiled_ns(ends_ns: list[int], recorded: set[int]) -> int | None:
    """Median of the steps that were neither first nor recorded nor right after a recording; None without any."""
    durations = {number: end - start for number, (start, end) in enumerate(pairwise(ends_ns), start=2)}
    plain = {number: duration for number, duration in durations.items() if number not in recorded}
    settled = [duration for number, duration in plain.items() if number - 1 not in recorded]
    return int(median(settled or plain.values())) if plain else None


def observe(*, label: Label | None = None) -> Observer:
    """Record what runs inside a `with` block; the result is asked for after it.

    The block runs once. Its variables, random state, optimizer, iterators and errors are as if it had run plainly.
    """
    return Observer(label=label)

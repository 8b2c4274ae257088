"""How is a program recorded that runs on the CPU? Its first steps op by op, then at full speed.

Recording begins with the program: the first step is all there is of a program with one step. At the first step's end it
begins anew, so that the second step is recorded as the steady state (optimizer state appears in the first); at the
second's end it is over. Without an optimizer, three outermost module calls are enough.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import torch
from torch.optim import Optimizer

from surfer_lab.capture.assemble import Stretch, trace_of
from surfer_lab.capture.calls import Descriptions
from surfer_lab.capture.compiled_modules import CompiledModules
from surfer_lab.capture.dispatch import LoggingMode, alone
from surfer_lab.capture.module_calls import CallCounter
from surfer_lab.capture.oplog import LoggedCall, OpLog
from surfer_lab.capture.optimizer_twin import step_twin, takes_lists_on_gpu
from surfer_lab.capture.users_profiler import UsersProfiler
from surfer_lab.capture.where import StackReader
from surfer_lab.trace.model import Trace, TraceOrigin, TraceWarning
from surfer_lab.trace.tables import Phase, StepSource, TensorRole

__all__ = ["CpuRun"]

# Calls after which a program without an optimizer counts as inference. With gradients wanted more are waited for: a
# triplet loss calls its model three times before it steps.
_INFERENCE_CALLS: Final = 3
_INFERENCE_CALLS_WITH_GRADIENT: Final = 9

# Steps until all optimizers of a loop have state: one that steps more rarely than that stays cold
_MAX_WAIT_FOR_OPTIMIZERS: Final = 4

_COLD_REMEDY: Final = "first-time costs are in it; run a loop of a few steps in the cell for a steady measurement"


@dataclass(slots=True)
class _Segment:
    """A log, and what its beginning was: the end of a step of `source`, or the program's start (None)."""

    log: OpLog
    source: StepSource | None
    number: int
    end_ns: int = -1
    saw_first_steps: bool = False  # of an optimizer: its state appeared in here


class CpuRun:
    """Records the thread that calls `start`, or the one in which an optimizer steps."""

    def __init__(
        self, *, reader: Callable[[], StackReader], clock: Callable[[], int],
        prepare_log: Callable[[OpLog], None] = lambda log: None, mode: LoggingMode | None = None,
    ) -> None:  # fmt: skip
        self._new_reader = reader
        self._clock = clock
        self._prepare_log = prepare_log
        self._descriptions = Descriptions()
        self._mode = LoggingMode(clock=clock) if mode is None else mode
        self._other_modes: list[LoggingMode] = []  # left behind in other threads
        self._segment: _Segment | None = None
        self._cold: dict[StepSource, _Segment] = {}
        self._steady: dict[StepSource, _Segment] = {}
        self._marked = False
        self._optimizers: list[Optimizer] = []
        self._twin_ops: tuple[int, int, int] | None = None  # first, end, time the real step began
        self._calls = CallCounter(clock, self._leave)
        self._inference: _Segment | None = None
        self._users_profiler = UsersProfiler()
        self._compiled = CompiledModules(lambda: self._mode if self._is_ours() else None)
        self._counted: _Segment | None = None  # whose module calls are the steps
        self.recorded_numbers: set[int] = set()

    # -- from start to finish ------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Record from now on, in this thread; not while the user profiles: each op would be in the profile twice."""
        self._users_profiler.watch(before_start=self._give_way, after_stop=lambda: None, ours=lambda: False)
        if UsersProfiler.is_running():
            self._users_profiler.was_seen = True
        self._compiled.start()
        self._open(None, 1, self._clock())

    def finish(self, *, origin: TraceOrigin = TraceOrigin.CPU_RUN) -> Trace | None:
        """Stop; the trace of the best stretch recorded, None where no op ran."""
        stretch = self._best_stretch(self._clock())
        if stretch is None:
            return None
        trace = trace_of(stretch, origin=origin, cell=None)
        if self._compiled.failed is None:
            return trace
        warning = TraceWarning(
            seen=f"a compiled module could not be followed on shapes: {self._compiled.failed}",
            consequence="its ops are missing; run it uncompiled, and ask for the compiler's gain with --compile",
        )
        return replace(trace, warnings=(*trace.warnings, warning))

    def finish_quietly(self) -> None:
        """Stop, whether anything was recorded or not."""
        self._best_stretch(self._clock())

    def _give_way(self) -> None:
        """The segment is lost; the next step's end begins another, if the profiler has stopped by then."""
        self._mode.log = None
        self._segment = None
        self._leave()

    def _best_stretch(self, now: int) -> Stretch | None:
        last = self._segment
        self._close(now)
        for mode in (self._mode, *self._other_modes):
            mode.remove()
        self._calls.stop()
        self._users_profiler.leave()
        self._compiled.stop()
        for source in (StepSource.MARKED, StepSource.OPTIMIZER):
            for segments, stretch_of in ((self._steady, _whole), (self._cold, _cold_step)):
                segment = segments.get(source)
                if segment is not None and segment.log.ops:
                    return stretch_of(segment, source)
        for segment in (self._inference, last):
            if segment is not None and segment.log.ops:
                self._counted = segment
                return _module_call(segment) or _whole_cell(segment)
        return None

    @property
    def met_users_profiler(self) -> bool:
        """The program ran a profiler."""
        return self._users_profiler.was_seen

    def step_ends(self, source: StepSource, ends_ns: list[int]) -> list[int]:
        """Ends of all steps; for inference, starts of the calls of its module."""
        if source is not StepSource.MODULE_CALL or self._counted is None:
            return ends_ns
        return [call.time_ns for call in _main_calls(self._counted.log.calls)] + self._calls.starts_ns

    def measured_ends(self, source: StepSource, ends_ns: list[int]) -> list[int]:
        """The host's clock is the CPU's."""
        return self.step_ends(source, ends_ns)

    # -- what the step finder says -------------------------------------------------------------------------------------

    def optimizer_started(self, optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Gradients are complete; a twin takes the step for the log where a GPU would step otherwise."""
        if not any(known is optimizer for known in self._optimizers):
            self._optimizers.append(optimizer)
            if self._segment is not None:
                self._segment.saw_first_steps = True
        log = self._mode.log
        if log is None or not self._is_ours() or log.is_full:
            return
        self._compiled.differentiate(log)
        log.optimizer_depth += 1
        log.optimizers.append(id(optimizer))
        self._name_tensors(log, optimizer)
        if takes_lists_on_gpu(optimizer, args, kwargs):
            first, began = len(log.ops), self._clock()
            with alone(self._mode):
                stepped = step_twin(optimizer, log)
            if stepped:
                self._twin_ops = (first, len(log.ops), self._clock() - began)
                log.suspended += 1

    def optimizer_finished(self, optimizer: Optimizer) -> None:
        """Its state is there now."""
        log = self._mode.log
        if log is None or not self._is_ours() or not log.optimizer_depth:
            return
        log.optimizer_depth -= 1
        if self._twin_ops is not None:
            log.suspended -= 1
            self._spread_twin(log, self._clock())
        self._name_tensors(log, optimizer)

    def boundary(self, source: StepSource, number: int, time_ns: int) -> None:
        """A step has ended: the second in a row of one source is the one wanted."""
        if source is StepSource.MARKED:
            self._marked = True
        elif self._marked:
            return
        segment = self._segment
        if segment is None:
            if source not in self._steady:
                self._open(source, number + 1, time_ns)
            return
        if not self._is_ours():
            if segment.source is None:
                self._close(time_ns)
                self._open(source, number + 1, time_ns)  # the training runs in a thread of its own
            return
        self._close(time_ns)
        if segment.source is source:
            self._steady[source] = segment
            self.recorded_numbers.add(segment.number)
            if not segment.saw_first_steps or number >= _MAX_WAIT_FOR_OPTIMIZERS:
                self._leave()
                return
        elif segment.source is None:
            self._cold.setdefault(source, segment)
        self._open(source, number + 1, time_ns)

    @property
    def is_over(self) -> bool:
        """The steady step is recorded."""
        return bool(self._steady) and self._segment is None

    # -- segments ------------------------------------------------------------------------------------------------------

    def _open(self, source: StepSource | None, number: int, time_ns: int) -> None:
        if UsersProfiler.is_running():
            return
        log = OpLog(self._new_reader(), self._descriptions, time_ns)
        log.on_call = self._on_call
        self._prepare_log(log)
        for optimizer in self._optimizers:
            self._name_tensors(log, optimizer)
        self._segment = _Segment(log, source, number)
        if not self._is_ours() and self._mode.is_installed:
            self._mode.log = None
            self._other_modes.append(self._mode)
            self._mode = LoggingMode(clock=self._clock)
        self._mode.log = log
        self._mode.install()

    def _close(self, time_ns: int) -> None:
        segment, self._segment = self._segment, None
        if segment is not None and not segment.log.suspended:
            self._compiled.differentiate(segment.log)
        self._compiled.forget()
        self._mode.log = None
        if segment is not None:
            segment.end_ns = time_ns
            segment.log.end(time_ns)

    def _leave(self) -> None:
        """Take the mode out, where this thread is the one; passing through until then."""
        if self._segment is None:
            self._mode.remove()

    def _is_ours(self) -> bool:
        return self._mode.thread == threading.get_ident()

    def _on_call(self, log: OpLog) -> None:
        """An outermost module call began: enough of them make an inference, if nothing was differentiated."""
        if self._steady or log.optimizers or log.backward_passes:
            return
        calls = _main_calls(log.calls)
        enough = _INFERENCE_CALLS_WITH_GRADIENT if calls and calls[-1].grad_enabled else _INFERENCE_CALLS
        segment = self._segment
        if segment is None or len(calls) < enough:
            return
        self._inference = segment
        self._close(self._clock())
        self._calls.count(calls[0].module_id, is_compiled=calls[0].is_compiled, beside_compiled=log.compiled_seen)

    @staticmethod
    def _name_tensors(log: OpLog, optimizer: Optimizer) -> None:
        for group in optimizer.param_groups:
            parameters = [parameter for parameter in group["params"] if isinstance(parameter, torch.Tensor)]
            log.storages.give_role(parameters, TensorRole.PARAMETER)
            gradients = (parameter.grad for parameter in parameters if parameter.grad is not None)
            log.storages.give_role(gradients, TensorRole.GRADIENT)
            on_gpu = group.get("fused") or group.get("capturable")  # else its step counters stay on the host
            for parameter in parameters:
                state = [value for value in optimizer.state.get(parameter, {}).values() if torch.is_tensor(value)]
                kept_there = [value for value in state if value.dim() or on_gpu]
                log.storages.give_role(kept_there, TensorRole.OPTIMIZER_STATE)
                on_host = (value for value in state if not value.dim() and not on_gpu)
                log.host_numbers.update(log.storages.row_of(value, allocated_by=-1) for value in on_host)

    def _spread_twin(self, log: OpLog, end_ns: int) -> None:
        """The twin's ops get equal parts of the time that the real step took, without the twin's own."""
        if self._twin_ops is None:
            return
        (first, end, twin_ns), self._twin_ops = self._twin_ops, None
        if first == end:
            return
        start_ns = log.ops[first].start_ns
        share = max(end_ns - start_ns - twin_ns, 0) // (end - first)
        for offset, op in enumerate(log.ops[first:end]):
            op.start_ns = start_ns + offset * share
            op.end_ns = op.start_ns + share


# -- which part of a segment is the step -------------------------------------------------------------------------------


def _whole(segment: _Segment, source: StepSource) -> Stretch:
    log = segment.log
    return Stretch(
        log=log, first_op=0, end_op=len(log.ops), start_ns=log.start_ns, end_ns=segment.end_ns, number=segment.number,
        source=source,
    )  # fmt: skip


def _cold_step(segment: _Segment, source: StepSource) -> Stretch:
    """From the first module call (what was before it prepared the step), or the first op that wants gradients."""
    log = segment.log
    first = next((call.first_op for call in log.calls if call.grad_enabled), None)
    if first is None:
        first = next((at for at, op in enumerate(log.ops) if op.phase is Phase.FORWARD), 0)
    start_ns = log.ops[first].start_ns if first < len(log.ops) else log.start_ns
    return replace(
        _whole(segment, source), first_op=first, start_ns=start_ns,
        warnings=(TraceWarning(seen="the cell ran a single step", consequence=_COLD_REMEDY),),
    )  # fmt: skip


def _main_calls(calls: list[LoggedCall]) -> list[LoggedCall]:
    """Calls of the first module called that has parameters; of the first at all where none has."""
    first = next((call for call in calls if call.has_parameters), calls[0] if calls else None)
    return [call for call in calls if first is not None and call.module_id == first.module_id]


def _module_call(segment: _Segment) -> Stretch | None:
    """The second call, up to the start of the next; the last one to its own end, or to the end of all if gradients
    were asked for.
    """
    log = segment.log
    calls = _main_calls(log.calls)
    if not calls:
        return None
    which = 1 if len(calls) > 1 else 0
    call = calls[which]
    if which + 1 < len(calls):
        end_op, end_ns = calls[which + 1].first_op, calls[which + 1].time_ns
    elif log.backward_passes:
        end_op, end_ns = len(log.ops), segment.end_ns
    else:
        end_op, end_ns = log.call_ends[log.calls.index(call)]
    warnings = (
        () if which else (TraceWarning(seen="the cell made a single module call", consequence=_COLD_REMEDY),)
    )  # fmt: skip
    return Stretch(
        log=log, first_op=call.first_op, end_op=end_op, start_ns=call.time_ns, end_ns=end_ns, number=which + 1,
        source=StepSource.MODULE_CALL, warnings=warnings,
    )  # fmt: skip


def _whole_cell(segment: _Segment) -> Stretch:
    warning = TraceWarning(
        seen="the cell ran no optimizer step and called no module: all of it counts as one step",
        consequence="first-time costs are in it; mark steps with r.step() inside `with record() as r`",
    )
    return replace(_whole(segment, StepSource.CELL), number=1, warnings=(warning,))

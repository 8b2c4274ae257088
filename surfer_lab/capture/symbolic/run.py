"""What does a step cost that is never run? Captured from shapes: forward, backward, optimizer, no arithmetic.

The program runs on torch's fake tensors until its second step is complete, and is left there. Its models, optimizers
and variables are copies without data (`shadow`); what depends on data is assumed and said (`assumptions`), or refused
with the line. Nothing is printed or saved meanwhile; the random states, and what a program can change beside its own
objects (`left_as_found`), are put back.
"""

from __future__ import annotations

import io
import logging
import random
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import replace
from typing import Any, Final

import numpy as np
import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode, unset_fake_temporarily
from torch.optim import Optimizer

from surfer_lab.capture.cpu_run import CpuRun
from surfer_lab.capture.dispatch import modes_set_aside
from surfer_lab.capture.observe import Observation
from surfer_lab.capture.optimizer_twin import takes_lists_on_gpu
from surfer_lab.capture.redirect import CudaRedirect
from surfer_lab.capture.steps import StepFinder
from surfer_lab.capture.symbolic.assumptions import RUN_IT, Assumptions
from surfer_lab.capture.symbolic.known_values import KnownValues
from surfer_lab.capture.symbolic.left_as_found import LeftAsFound
from surfer_lab.capture.symbolic.mode import EnoughSteps, ShapesMode
from surfer_lab.capture.symbolic.shadow import Shadows
from surfer_lab.capture.symbolic.without_data import WithoutData
from surfer_lab.capture.unseen import leave_out_own_frames
from surfer_lab.capture.where import Label, StackReader, caller
from surfer_lab.errors import CaptureError, SurferError
from surfer_lab.trace.model import Trace, TraceOrigin, TraceWarning
from surfer_lab.trace.tables import StepSource

__all__ = ["observe_symbolic", "trace_symbolic"]

# Calls of a step function until its optimizer has stepped twice: accumulation over several calls included
_MAX_CALLS: Final = 64


def trace_symbolic(
    step: Callable[..., Any], *args: Any, build: Callable[[], Any] | None = None, label: Label | None = None,
    **kwargs: Any,
) -> Trace:  # fmt: skip
    """A trace of one training step (or of inference) from shapes alone; `step(*args, **kwargs)` runs no arithmetic.

    `step` is called until its optimizer has stepped twice: the second step is the steady state. Models and tensors
    that it reaches (arguments, globals, closures) are taken by their shapes, with or without data. `build` makes them
    without data: it is called once, and its result is the first argument of `step`. A model too large for this
    machine is built there.

    Refused (CaptureError): a step that cannot go on without values, with its line; one that runs no op.

    >>> import torch
    >>> def build():
    ...     model = torch.nn.Linear(1 << 20, 1 << 20)  # 4 TiB of weights
    ...     return model, torch.optim.AdamW(model.parameters())
    >>> def step(made):
    ...     model, optimizer = made
    ...     model(torch.ones(8, 1 << 20)).sum().backward()
    ...     optimizer.step()
    >>> trace_symbolic(step, build=build).batch_size
    8
    """
    world = _ShapeWorld(label=label)

    def program() -> None:
        function, *arguments = (world.shadows.of(value) for value in (step, *args))
        named = {name: world.shadows.of(value) for name, value in kwargs.items()}
        with world.unobserved():  # modules called while others are built are no steps
            made = (world.shadows.of(build)(),) if build is not None else ()
        for _ in range(_MAX_CALLS):
            function(*made, *arguments, **named)
            if not world.has_stepped:
                return

    return world.run(program).trace


def observe_symbolic(
    execute: Callable[[dict[str, Any]], None], namespace: Mapping[str, Any], *, label: Label | None = None
) -> Observation:
    """What a cell would cost, without running it: `execute(names)` executes it in the namespace that it is given.

    That namespace is a copy without data of `namespace`, thrown away afterwards. A cell whose optimizer steps once is
    executed twice. Refused (CaptureError): as `trace_symbolic`.
    """
    world = _ShapeWorld(label=label)

    def program() -> None:
        with world.unobserved():  # copying is no op of the cell's
            names = world.shadows.namespace(namespace)
        execute(names)
        if world.has_stepped:
            execute(names)

    return world.run(program)


class _ShapesRun(CpuRun):
    """Records as on a CPU; optimizers take lists as on a GPU, and the second step is the last."""

    def __init__(self, world: _ShapeWorld, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._world = world

    def optimizer_started(self, optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """The optimizer is a copy, or the program made it: it can be told what a GPU's default is."""
        parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        if not all(isinstance(parameter, FakeTensor) for parameter in parameters):
            raise CaptureError(
                f"an optimizer ({type(optimizer).__name__}) holds weights that this capture did not find",
                remedy="hand the model and the optimizer to the step as arguments, or run it: record()",
            )
        if takes_lists_on_gpu(optimizer, args, kwargs):
            for group in optimizer.param_groups:
                group["foreach"] = True
        super().optimizer_started(optimizer, args, kwargs)

    def boundary(self, source: StepSource, number: int, time_ns: int) -> None:
        """Leave the program when the steady step is complete."""
        super().boundary(source, number, time_ns)
        self._world.has_stepped = True
        if self.is_over:
            raise EnoughSteps

    def _on_call(self, log: Any) -> None:
        super()._on_call(log)
        if self._inference is not None:
            self._world.mode.is_done = True


class _ShapeWorld:
    """Everything that is in place while a program runs on shapes."""

    def __init__(self, *, label: Label | None) -> None:
        self._label = label
        self._base = caller(1)  # `trace_symbolic` or `observe_symbolic`: what is further out is not the program's
        self._fake_mode = FakeTensorMode(allow_non_fake_inputs=True)
        known = KnownValues()
        self._assumptions = Assumptions(known)
        self.mode = ShapesMode(self._assumptions, known, self._reader(), self._fake_mode)
        self.shadows = Shadows(self._fake_mode, known)
        self._redirect = CudaRedirect()
        self._without_data = WithoutData(with_data=self._with_data, shadow=self.shadows.of, value_of=known.of)
        self._recorder = _ShapesRun(
            self, reader=self._reader, clock=lambda: 0, prepare_log=self._redirect.prepare_log, mode=self.mode
        )
        self._finder = StepFinder(self._recorder, lambda: 0)
        self.has_stepped = False

    def _reader(self) -> StackReader:
        return StackReader(base=self._base, label=self._label)

    def run(self, program: Callable[[], None]) -> Observation:
        """Run it; what was captured, or CaptureError."""
        try:
            with self._in_place():
                try:
                    program()
                except EnoughSteps:
                    pass
                trace = self._recorder.finish(origin=TraceOrigin.SYMBOLIC)
        except SurferError:
            raise
        except (Exception, SystemExit, GeneratorExit) as error:  # what the user's code raises without its data
            raise self._failure(error) from error
        if trace is None:
            raise CaptureError("nothing to predict: no PyTorch op ran", remedy="capture a step that calls a model")
        return Observation(trace=replace(trace, warnings=(*trace.warnings, *self._warnings())), notices=self._notices())

    @contextmanager
    def unobserved(self) -> Iterator[None]:
        """Runs on shapes, and leaves no row."""
        log = self.mode.log
        if log is None:
            yield
            return
        log.suspended += 1
        try:
            yield
        finally:
            log.suspended -= 1

    @contextmanager
    def _in_place(self) -> Iterator[None]:
        left_as_found = LeftAsFound()
        self.shadows.watch = left_as_found.watch
        states = (torch.get_rng_state(), np.random.get_state(), random.getstate())  # noqa: NPY002 # what programs use
        fake_tensors_log = logging.getLogger("torch._subclasses.fake_tensor")
        was_quiet, fake_tensors_log.disabled = fake_tensors_log.disabled, True  # what fails is told once, by us
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            self._redirect.start(self._reader(), always=True)
            self._without_data.start()
            self._finder.start()
            try:
                with self._fake_mode:
                    self._recorder.start()
                    try:
                        yield
                    finally:
                        self._recorder.finish_quietly()
            finally:
                fake_tensors_log.disabled = was_quiet
                self._finder.stop()
                self._without_data.stop()
                self._redirect.stop()
                for tensor, gradient in self.mode.real_leaves.values():
                    tensor.grad = gradient
                torch.set_rng_state(states[0])
                np.random.set_state(states[1])  # noqa: NPY002
                random.setstate(states[2])
                left_as_found.put_back()

    @contextmanager
    def _with_data(self) -> Iterator[None]:
        with modes_set_aside(), unset_fake_temporarily():
            yield

    def _failure(self, error: BaseException) -> CaptureError:
        leave_out_own_frames(error)
        site = None
        entry = error.__traceback__
        reader = self._reader()
        while entry is not None:
            place = reader.line_of(entry.tb_frame, entry.tb_lineno)
            site = place or site
            entry = entry.tb_next
        where = f"{site}: " if site else ""
        text = str(error).strip().split("\n")[0]
        return CaptureError(f"{where}without data this fails with {type(error).__name__}: {text}", remedy=RUN_IT)

    def _warnings(self) -> tuple[TraceWarning, ...]:
        found = list(self._assumptions.warnings())
        if self._without_data.read_values:
            found.append(
                TraceWarning(
                    seen="without data, arrays and lists made of tensors are ones",
                    consequence=f"if it matters, {RUN_IT}",
                )
            )
        if self._without_data.found_compiled or self.shadows.found_compiled:
            found.append(
                TraceWarning(
                    seen="torch.compile was left out: the ops are those of the uncompiled program",
                    consequence="ask for the compiler's gain with --compile",
                )
            )
        return tuple(found)

    def _notices(self) -> tuple[str, ...]:
        return ()

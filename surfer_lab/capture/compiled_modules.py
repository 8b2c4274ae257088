"""What does a compiled module do, whose kernels no dispatcher sees? The ops of the module that was compiled.

A module made by `torch.compile` runs as it is, unseen; after its call the module underneath is called once more on
shapes alone (nothing is computed, nothing of the user's changes), and before the optimizer steps those shapes are
differentiated. So the log has the ops that the program would run uncompiled, with its own parameters and gradients;
what compiling saves is a what-if's question. Compiled functions cannot be told from outside: a warning says so.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from surfer_lab.capture.dispatch import LoggingMode, alone
from surfer_lab.capture.oplog import OpLog
from surfer_lab.capture.patches import Patches

__all__ = ["CompiledModules"]


class CompiledModules:
    """Stands in for calls of compiled modules between `start` and `stop`, while `mode` logs."""

    def __init__(self, mode: Callable[[], LoggingMode | None]) -> None:
        self._mode = mode
        self._patches = Patches()
        self._shapes: Any = None  # made when first needed: torch's fake tensors take a second to import
        self._undifferentiated: list[torch.Tensor] = []  # results on shapes
        self._passes_before = 0
        self.failed: str | None = None

    def start(self) -> None:
        """Watch compiled modules, also those that are yet to be made."""
        if "torch._dynamo.eval_frame" in sys.modules:
            self._watch_calls()
            return
        plain = torch.compile

        def compile_(*args: Any, **kwargs: Any) -> Any:
            made = plain(*args, **kwargs)
            if "torch._dynamo.eval_frame" in sys.modules:
                self._watch_calls()
            return made

        self._patches.replace(torch, "compile", compile_)

    def stop(self) -> None:
        """Watch no more."""
        self._patches.undo()
        self.forget()
        self._shapes = None

    def forget(self) -> None:
        """A new stretch begins: what the last one left undifferentiated is its own."""
        self._undifferentiated = []

    def differentiate(self, log: OpLog) -> None:
        """The gradients of the calls so far, if any were asked for since."""
        mode = self._mode()
        pending, self._undifferentiated = self._undifferentiated, []
        if not pending or mode is None or len(log.backward_passes) == self._passes_before:
            return
        log.backward_pass_stood_for = log.backward_passes[-1]
        try:
            with self._shapes.fake_mode:
                log.suspended += 1
                ones = [torch.ones_like(shape) for shape in pending]
                log.suspended -= 1
                for one in ones:  # the loss's gradient was logged as it ran
                    log.storages.leave_out(one)
                with alone(mode):
                    torch.autograd.backward(pending, ones)
            self._name_gradients(log)
        except (RuntimeError, NotImplementedError, TypeError, ValueError) as error:
            self.failed = str(error)
        finally:
            log.backward_pass_stood_for = None

    # -- calls ---------------------------------------------------------------------------------------------------------

    def _watch_calls(self) -> None:
        cls: Any = sys.modules["torch._dynamo.eval_frame"].OptimizedModule
        plain = cls.__call__

        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            mode = self._mode()
            log = mode.log if mode is not None else None
            if log is None or log.suspended:
                return plain(module, *args, **kwargs)
            with _suspended(log):
                out = plain(module, *args, **kwargs)
            self._stand_in(log, mode, module._orig_mod, args, kwargs, out)
            return out

        self._patches.undo()
        self._patches.replace(cls, "__call__", call)

    def _stand_in(
        self, log: OpLog, mode: LoggingMode | None, module: torch.nn.Module, args: Any, kwargs: Any, out: Any
    ) -> None:  # fmt: skip
        if mode is None or self.failed is not None:
            return
        if len(log.backward_passes) != self._passes_before:
            self.differentiate(log)  # of the calls before that pass
        self._passes_before = len(log.backward_passes)
        with _suspended(log):
            if self._shapes is None:
                from surfer_lab.capture.symbolic.shapes import Shapes

                self._shapes = Shapes()
            shadow = self._shapes.of_module(module)
            shadow_args, shadow_kwargs = self._shapes.of_arguments((args, kwargs))
        log.originals[id(shadow)] = module
        for fake, real in self._shapes.pairs(module, shadow, args, shadow_args, kwargs, shadow_kwargs):
            log.storages.stand_in(fake, real)
        try:
            with self._shapes.fake_mode, alone(mode):
                result = shadow(*shadow_args, **shadow_kwargs)
        except (RuntimeError, NotImplementedError, TypeError, ValueError) as error:
            self.failed = str(error).split("\n", 1)[0]
            return
        for fake, real in self._shapes.tensor_pairs(result, out):
            log.storages.take_over(real, fake)
            if fake.requires_grad:
                self._undifferentiated.append(fake)

    def _name_gradients(self, log: OpLog) -> None:
        for shape, real in self._shapes.parameters():
            if shape.grad is not None and real.grad is not None:
                log.storages.take_over(real.grad, shape.grad)
            shape.grad = None


@contextmanager
def _suspended(log: OpLog) -> Iterator[None]:
    log.suspended += 1
    try:
        yield
    finally:
        log.suspended -= 1

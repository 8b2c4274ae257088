"""How does an op run without data? On shapes, by torch's own fake tensors; what they cannot answer is assumed."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    UnsupportedFakeTensorException,
    UnsupportedOperatorException,
)

from surfer_lab.capture.dispatch import LoggingMode
from surfer_lab.capture.symbolic.assumptions import RUN_IT, Assumptions
from surfer_lab.capture.where import StackReader
from surfer_lab.errors import CaptureError

__all__ = ["EnoughSteps", "ShapesMode"]


class EnoughSteps(BaseException):
    """The step wanted is complete: leave the program, whatever it catches."""


class ShapesMode(LoggingMode):  # type: ignore[no-untyped-call] # torch's __init_subclass__ has no types
    """Above a FakeTensorMode: answers what depends on data, logs the rest as any capture does.

    `real_leaves`: tensors with data that asked for gradients; their `.grad` is put back by whoever runs this.
    """

    def __init__(self, assumptions: Assumptions, reader: StackReader) -> None:
        super().__init__(clock=lambda: 0)
        self._assumptions = assumptions
        self._reader = reader
        self.real_leaves: dict[int, tuple[torch.Tensor, torch.Tensor | None]] = {}
        self.is_done = False
        self.op_count = 0

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Run the op on shapes, then log it."""
        kwargs = kwargs or {}
        self.op_count += 1
        out = self._run(func, args, kwargs)
        log = self.log
        if log is not None and not log.suspended:
            log.add(func, args, kwargs, out, 0, 0, sys._getframe(1))
        if self.is_done:
            raise EnoughSteps
        return out

    def _run(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        name = func._schema.name if hasattr(func, "_schema") else str(func)
        rule = self._assumptions.rule(name)
        if rule is not None:
            answer = rule(self._site(), func, args, kwargs)
            if answer is not NotImplemented:
                return answer
        for value in args:
            has_data = isinstance(value, torch.Tensor) and not isinstance(value, FakeTensor)
            if has_data and value.requires_grad and value.is_leaf and id(value) not in self.real_leaves:
                self.real_leaves[id(value)] = (value, value.grad)
        try:
            return func(*args, **kwargs)
        except (DataDependentOutputException, DynamicOutputShapeException) as error:
            raise CaptureError(f"{self._place()}: the result of {name} depends on data", remedy=RUN_IT) from error
        except (UnsupportedOperatorException, UnsupportedFakeTensorException) as error:
            raise CaptureError(f"{self._place()}: {name} cannot be worked out from shapes", remedy=RUN_IT) from error

    def _site(self) -> Any:
        site = self._reader.read(sys._getframe(3))[0]
        self._reader.forget()
        return site

    def _place(self) -> str:
        return self._site().source or "in a library"

"""How does an op run without data? On shapes, by torch's own fake tensors; what they cannot answer is assumed."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    UnsupportedFakeTensorException,
    UnsupportedOperatorException,
)

from surfer_lab.capture.dispatch import LoggingMode
from surfer_lab.capture.symbolic.answers import Answers
from surfer_lab.capture.symbolic.assumptions import RUN_IT, Assumptions
from surfer_lab.capture.symbolic.known_values import KnownValues
from surfer_lab.capture.where import StackReader
from surfer_lab.errors import CaptureError

__all__ = ["EnoughSteps", "ShapesMode"]


_DEVICE_OF: Final = torch.ops.prim.device.default


# Their mean and deviation are float32 where the weights are, whatever the input (native/*_norm*.cpp, mixed types);
# torch 2.13's shape rules give them the input's type
_NORMS_WITH_STATISTICS: Final = frozenset(
    f"aten::native_{kind}_norm" for kind in ("batch", "layer", "group")
)  # fmt: skip


def _statistics_in_full(args: Sequence[Any], out: Any) -> Any:
    mixed = any(isinstance(value, torch.Tensor) and value.dtype is torch.float32 for value in args[1:])
    halves = (torch.float16, torch.bfloat16)
    if not mixed or out[1].dtype not in halves:
        return out
    return (out[0], *(torch.empty_like(value, dtype=torch.float32) for value in out[1:]))


class EnoughSteps(BaseException):
    """The step wanted is complete: leave the program, whatever it catches."""


class ShapesMode(LoggingMode):  # type: ignore[no-untyped-call] # torch's __init_subclass__ has no types
    """Above a FakeTensorMode: answers what depends on data, logs the rest as any capture does.

    `real_leaves`: tensors with data that asked for gradients; their `.grad` is put back by whoever runs this.
    """

    def __init__(
        self, assumptions: Assumptions, known: KnownValues, reader: StackReader, fake_mode: FakeTensorMode
    ) -> None:  # fmt: skip
        super().__init__(clock=lambda: 0)
        self._assumptions = assumptions
        self._reader = reader
        self._fake_mode = fake_mode
        self._answers = Answers(fake_mode)
        self.known = known
        self.real_leaves: dict[int, tuple[torch.Tensor, torch.Tensor | None]] = {}
        self.is_done = False
        self.op_count = 0

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Run the op on shapes, then log it."""
        if func is _DEVICE_OF and isinstance(args[0], FakeTensor):
            return args[0].fake_device  # asked for at every turn by torch's own shape rules
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
            real = self.known.compute(func, args, kwargs)
            if real is not None:
                return self._with_shapes_only(real)
            answer = rule(self._site(), func, args, kwargs)
            if answer is not NotImplemented:
                return answer
        for value in args:
            has_data = isinstance(value, torch.Tensor) and not isinstance(value, FakeTensor)
            if has_data and value.requires_grad and value.is_leaf and id(value) not in self.real_leaves:
                self.real_leaves[id(value)] = (value, value.grad)
        key = self._answers.key(func, args, kwargs)
        out = NotImplemented if key is None else self._answers.of(key, args, kwargs)
        if out is not NotImplemented:
            self.known.follow(func, name, args, kwargs, out)
            self._assumptions.truths.follow(func, name, args, kwargs, out)
            return out
        try:
            out = func(*args, **kwargs)
        except (DataDependentOutputException, DynamicOutputShapeException) as error:
            raise CaptureError(f"{self._place()}: the result of {name} depends on data", remedy=RUN_IT) from error
        except (UnsupportedOperatorException, UnsupportedFakeTensorException) as error:
            raise CaptureError(f"{self._place()}: {name} cannot be worked out from shapes", remedy=RUN_IT) from error
        if name in _NORMS_WITH_STATISTICS:
            out = _statistics_in_full(args, out)
        if key is not None:
            self._answers.keep(key, func, args, out)
        if hasattr(func, "_schema"):
            self.known.follow(func, name, args, kwargs, out)
            self._assumptions.truths.follow(func, name, args, kwargs, out)
        return out

    def _with_shapes_only(self, real: Any) -> Any:
        """A real result as the program sees it: numbers as they are, tensors as shapes whose values are known."""
        if not isinstance(real, torch.Tensor):
            return tuple(self._with_shapes_only(item) for item in real) if isinstance(real, (list, tuple)) else real
        fake = self._fake_mode.from_tensor(real, static_shapes=True)
        self.known.give(fake, real)
        return fake

    def _site(self) -> Any:
        site = self._reader.read(sys._getframe(3))[0]
        self._reader.forget()
        return site

    def _place(self) -> str:
        return self._site().source or "in a library"

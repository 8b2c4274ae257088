"""When does a step end? Found while the program runs: optimizer steps, `r.step()` marks, outermost module calls.

A step runs from one step of the first optimizer seen to its next; other optimizers, accumulation and steps that a
GradScaler skips lie inside. Marks overrule optimizers. Uses torch's global optimizer hooks and nothing else that stays.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Protocol

from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils.hooks import RemovableHandle

from surfer_lab.trace.tables import StepSource

__all__ = ["StepFinder", "StepListener"]


class StepListener(Protocol):
    """Told what is found, in the thread in which it happens. Must not raise."""

    def optimizer_started(self, optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """An optimizer is about to step."""

    def optimizer_finished(self, optimizer: Optimizer) -> None:
        """It has stepped; called before the boundary that this may be."""

    def boundary(self, source: StepSource, number: int, time_ns: int) -> None:
        """Step `number` (from 1) of this source has ended."""


class StepFinder:
    """Times of all step ends by source, from `start` to `stop`."""

    def __init__(self, listener: StepListener, clock: Callable[[], int]) -> None:
        self._listener = listener
        self._clock = clock
        self._handles: list[RemovableHandle] = []
        self._first: weakref.ref[Optimizer] | None = None
        self._stepping: list[int] = []  # ids of optimizers inside each other's step
        self.ends_ns: dict[StepSource, list[int]] = {StepSource.OPTIMIZER: [], StepSource.MARKED: []}
        self.later_step_count = 0  # steps of other optimizers since the first one's last step

    def start(self) -> None:
        """Listen to every optimizer of the process."""
        self._handles = [
            register_optimizer_step_pre_hook(self._before),
            register_optimizer_step_post_hook(self._after),
        ]

    def stop(self) -> None:
        """Listen no more."""
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def mark(self) -> None:
        """The user says that a step has ended."""
        self._end(StepSource.MARKED)

    def _before(self, optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[Any, Any]) -> None:
        if id(optimizer) in self._stepping:  # its last step ended in an error
            del self._stepping[self._stepping.index(id(optimizer)) :]
        self._stepping.append(id(optimizer))
        if len(self._stepping) == 1:
            self._listener.optimizer_started(optimizer, args, kwargs)

    def _after(self, optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[Any, Any]) -> None:
        if id(optimizer) not in self._stepping:
            return
        del self._stepping[self._stepping.index(id(optimizer)) :]
        if self._stepping:
            return
        self._listener.optimizer_finished(optimizer)
        first = self._first() if self._first is not None else None
        if self._first is None:
            self._first, first = weakref.ref(optimizer), optimizer
        if first is optimizer:
            self.later_step_count = 0
            self._end(StepSource.OPTIMIZER)
        else:
            self.later_step_count += 1

    def _end(self, source: StepSource) -> None:
        now = self._clock()
        ends = self.ends_ns[source]
        ends.append(now)
        self._listener.boundary(source, len(ends), now)

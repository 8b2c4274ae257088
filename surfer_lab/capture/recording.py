"""How does a script or a notebook record its own steps? `record(fn)` or `with record() as r: ... r.step()`.

What is recorded runs once, with the same effects as without recording.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Generic, TypeVar, overload

from surfer_lab.capture.observe import Observation, Observer
from surfer_lab.capture.where import Label, caller
from surfer_lab.trace.model import CellRecord, Trace

__all__ = ["Recording", "record"]

T = TypeVar("T")


class Recording(Generic[T]):
    """What `record` gives: a context manager, then the trace. `value` is what `fn` returned."""

    def __init__(self, *, label: Label | None = None) -> None:
        self._observer = Observer(label=label)
        self.value: T | None = None

    def __enter__(self) -> Recording[T]:
        self._observer.begin(caller())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._observer.__exit__(kind, error, traceback)

    def step(self) -> None:
        """Mark the end of a step; marks overrule optimizer steps."""
        self._observer.step()

    @property
    def observation(self) -> Observation:
        """Trace and notices. CaptureError while the block runs, or where no op ran."""
        return self._observer.result()

    @property
    def trace(self) -> Trace:
        """The trace of the recorded step."""
        return self.observation.trace

    @property
    def cell(self) -> CellRecord:
        """Wall time and step count of the whole block, and the step time outside of the recording."""
        cell = self.trace.cell
        if cell is None:
            raise AttributeError("cell")
        return cell

    @property
    def notices(self) -> tuple[str, ...]:
        """Lines for the user: what was redirected to the CPU."""
        return self.observation.notices


@overload
def record(fn: None = None, *, label: Label | None = None) -> Recording[None]: ...
@overload
def record(fn: Callable[[], T], *, label: Label | None = None) -> Recording[T]: ...


def record(fn: Callable[[], T] | None = None, *, label: Label | None = None) -> Recording[T] | Recording[None]:
    """Record one run of `fn`, or of a `with` block.

    Steps are found by themselves (optimizer steps, else outermost module calls); `r.step()` marks them otherwise.
    An error of the user's passes through; what ran until then is in the recording.

    >>> import torch
    >>> model = torch.nn.Linear(4, 2)
    >>> with record() as r:
    ...     for _ in range(3):
    ...         _ = model(torch.ones(8, 4))
    >>> r.trace.batch_size, r.trace.step_source.value
    (8, 'outermost module calls')
    """
    if fn is None:
        return Recording[None](label=label)
    recording = Recording[T](label=label)
    with recording:
        recording.value = fn()
    return recording

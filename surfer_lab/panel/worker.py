"""Who works while cells run? Two daemon threads: one answers requests that take long, one finishes predictions.

Each does one thing after the other, and neither waits for the other. Work is done in passes; between two of them it
calls `breathe`, which waits while a cell begins to be measured (its times must not be disturbed) and stops what was
cancelled. A kernel's interrupt does not reach these threads, and its end does not wait for them.
"""

from __future__ import annotations

import contextlib
import contextvars
import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

__all__ = ["Duty", "Job", "Stopped", "Worker"]

# seconds after the start of a measured cell for which work waits: a request's asker sits there, and a loop that runs
# for longer has been profiled by then, the median of its other steps is no worse for a disturbed one
_QUIET_S: Final = {"request": 3.0, "finishing": 60.0}


class Duty(Enum):
    REQUEST = "request"
    FINISHING = "finishing"


class Stopped(Exception):
    """The work was cancelled."""


@dataclass(eq=False)
class Job:
    """Something to do; `stop` cancels it. Runs in the context (parent header of the cell) in which it was made."""

    duty: Duty
    work: Callable[[Job], object]
    context: contextvars.Context = field(default_factory=contextvars.copy_context)
    _stopped: threading.Event = field(default_factory=threading.Event)

    def stop(self) -> None:
        """Cancel it: it ends at its next pass, or before it began."""
        self._stopped.set()

    @property
    def is_stopped(self) -> bool:
        """Whether it was cancelled."""
        return self._stopped.is_set()


class Worker:
    """The threads, each started with the first job of its duty."""

    def __init__(self) -> None:
        self._jobs: dict[Duty, queue.SimpleQueue[Job]] = {duty: queue.SimpleQueue() for duty in Duty}
        self._threads: dict[Duty, threading.Thread] = {}
        self._lock = threading.Lock()
        self._closed_s = 0.0
        self._open = threading.Event()
        self._open.set()

    def submit(self, duty: Duty, work: Callable[[Job], object]) -> Job:
        """Do it when its turn comes. `work` must not raise: whoever waits for it would never know."""
        job = Job(duty, work)
        with self._lock:
            self._jobs[duty].put(job)
            thread = self._threads.get(duty)
            if thread is None or not thread.is_alive():
                thread = threading.Thread(target=self._run, args=(duty,), name=f"surfer-lab {duty.value}", daemon=True)
                self._threads[duty] = thread
                thread.start()
        return job

    def breathe(self, job: Job) -> None:
        """Between two passes of a job: raises Stopped where it was cancelled."""
        self._open.wait(max(0.0, self._closed_s + _QUIET_S[job.duty.value] - time.monotonic()))
        if job.is_stopped:
            raise Stopped

    @contextlib.contextmanager
    def quiet(self) -> Iterator[None]:
        """No pass begins in the first while inside: a cell is being measured."""
        self._closed_s = time.monotonic()
        self._open.clear()
        try:
            yield
        finally:
            self._open.set()

    def wait(self, timeout_s: float = 60.0) -> bool:
        """Whether all that was submitted so far is done within the time; for tests and for a kernel's end."""
        done = [threading.Event() for _ in Duty]
        for duty, event in zip(Duty, done, strict=True):
            self.submit(duty, lambda _job, event=event: event.set())  # type: ignore[misc] # bound now, not when it runs
        return all(event.wait(timeout_s) for event in done)

    def _run(self, duty: Duty) -> None:
        while True:
            job = self._jobs[duty].get()
            job.context.run(job.work, job)

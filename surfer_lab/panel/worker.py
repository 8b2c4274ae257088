"""Who works while cells run? One daemon thread: requests that take long first, finishing of predictions behind them.

Work is done in passes; between two of them it calls `breathe`, which runs what is more urgent, waits while a cell is
being observed (its times must not be disturbed) and stops what was cancelled. A kernel's interrupt does not reach this
thread, and its end does not wait for it.
"""

from __future__ import annotations

import contextlib
import contextvars
import itertools
import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

__all__ = ["Job", "Stopped", "Urgency", "Worker"]

_QUIET_WAIT_S: Final = 60.0  # a gate that somebody left closed does not hold work up for ever


class Urgency(IntEnum):
    REQUEST = 0
    FINISHING = 1


class Stopped(Exception):
    """The work was cancelled."""


@dataclass(order=True)
class Job:
    """Something to do; `stop` cancels it. Runs in the context (parent header of the cell) in which it was made."""

    urgency: Urgency
    number: int
    work: Callable[[Job], object] = field(compare=False)
    context: contextvars.Context = field(compare=False, default_factory=contextvars.copy_context)
    _stopped: threading.Event = field(compare=False, default_factory=threading.Event)

    def stop(self) -> None:
        """Cancel it: it ends at its next pass, or before it began."""
        self._stopped.set()

    @property
    def is_stopped(self) -> bool:
        """Whether it was cancelled."""
        return self._stopped.is_set()


class Worker:
    """The thread, started with the first job."""

    def __init__(self) -> None:
        self._jobs: queue.PriorityQueue[Job] = queue.PriorityQueue()
        self._numbers = itertools.count()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._open = threading.Event()
        self._open.set()

    def submit(self, urgency: Urgency, work: Callable[[Job], object]) -> Job:
        """Do it when its turn comes. `work` must not raise: whoever waits for it would never know."""
        job = Job(urgency, next(self._numbers), work)
        with self._lock:
            self._jobs.put(job)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="surfer-lab", daemon=True)
                self._thread.start()
        return job

    def breathe(self, job: Job) -> None:
        """Between two passes of a job: raises Stopped where it was cancelled."""
        self._open.wait(_QUIET_WAIT_S)
        if job.urgency is not Urgency.REQUEST:
            self._run_urgent()
        if job.is_stopped:
            raise Stopped

    @contextlib.contextmanager
    def quiet(self) -> Iterator[None]:
        """No pass begins inside: a cell is being measured."""
        self._open.clear()
        try:
            yield
        finally:
            self._open.set()

    def wait(self, timeout_s: float = 60.0) -> bool:
        """Whether all that was submitted so far is done within the time; for tests and for a kernel's end."""
        done = threading.Event()
        self.submit(Urgency.FINISHING, lambda _job: done.set())
        return done.wait(timeout_s)

    def _run(self) -> None:
        while True:
            job = self._jobs.get()
            job.context.run(job.work, job)

    def _run_urgent(self) -> None:
        while True:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return
            if job.urgency is not Urgency.REQUEST:
                self._jobs.put(job)
                return
            job.context.run(job.work, job)

"""How is torch's profiler run over some steps of a program that goes on afterwards?

Counters are never asked for: activities need no permission.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

import torch
from torch.profiler import ProfilerAction, ProfilerActivity

from surfer_lab.trace.model import Trace

__all__ = ["ProfilerWindow"]


class ProfilerWindow:
    """One stretch under the profiler, with a mark at each step's end. Start and stop belong to one thread."""

    def __init__(self, activities: Iterable[ProfilerActivity], *, with_stack: bool) -> None:
        self._profile = torch.profiler.profile(
            activities=list(activities), schedule=lambda step: ProfilerAction.RECORD, record_shapes=True,
            profile_memory=True, with_stack=with_stack,
        )  # fmt: skip
        self._thread = 0
        self.is_running = False
        self.step_count = 0  # complete ones

    def start(self) -> None:
        """Begin."""
        self._profile.start()
        self.is_running = True
        self._thread = threading.get_ident()

    def step(self) -> None:
        """A step has ended and the next begins."""
        if self.is_running and self._thread == threading.get_ident():
            self.step_count += 1
            self._profile.step()

    def stop(self, *, at_step_end: bool = False) -> bool:
        """End; False in a thread that did not start it."""
        if not self.is_running:
            return True
        if self._thread != threading.get_ident():
            return False
        self.is_running = False
        self.step_count += at_step_end
        self._profile.stop()
        return True

    def read(self, read_file: Callable[[Path], Trace]) -> Trace:
        """The trace, through a file and the importer like anybody's."""
        with tempfile.TemporaryDirectory(prefix="surfer-lab-") as folder:
            path = Path(folder) / "trace.json"
            self._profile.export_chrome_trace(str(path))
            return read_file(path)

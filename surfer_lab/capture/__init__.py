"""Capture: what a program does in one step, recorded while it runs once, or without running it.

- `record(fn)` / `with record() as r: ... r.step()`: for scripts and notebooks.
- `observe(label=...)`: the same around a cell's execution, `o.result()` gives trace and notices.
- `trace_symbolic(step, *args, build=...)` / `observe_symbolic(execute, names)`: from shapes alone, nothing computed.

Imports torch; nothing above capture does so on its own account. What captures without running is imported when asked
for: torch's fake tensors take as long to import as torch's core.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from surfer_lab.capture.observe import Observation, Observer, observe
from surfer_lab.capture.recording import Recording, record

if TYPE_CHECKING:
    from surfer_lab.capture.symbolic import observe_symbolic, trace_symbolic

__all__ = ["Observation", "Observer", "Recording", "observe", "observe_symbolic", "record", "trace_symbolic"]

_SYMBOLIC = ("observe_symbolic", "trace_symbolic")


def __getattr__(name: str) -> object:
    if name not in _SYMBOLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from surfer_lab.capture import symbolic

    return getattr(symbolic, name)

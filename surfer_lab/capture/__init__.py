"""Capture: what a program does in one step, recorded while it runs once, or without running it.

- `record(fn)` / `with record() as r: ... r.step()`: for scripts and notebooks.
- `observe(label=...)`: the same around a cell's execution, `o.result()` gives trace and notices.

Imports torch; nothing above capture does so on its own account.
"""

from surfer_lab.capture.observe import Observation, Observer, observe
from surfer_lab.capture.recording import Recording, record

__all__ = ["Observation", "Observer", "Recording", "observe", "record"]

"""What happened in one iteration, as one record: `Trace`. Read from profiler files, saved, loaded, compared."""

from surfer_lab.trace.busy_time import busy_ns, union_ns
from surfer_lab.trace.equality import differences, same
from surfer_lab.trace.invariants import check, violations
from surfer_lab.trace.reader import read, read_bytes
from surfer_lab.trace.steps import step_of_kernels
from surfer_lab.trace.storage import from_bytes, load, save, to_bytes

__all__ = [
    "busy_ns",
    "check",
    "differences",
    "from_bytes",
    "load",
    "read",
    "read_bytes",
    "same",
    "save",
    "step_of_kernels",
    "to_bytes",
    "union_ns",
    "violations",
]

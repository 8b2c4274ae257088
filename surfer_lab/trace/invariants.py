"""What holds for every Trace, however it was made? Checked after reading and loading; anything else is a defect.

- Columns of a table have its length; codes index their values; indices their table, or are -1.
- Times are inside [0, wall_ns], durations not negative, rows in order of start.
- An op's parent stands before it, a wait's record is an event record.
- The union of the kernels' intervals is at most the wall time.
- Nothing in the environment but what may travel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from enum import IntEnum
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.errors import TraceError
from surfer_lab.trace.busy_time import busy_ns
from surfer_lab.trace.columns import Interned
from surfer_lab.trace.model import Trace
from surfer_lab.trace.privacy import is_allowed
from surfer_lab.trace.tables import HostCallKind, KernelKind, MemoryFormat, Phase, SpanKind, TensorRole

__all__ = ["TABLES", "check", "violations"]

TABLES: Final = ("ops", "host_calls", "kernels", "spans", "steps", "memory", "tensors", "uses")
_TIMED: Final = ("ops", "host_calls", "kernels", "spans")
_SHOWN: Final = 3

# (table, column, table that it indexes)
_INDICES: Final = (
    ("ops", "parent", "ops"),
    ("ops", "forward_op", "ops"),
    ("host_calls", "op", "ops"),
    ("host_calls", "waits_for", "host_calls"),
    ("kernels", "op", "ops"),
    ("kernels", "host_call", "host_calls"),
    ("memory", "op", "ops"),
    ("tensors", "allocated_by", "ops"),
    ("tensors", "last_used_by", "ops"),
    ("tensors", "freed_after", "ops"),
    ("uses", "op", "ops"),
    ("uses", "tensor", "tensors"),
)
_ENUMS: Final[tuple[tuple[str, str, type[IntEnum]], ...]] = (
    ("ops", "phase", Phase),
    ("ops", "memory_format", MemoryFormat),
    ("host_calls", "kind", HostCallKind),
    ("kernels", "kind", KernelKind),
    ("spans", "kind", SpanKind),
    ("tensors", "role", TensorRole),
)


def check(trace: Trace) -> None:
    """Raise TraceError naming the first few broken rules; return quietly where all hold."""
    broken = list(violations(trace))
    if broken:
        more = f" and {len(broken) - _SHOWN} more" if len(broken) > _SHOWN else ""
        raise TraceError(
            f"the trace contradicts itself: {'; '.join(broken[:_SHOWN])}{more}",
            remedy="record or save it again; if it was just read from a profiler's file, report the file",
        )


def violations(trace: Trace) -> Iterator[str]:
    """Each broken rule in words."""
    lengths_hold = True
    for name in TABLES:
        for problem in _about_columns(name, getattr(trace, name)):
            lengths_hold = False
            yield problem
    if not lengths_hold:
        return  # the rules below index columns
    yield from _about_indices(trace)
    yield from _about_times(trace)
    yield from (f"environment holds {key!r}" for key, value in trace.environment.items() if not is_allowed(key, value))
    if trace.batch_size is not None and trace.batch_size < 1:
        yield f"batch size is {trace.batch_size}"


def _about_columns(name: str, table: Any) -> Iterator[str]:
    row_count = len(table)
    for column in fields(table):
        values = getattr(table, column.name)
        codes = values.codes if isinstance(values, Interned) else values
        if len(codes) != row_count:
            yield f"{name}.{column.name} has {len(codes)} of {row_count} rows"
        elif codes.ndim != (2 if column.name in ("grid", "block") else 1):
            yield f"{name}.{column.name} has {codes.ndim} dimensions"
        elif isinstance(values, Interned) and _outside(codes, -1, len(values.values)):
            yield f"{name}.{column.name} has codes without a value"
        elif codes.ndim == 2 and codes.shape[1] != 3:
            yield f"{name}.{column.name} has {codes.shape[1]} directions, not 3"


def _about_indices(trace: Trace) -> Iterator[str]:
    for name, column, target in _INDICES:
        if _outside(getattr(getattr(trace, name), column), -1, len(getattr(trace, target))):
            yield f"{name}.{column} points outside {target}"
            return
    for name, column, kind in _ENUMS:
        if _outside(getattr(getattr(trace, name), column), 0, len(kind)):
            yield f"{name}.{column} has unknown kinds"
    if (np.diff(trace.uses.op) < 0).any():
        yield "uses of tensors are not in the ops' order"
    if (trace.ops.parent >= np.arange(len(trace.ops))).any():
        yield "an op stands before its parent"
    waited_for = trace.host_calls.waits_for[trace.host_calls.waits_for >= 0]
    if (trace.host_calls.kind[waited_for] != HostCallKind.EVENT_RECORD).any():
        yield "a host call waits for one that records no event"


def _about_times(trace: Trace) -> Iterator[str]:
    wall_ns = trace.wall_ns
    if wall_ns < 0:
        yield f"wall time is {wall_ns} ns"
    for name in _TIMED:
        table = getattr(trace, name)
        if (table.duration_ns < 0).any():
            yield f"{name} have negative durations"
        if (table.start_ns < 0).any() or (table.start_ns + table.duration_ns > wall_ns).any():
            yield f"{name} lie outside the wall time"
        if (np.diff(table.start_ns) < 0).any():
            yield f"{name} are not in order of start"
    steps, memory = trace.steps, trace.memory
    if (steps.end_ns < steps.start_ns).any() or (np.diff(steps.start_ns) < 0).any():
        yield "steps end before they start, or are not in order"
    if (steps.start_ns < 0).any() or (steps.end_ns > wall_ns).any():
        yield "steps lie outside the wall time"
    if (memory.time_ns < 0).any() or (memory.time_ns > wall_ns).any() or (np.diff(memory.time_ns) < 0).any():
        yield "memory events lie outside the wall time, or are not in order"
    if (busy := busy_ns(trace.kernels)) > wall_ns:
        yield f"the GPU is busy for {busy} ns of {wall_ns} ns wall time"


def _outside(column: NDArray[Any], lowest: int, limit: int) -> bool:
    return bool(len(column)) and bool(
        column.min() < lowest or column.max() >= max(limit, lowest + 1 if lowest < 0 else 0)
    )

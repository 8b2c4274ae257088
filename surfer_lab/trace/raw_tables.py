"""Columns as they stand in the file, one table a kind of event, before rows are linked and ordered.

Times are int64 nanoseconds on the file's own clock; strings, threads and nested lists are codes into `pools.Pools`;
what is not recorded is -1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "RawAllocations", "RawAnnotations", "RawCalls", "RawGpuEvents", "RawKernels", "RawOps", "RawPython", "RawRows",
    "RawSyncs", "integers", "joined",
]  # fmt: skip

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
R = TypeVar("R", bound="RawRows")


@dataclass(kw_only=True, eq=False)
class RawRows:
    """What every event has. All columns have one length."""

    name: I32
    start_ns: I64
    duration_ns: I64
    thread: I32

    def __len__(self) -> int:
        return len(self.start_ns)

    def take(self: R, rows: NDArray[Any]) -> R:
        """The rows chosen by an index or mask array."""
        return type(self)(**{column.name: getattr(self, column.name)[rows] for column in fields(self)})

    @property
    def end_ns(self) -> I64:
        return self.start_ns + self.duration_ns


@dataclass(kw_only=True, eq=False)
class RawOps(RawRows):
    external_id: I64
    sequence: I64
    forward_thread: I64
    dims: I32
    types: I32
    strides: I32
    arguments: I32
    call_stack: I32
    hierarchy: I32
    collective: I32


@dataclass(kw_only=True, eq=False)
class RawAnnotations(RawRows):
    external_id: I64
    dims: I32
    types: I32
    finished: I32


@dataclass(kw_only=True, eq=False)
class RawCalls(RawRows):
    external_id: I64
    correlation: I64
    grid: I32
    block: I32
    smem_bytes: I64
    size_bytes: I64


@dataclass(kw_only=True, eq=False)
class RawKernels(RawRows):
    kind: I32  # EventKind
    external_id: I64
    correlation: I64
    device: I64
    stream: I64
    grid: I32
    block: I32
    regs_per_thread: I64
    smem_bytes: I64
    size_bytes: I64
    collective: I32


@dataclass(kw_only=True, eq=False)
class RawPython(RawRows):
    pass


@dataclass(kw_only=True, eq=False)
class RawSyncs(RawRows):
    correlation: I64
    stream: I64
    wait_on_stream: I64
    recorded_by: I64


@dataclass(kw_only=True, eq=False)
class RawGpuEvents(RawRows):
    correlation: I64
    stream: I64


@dataclass(kw_only=True, eq=False)
class RawAllocations(RawRows):
    delta_bytes: I64
    allocated_bytes: I64
    reserved_bytes: I64
    device_type: I64
    device: I64


def joined(kind: type[R], parts: list[R]) -> R:
    """All rows of the parts; an empty table where there are none."""
    if not parts:
        return kind(**{column.name: np.empty(0, _dtype(column.name, kind)) for column in fields(kind)})
    return kind(**{c.name: np.concatenate([getattr(part, c.name) for part in parts]) for c in fields(kind)})


def _dtype(column: str, kind: type[RawRows]) -> type[np.generic]:
    declared = next(field.type for field in fields(kind) if field.name == column)
    return np.int32 if str(declared) == "I32" else np.int64


def integers(items: Sequence[Any]) -> I64:
    """An int64 column of what a writer printed: numbers, or numbers as strings; anything else is -1.

    >>> integers([7, "12", None, 1e300, [3], "x"])
    array([ 7, 12, -1, -1, -1, -1])
    """
    if items.count(-1) == len(items):  # often nothing is recorded: three times faster than converting
        return np.full(len(items), -1, dtype=np.int64)
    try:
        column = np.array(items, dtype=np.int64)
        if column.shape == (len(items),):
            return column
    except (TypeError, ValueError, OverflowError):
        pass
    return np.array([_integer(item) for item in items], dtype=np.int64)


def _integer(item: Any) -> int:
    try:
        value = int(item)
    except (TypeError, ValueError, OverflowError):
        return -1
    return value if -(1 << 63) <= value < 1 << 63 else -1

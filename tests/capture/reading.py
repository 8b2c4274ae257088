"""How tests read a trace: as lists of plain rows."""

from __future__ import annotations

from typing import Any, NamedTuple

from surfer_lab.trace.model import Trace
from surfer_lab.trace.tables import Phase, TensorRole


class Row(NamedTuple):
    name: str
    phase: Phase
    shapes: Any
    dtypes: Any
    results: Any
    module: str | None
    source: str | None


class Life(NamedTuple):
    size_bytes: int
    role: TensorRole
    dtype: str
    allocated_by: int
    last_used_by: int
    freed_after: int


def rows(trace: Trace) -> list[Row]:
    """Ops in order."""
    ops = trace.ops
    return [
        Row(ops.name[i] or "", Phase(ops.phase[i]), ops.input_shapes[i], ops.input_dtypes[i], ops.output_shapes[i],
            ops.module[i], ops.source[i])
        for i in range(len(ops))
    ]  # fmt: skip


def names(trace: Trace, phase: Phase | None = None) -> list[str]:
    """Names of ops, without "aten::"."""
    return [row.name.removeprefix("aten::") for row in rows(trace) if phase is None or row.phase is phase]


def lives(trace: Trace) -> list[Life]:
    """Storages."""
    t = trace.tensors
    return [
        Life(int(t.size_bytes[i]), TensorRole(t.role[i]), t.dtype[i] or "", int(t.allocated_by[i]),
             int(t.last_used_by[i]), int(t.freed_after[i]))
        for i in range(len(t))
    ]  # fmt: skip


def bytes_of(trace: Trace, role: TensorRole) -> int:
    """All storages of a role."""
    return sum(life.size_bytes for life in lives(trace) if life.role is role)

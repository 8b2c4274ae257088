"""Small op and kernel tables for tests, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from surfer_lab.trace.columns import Interned
from surfer_lab.trace.tables import ArgDtypes, ArgShapes, KernelKind, KernelTable, OpTable


@dataclass(frozen=True)
class OpRow:
    name: str
    inputs: ArgShapes | None = None
    dtypes: ArgDtypes | None = None
    parent: int = -1
    outputs: ArgShapes | None = None
    arguments: tuple[str, ...] | None = None
    thread: int = 1


@dataclass(frozen=True)
class KernelRow:
    name: str
    op: int = -1
    duration_ns: int = 1000
    grid: tuple[int, int, int] = (0, 0, 0)
    block: tuple[int, int, int] = (0, 0, 0)
    kind: KernelKind = KernelKind.COMPUTE
    size_bytes: int = -1


def floats(*shapes: tuple[int, ...] | None) -> ArgDtypes:
    return tuple("float32" if shape is not None else None for shape in shapes)


def op_table(rows: Sequence[OpRow]) -> OpTable:
    """Rows start one microsecond after each other; a parent lasts until its last child ended."""
    count = len(rows)
    start = np.arange(count, dtype=np.int64) * 1000
    end = start + 900
    for place in range(count - 1, -1, -1):
        parent = rows[place].parent
        if parent >= 0:
            end[parent] = max(end[parent], end[place] + 10)
    return OpTable(
        name=Interned.of(row.name for row in rows),
        phase=np.zeros(count, dtype=np.int8),
        start_ns=start,
        duration_ns=end - start,
        thread=np.array([row.thread for row in rows], dtype=np.int32),
        parent=np.array([row.parent for row in rows], dtype=np.int32),
        input_shapes=Interned.of(row.inputs for row in rows),
        input_dtypes=Interned.of(
            row.dtypes if row.dtypes is not None or row.inputs is None else floats(*row.inputs) for row in rows
        ),
        output_shapes=Interned.of(row.outputs for row in rows),
        output_dtypes=Interned.absent(count),
        arguments=Interned.of(row.arguments for row in rows),
        memory_format=np.zeros(count, dtype=np.int8),
        module=Interned.absent(count),
        source=Interned.absent(count),
        sequence=np.full(count, -1, dtype=np.int64),
        forward_op=np.full(count, -1, dtype=np.int32),
    )


def kernel_table(rows: Sequence[KernelRow]) -> KernelTable:
    count = len(rows)
    return KernelTable(
        name=Interned.of(row.name for row in rows),
        kind=np.array([row.kind for row in rows], dtype=np.int8),
        start_ns=np.arange(count, dtype=np.int64) * 10_000,
        duration_ns=np.array([row.duration_ns for row in rows], dtype=np.int64),
        device=np.zeros(count, dtype=np.int16),
        stream=np.full(count, 7, dtype=np.int64),
        grid=np.array([row.grid for row in rows], dtype=np.int32).reshape(count, 3),
        block=np.array([row.block for row in rows], dtype=np.int32).reshape(count, 3),
        regs_per_thread=np.full(count, -1, dtype=np.int32),
        smem_bytes=np.full(count, -1, dtype=np.int64),
        op=np.array([row.op for row in rows], dtype=np.int32),
        host_call=np.full(count, -1, dtype=np.int32),
        size_bytes=np.array([row.size_bytes for row in rows], dtype=np.int64),
        group_size=np.full(count, -1, dtype=np.int32),
        collective=Interned.absent(count),
    )

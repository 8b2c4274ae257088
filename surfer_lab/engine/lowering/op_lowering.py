"""Lower the ops of a table: which ops count where they are nested, then the work of each as columns.

Work on a signature (name, shapes, dtypes, arguments, layout) is done once, however many ops share it: a thousand steps
cost what one does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.lowering.families import FAMILY_TRAITS
from surfer_lab.engine.lowering.op_table import OpStanding, lower_op, standing_of
from surfer_lab.engine.lowering.recorded_outputs import output_finder
from surfer_lab.engine.lowering.work import KernelWork, Lowered, Source
from surfer_lab.trace.columns import Interned
from surfer_lab.trace.tables import ArgShapes, MemoryFormat, OpTable

__all__ = ["columns_of", "group_codes", "lower", "signature_codes", "works_of_rows"]

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
T = TypeVar("T")

_STANDINGS: Final = tuple(OpStanding)


def group_codes(columns: Sequence[NDArray[np.integer]]) -> tuple[I64, I64]:
    """Distinct rows of several code columns: (index of each row's group, first row of each group)."""
    combined = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        low = int(column.min(initial=0))
        width = int(column.max(initial=0)) - low + 1
        # re-number after each column, so that the mixed radix never overflows
        _, combined = np.unique(combined * width + (column.astype(np.int64) - low), return_inverse=True)
    _, first, groups = np.unique(combined, return_index=True, return_inverse=True)
    return groups.astype(np.int64).reshape(-1), first.astype(np.int64)


def signature_codes(ops: OpTable, rows: NDArray[np.integer]) -> list[NDArray[np.integer]]:
    """The columns that decide what an op costs."""
    interned = (ops.name, ops.input_shapes, ops.input_dtypes, ops.output_shapes, ops.output_dtypes, ops.arguments)
    return [*(column.codes[rows] for column in interned), ops.memory_format[rows]]


def works_of_rows(
    ops: OpTable, rows: NDArray[np.integer], *, output_of: Callable[[int], ArgShapes | None] | None = None
) -> tuple[list[tuple[KernelWork, ...]], I64]:
    """Works of each distinct signature among the rows, and the signature of each row.

    `output_of(row)` may supply an output shape that the trace does not hold, for the first row of a signature.
    """
    if len(rows) == 0:
        return [], np.zeros(0, dtype=np.int64)
    groups, first = group_codes(signature_codes(ops, rows))
    works = []
    for row in rows[first].tolist():
        outputs = ops.output_shapes[row]
        if outputs is None and output_of is not None:
            outputs = output_of(row)
        works.append(
            lower_op(
                ops.name[row] or "",
                ops.input_shapes[row] or (),
                ops.input_dtypes[row] or (),
                outputs,
                output_dtypes=ops.output_dtypes[row],
                arguments=ops.arguments[row] or (),
                memory_format=MemoryFormat(int(ops.memory_format[row])),
            )
        )
    return works, groups


def _standings(ops: OpTable) -> NDArray[np.int8]:
    return ops.name.map(
        lambda name: _STANDINGS.index(standing_of(name)), absent=_STANDINGS.index(OpStanding.FRAME), dtype=np.int8
    )


def _spread_to_ancestors(marked: NDArray[np.bool_], parent: I32) -> NDArray[np.bool_]:
    """Rows with a marked descendant. Parents come before children, depth is small: one pass a level."""
    reached = np.zeros_like(marked)
    above = np.unique(parent[marked])
    while len(above):
        fresh = above[(above >= 0) & ~reached[above]]
        reached[fresh] = True
        above = np.unique(parent[fresh])
    return reached


def countable_rows(ops: OpTable) -> I32:
    """Rows to lower where no kernels were recorded: each piece of work once, by the outermost op that stands for it.

    Atomic ops hide what is inside them. A composite counts only when nothing inside it was recorded; an operator that
    is not in the table when nothing inside it does work.
    """
    standing = _standings(ops)
    parent = ops.parent
    atomic = standing == _STANDINGS.index(OpStanding.ATOMIC)
    composite = standing == _STANDINGS.index(OpStanding.COMPOSITE)
    unknown = standing == _STANDINGS.index(OpStanding.UNKNOWN_OP)
    covered = _has_ancestor(atomic, parent)
    has_child = np.zeros(len(ops), dtype=bool)
    has_child[parent[parent >= 0]] = True
    chosen = ~covered & (atomic | (composite & ~has_child))
    works_inside = _spread_to_ancestors(chosen, parent)
    # an unknown operator inside another: the outer one stands for both
    lone = unknown & ~covered & ~works_inside
    inner = _has_ancestor(lone, parent)
    return np.flatnonzero(chosen | (lone & ~inner)).astype(np.int32)


def _has_ancestor(marked: NDArray[np.bool_], parent: I32) -> NDArray[np.bool_]:
    """Rows inside a marked one. One pass a level of nesting; only rows with ancestors left are looked at."""
    found = np.zeros_like(marked)
    rows = np.flatnonzero(parent >= 0)
    ancestor = parent[rows]
    while len(rows):
        found[rows] |= marked[ancestor]
        ancestor = parent[ancestor]
        rows, ancestor = rows[ancestor >= 0], ancestor[ancestor >= 0]
    return found


@dataclass(frozen=True, eq=False)
class _Column:
    """One field of a KernelWork over a list of works."""

    works: Sequence[KernelWork]

    def floats(self, field: Callable[[KernelWork], float]) -> NDArray[np.float64]:
        return np.fromiter((field(work) for work in self.works), dtype=np.float64, count=len(self.works))

    def ints(self, field: Callable[[KernelWork], int]) -> I64:
        return np.fromiter((field(work) for work in self.works), dtype=np.int64, count=len(self.works))

    def words(self, field: Callable[[KernelWork], str | None]) -> Interned[str]:
        return Interned.of(field(work) for work in self.works)


def columns_of(works: Sequence[KernelWork], index: NDArray[np.integer], op: I32, kernel: I32) -> Lowered:
    """`works[index[i]]` as row i."""
    column = _Column(works)
    gemm = np.array([work.gemm or (0, 0, 0, 0) for work in works], dtype=np.int64).reshape(len(works), 4)
    return Lowered(
        op=op,
        kernel=kernel,
        family=column.words(lambda work: None if work.source is Source.NONE else work.family.value).take(index),
        flop=column.floats(lambda work: work.flop)[index],
        read_bytes=column.floats(lambda work: work.read_bytes)[index],
        write_bytes=column.floats(lambda work: work.write_bytes)[index],
        blocks=column.ints(lambda work: work.blocks)[index],
        threads=column.ints(lambda work: work.threads)[index].astype(np.int32),
        launch_count=column.ints(lambda work: work.launch_count)[index].astype(np.int32),
        rate_class=column.words(lambda work: work.rate_class.value).take(index),
        tf32=column.ints(lambda work: work.tf32)[index].astype(np.int8),
        gemm=gemm[index],
        flop_fraction=column.floats(lambda work: work.flop_fraction)[index],
        memory_bound=column.ints(lambda work: FAMILY_TRAITS[work.family].memory_bound)[index].astype(bool),
        role=column.ints(lambda work: work.role)[index].astype(np.int8),
        amd_bytes=column.floats(lambda work: work.amd_bytes)[index],
        source=column.words(lambda work: work.source.value).take(index),
        reason=column.words(lambda work: work.reason or None).take(index),
    )


def lower(ops: OpTable, rows: NDArray[np.integer] | None = None) -> Lowered:
    """Work of the ops of a capture without a GPU, in op order; an op that launches nothing has no row.

    Without `rows`: each piece of work once (`countable_rows`). With `rows`: exactly these ops.
    """
    chosen = countable_rows(ops) if rows is None else np.asarray(rows, dtype=np.int32)
    works, groups = works_of_rows(ops, chosen, output_of=output_finder(ops))
    counts = np.array([len(group) for group in works], dtype=np.int64)
    flat = [work for group in works for work in group]
    starts = np.concatenate(([0], np.cumsum(counts)))[:-1] if len(counts) else np.zeros(0, dtype=np.int64)
    repeats = counts[groups] if len(groups) else np.zeros(0, dtype=np.int64)
    op = np.repeat(chosen, repeats).astype(np.int32)
    within = np.arange(int(repeats.sum()), dtype=np.int64) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    index = np.repeat(starts[groups], repeats) + within if len(groups) else np.zeros(0, dtype=np.int64)
    return columns_of(flat, index, op, np.full(len(op), -1, dtype=np.int32))

"""How do annotations and module calls become the table of spans?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surfer_lab.trace.categories import annotation_kind, is_annotation
from surfer_lab.trace.nesting import Nesting
from surfer_lab.trace.pools import canonical, ranks, spread
from surfer_lab.trace.python_stacks import PythonStacks
from surfer_lab.trace.raw_tables import RawAnnotations, RawOps, RawPython, joined
from surfer_lab.trace.row_order import in_order
from surfer_lab.trace.tables import SpanKind, SpanTable

__all__ = ["annotations_among_ops", "marks_of", "ordered_annotations", "ordered_frames", "span_table"]

I64 = NDArray[np.int64]


def annotations_among_ops(
    ops: RawOps, annotations: RawAnnotations, names: Sequence[str]
) -> tuple[RawOps, RawAnnotations]:
    """Move marks that 2021's "Operator" category held among the ops to the annotations."""
    marked = spread(ops.name, names, is_annotation, np.bool_)
    if not marked.any():
        return ops, annotations
    moved = ops.take(marked)
    as_annotations = RawAnnotations(
        name=moved.name,
        start_ns=moved.start_ns,
        duration_ns=moved.duration_ns,
        thread=moved.thread,
        external_id=moved.external_id,
        dims=moved.dims,
        types=moved.types,
        finished=np.ones(len(moved), dtype=np.int32),
    )
    return ops.take(~marked), joined(RawAnnotations, [annotations, as_annotations])


def ordered_annotations(raw: RawAnnotations, name_ranks: I64) -> RawAnnotations:
    """Rows by start, longest first; ties by what they are."""
    keys: list[NDArray[Any]] = [raw.thread, name_ranks[raw.name], raw.external_id, raw.finished]
    return raw.take(in_order(raw.start_ns, -raw.duration_ns, keys))


def ordered_frames(raw: RawPython, name_ranks: I64) -> RawPython:
    """Python frames by start, longest first; ties by thread and name."""
    return raw.take(in_order(raw.start_ns, -raw.duration_ns, [raw.thread, name_ranks[raw.name]]))


def marks_of(annotations: RawAnnotations, names: Sequence[str], prefix: str) -> Nesting:
    """The annotations whose name begins so, to ask what lies inside one."""
    rows = annotations.take(spread(annotations.name, names, lambda name: name.startswith(prefix), np.bool_))
    return Nesting.of(rows.start_ns, rows.end_ns, rows.thread)


def span_table(
    annotations: RawAnnotations, frames: RawPython, stacks: PythonStacks, names: Sequence[str]
) -> tuple[SpanTable, NDArray[np.bool_]]:
    """The spans, and for each whether the file says that it finished."""
    values = [*names, *stacks.modules]
    module_rows = np.flatnonzero(stacks.is_module)
    module_count = len(module_rows)
    code = np.concatenate([annotations.name, stacks.module_codes(module_rows) + len(names)]).astype(np.int64)
    kind = np.concatenate(
        [spread(annotations.name, names, annotation_kind, np.int8), np.full(module_count, SpanKind.MODULE, np.int8)]
    )
    start_ns = np.concatenate([annotations.start_ns, frames.start_ns[module_rows]])
    duration_ns = np.concatenate([annotations.duration_ns, frames.duration_ns[module_rows]])
    thread = np.concatenate([annotations.thread, frames.thread[module_rows]])
    finished = np.concatenate([annotations.finished != 0, np.ones(module_count, dtype=np.bool_)])
    order = in_order(start_ns, -duration_ns, [thread, kind, ranks(values)[code], finished])
    table = SpanTable(
        name=canonical(code[order], values),
        kind=kind[order],
        start_ns=start_ns[order],
        duration_ns=duration_ns[order],
        thread=thread[order],
    )
    return table, finished[order]

"""How do raw ops become the table of ops: in order, nested, with phase, module, source line and forward op?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from surfer_lab.trace.arguments import argument_values, input_dtypes, input_shapes, memory_format, parsed_list
from surfer_lab.trace.columns import Interned
from surfer_lab.trace.nesting import Nesting, inherit
from surfer_lab.trace.phases import forward_ops, phases
from surfer_lab.trace.pools import canonical
from surfer_lab.trace.python_stacks import PythonStacks
from surfer_lab.trace.raw_tables import RawOps
from surfer_lab.trace.row_order import in_order
from surfer_lab.trace.salvage import UNDECODABLE
from surfer_lab.trace.source_frames import lines_of_call_stack
from surfer_lab.trace.tables import ArgDtypes, ArgShapes, MemoryFormat, OpTable

__all__ = ["OpRows", "ordered_ops"]

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, eq=False)
class OpRows:
    """The table, what nests where, and the raw rows in the table's order."""

    table: OpTable
    nesting: Nesting
    raw: RawOps


def ordered_ops(raw: RawOps, name_ranks: I64, raw_ranks: I64) -> RawOps:
    """Rows by start, longest first; ties by what they are."""
    keys: list[NDArray[Any]] = [raw.external_id, raw.thread, name_ranks[raw.name], raw.sequence, raw.forward_thread]
    keys += [raw_ranks[column] for column in (raw.dims, raw.types, raw.strides, raw.arguments, raw.call_stack)]
    return raw.take(in_order(raw.start_ns, -raw.duration_ns, keys))


def op_rows(
    raw: RawOps,
    names: Sequence[str],
    printed: Sequence[bytes],
    stacks: PythonStacks,
    *,
    optimizer_marks: Nesting,
    input_marks: Nesting,
) -> OpRows:
    """Build from ordered rows whose times begin at 0."""
    nesting = Nesting.of(raw.start_ns, raw.end_ns, raw.thread)
    parent = nesting.parent
    phase = phases(
        raw.name,
        names,
        parent,
        raw.thread,
        raw.forward_thread,
        in_optimizer=optimizer_marks.innermost(raw.start_ns, raw.thread) >= 0,
        in_input=input_marks.innermost(raw.start_ns, raw.thread) >= 0,
    )
    forward_op = forward_ops(raw.sequence, raw.forward_thread, raw.start_ns, raw.thread, parent, phase)
    line, module = stacks.around(raw.start_ns, raw.thread)
    shapes, dtypes, layout = _inputs(raw, printed)
    count = len(raw)
    table = OpTable(
        name=canonical(raw.name, list(names)),
        phase=phase,
        start_ns=raw.start_ns,
        duration_ns=raw.duration_ns,
        thread=raw.thread,
        parent=parent,
        input_shapes=shapes,
        input_dtypes=dtypes,
        output_shapes=Interned.absent(count),
        output_dtypes=Interned.absent(count),
        arguments=_by_print(raw.arguments, printed, argument_values),
        memory_format=layout,
        module=_place(module, stacks.modules, raw.hierarchy, printed, _hierarchy, parent, forward_op),
        source=_place(line, stacks.lines, raw.call_stack, printed, _call_stack, parent, forward_op),
        sequence=raw.sequence,
        forward_op=forward_op,
    )
    return OpRows(table=table, nesting=nesting, raw=raw)


def _by_print(codes: I32, printed: Sequence[bytes], read: Callable[[bytes], T | None]) -> Interned[T]:
    """A column read once a distinct print."""
    values: list[T | None] = [None] * len(printed)
    for code in np.unique(codes).tolist():
        values[code] = read(printed[code])
    return canonical(codes, values)


def _inputs(raw: RawOps, printed: Sequence[bytes]) -> tuple[Interned[Any], Interned[Any], NDArray[np.int8]]:
    """Shapes, dtypes and layout, read once a distinct combination of prints."""
    combination = np.zeros(len(raw), dtype=np.int64)
    for column in (raw.dims, raw.types, raw.strides):
        _, first, combination = np.unique(combination * len(printed) + column, return_index=True, return_inverse=True)
    shapes: list[ArgShapes | None] = []
    dtypes: list[ArgDtypes | None] = []
    layouts: list[MemoryFormat] = []
    dtypes_of: dict[int, ArgDtypes | None] = {0: None}
    for dims, types, stride in zip(
        *(column[first].tolist() for column in (raw.dims, raw.types, raw.strides)), strict=True
    ):
        if types not in dtypes_of:
            dtypes_of[types] = input_dtypes(printed[types])
        shape = input_shapes(printed[dims], dtypes_of[types])
        shapes.append(shape)
        dtypes.append(dtypes_of[types] if shape is not None else None)
        layouts.append(memory_format(shape, parsed_list(printed[stride])) if stride else MemoryFormat.UNKNOWN)
    layout = np.array(layouts or [MemoryFormat.UNKNOWN], dtype=np.int8)[combination]
    return canonical(combination, shapes), canonical(combination, dtypes), layout


def _place(
    codes: I32,
    values: Sequence[str],
    printed_codes: I32,
    printed: Sequence[bytes],
    read: Callable[[bytes], str | None],
    parent: I32,
    forward_op: I32,
) -> Interned[str]:
    """Module or source line: of the forward op, else as printed on the op, else by python frames, else its parent's."""
    as_printed = _by_print(printed_codes, printed, read)
    merged = np.where(as_printed.codes >= 0, as_printed.codes + len(values), codes)
    merged = inherit(merged, parent)
    from_forward = np.where(forward_op >= 0, merged[forward_op], -1) if len(merged) else merged
    merged = np.where((forward_op >= 0) & (from_forward >= 0), from_forward, merged)
    return canonical(
        np.where(merged < 0, len(values) + len(as_printed.values), merged), [*values, *as_printed.values, None]
    )


def _call_stack(printed: bytes) -> str | None:
    text = _text(printed)
    return lines_of_call_stack(text) if text else None


def _hierarchy(printed: bytes) -> str | None:
    text = _text(printed)
    return text[:1_024] if text and "/" not in text else None


def _text(printed: bytes) -> str | None:
    if not printed:
        return None
    try:
        value = msgspec.json.decode(printed)
    except UNDECODABLE:
        return None
    return value if isinstance(value, str) else None

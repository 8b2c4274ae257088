"""How is a captured step changed? Its ops and storages as rows that can be edited, and the Trace made of them again.

A row keeps the op that it came from, so that what refers to ops (a gradient to its forward op, a storage to the ops
between which it lives) follows when rows come and go. A storage's life is worked out anew from the rows: made by the
first that writes it, freed where it was, or after its last use where it was freed right after its last use before.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.trace.columns import Interned
from surfer_lab.trace.model import Trace
from surfer_lab.trace.tables import (
    ArgDtypes,
    ArgShapes,
    MemoryFormat,
    MemoryTable,
    OpTable,
    Phase,
    Shape,
    TensorRole,
    TensorTable,
    TensorUseTable,
)

__all__ = ["Draft", "OpRow", "StorageRow", "Use", "is_list", "numel"]

# A storage freed at most so many ops after its last use is taken to be freed by that use: autograd lets go of what a
# node saved when the node is done, and a node is one to four ops.
_FREED_BY_USE_OPS: Final = 4
_BY_NOBODY: Final = -1

I32 = NDArray[np.int32]


@dataclass(slots=True)
class Use:
    """A storage (row of the draft's), read as an argument or written as a result; position -1: not known which."""

    storage: int
    position: int


@dataclass(slots=True, eq=False)
class OpRow:
    """One op. `origin`: its row in the trace the draft was made of, -1: new. `forward`: the op it is a gradient of."""

    name: str
    phase: Phase
    start_ns: int
    duration_ns: int
    input_shapes: ArgShapes
    input_dtypes: ArgDtypes
    output_shapes: ArgShapes
    output_dtypes: ArgDtypes
    arguments: tuple[str, ...]
    memory_format: MemoryFormat
    module: str | None
    source: str | None
    thread: int = 0
    sequence: int = -1
    origin: int = -1
    forward: OpRow | None = None
    parent: OpRow | None = None
    reads: list[Use] = field(default_factory=list)
    writes: list[Use] = field(default_factory=list)

    def like(self, name: str, **changes: object) -> OpRow:
        """A new op at this one's place in program and time, without storages."""
        fresh = {"origin": -1, "duration_ns": 0, "sequence": -1, "reads": [], "writes": []}
        return replace(self, name=name, **{**fresh, **changes})  # type: ignore[arg-type] # fields of OpRow, by name


@dataclass(slots=True, eq=False)
class StorageRow:
    """One storage. `origin`: its row in the trace, -1: new. `is_kept`: outlives the step."""

    size_bytes: int
    role: TensorRole
    dtype: str | None
    origin: int = -1
    is_there_before: bool = False
    is_kept: bool = False
    has_fewer_uses: bool = False  # a use was taken off it: it may be freed earlier


def is_list(entry: object) -> bool:
    """Is an argument's entry a list of shapes?"""
    return isinstance(entry, tuple) and bool(entry) and isinstance(entry[0], tuple)


def numel(shape: Shape) -> int:
    """Elements of a tensor."""
    count = 1
    for size in shape:
        count *= size
    return count


class Draft:
    """Rows of one capture. Change `rows` and `storages` in place, then ask for the `trace`."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self.rows = _rows(trace)
        self.storages = _storages(trace.tensors)

    def add_storage(self, size_bytes: int, dtype: str | None, *, role: TensorRole = TensorRole.TEMPORARY) -> int:
        """A new storage; it lives from the first row that writes it to the last that uses it."""
        self.storages.append(StorageRow(size_bytes, role, dtype))
        return len(self.storages) - 1

    def trace(self) -> Trace:
        """The Trace of the rows as they are now. Recorded memory events and peaks are another step's: dropped."""
        trace = self._trace
        place = {id(row): at for at, row in enumerate(self.rows)}
        of_origin = _followed(self.rows, len(trace.ops))
        start_ns = np.maximum.accumulate(np.array([row.start_ns for row in self.rows], dtype=np.int64))
        tensors, renumbered = self._tensors(of_origin)
        return replace(
            trace,
            ops=_op_table(self.rows, start_ns, place),
            tensors=tensors,
            uses=_use_table(self.rows, renumbered),
            memory=_no_events(),
            wall_ns=max(trace.wall_ns, int(start_ns[-1]) if len(start_ns) else 0),
            peak_allocated_bytes=None,
            peak_reserved_bytes=None,
        )

    def _tensors(self, of_origin: I32) -> tuple[TensorTable, dict[int, int]]:
        first_write, last_use = self._spans_of_uses()
        old = self._trace.tensors
        kept: list[tuple[int, int, str | None, int, int, int]] = []
        renumbered: dict[int, int] = {}
        for number, storage in enumerate(self.storages):
            known = storage.origin >= 0
            written, used = first_write.get(number, _BY_NOBODY), last_use.get(number, _BY_NOBODY)
            if storage.is_there_before:
                made = _BY_NOBODY
            elif written >= 0:
                made = written
            elif known:
                made = int(of_origin[old.allocated_by[storage.origin]])
            else:
                continue  # a new one that nothing writes
            if known and used < 0:
                was = int(old.last_used_by[storage.origin])
                if storage.has_fewer_uses and not storage.is_there_before and written < 0:
                    continue  # nothing makes it or needs it any more
                used = int(of_origin[was]) if was >= 0 else _BY_NOBODY
            freed = self._freed(storage, old, of_origin, made, used)
            renumbered[number] = len(kept)
            kept.append((storage.size_bytes, int(self._role(storage, made, used)), storage.dtype, made, used, freed))
        return (
            TensorTable(
                size_bytes=np.array([row[0] for row in kept], dtype=np.int64),
                role=np.array([row[1] for row in kept], dtype=np.int8),
                dtype=Interned.of(row[2] for row in kept),
                allocated_by=np.array([row[3] for row in kept], dtype=np.int32),
                last_used_by=np.array([row[4] for row in kept], dtype=np.int32),
                freed_after=np.array([row[5] for row in kept], dtype=np.int32),
            ),
            renumbered,
        )

    def _freed(self, storage: StorageRow, old: TensorTable, of_origin: I32, made: int, used: int) -> int:
        if storage.is_kept:
            return _BY_NOBODY
        if storage.origin < 0:
            return max(made, used)
        was = int(old.freed_after[storage.origin])
        if was < 0:
            return _BY_NOBODY
        if storage.has_fewer_uses and was - int(old.last_used_by[storage.origin]) <= _FREED_BY_USE_OPS:
            return max(made, used)
        return max(int(of_origin[was]), made, used)

    def _spans_of_uses(self) -> tuple[dict[int, int], dict[int, int]]:
        first_write: dict[int, int] = {}
        last_use: dict[int, int] = {}
        for at, row in enumerate(self.rows):
            for use in row.reads:
                last_use[use.storage] = at
            for use in row.writes:
                last_use[use.storage] = at
                first_write.setdefault(use.storage, at)
        return first_write, last_use

    def _role(self, storage: StorageRow, made: int, used: int) -> TensorRole:
        """What is made going forward and read going backward was saved for it."""
        if storage.role not in (TensorRole.TEMPORARY, TensorRole.ACTIVATION) or made < 0 or used < 0:
            return storage.role
        made_forward = self.rows[made].phase in (Phase.FORWARD, Phase.OTHER)
        return (
            TensorRole.ACTIVATION if made_forward and self.rows[used].phase is Phase.BACKWARD else TensorRole.TEMPORARY
        )


def _rows(trace: Trace) -> list[OpRow]:
    ops, uses = trace.ops, trace.uses
    columns = zip(
        ops.name, ops.phase.tolist(), ops.start_ns.tolist(), ops.duration_ns.tolist(), ops.input_shapes,
        ops.input_dtypes, ops.output_shapes, ops.output_dtypes, ops.arguments, ops.memory_format.tolist(), ops.module,
        ops.source, ops.thread.tolist(), ops.sequence.tolist(), strict=True,
    )  # fmt: skip
    rows = [
        OpRow(
            name or "", Phase(phase), start, duration, shapes or (), dtypes or (), results or (), result_dtypes or (),
            arguments or (), MemoryFormat(layout), module, source, thread, sequence, origin,
        )
        for origin, (
            name, phase, start, duration, shapes, dtypes, results, result_dtypes, arguments, layout, module, source,
            thread, sequence,
        ) in enumerate(columns)
    ]  # fmt: skip
    for row, forward, parent in zip(rows, ops.forward_op.tolist(), ops.parent.tolist(), strict=True):
        row.forward = rows[forward] if forward >= 0 else None
        row.parent = rows[parent] if parent >= 0 else None
    for op, tensor, position, is_write in zip(
        uses.op.tolist(), uses.tensor.tolist(), uses.position.tolist(), uses.is_write.tolist(), strict=True
    ):
        (rows[op].writes if is_write else rows[op].reads).append(Use(tensor, position))
    return rows


def _storages(tensors: TensorTable) -> list[StorageRow]:
    return [
        StorageRow(size, TensorRole(role), dtype, origin, made < 0, freed < 0)
        for origin, (size, role, dtype, made, freed) in enumerate(
            zip(
                tensors.size_bytes.tolist(), tensors.role.tolist(), tensors.dtype, tensors.allocated_by.tolist(),
                tensors.freed_after.tolist(), strict=True,
            )
        )
    ]  # fmt: skip


def _followed(rows: list[OpRow], count: int) -> I32:
    """Where each op of the old trace is now; of one that was dropped, the op before it."""
    found = np.full(count + 1, _BY_NOBODY, dtype=np.int32)
    for at, row in enumerate(rows):
        if row.origin >= 0:
            found[row.origin] = at
    moved: I32 = np.maximum.accumulate(found[:count]) if count else found[:0]
    return np.append(moved, np.int32(_BY_NOBODY))  # so that -1 stays -1


def _op_table(rows: list[OpRow], start_ns: NDArray[np.int64], place: dict[int, int]) -> OpTable:
    def at(row: OpRow | None) -> int:
        return place.get(id(row), _BY_NOBODY) if row is not None else _BY_NOBODY

    return OpTable(
        name=Interned.of(row.name for row in rows),
        phase=np.array([int(row.phase) for row in rows], dtype=np.int8),
        start_ns=start_ns,
        duration_ns=np.array([row.duration_ns for row in rows], dtype=np.int64),
        thread=np.array([row.thread for row in rows], dtype=np.int32),
        parent=np.array([at(row.parent) for row in rows], dtype=np.int32),
        input_shapes=Interned.of(row.input_shapes for row in rows),
        input_dtypes=Interned.of(row.input_dtypes for row in rows),
        output_shapes=Interned.of(row.output_shapes for row in rows),
        output_dtypes=Interned.of(row.output_dtypes for row in rows),
        arguments=Interned.of(row.arguments for row in rows),
        memory_format=np.array([int(row.memory_format) for row in rows], dtype=np.int8),
        module=Interned.of(row.module for row in rows),
        source=Interned.of(row.source for row in rows),
        sequence=np.array([row.sequence for row in rows], dtype=np.int64),
        forward_op=np.array([at(row.forward) for row in rows], dtype=np.int32),
    )


def _use_table(rows: list[OpRow], renumbered: dict[int, int]) -> TensorUseTable:
    found = [
        (at, renumbered[use.storage], use.position, is_write)
        for at, row in enumerate(rows)
        for uses, is_write in ((row.reads, False), (row.writes, True))
        for use in uses
        if use.storage in renumbered
    ]
    return TensorUseTable(
        op=np.array([use[0] for use in found], dtype=np.int32),
        tensor=np.array([use[1] for use in found], dtype=np.int32),
        position=np.array([use[2] for use in found], dtype=np.int16),
        is_write=np.array([use[3] for use in found], dtype=np.bool_),
    )


def _no_events() -> MemoryTable:
    i64 = np.zeros(0, dtype=np.int64)
    return MemoryTable(
        time_ns=i64, delta_bytes=i64, allocated_bytes=i64, reserved_bytes=i64, device=np.zeros(0, dtype=np.int16),
        op=np.zeros(0, dtype=np.int32),
    )  # fmt: skip

"""How does a logged stretch become a Trace: which ops in which order, as a GPU would run them, with their tensors?

Times are the CPU's (or 0 for a symbolic capture), from the stretch's own start. There are no kernels: the engine
derives them from the shapes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from surfer_lab.capture.autocast import with_cuda_autocast
from surfer_lab.capture.batch import guess_batch_size
from surfer_lab.capture.gpu_form import GpuForm, as_on_gpu
from surfer_lab.capture.oplog import LoggedOp, MadeFull, OpLog
from surfer_lab.capture.storages import StorageLife
from surfer_lab.capture.uses import tensor_uses
from surfer_lab.trace.columns import Interned
from surfer_lab.trace.model import CellRecord, Trace, TraceOrigin, TraceWarning
from surfer_lab.trace.tables import (
    HostCallTable,
    KernelTable,
    MemoryTable,
    OpTable,
    Phase,
    SpanKind,
    SpanTable,
    StepSource,
    StepTable,
    TensorRole,
    TensorTable,
)

__all__ = ["Stretch", "trace_of"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Stretch:
    """The recorded step: ops [first_op, end_op) of a log, between two times of its clock."""

    log: OpLog
    first_op: int
    end_op: int
    start_ns: int
    end_ns: int
    number: int  # which step of the run, from 1
    source: StepSource
    warnings: tuple[TraceWarning, ...] = field(default=())


def trace_of(stretch: Stretch, *, origin: TraceOrigin, cell: CellRecord | None) -> Trace:
    """One Trace of the stretch; batch size guessed from what the modules were called with."""
    log = stretch.log
    logged = log.ops[stretch.first_op : stretch.end_op]
    form = as_on_gpu(logged)
    form = with_cuda_autocast(form, log.storages.lives, _made_full(stretch, form))
    order = np.argsort(np.array([op.start_ns for op in form.ops], dtype=np.int64), kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    ops = [form.ops[at] for at in order]
    position = [int(rank[at]) for at in form.position]
    start_ns = stretch.start_ns
    wall_ns = max(stretch.end_ns - start_ns, 0)
    tensors, row_of_storage = _tensor_table(stretch, form, position, [int(value) for value in rank])
    return Trace(
        origin=origin,
        device=None,
        ops=_op_table(ops, start_ns),
        host_calls=_no_host_calls(),
        kernels=_no_kernels(),
        spans=_span_table(log, start_ns, stretch.end_ns, stretch.number),
        steps=StepTable(
            number=np.array([stretch.number], dtype=np.int64),
            start_ns=np.zeros(1, dtype=np.int64),
            end_ns=np.array([wall_ns], dtype=np.int64),
            complete=np.ones(1, dtype=np.bool_),
        ),
        step_source=stretch.source,
        memory=_no_memory(),
        tensors=tensors,
        uses=tensor_uses(ops, row_of_storage),
        wall_ns=wall_ns,
        batch_size=guess_batch_size(log, stretch.first_op, stretch.end_op),
        cell=cell,
        environment=_environment(),
        warnings=(*stretch.warnings, *_log_warnings(log)),
    )


def _made_full(stretch: Stretch, form: GpuForm) -> list[MadeFull]:
    """What is wanted in float32, with rows of the form."""
    first, end = stretch.first_op, stretch.end_op
    return [
        replace(made, before_op=form.position[made.before_op - first] if made.before_op < end else len(form.ops))
        for made in stretch.log.made_full
        if first <= made.before_op <= end
    ]


def _environment() -> Mapping[str, str]:
    return {"torch": str(torch.__version__)}  # a subclass of str by its own


def _log_warnings(log: OpLog) -> list[TraceWarning]:
    warnings = []
    if log.is_full:
        warnings.append(
            TraceWarning(
                seen=f"more than {len(log.ops):,} ops ran before a step ended",
                consequence="what came after is not in the prediction; mark steps with r.step(), or run a short loop",
            )
        )
    if log.originals:
        warnings.append(
            TraceWarning(
                seen="the ops of compiled modules are those of the modules before torch.compile",
                consequence="ask for the compiler's gain with --compile",
            )
        )
    elif log.compiled_seen:
        warnings.append(
            TraceWarning(
                seen="a compiled function ran: what it compiled away was not seen",
                consequence="its time is missing; run it uncompiled, and ask for the compiler's gain with --compile",
            )
        )
    if log.undescribed_count:
        warnings.append(
            TraceWarning(
                seen=f"{log.undescribed_count} ops worked on tensors of a kind that has no plain shape",
                consequence="they are not in the prediction",
            )
        )
    return warnings


# -- ops ---------------------------------------------------------------------------------------------------------------


def _op_table(ops: Sequence[LoggedOp], start_ns: int) -> OpTable:
    owner: dict[int, int] = {}
    for row, op in enumerate(ops):
        if op.phase is not Phase.BACKWARD and op.end_node > op.first_node:
            for node in range(op.first_node, op.end_node):
                owner.setdefault(node, row)
    forward = [owner.get(op.node, -1) if op.phase is Phase.BACKWARD else -1 for op in ops]
    linked = [ops[at] if at >= 0 else op for op, at in zip(ops, forward, strict=True)]
    return OpTable(
        name=Interned.of(op.name for op in ops),
        phase=np.array([int(op.phase) for op in ops], dtype=np.int8),
        start_ns=np.array([max(op.start_ns - start_ns, 0) for op in ops], dtype=np.int64),
        duration_ns=np.array([op.end_ns - op.start_ns for op in ops], dtype=np.int64),
        thread=np.zeros(len(ops), dtype=np.int32),
        parent=np.full(len(ops), -1, dtype=np.int32),
        input_shapes=Interned.of(op.input_shapes for op in ops),
        input_dtypes=Interned.of(op.input_dtypes for op in ops),
        output_shapes=Interned.of(op.output_shapes for op in ops),
        output_dtypes=Interned.of(op.output_dtypes for op in ops),
        arguments=Interned.of(op.arguments for op in ops),
        memory_format=np.array([int(op.memory_format) for op in ops], dtype=np.int8),
        # a gradient's op belongs to the module and line of the forward op it comes from
        module=Interned.of(op.module or origin.module for op, origin in zip(ops, linked, strict=True)),
        source=Interned.of(origin.site.source or op.site.source for op, origin in zip(ops, linked, strict=True)),
        sequence=np.array(
            [op.node if op.node >= 0 else (op.end_node - 1 if op.end_node > op.first_node else -1) for op in ops],
            dtype=np.int64,
        ),
        forward_op=np.array(forward, dtype=np.int32),
    )


# -- tensors -----------------------------------------------------------------------------------------------------------


def _tensor_table(
    stretch: Stretch, form: GpuForm, position: Sequence[int], rank: Sequence[int]
) -> tuple[TensorTable, dict[int, int]]:
    """The storages that live in the stretch, and the row of each."""
    first, end = stretch.first_op, stretch.end_op
    phases = [form.ops[at].phase for at in np.argsort(rank)]  # in the table's order
    rows: list[tuple[int, int, str, int, int, int]] = []
    row_of_storage: dict[int, int] = {}
    for storage, life in enumerate(stretch.log.storages.lives):
        if storage in stretch.log.host_numbers:
            continue
        if life.size_bytes == 0 or life.freed_before_first_op or life.allocated_by >= end:
            continue
        if 0 <= life.freed_after < first:
            continue  # freed before the stretch's first op
        allocated = _within(life.allocated_by, first, end, position)
        used = _within(life.last_used_by, first, end, position)
        freed = _within(life.freed_after, first, end, position) if life.freed_after < end else -1
        inside = form.internal.get(storage)
        if inside is not None and freed >= 0 and allocated == rank[inside]:
            continue
        row_of_storage[storage] = len(rows)
        size, dtype = form.resized.get(storage, (life.size_bytes, life.dtype))
        if storage in form.begins:
            allocated = rank[form.begins[storage]]
        if storage in form.released and freed >= 0:
            used = freed = rank[form.released[storage]]
        rows.append((size, int(_role(life, allocated, used, phases)), dtype, allocated, used, freed))
    for storage, extra in form.extra.items():
        row_of_storage[storage] = len(rows)
        allocated, used, freed = (
            rank[at] if at >= 0 else -1 for at in (extra.allocated_by, extra.last_used_by, extra.freed_after)
        )
        rows.append((extra.size_bytes, int(extra.role), extra.dtype, allocated, used, freed))
    table = TensorTable(
        size_bytes=np.array([row[0] for row in rows], dtype=np.int64),
        role=np.array([row[1] for row in rows], dtype=np.int8),
        dtype=Interned.of(row[2] for row in rows),
        allocated_by=np.array([row[3] for row in rows], dtype=np.int32),
        last_used_by=np.array([row[4] for row in rows], dtype=np.int32),
        freed_after=np.array([row[5] for row in rows], dtype=np.int32),
    )
    return table, row_of_storage


def _within(op: int, first: int, end: int, position: Sequence[int]) -> int:
    """Row of the table for an op of the log; -1 for one before the stretch, the last row for one after it."""
    if op < first or not position:
        return -1
    return position[min(op, end - 1) - first]


def _role(life: StorageLife, allocated: int, used: int, phases: Sequence[Phase]) -> TensorRole:
    """What is made going forward and read going backward was saved for it."""
    if life.role is not TensorRole.TEMPORARY or allocated < 0 or used < 0:
        return life.role
    saved = phases[allocated] in (Phase.FORWARD, Phase.OTHER) and phases[used] is Phase.BACKWARD
    return TensorRole.ACTIVATION if saved else TensorRole.TEMPORARY


# -- the rest ----------------------------------------------------------------------------------------------------------


def _span_table(log: OpLog, start_ns: int, end_ns: int, number: int) -> SpanTable:
    spans = [span for span in log.spans if span.end_ns >= start_ns and span.start_ns <= end_ns]
    rows = [(span.name, span.kind, max(span.start_ns, start_ns), min(span.end_ns, end_ns)) for span in spans]
    starts_ends = zip(log.calls, log.call_ends, strict=False)
    rows += [
        (call.module_name, SpanKind.MODULE, max(call.time_ns, start_ns), min(stop, end_ns))
        for call, (_, stop) in starts_ends
        if start_ns <= call.time_ns < end_ns
    ]
    rows.append((f"step {number}", SpanKind.STEP, start_ns, end_ns))
    rows.sort(key=lambda row: row[2])
    return SpanTable(
        name=Interned.of(row[0] for row in rows),
        kind=np.array([int(row[1]) for row in rows], dtype=np.int8),
        start_ns=np.array([row[2] - start_ns for row in rows], dtype=np.int64),
        duration_ns=np.array([max(row[3] - row[2], 0) for row in rows], dtype=np.int64),
        thread=np.zeros(len(rows), dtype=np.int32),
    )


def _no_host_calls() -> HostCallTable:
    i32, i64 = np.empty(0, np.int32), np.empty(0, np.int64)
    return HostCallTable(
        name=Interned.absent(0), kind=np.empty(0, np.int8), start_ns=i64, duration_ns=i64, thread=i32, op=i32,
        stream=i64, waits_for=i32,
    )  # fmt: skip


def _no_kernels() -> KernelTable:
    i32, i64 = np.empty(0, np.int32), np.empty(0, np.int64)
    return KernelTable(
        name=Interned.absent(0), kind=np.empty(0, np.int8), start_ns=i64, duration_ns=i64, device=np.empty(0, np.int16),
        stream=i64, grid=np.empty((0, 3), np.int32), block=np.empty((0, 3), np.int32), regs_per_thread=i32,
        smem_bytes=i64, op=i32, host_call=i32, size_bytes=i64, group_size=i32, collective=Interned.absent(0),
    )  # fmt: skip


def _no_memory() -> MemoryTable:
    i64 = np.empty(0, np.int64)
    return MemoryTable(
        time_ns=i64, delta_bytes=i64, allocated_bytes=i64, reserved_bytes=i64, device=np.empty(0, np.int16),
        op=np.empty(0, np.int32),
    )  # fmt: skip

"""What if the step ran under torch.compile? Fused kernels in place of ops, fewer launches, less traffic.

A fused kernel moves what its ops move, less what stays inside: a result read only inside is not written, what is read
from inside or twice is read once. So it never moves more than its ops. It costs one launch (two where a norm over batch
and space needs two passes). Forward and backward are compiled, the optimizer stays as it is: torch's own steps over
lists are fused by hand. Products and convolutions stay library calls without fused epilogues, TorchInductor's default.
What a recomputation of cheap ops in the backward pass saves is not counted; nor are max pools, which stay one kernel.

"reduce-overhead" runs the same kernels as CUDA graphs: launches cost next to nothing (`modelled_timeline`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from surfer_lab.engine.compilation import CompileMode
from surfer_lab.engine.lowering.ops.fused import FUSED_POINTWISE, FUSED_REDUCTION, fused_arguments
from surfer_lab.engine.options import EngineOptions
from surfer_lab.engine.whatif.conv_bias import with_biases_apart
from surfer_lab.engine.whatif.conv_layout import lay_out_convolutions
from surfer_lab.engine.whatif.fused_ops import is_compiled
from surfer_lab.engine.whatif.fusion import Group, groups_of
from surfer_lab.engine.whatif.result import RewriteResult
from surfer_lab.errors import PredictionError
from surfer_lab.trace.model import Trace, TraceOrigin
from surfer_lab.trace.rewrite import Draft, OpRow, Use
from surfer_lab.trace.rewrite.draft import is_list, numel
from surfer_lab.trace.rewrite.names import itemsize
from surfer_lab.trace.tables import ArgDtypes, ArgShapes, Shape

__all__ = ["with_compile"]

_DEFAULT: Final = EngineOptions()


def with_compile(trace: Trace, mode: CompileMode, *, options: EngineOptions = _DEFAULT) -> RewriteResult:
    """The step as compiled; the same trace where it is compiled already, or not asked for.

    Refuses (PredictionError) recordings without shapes, and captures that do not say what their ops read and write.
    """
    if mode is CompileMode.OFF:
        return RewriteResult(trace=trace, options=replace(options, compile=mode))
    options = replace(options, compile=mode)
    if trace.origin is TraceOrigin.PROFILER:
        if not _has_shapes(trace):
            raise PredictionError(
                "the recording holds no shapes of its operations, so what a compiler would fuse is not known",
                remedy="record with record_shapes=True, or capture the step without a GPU",
            )
        return RewriteResult(trace=trace, options=options, notes=(_MEASURED_NOTE,))
    if is_compiled(trace):
        return RewriteResult(trace=trace, options=options)
    if not len(trace.uses) and len(trace.ops):
        raise PredictionError(
            "the capture does not say which op reads and writes what, so what a compiler would fuse is not known",
            remedy="capture the step again with this version",
        )
    draft = Draft(trace)
    is_laid_out = lay_out_convolutions(draft.rows)
    draft.rows = with_biases_apart(draft.rows)
    groups = groups_of(draft.rows, draft.storages)
    users = _users(draft)
    draft.rows = [_fused(draft, group, users) if _is_kernel(group) else group.members[0].row for group in groups]
    _in_time(draft.rows)
    fused = [group for group in groups if group.is_fused]
    before = sum(len(group.members) for group in fused)
    notes = (
        f"torch.compile ({mode.value}): {before} operations run as {len(fused)} fused kernels; forward and backward "
        "are taken to compile without graph breaks",
        *(("convolutions are taken to be laid out channels-last, as the compiler does",) if is_laid_out else ()),
        "the time of compiling is not in it",
    )
    return RewriteResult(trace=draft.trace(), options=options, notes=notes)


_MEASURED_NOTE: Final = (
    "torch.compile is approximated on the recording: neighbouring element-wise kernels of one size are taken to fuse; "
    "capture the step without a GPU for its true data flow"
)


def _has_shapes(trace: Trace) -> bool:
    return any(entry is not None for shapes in trace.ops.input_shapes.values for entry in shapes)


def _is_kernel(group: Group) -> bool:
    return group.is_fused


def _users(draft: Draft) -> dict[int, set[int]]:
    """Rows (by id) that read each storage."""
    users: dict[int, set[int]] = {}
    for row in draft.rows:
        for use in row.reads:
            users.setdefault(use.storage, set()).add(id(row))
    return users


def _fused(draft: Draft, group: Group, users: dict[int, set[int]]) -> OpRow:
    """One op in place of a group, with what it moves in its arguments."""
    inside = {id(member.row) for member in group.members}
    made: set[int] = set()
    read: dict[int, tuple[Shape, str]] = {}
    written: dict[int, tuple[Shape, str]] = {}
    read_bytes = write_bytes = flop = 0.0
    for member in group.members:
        row = member.row
        own_read = sum(work.read_bytes for work in member.works)
        own_write = sum(work.write_bytes for work in member.works)
        flop += sum(work.flop for work in member.works)
        for use in row.reads:
            shape, dtype = _seen(draft, row, use, is_result=False)
            if use.storage in made or use.storage in read:
                own_read -= min(own_read, numel(shape) * itemsize(dtype))
            if use.storage not in made:
                read.setdefault(use.storage, (shape, dtype))
        for use in row.writes:
            shape, dtype = _seen(draft, row, use, is_result=True)
            storage = draft.storages[use.storage]
            escapes = storage.is_kept or storage.is_there_before or users.get(use.storage, set()) - inside
            if not escapes:
                own_write -= min(own_write, numel(shape) * itemsize(dtype))
                storage.has_fewer_uses = True
            elif use.storage in written:
                own_write -= min(own_write, numel(shape) * itemsize(dtype))  # written once, at the end
            else:
                written[use.storage] = (shape, dtype)
            made.add(use.storage)
        read_bytes += own_read
        write_bytes += own_write
    first = group.members[0].row
    fused = first.like(
        FUSED_REDUCTION if group.is_reduction else FUSED_POINTWISE,
        input_shapes=tuple(shape for shape, _ in read.values()),
        input_dtypes=tuple(dtype for _, dtype in read.values()),
        output_shapes=tuple(shape for shape, _ in written.values()),
        output_dtypes=tuple(dtype for _, dtype in written.values()),
        arguments=fused_arguments(
            flop=flop, read_bytes=read_bytes, write_bytes=write_bytes, launch_count=group.launch_count,
            elements=group.size,
        ),
        duration_ns=sum(member.row.duration_ns for member in group.members), forward=first.forward,
        origin=group.members[-1].row.origin,
    )  # fmt: skip
    fused.reads = [Use(storage, position) for position, storage in enumerate(read)]
    fused.writes = [Use(storage, position) for position, storage in enumerate(written)]
    return fused


def _seen(draft: Draft, row: OpRow, use: Use, *, is_result: bool) -> tuple[Shape, str]:
    """Shape and dtype in which a row uses a storage; all of the storage where that is not known."""
    shapes: ArgShapes = row.output_shapes if is_result else row.input_shapes
    dtypes: ArgDtypes = row.output_dtypes if is_result else row.input_dtypes
    storage = draft.storages[use.storage]
    whole = storage.size_bytes // itemsize(storage.dtype)
    if not 0 <= use.position < len(shapes):
        return (whole,), storage.dtype or "float32"
    entry = shapes[use.position]
    dtype = (dtypes[use.position] if use.position < len(dtypes) else None) or storage.dtype or "float32"
    if not isinstance(entry, tuple) or is_list(entry):
        return (whole,), dtype
    seen = tuple(size for size in entry if isinstance(size, int))
    return (seen if numel(seen) <= whole else (whole,)), dtype  # expanded: read once


def _in_time(rows: list[OpRow]) -> None:
    """Start times follow the new order: captures' times only order launches and loader waits."""
    if rows:
        times = np.sort(np.array([row.start_ns for row in rows]))
        for row, time in zip(rows, times.tolist(), strict=True):
            row.start_ns = time

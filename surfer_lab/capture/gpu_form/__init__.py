"""Which ops would a GPU have run, where the CPU ran others for the same call?

A few calls are one op on CUDA and several on a CPU. They are told by the place they were called from and by their
order, and folded to the op that CUDA dispatches, forward and backward. What is not recognised stays as it ran.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from surfer_lab.capture.gpu_form.attention import cpu_fused_attention, unfused_attention
from surfer_lab.capture.gpu_form.fold import BackwardOp, Fold, Matcher, as_one, same_call_run
from surfer_lab.capture.gpu_form.lists import CLIP_GRAD, ZERO_GRAD
from surfer_lab.capture.gpu_form.pointwise import dropout, rms_norm
from surfer_lab.capture.gpu_form.recurrent import recurrent_cell, recurrent_layers
from surfer_lab.capture.oplog import LoggedOp
from surfer_lab.capture.where import Place
from surfer_lab.trace.tables import Phase, TensorRole

__all__ = ["ExtraStorage", "GpuForm", "as_on_gpu"]

_BY_PLACE: Final[dict[Place, Matcher]] = {
    Place.DROPOUT: dropout,
    Place.RNN: recurrent_layers,
    Place.RNN_CELL: recurrent_cell,
    Place.RMS_NORM: rms_norm,
    Place.ZERO_GRAD: ZERO_GRAD,
    Place.CLIP_GRAD: CLIP_GRAD,
}
_BY_NAME: Final[dict[str, Matcher]] = {"aten::_scaled_dot_product_flash_attention_for_cpu": cpu_fused_attention}


class ExtraStorage(NamedTuple):
    """A storage that the run did not have. Rows are positions in the form."""

    size_bytes: int
    dtype: str
    role: TensorRole
    allocated_by: int
    last_used_by: int
    freed_after: int


@dataclass(slots=True)
class GpuForm:
    """The ops as on a GPU. `position[i]` is where op i of the log went.

    `resized`: size and dtype of storages that stand for what the GPU's op keeps; `internal`: storages that a GPU does
    not have, if the op at this position allocated them and they do not outlive the step; `extra`: those that only a
    GPU has, numbered on from the log's; `released` after and `begins` with these rows, otherwise than in the run.
    """

    ops: list[LoggedOp]
    position: list[int]
    extra: dict[int, ExtraStorage] = field(default_factory=dict)
    released: dict[int, int] = field(default_factory=dict)
    begins: dict[int, int] = field(default_factory=dict)
    resized: dict[int, tuple[int, str]] = field(default_factory=dict)
    internal: dict[int, int] = field(default_factory=dict)


def as_on_gpu(ops: Sequence[LoggedOp]) -> GpuForm:
    """Fold what a GPU runs as one op; every other op stays where it was."""
    form = GpuForm([], [])
    backward_of: dict[int, tuple[BackwardOp, int]] = {}  # autograd node -> its op, and number of the fold
    backward_rows: dict[int, int] = {}  # number of a fold -> position of its backward op
    checkpointed: dict[tuple[object, ...], Fold] = {}  # folds of the forward pass that may run again
    fold_count = 0
    index = 0
    while index < len(ops):
        op = ops[index]
        made = backward_of.get(op.node) if op.node >= 0 else None
        if made is not None and op.name not in made[0].keeps:
            row = backward_rows.get(made[1])
            if row is None:
                backward_rows[made[1]] = row = len(form.ops)
                form.ops.append(_started(op, made[0]))
            else:
                form.ops[row] = _joined(form.ops[row], op)
            form.position.append(row)
            index += 1
            continue
        fold = _match(ops, index)
        if op.site.is_checkpointed:
            fold = _as_before(ops, index, fold, checkpointed)
        if fold is None:
            form.position.append(len(form.ops))
            form.ops.append(op)
            index += 1
            continue
        if fold.backward is not None and fold.nodes is not None:
            for node in range(*fold.nodes):
                backward_of[node] = (fold.backward, fold_count)
        _place(form, fold, ops[index : index + fold.count])
        fold_count += 1
        index += fold.count
    _close_backward(form, ops, set(backward_rows.values()))
    return form


def _as_before(
    ops: Sequence[LoggedOp], index: int, fold: Fold | None, before: dict[tuple[object, ...], Fold]
) -> Fold | None:  # fmt: skip
    """A checkpointed block run again stops at its last saved tensor, perhaps amid a call that is one op on a GPU."""
    op = ops[index]
    line = (op.site.source or "").split(" > ")[-1]
    key = (op.site.place, line, op.site.instruction, op.module, op.name)
    if op.phase is not Phase.BACKWARD:
        if fold is not None:
            before[key] = fold
        return fold
    if fold is not None or key not in before:
        return fold
    run = same_call_run(ops, index)
    model = before[key].ops[-1]
    again = as_one(
        run, model.name, input_shapes=model.input_shapes, input_dtypes=model.input_dtypes,
        output_shapes=model.output_shapes, output_dtypes=model.output_dtypes, arguments=model.arguments,
    )  # fmt: skip
    return Fold(count=len(run), ops=(again,))


def _match(ops: Sequence[LoggedOp], index: int) -> Fold | None:
    op = ops[index]
    matcher = _BY_PLACE.get(op.site.place) or _BY_NAME.get(op.name)
    if matcher is not None:
        return matcher(ops, index)
    if op.phase is Phase.OPTIMIZER or (op.phase is Phase.BACKWARD and not op.site.is_checkpointed):
        return None
    return unfused_attention(ops, index)


def _place(form: GpuForm, fold: Fold, run: Sequence[LoggedOp]) -> None:
    first, last = len(form.ops), len(form.ops) + len(fold.ops) - 1
    form.position.extend(min(first + offset, last) for offset in range(fold.count))
    form.ops.extend(fold.ops)
    if fold.is_list:
        return
    kept = {storage for op in fold.ops for storage in (*op.output_storages, *op.input_storages)}
    if fold.saved is not None:
        form.resized[fold.saved[0]] = fold.saved[1:]
        kept.add(fold.saved[0])
    form.internal.update((storage, last) for op in run for storage in op.output_storages if storage not in kept)


def _started(first: LoggedOp, backward: BackwardOp) -> LoggedOp:
    return replace(
        first, name=backward.name, input_shapes=backward.input_shapes, input_dtypes=backward.input_dtypes,
        output_shapes=backward.output_shapes, output_dtypes=backward.output_dtypes, arguments=backward.arguments,
    )  # fmt: skip


def _joined(row: LoggedOp, part: LoggedOp) -> LoggedOp:
    return replace(
        row, end_ns=row.end_ns + (part.end_ns - part.start_ns),
        input_storages=row.input_storages + part.input_storages,
        output_storages=row.output_storages + part.output_storages,
    )  # fmt: skip


def _close_backward(form: GpuForm, ops: Sequence[LoggedOp], rows: set[int]) -> None:
    """What one part of a folded backward op makes and nothing after it reads is inside of it."""
    if not rows:
        return
    last_reader: dict[int, int] = {}
    for op, position in zip(ops, form.position, strict=True):
        for storage in op.input_storages:
            last_reader[storage] = max(position, last_reader.get(storage, -1))
    for row in rows:
        op = form.ops[row]
        results = tuple(dict.fromkeys(s for s in op.output_storages if last_reader.get(s, -1) > row))
        made = set(op.output_storages)
        form.internal.update((storage, row) for storage in made.difference(results))
        inputs = tuple(dict.fromkeys(s for s in op.input_storages if s not in made))
        form.ops[row] = op.moved(input_storages=inputs, output_storages=results)

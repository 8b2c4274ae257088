"""Which ops does `torch.amp.GradScaler` add to a training step in float16?

The loss is multiplied by the scale and its gradient too; before each optimizer steps, its gradients are divided by the
scale and searched for infinities in one op over the list, and the host reads the answer (it waits for the GPU); at the
end the scale is updated. Source: torch 2.13, torch/amp/grad_scaler.py (scale, unscale_, step, update).
"""

from __future__ import annotations

from typing import Final

from surfer_lab.trace.model import Trace
from surfer_lab.trace.rewrite.draft import Draft, OpRow, Use, numel
from surfer_lab.trace.rewrite.names import FLOATS, itemsize
from surfer_lab.trace.tables import Phase, Shape, TensorRole

__all__ = ["add_grad_scaler", "drop_grad_scaler"]

_UNSCALE: Final = "aten::_amp_foreach_non_finite_check_and_unscale_"
_UPDATE: Final = "aten::_amp_update_scale_"
_SCALER_OPS: Final = frozenset((_UNSCALE, _UPDATE))


def drop_grad_scaler(trace: Trace) -> Trace:
    """The step without the scaler's ops over lists of gradients; the same trace where there are none."""
    if not _SCALER_OPS & set(trace.ops.name.values):
        return trace
    draft = Draft(trace)
    draft.rows = [row for row in draft.rows if row.name not in _SCALER_OPS]
    return draft.trace()


def add_grad_scaler(trace: Trace) -> Trace:
    """The step with a scaler around it; the same trace where it has one already, or does not train."""
    phases = set(trace.ops.phase.tolist())
    if _SCALER_OPS & set(trace.ops.name.values) or not {Phase.BACKWARD, Phase.OPTIMIZER} <= phases:
        return trace
    draft = Draft(trace)
    rows: list[OpRow] = []
    gradients: dict[int, Shape] = {}  # of the backward passes since the optimizer stepped
    last_backward = -1
    before: OpRow | None = None
    for row in draft.rows:
        if row.phase is Phase.BACKWARD:
            if before is None or before.phase is not Phase.BACKWARD:
                rows += [_number(row, "aten::mul", Phase.FORWARD), _number(row, "aten::mul", Phase.BACKWARD)]
            gradients.update(_gradients_written(draft, row))
        elif row.phase is Phase.OPTIMIZER and (before is None or before.phase is not Phase.OPTIMIZER) and gradients:
            rows[last_backward + 1 : last_backward + 1] = _unscale(draft, rows[last_backward], gradients)
            rows.append(_number(row, "aten::_local_scalar_dense", Phase.OTHER))
            gradients = {}
        rows.append(row)
        if row.phase is Phase.BACKWARD:
            last_backward = len(rows) - 1
        before = row
    last_step = max(at for at, row in enumerate(rows) if row.phase is Phase.OPTIMIZER)
    rows.insert(last_step + 1, _number(rows[last_step], _UPDATE, Phase.OTHER))
    draft.rows = rows
    return draft.trace()


def _gradients_written(draft: Draft, row: OpRow) -> dict[int, Shape]:
    found: dict[int, Shape] = {}
    for use in row.writes:
        storage = draft.storages[use.storage]
        if storage.role is TensorRole.GRADIENT and storage.dtype in FLOATS:
            entry = row.output_shapes[use.position] if 0 <= use.position < len(row.output_shapes) else None
            size = storage.size_bytes // itemsize(storage.dtype)
            is_shape = isinstance(entry, tuple) and all(isinstance(part, int) for part in entry)
            found[use.storage] = entry if is_shape and numel(entry) == size else (size,)  # type: ignore[assignment,arg-type]
    return found


def _unscale(draft: Draft, row: OpRow, gradients: dict[int, Shape]) -> list[OpRow]:
    """1 / scale by way of float64, a flag, and the list of gradients by dtype."""
    added = [
        _number(row, "aten::_to_copy", Phase.OTHER, result="float64"),
        _number(row, "aten::reciprocal", Phase.OTHER, dtype="float64", result="float64"),
        _number(row, "aten::_to_copy", Phase.OTHER, dtype="float64"),
        _number(row, "aten::full", Phase.OTHER),
    ]
    by_dtype: dict[str, list[int]] = {}
    for storage in gradients:
        by_dtype.setdefault(draft.storages[storage].dtype or "float32", []).append(storage)
    for dtype, members in by_dtype.items():
        shapes = tuple(gradients[storage] for storage in members)
        check = row.like(
            _UNSCALE, phase=Phase.OTHER, input_shapes=(shapes, (1,), ()), input_dtypes=(dtype, "float32", "float32"),
            output_shapes=(), output_dtypes=(), arguments=("", "", ""), forward=None,
        )  # fmt: skip
        check.reads = [Use(storage, 0) for storage in members]
        check.writes = []
        added.append(check)
    return added


def _number(row: OpRow, name: str, phase: Phase, *, dtype: str = "float32", result: str = "float32") -> OpRow:
    """An op on one number."""
    shapes: tuple[Shape, ...] = ((), ()) if name in ("aten::mul", _UPDATE) else ((),)
    return row.like(
        name, phase=phase, input_shapes=shapes, input_dtypes=(dtype,) * len(shapes), output_shapes=((),),
        output_dtypes=(result,), arguments=("",) * len(shapes), forward=None,
    )  # fmt: skip

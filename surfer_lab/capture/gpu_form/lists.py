"""Loops over many gradients that are one op over a list on a GPU: zero_grad, clip_grad_norm_.

Source: torch 2.13, torch/optim/optimizer.py (zero_grad), torch/nn/utils/clip_grad.py (foreach by default on CUDA).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from surfer_lab.capture.gpu_form.fold import Fold, Matcher, same_call_run, shape_of
from surfer_lab.capture.oplog import LoggedOp

__all__ = ["CLIP_GRAD", "ZERO_GRAD"]


def _list_of(names: dict[str, str]) -> Matcher:
    def match(ops: Sequence[LoggedOp], index: int) -> Fold | None:
        first = ops[index]
        name = names.get(first.name)
        if name is None:
            return None
        run = list(same_call_run(ops, index))
        count = next((at for at, op in enumerate(run) if op.name != first.name), len(run))
        if count < 2:
            return None
        run = run[:count]
        lists: list[object] = []
        for position, entry in enumerate(first.input_shapes):
            shapes = tuple(shape_of(op.input_shapes[position]) for op in run)
            lists.append(shapes if entry is not None and (position == 0 or entry != ()) else entry)
        count_there = _ARGUMENTS[name]
        joined = replace(
            first, name=name, end_ns=run[-1].end_ns,
            input_shapes=tuple(lists[:count_there]),  # type: ignore[arg-type] # shapes and lists of them, as ArgShapes
            input_dtypes=first.input_dtypes[:count_there], arguments=first.arguments[:count_there],
            output_shapes=() if name.endswith("_") else (tuple(shape_of(op.output_shapes[0]) for op in run),),
            output_dtypes=() if name.endswith("_") else first.output_dtypes[:1],
            input_storages=tuple(s for op in run for s in op.input_storages),
            output_storages=tuple(s for op in run for s in op.output_storages),
        )  # fmt: skip
        return Fold(count=count, ops=(joined,), is_list=True)

    return match


# arguments of the op over lists; those that its counterpart has in addition come last
_ARGUMENTS: Final = {"aten::_foreach_zero_": 1, "aten::_foreach_norm": 3, "aten::_foreach_mul_": 2}
ZERO_GRAD: Final = _list_of({"aten::zero_": "aten::_foreach_zero_"})
CLIP_GRAD: Final = _list_of({"aten::linalg_vector_norm": "aten::_foreach_norm", "aten::mul_": "aten::_foreach_mul_"})

"""Dropout and rms_norm: fused on CUDA, a few elementwise ops on a CPU.

Sources: torch 2.13, aten/src/ATen/native/Dropout.cpp (is_fused_kernel_acceptable), layer_norm.cpp (rms_norm_symint).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from surfer_lab.capture.gpu_form.fold import (
    BackwardOp,
    Fold,
    as_one,
    nodes_of,
    number_at,
    numel,
    same_call_run,
    shape_of,
)
from surfer_lab.capture.oplog import LoggedOp

__all__ = ["dropout", "rms_norm"]


def dropout(ops: Sequence[LoggedOp], index: int) -> Fold | None:
    """bernoulli_, div_, mul -> native_dropout, and mul -> native_dropout_backward."""
    run = ops[index : index + 3]
    if [op.name for op in run] != ["aten::bernoulli_", "aten::div_", "aten::mul"]:
        return None
    noise, _, product = run
    shape = shape_of(product.input_shapes[0])
    if noise.output_shapes != (shape,):
        return None  # whole channels: the same three ops on a GPU
    keep = number_at(noise.arguments, 1, default=0.5)
    dtype = product.input_dtypes[0]
    forward = as_one(
        run, "aten::native_dropout", input_shapes=(shape, None, None), input_dtypes=(dtype, None, None),
        output_shapes=(shape, shape), output_dtypes=(dtype, "bool"), arguments=("", f"{1 - keep:.6g}", "True"),
        memory_format=product.memory_format,
    )  # fmt: skip
    mask = noise.output_storages[0]
    backward = BackwardOp(
        name="aten::native_dropout_backward", input_shapes=(shape, shape, None), input_dtypes=(dtype, "bool", None),
        output_shapes=(shape,), output_dtypes=(dtype,), arguments=("", "", f"{1 / keep:.6g}" if keep else "0"),
    )  # fmt: skip
    forward = forward.moved(input_storages=tuple(s for s in forward.input_storages if s != mask))
    return Fold(count=3, ops=(forward,), backward=backward, saved=(mask, numel(shape), "bool"), nodes=nodes_of(run))


def rms_norm(ops: Sequence[LoggedOp], index: int) -> Fold | None:
    """pow, mean, add_, rsqrt, mul, mul -> _fused_rms_norm, where this torch has it."""
    if not hasattr(torch.ops.aten, "_fused_rms_norm"):
        return None
    run = same_call_run(ops, index)
    names = [op.name for op in run]
    if "aten::pow" not in names or "aten::rsqrt" not in names:
        return None
    start = names.index("aten::pow")
    again = next((at for at in range(start + 1, len(names)) if names[at] == "aten::pow"), len(names))
    if again < len(names) and names[again - 1] == "aten::_to_copy" and names[0] == "aten::_to_copy":
        again -= 1
    run = run[:again]
    shape = shape_of(run[0].input_shapes[0])
    dtype = run[0].input_dtypes[0]
    mean = next((op for op in run if op.name == "aten::mean"), None)
    reduced = shape_of(mean.output_shapes[0]) if mean is not None else (*shape[:-1], 1)
    scale = run[-1] if run[-1].name == "aten::mul" else run[-2]
    weights = [entry for entry in scale.input_shapes if isinstance(entry, tuple) and len(entry) < len(shape)]
    weight = shape_of(weights[0]) if weights else None
    normalized = str(list(weight)) if weight else f"[{shape[-1] if shape else 1}]"
    forward = as_one(
        run, "aten::_fused_rms_norm", input_shapes=(shape, None, weight, None),
        input_dtypes=(dtype, None, dtype if weight else None, None), output_shapes=(shape, reduced),
        output_dtypes=(dtype, "float32"), arguments=("", normalized, "", ""),
    )  # fmt: skip
    backward = BackwardOp(
        name="aten::_fused_rms_norm_backward", input_shapes=(shape, shape, None, reduced, weight, None),
        input_dtypes=(dtype, dtype, None, "float32", dtype if weight else None, None),
        output_shapes=(shape, weight), output_dtypes=(dtype, dtype if weight else None),
        arguments=("", "", normalized, "", "", "[True, True]"), keeps=(),
    )  # fmt: skip
    root = next(op for op in run if op.name == "aten::rsqrt")
    return Fold(
        count=len(run), ops=(forward,), backward=backward, nodes=nodes_of(run),
        saved=(root.output_storages[0], numel(reduced) * 4, "float32"),
    )  # fmt: skip

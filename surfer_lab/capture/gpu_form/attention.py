"""Scaled dot product attention: which fused op would CUDA choose for what a CPU ran, fused or in parts?

Without halves there is no flash attention, with a mask neither: then it is the memory-efficient one.
Source: torch 2.13, aten/src/ATen/native/transformers/attention.cpp and cuda/sdp_utils.cpp.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

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
from surfer_lab.trace.tables import ArgShapes, Shape

__all__ = ["cpu_fused_attention", "unfused_attention"]

_HALVES: Final = ("float16", "bfloat16")
_FLOATS: Final = (*_HALVES, "float32", "float64")
_FLASH_MAX_HEAD_SIZE: Final = 256  # flash attention kernels exist up to this head size


def _fused_attention(
    q: Shape, k: Shape, v: Shape, mask: Shape | None, dtype: str | None, dropout: float, causal: bool
) -> tuple[str, ArgShapes, tuple[str | None, ...], tuple[str, ...], BackwardOp, ArgShapes, tuple[str | None, ...]]:
    out = (*q[:-1], v[-1])
    statistics = q[:-1]
    flash = dtype in _HALVES and mask is None and max(q[-1], v[-1]) <= _FLASH_MAX_HEAD_SIZE
    drop = f"{dropout:.6g}"
    if flash:
        backward = BackwardOp(
            name="aten::_scaled_dot_product_flash_attention_backward",
            input_shapes=(out, q, k, v, out, statistics, *(None,) * 9),
            input_dtypes=(dtype, dtype, dtype, dtype, dtype, "float32", *(None,) * 9),
            output_shapes=(q, k, v), output_dtypes=(dtype,) * 3,
            arguments=("",) * 10 + (drop, str(causal), "", "", ""),
        )  # fmt: skip
        return (
            "aten::_scaled_dot_product_flash_attention", (q, k, v, None, None, None, None),
            (dtype, dtype, dtype, None, None, None, None), ("", "", "", drop, str(causal), "False", ""),
            backward, (out, statistics), (dtype, "float32"),
        )  # fmt: skip
    backward = BackwardOp(
        name="aten::_scaled_dot_product_efficient_attention_backward",
        input_shapes=(out, q, k, v, mask, out, statistics, *(None,) * 6),
        input_dtypes=(dtype, dtype, dtype, dtype, dtype if mask else None, dtype, "float32", *(None,) * 6),
        output_shapes=(q, k, v, None), output_dtypes=(dtype, dtype, dtype, None),
        arguments=("",) * 9 + (drop, "[True, True, True, False]", str(causal), ""),
    )  # fmt: skip
    return (
        "aten::_scaled_dot_product_efficient_attention", (q, k, v, mask, None, None, None, None),
        (dtype, dtype, dtype, dtype if mask else None, None, None, None, None),
        ("", "", "", "", "True", drop, str(causal), ""), backward, (out, statistics), (dtype, "float32"),
    )  # fmt: skip


def unfused_attention(ops: Sequence[LoggedOp], index: int) -> Fold | None:
    """Q scale, k scale, bmm, mask, softmax, dropout, bmm of `_scaled_dot_product_attention_math`."""
    if ops[index].name not in _ATTENTION_STARTS:
        return None
    run = same_call_run(ops, index)
    names = [op.name for op in run]
    softmax = next((at for at, name in enumerate(names) if name in ("aten::_safe_softmax", "aten::_softmax")), None)
    if softmax is None or "aten::bmm" not in names[:softmax] or "aten::bmm" not in names[softmax:]:
        return None
    last = names.index("aten::bmm", softmax)
    scores = run[names.index("aten::bmm")]
    if last + 1 < len(run) and names[last + 1] == "aten::_to_copy":
        last += 1  # halves are computed in float32 on a CPU
    run = run[: last + 1]
    values = run[names.index("aten::bmm", softmax)]
    rows, keys = shape_of(scores.input_shapes[0]), shape_of(scores.input_shapes[1])
    value_rows = shape_of(values.input_shapes[1])
    queries = (shape_of(op.input_shapes[0]) for op in run)
    split = (shape for shape in queries if len(shape) == 4 and numel(shape) == numel(rows))
    q = next((shape for shape in split if shape[-2:] == rows[-2:]), (1, *rows))
    heads = q[:-2]
    k, v = (*heads, keys[-1], keys[-2]), (*heads, *value_rows[-2:])
    mask = None
    is_causal = any(name in ("aten::tril", "aten::tril_") for name in names)  # then the mask is the CPU's own
    for op in () if is_causal else run[names.index("aten::bmm") + 1 : softmax]:
        if op.name in ("aten::add", "aten::add_") and len(op.input_storages) > 1:
            mask = shape_of(op.input_shapes[1])
    noise = next((op for op in run if op.name == "aten::bernoulli_"), None)
    dropout = 0.0 if noise is None else 1 - number_at(noise.arguments, 1, default=1.0)
    floats = (dtype for op in run for dtype in op.input_dtypes if dtype in _FLOATS)
    dtype = next(floats, scores.input_dtypes[0])  # a boolean mask may come first
    name, shapes, dtypes, arguments, backward, outs, out_dtypes = _fused_attention(
        q, k, v, mask, dtype, dropout, is_causal
    )
    forward = as_one(
        run, name, input_shapes=shapes, input_dtypes=dtypes, output_shapes=outs, output_dtypes=out_dtypes,
        arguments=arguments,
    )  # fmt: skip
    statistic = run[softmax].output_storages[0]
    return Fold(
        count=len(run), ops=(forward,), backward=backward, nodes=nodes_of(run),
        saved=(statistic, numel(q[:-1]) * 4, "float32"),
    )  # fmt: skip


_ATTENTION_STARTS: Final = frozenset(
    "aten::" + name
    for name in ("mul", "_to_copy", "clone", "ones", "full", "zeros", "where", "masked_fill", "logical_not", "bmm")
)


def cpu_fused_attention(ops: Sequence[LoggedOp], index: int) -> Fold | None:
    """(q, k, v, dropout_p, is_causal, *, attn_mask, scale) -> the op CUDA chooses."""
    op = ops[index]
    q, k, v = (shape_of(shape) for shape in op.input_shapes[:3])
    mask = op.input_shapes[5] if len(op.input_shapes) > 5 else None
    name, shapes, dtypes, arguments, backward, outs, out_dtypes = _fused_attention(
        q, k, v, shape_of(mask) if mask is not None else None, op.input_dtypes[0],
        number_at(op.arguments, 3, default=0.0), op.arguments[4] == "True",
    )  # fmt: skip
    forward = op.moved(
        name=name, input_shapes=shapes, input_dtypes=dtypes, output_shapes=outs, output_dtypes=out_dtypes,
        arguments=arguments,
    )  # fmt: skip
    return Fold(count=1, ops=(forward,), backward=backward, nodes=nodes_of([op]))

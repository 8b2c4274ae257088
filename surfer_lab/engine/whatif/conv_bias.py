"""What does a compiler do with a convolution's bias? It adds it in the element-wise kernel that follows.

On GPUs the library's convolution runs without a bias (torch 2.13, torch/_inductor/kernel/conv.py); the addition is
element-wise work like any other, which fuses with what reads the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from surfer_lab.trace.rewrite import OpRow, Use
from surfer_lab.trace.tables import Phase

__all__ = ["with_biases_apart"]

_CONVOLUTION: Final = "aten::convolution"
_BIAS: Final = 2  # where it stands among the arguments


def with_biases_apart(rows: Sequence[OpRow]) -> list[OpRow]:
    """The rows with an in-place addition after every convolution that has a bias. Changes those convolutions."""
    result = []
    for row in rows:
        result.append(row)
        if row.name != _CONVOLUTION or row.phase not in (Phase.FORWARD, Phase.BACKWARD):
            continue
        bias = row.input_shapes[_BIAS] if len(row.input_shapes) > _BIAS else None
        if bias is None or not row.writes or not row.output_shapes:
            continue
        result.append(_addition(row))
        row.input_shapes = (*row.input_shapes[:_BIAS], None, *row.input_shapes[_BIAS + 1 :])
        row.input_dtypes = (*row.input_dtypes[:_BIAS], None, *row.input_dtypes[_BIAS + 1 :])
        row.reads = [use for use in row.reads if use.position != _BIAS]
    return result


def _addition(row: OpRow) -> OpRow:
    written = row.writes[0].storage
    added = row.like(
        "aten::add_",
        input_shapes=(row.output_shapes[0], row.input_shapes[_BIAS]),
        input_dtypes=(row.output_dtypes[0], row.input_dtypes[_BIAS]),
        output_shapes=row.output_shapes[:1], output_dtypes=row.output_dtypes[:1], arguments=("", "", "1"),
    )  # fmt: skip
    added.reads = [Use(written, 0), *(Use(use.storage, 1) for use in row.reads if use.position == _BIAS)]
    added.writes = [Use(written, 0)]
    return added

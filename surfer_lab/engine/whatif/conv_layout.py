"""Does a compiler lay out a step's convolutions channels-last, whatever the program did? TorchInductor's rule.

In half precision that saves the transposes around each convolution. The rule of torch 2.13 (torch/_inductor/graph.py,
decide_layout_opt): not where convolutions are few among other ops. In training not where any is grouped with more than
one channel a group, or narrows its input to half or less with taps, or where all are narrow; in inference where the
products of FLOPs and usual gains by kind of convolution come out ahead.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final

from surfer_lab.engine.lowering import lower_op
from surfer_lab.trace.rewrite import OpRow
from surfer_lab.trace.tables import MemoryFormat, Phase, Shape

__all__ = ["lay_out_convolutions"]

_CONVOLUTIONS: Final = ("aten::convolution", "aten::convolution_backward")
_OPS_PER_CONVOLUTION: Final = 300  # at least so many other ops for each convolution: left as it is
_NARROW_CHANNELS: Final = 64


class _Kind(Enum):
    """Convolutions by how much channels-last usually gains: time after over time before, as in the source."""

    GROUPED = 1.358
    NARROW = 0.783
    NARROWING = 0.725
    USUAL = 0.823


def lay_out_convolutions(rows: Sequence[OpRow]) -> bool:
    """Mark all convolutions as channels-last where the compiler would; whether it would. Changes the rows."""
    compiled = [row for row in rows if row.phase in (Phase.FORWARD, Phase.BACKWARD)]
    convolutions = [row for row in compiled if row.name in _CONVOLUTIONS]
    forward = [row for row in convolutions if row.name == _CONVOLUTIONS[0] and _weight(row) is not None]
    if not forward or len(compiled) >= _OPS_PER_CONVOLUTION * len(forward):
        return False
    is_training = len(convolutions) > len(forward)
    if not (_gains_in_training(forward) if is_training else _gains_in_inference(forward)):
        return False
    for row in convolutions:
        row.memory_format = MemoryFormat.CHANNELS_LAST
    return True


def _gains_in_training(forward: Sequence[OpRow]) -> bool:
    kinds = {kind for row in forward for kind in _kinds(row)}
    if _Kind.GROUPED in kinds or _Kind.NARROWING in kinds:
        return False
    return not all(_Kind.NARROW in _kinds(row) for row in forward)


def _gains_in_inference(forward: Sequence[OpRow]) -> bool:
    before = after = 0.0
    for row in forward:
        works = lower_op(
            row.name, row.input_shapes, row.input_dtypes, row.output_shapes, output_dtypes=row.output_dtypes,
            arguments=row.arguments,
        )  # fmt: skip
        flop = sum(work.flop for work in works)
        before += flop
        after += flop * next(iter(_kinds(row)), _Kind.USUAL).value
    return after <= before


def _kinds(row: OpRow) -> list[_Kind]:
    """Kinds that a convolution is of, the one that counts first."""
    weight = _weight(row) or ()
    groups = row.arguments[8] if len(row.arguments) > 8 else "1"
    return [
        kind
        for kind, holds in (
            (_Kind.GROUPED, groups not in ("1", "") and weight[1] > 1),
            (_Kind.NARROW, weight[0] <= _NARROW_CHANNELS and weight[1] <= _NARROW_CHANNELS),
            (_Kind.NARROWING, weight[0] * 2 <= weight[1] and weight[2] > 1),
        )
        if holds
    ]


def _weight(row: OpRow) -> Shape | None:
    """The weight of a convolution over two dimensions; others have no such layout."""
    entry = row.input_shapes[1] if len(row.input_shapes) > 1 else None
    if not isinstance(entry, tuple) or len(entry) != 4:
        return None
    return tuple(size for size in entry if isinstance(size, int))

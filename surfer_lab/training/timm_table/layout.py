"""In which layout do the convolutions of a row of timm's tables run? As its networks' weights lie.

A network moved to channels-last has weights that lie so, and cuDNN then takes every convolution over two dimensions in
that layout, whatever its input's. On "meta", where steps are captured, torch gives their results channels-first all the
same (torch 2.13: only what calls itself CUDA is asked), and later ones look as if their tensors had to be turned. What
keeps its input's layout between them (norms, pools, pointwise work) goes along: norms and pools run other kernels then.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np

from surfer_lab.trace.model import Trace
from surfer_lab.trace.tables import ArgShapes, MemoryFormat

__all__ = ["in_layout"]

# where the weight stands among the arguments
_WEIGHT: Final = {"aten::convolution": 1, "aten::convolution_backward": 2}
_TWO_DIMENSIONS: Final = 4
_KEEPS: Final = (
    "batch_norm", "group_norm", "pool", "upsample", "mean", "cat", "pad", "relu", "silu", "gelu", "hardswish",
    "sigmoid", "hardtanh", "elu", "clamp", "threshold", "add", "mul", "_to_copy",
)  # fmt: skip


def in_layout(trace: Trace, layout: str) -> Trace:
    """The step with its images in the layout of the row: "NHWC", or "NCHW", which is as captured."""
    if layout != "NHWC":
        return trace
    ops = trace.ops
    weight_at = ops.name.map(lambda name: _WEIGHT.get(name, -1), absent=-1, dtype=np.int8)
    planar = [ops.input_shapes.map(partial(_is_planar, at=at), absent=False, dtype=np.bool_) for at in (1, 2)]
    chosen = ((weight_at == 1) & planar[0]) | ((weight_at == 2) & planar[1])
    keeps = ops.name.map(lambda name: any(word in name for word in _KEEPS), absent=False, dtype=np.bool_)
    chosen |= (
        keeps
        & (ops.memory_format == MemoryFormat.CONTIGUOUS)
        & ops.input_shapes.map(_is_of_images, absent=False, dtype=np.bool_)
    )
    memory_format = np.where(chosen, np.int8(MemoryFormat.CHANNELS_LAST), ops.memory_format)
    return replace(trace, ops=replace(ops, memory_format=memory_format.astype(np.int8)))


def _is_planar(shapes: ArgShapes, at: int) -> bool:
    weight = shapes[at] if at < len(shapes) else None
    return isinstance(weight, tuple) and len(weight) == _TWO_DIMENSIONS


def _is_of_images(shapes: ArgShapes) -> bool:
    """Whether the first tensor, or the first of a list of tensors, is a batch of images."""
    first = shapes[0] if shapes else None
    if first and isinstance(first[0], tuple):
        first = first[0]
    return isinstance(first, tuple) and len(first) == _TWO_DIMENSIONS

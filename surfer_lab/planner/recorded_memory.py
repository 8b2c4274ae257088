"""How far would a recorded training step's memory rise above its start, counted from the recorded shapes?

A profiler records no tensors, but the operations of the backward pass name what was kept for them: a convolution's
input, a norm's input, an activation's result. Those are alive when the backward pass begins and go as it proceeds; the
gradients of activations and the scratch of a convolution come on top of them. Parameters, gradients and optimizer state
are there before. What a rule here does not know is left out, so the count is a lower one; None where a step has no
backward pass with shapes.

What an activation computed in place is what the next operation reads: a kept result and the kept inputs of its shape
that come before it in the backward pass are one storage.
"""

from __future__ import annotations

from collections import Counter
from math import prod
from typing import Final, NamedTuple

import numpy as np

from surfer_lab.hardware.dtypes import BYTES_BY_DTYPE
from surfer_lab.planner.workspace import convolution_workspace, tensor_shape
from surfer_lab.trace.model import Trace, TraceOrigin
from surfer_lab.trace.tables import ArgDtypes, ArgShapes, MemoryFormat, Phase, Shape

__all__ = ["counted_above_start_bytes"]


class _Kept(NamedTuple):
    """Arguments of a backward operation that the forward pass kept: inputs of what came before, results, private."""

    inputs: tuple[int, ...] = ()  # may be the result of an activation
    results: tuple[int, ...] = ()
    own: tuple[int, ...] = ()  # nobody else's: inputs of norms are results of products, indices, masks
    gradient: int = 0


_CONVOLUTION_OF_LIBRARY: Final = _Kept(inputs=(0,), gradient=1)
_NORM_OF_LIBRARY: Final = _Kept(own=(0,), gradient=1)
_KEPT: Final[dict[str, _Kept]] = {
    "aten::convolution_backward": _Kept(inputs=(1,)),
    **dict.fromkeys(
        ("aten::cudnn_convolution_backward", "aten::miopen_convolution_backward"), _CONVOLUTION_OF_LIBRARY
    ),
    "aten::native_batch_norm_backward": _Kept(own=(1,)),
    **dict.fromkeys(("aten::cudnn_batch_norm_backward", "aten::miopen_batch_norm_backward"), _NORM_OF_LIBRARY),
    "aten::native_layer_norm_backward": _Kept(own=(1,)),
    **dict.fromkeys(("aten::threshold_backward", "aten::sigmoid_backward", "aten::tanh_backward"), _Kept(results=(1,))),
    **dict.fromkeys(
        ("aten::_softmax_backward_data", "aten::_log_softmax_backward_data"), _Kept(results=(1,))
    ),
    **dict.fromkeys(("aten::gelu_backward", "aten::silu_backward", "aten::native_dropout_backward"), _Kept(own=(1,))),
    "aten::max_pool2d_with_indices_backward": _Kept(inputs=(1,), own=(7,)),
}  # fmt: skip
_INDEX_BYTES: Final = 8
_INDICES: Final = {"aten::max_pool2d_with_indices_backward": 7}


def counted_above_start_bytes(trace: Trace) -> int | None:
    """The peak of one step above its start, bytes; of the first complete step, None where shapes do not tell."""
    ops = trace.ops
    inside = np.ones(len(ops), dtype=bool)
    if trace.origin is TraceOrigin.PROFILER and len(trace.steps):
        complete = np.flatnonzero(trace.steps.complete)
        step = int(complete[0]) if len(complete) else 0
        inside = (ops.start_ns >= trace.steps.start_ns[step]) & (ops.start_ns < trace.steps.end_ns[step])
    rows = np.flatnonzero(inside & (ops.phase == Phase.BACKWARD))
    rows = rows[np.argsort(ops.start_ns[rows], kind="stable")]
    count = _Count()
    for row in rows.tolist():
        kept = _KEPT.get(ops.name[row] or "")
        if kept is not None:
            count.add(ops.name[row] or "", kept, ops.input_shapes[row] or (), ops.input_dtypes[row] or ())
    return count.peak_bytes()


class _Count:
    """Backward operations in order, and what each lets go of."""

    def __init__(self) -> None:
        self._waiting: Counter[tuple[Shape, int]] = Counter()  # kept inputs whose activation has not come yet
        self._last: dict[tuple[Shape, int], int] = {}
        self._freed: list[int] = []  # bytes that go with each operation
        self._on_top: list[int] = []  # gradients and scratch during each

    def add(self, name: str, kept: _Kept, shapes: ArgShapes, dtypes: ArgDtypes) -> None:
        number = len(self._freed)
        size = BYTES_BY_DTYPE.get((dtypes[kept.gradient] if kept.gradient < len(dtypes) else None) or "float32", 4)
        self._freed.append(0)
        for at in kept.own:
            itemsize = _INDEX_BYTES if at == _INDICES.get(name) else size
            self._freed[number] += prod(tensor_shape(shapes, at)) * itemsize if tensor_shape(shapes, at) else 0
        for at in kept.inputs:
            key = (tensor_shape(shapes, at), size)
            if key[0]:
                self._waiting[key] += 1
                self._last[key] = number
        for at in kept.results:
            key = (tensor_shape(shapes, at), size)
            if key[0]:
                self._waiting.pop(key, None)  # the same storage as the inputs that waited: goes with its activation
                self._freed[number] += prod(key[0]) * size
        data = max((prod(tensor_shape(shapes, at)) for at in (*kept.inputs, *kept.own, *kept.results)), default=0)
        gradient = prod(tensor_shape(shapes, kept.gradient)) if tensor_shape(shapes, kept.gradient) else 0
        self._on_top.append((gradient + data) * size + _scratch(name, shapes, dtypes))

    def peak_bytes(self) -> int | None:
        if not self._freed:
            return None
        freed = list(self._freed)
        for (shape, size), waiting in self._waiting.items():
            if waiting:  # read by several, made by what keeps nothing: one storage
                freed[self._last[shape, size]] += prod(shape) * size
        alive = sum(freed)
        peak = 0
        for goes, on_top in zip(freed, self._on_top, strict=True):
            peak = max(peak, alive + on_top)
            alive -= goes
        return peak


def _scratch(name: str, shapes: ArgShapes, dtypes: ArgDtypes) -> int:
    if name == "aten::convolution_backward":
        return convolution_workspace(name, shapes, dtypes, (), memory_format=MemoryFormat.UNKNOWN).likely
    if "convolution_backward" not in name or len(shapes) < 3:
        return 0
    turned = (shapes[1], shapes[0], shapes[2])  # the library's spelling has the input first
    return convolution_workspace("aten::convolution_backward", turned, dtypes, ()).likely

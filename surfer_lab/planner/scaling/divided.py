"""How long does each item of a step take when tensor parallelism divides it by t? Narrow products are less efficient.

Matrix products are asked about again at their divided shapes: the dimension that is neither the tokens nor the width of
the residual stream is divided (columns of the first product of a half, rows of the second); where there is none, what
is summed over. Other divided work takes a t-th. Answers are factors on the item's own time.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.predict import predict
from surfer_lab.hardware.gpu import Gpu
from surfer_lab.trace.columns import Interned
from surfer_lab.trace.model import Trace, TraceOrigin
from surfer_lab.trace.tables import ArgShapes, Shape

__all__ = ["division_factors"]

F64 = NDArray[np.float64]

_FIRST_MATRIX: Final = {"aten::mm": 0, "aten::addmm": 1}
_FIRST_BATCH: Final = {"aten::bmm": 0, "aten::baddbmm": 1}
_LEAST_FACTOR: Final = 0.5  # of a t-th: a product cannot become more than twice as efficient by being narrower


def division_factors(trace: Trace, gpu: Gpu, ranks: int, residual: tuple[int, ...], item_op: NDArray[np.int64]) -> F64:
    """Factors on the times of a step's items, by their op, (items,)."""
    even = np.full(len(item_op), 1.0 / ranks)
    if ranks == 1 or trace.origin is TraceOrigin.PROFILER or not residual:
        return even
    tokens, width = prod(residual[:-1]), residual[-1]
    ops = trace.ops
    pairs = [
        _divided(name or "", inputs, outputs, ranks, tokens, width)
        for name, inputs, outputs in zip(ops.name, ops.input_shapes, ops.output_shapes, strict=True)
    ]
    changed = np.array([pair is not None for pair in pairs], dtype=bool)
    if not changed.any():
        return even
    own = list(zip(ops.input_shapes, ops.output_shapes, strict=True))
    shapes = [pair or own[at] for at, pair in enumerate(pairs)]
    divided = replace(
        trace,
        ops=replace(
            ops,
            input_shapes=Interned.of([inputs for inputs, _ in shapes]),
            output_shapes=Interned.of([outputs for _, outputs in shapes]),
        ),
    )
    before, after = (_time_by_op(one, gpu) for one in (trace, divided))
    ratio = np.where(before > 0, after / np.where(before > 0, before, 1.0), 1.0 / ranks)
    ratio = np.clip(ratio, _LEAST_FACTOR / ranks, 1.0)
    factors: F64 = np.where((changed & (before > 0))[item_op], ratio[item_op], even)
    return factors


def _time_by_op(trace: Trace, gpu: Gpu) -> F64:
    times = predict(trace, [gpu])
    return np.bincount(times.items.op, weights=times.duration_ns[0], minlength=len(trace.ops)).astype(np.float64)


def _divided(
    name: str, inputs: ArgShapes | None, outputs: ArgShapes | None, ranks: int, tokens: int, width: int
) -> tuple[ArgShapes, ArgShapes] | None:
    """Shapes of the op with one dimension divided; None where it is no product, or does not divide."""
    if inputs is None or outputs is None:
        return None
    if name in _FIRST_BATCH:
        at = _FIRST_BATCH[name]
        whole = [_plain(shape) for shape in (inputs[at], inputs[at + 1], outputs[0])]
        if any(shape is None or shape[0] % ranks for shape in whole):
            return None
        first, second, result = ((shape[0] // ranks, *shape[1:]) for shape in whole if shape is not None)
        return _with(inputs, at, first, second), (result, *outputs[1:])
    if name not in _FIRST_MATRIX:
        return None
    at = _FIRST_MATRIX[name]
    left, right = _plain(inputs[at]), _plain(inputs[at + 1])
    if left is None or right is None:
        return None
    m, k, n = left[0], left[1], right[1]
    free = [size for size in (m, k, n) if size not in (tokens, width)]
    chosen = free[0] if free else None
    if chosen is None:
        m, k, n = (m // ranks, k, n) if k == tokens else (m, k // ranks, n)
    else:
        m, k, n = (size // ranks if size == chosen else size for size in (m, k, n))
    if min(m, k, n) < 1:
        return None
    return _with(inputs, at, (m, k), (k, n)), ((m, n), *outputs[1:])


def _plain(shape: object) -> Shape | None:
    if not isinstance(shape, tuple) or not shape or any(not isinstance(size, int) for size in shape):
        return None
    return tuple(int(size) for size in shape)


def _with(inputs: ArgShapes, at: int, first: Shape, second: Shape) -> ArgShapes:
    return (*inputs[:at], first, second, *inputs[at + 2 :])

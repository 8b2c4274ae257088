"""How large was the output of a recorded convolution or pool? Profilers record inputs only, and arguments only lately.

The same layer's backward op has the output's gradient among its inputs; without one, the next op of the same thread
that takes a tensor of the right batch and channels takes this output. What neither tells stays unknown, and the op's
rule assumes and says so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Final

from surfer_lab.engine.lowering.op_table import RULES, plain_name
from surfer_lab.engine.lowering.ops.convolution import ConvolutionArguments
from surfer_lab.engine.lowering.ops.pooling import Pooling, PoolingBackward
from surfer_lab.trace.tables import ArgShapes, OpTable, Shape

__all__ = ["output_finder"]

_OPS_LOOKED_AT: Final = 40  # a layer's bookkeeping ops (empty, view, resize) before the next layer reads its output
_Key = tuple[str, Shape, Shape]


def _shape_at(shapes: ArgShapes | None, position: int) -> Shape | None:
    entry = shapes[position] if shapes is not None and 0 <= position < len(shapes) else None
    if isinstance(entry, tuple) and all(isinstance(size, int) for size in entry):
        return entry  # type: ignore[return-value] # a shape by the check above
    return None


def _layer_key(name: str, shapes: ArgShapes | None) -> _Key | None:
    """What a forward op and its backward op have in common: the kind, the input and the weight."""
    rule = RULES.get(plain_name(name))
    if isinstance(rule, ConvolutionArguments):
        x, weight = _shape_at(shapes, rule.input), _shape_at(shapes, rule.weight)
        return ("convolution", x, weight) if x and weight else None
    if isinstance(rule, Pooling):
        x = _shape_at(shapes, 0)
        return ("pool", x, ()) if x else None
    if isinstance(rule, PoolingBackward):
        x = _shape_at(shapes, rule.input)
        return ("pool", x, ()) if x else None
    return None


def _gradients(ops: OpTable) -> dict[_Key, Shape]:
    """Output shape by layer, from the backward ops that agree on it."""
    found: defaultdict[_Key, set[Shape]] = defaultdict(set)
    backward = {
        code: rule
        for code, name in enumerate(ops.name.values)
        for rule in (RULES.get(plain_name(name)),)
        if isinstance(rule, PoolingBackward) or (isinstance(rule, ConvolutionArguments) and rule.gradient >= 0)
    }
    pairs = {(n, s) for n, s in zip(ops.name.codes.tolist(), ops.input_shapes.codes.tolist(), strict=True) if s >= 0}
    for name_code, shape_code in pairs:
        rule = backward.get(name_code)
        if rule is None:
            continue
        shapes = ops.input_shapes.values[shape_code]
        key = _layer_key(ops.name.values[name_code], shapes)
        gradient = _shape_at(shapes, rule.gradient)
        if key is not None and gradient:
            found[key].add(gradient)
    return {key: next(iter(shapes)) for key, shapes in found.items() if len(shapes) == 1}


def _next_reader(ops: OpTable, row: int, batch: int, channels: int, like: Shape) -> Shape | None:
    """First input of the next op outside this one that could be its output."""
    thread, end = ops.thread[row], ops.start_ns[row] + ops.duration_ns[row]
    for later in range(row + 1, min(len(ops), row + _OPS_LOOKED_AT)):
        if ops.thread[later] != thread or ops.start_ns[later] < end:
            continue
        shape = _shape_at(ops.input_shapes[later], 0)
        if shape and len(shape) == len(like) and shape[:2] == (batch, channels):
            return shape
    return None


def output_finder(ops: OpTable) -> Callable[[int], ArgShapes | None]:
    """A function from an op's row to its outputs, None where the rule can do without or nothing tells."""
    gradients: dict[_Key, Shape] = {}
    is_ready = False

    def find(row: int) -> ArgShapes | None:
        nonlocal is_ready
        rule = RULES.get(plain_name(ops.name[row] or ""))
        is_forward = isinstance(rule, Pooling) or (isinstance(rule, ConvolutionArguments) and rule.gradient < 0)
        if not is_forward or any(ops.arguments[row] or ()):
            return None
        if not is_ready:
            gradients.update(_gradients(ops))
            is_ready = True
        shapes = ops.input_shapes[row]
        key = _layer_key(ops.name[row] or "", shapes)
        if key is None:
            return None
        if key in gradients:
            return (gradients[key],)
        _, x, weight = key
        if isinstance(rule, ConvolutionArguments) and (rule.is_transposed or len(x) != len(weight)):
            return None
        reader = _next_reader(ops, row, x[0], weight[0] if weight else x[1], x) if len(x) > 2 else None
        return (reader,) if reader is not None else None

    return find

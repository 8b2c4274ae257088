"""Ops that torch dispatches while a function runs, as the arguments of `lower_op`: what a capture hands to lowering."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from surfer_lab.engine.lowering import KernelWork, lower_op
from surfer_lab.trace.tables import ArgDtypes, ArgShapes, MemoryFormat


class DispatchedOp(NamedTuple):
    name: str
    input_shapes: ArgShapes
    input_dtypes: ArgDtypes
    output_shapes: ArgShapes
    output_dtypes: ArgDtypes
    arguments: tuple[str, ...]
    memory_format: MemoryFormat

    def lower(self, *, with_outputs: bool = True) -> tuple[KernelWork, ...]:
        return lower_op(
            self.name,
            self.input_shapes,
            self.input_dtypes,
            self.output_shapes if with_outputs else None,
            output_dtypes=self.output_dtypes if with_outputs else None,
            arguments=self.arguments,
            memory_format=self.memory_format,
        )


def _shape(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return tuple(int(size) for size in value.shape)
    if isinstance(value, list | tuple) and value and all(isinstance(item, torch.Tensor | None) for item in value):
        return tuple(tuple(int(size) for size in item.shape) for item in value if item is not None) or None
    return None


def _dtype(value: Any) -> str | None:
    if isinstance(value, list | tuple):
        value = next((item for item in value if isinstance(item, torch.Tensor)), None)
    return str(value.dtype).removeprefix("torch.") if isinstance(value, torch.Tensor) else None


def _text(value: Any) -> str:
    if isinstance(value, bool | int | float):
        return str(value)
    if isinstance(value, list | tuple) and all(isinstance(item, bool | int) for item in value):
        return str(list(value))
    return ""


def _layout(values: list[Any]) -> MemoryFormat:
    first = next((value for value in values if isinstance(value, torch.Tensor)), None)
    if first is None:
        return MemoryFormat.UNKNOWN
    if first.is_contiguous():
        return MemoryFormat.CONTIGUOUS
    if first.dim() == 4 and first.is_contiguous(memory_format=torch.channels_last):
        return MemoryFormat.CHANNELS_LAST
    return MemoryFormat.OTHER


class _Recorder(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.ops: list[DispatchedOp] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        schema = func._schema
        if schema.name.startswith("profiler::"):
            return result  # marks of optimizers' own, no operator
        values = [
            args[place] if place < len(args) else kwargs.get(argument.name, argument.default_value)
            for place, argument in enumerate(schema.arguments)
        ]
        results = list(result) if isinstance(result, tuple) else [result]
        self.ops.append(
            DispatchedOp(
                name=schema.name,
                input_shapes=tuple(map(_shape, values)),
                input_dtypes=tuple(map(_dtype, values)),
                output_shapes=tuple(map(_shape, results)),
                output_dtypes=tuple(map(_dtype, results)),
                arguments=tuple(map(_text, values)),
                memory_format=_layout(values),
            )
        )
        return result


def dispatched(function: Callable[[], Any]) -> list[DispatchedOp]:
    """Every op below autograd while `function` runs, views and all."""
    with _Recorder() as recorder:
        function()
    return recorder.ops

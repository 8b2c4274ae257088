"""How is one dispatched op described? Shapes, dtypes and printed arguments by position of its schema.

Views and allocations launch nothing on a GPU and get no row; what they do to storages is still followed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import torch

from surfer_lab.trace.tables import ArgDtypes, ArgShapes, MemoryFormat, Shape

__all__ = ["Described", "Descriptions", "OpKind", "is_metadata"]

# no alias in their schema, no kernel on a GPU either
_METADATA_OPS: Final = frozenset(
    "aten::" + name
    for name in (
        "empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided", "_unsafe_view",
        "_reshape_alias", "lift", "lift_fresh", "unsafe_split", "unsafe_split_with_sizes", "unsafe_chunk", "set_",
        "resize_", "is_same_size", "_has_same_storage_numel", "is_pinned", "_pin_memory", "_assert_tensor_metadata",
        "_assert_async", "_debug_has_internal_overlap", "_version", "record_stream", "sym_size", "sym_stride",
        "sym_numel", "sym_storage_offset", "size", "stride", "storage_offset", "numel", "dim", "is_contiguous",
        "is_complex", "is_floating_point", "_local_scalar", "_nested_tensor_size", "_efficientzerotensor",
    )
)  # fmt: skip
_SILENT_NAMESPACES: Final = ("prim::", "profiler::", "prims::", "debugprims::")
_UNPRINTED: Final = (torch.device, torch.layout, torch.Generator)


class OpKind(NamedTuple):
    """What is the same for all calls of one overload."""

    name: str  # "aten::add_"
    arguments: tuple[tuple[str, Any], ...]  # name and default, in schema order
    is_metadata: bool
    gives_list: bool  # one result that is a list of tensors


class Described(NamedTuple):
    """One call. `inputs` and `outputs` are the tensors themselves, for the moment of logging only."""

    input_shapes: ArgShapes
    input_dtypes: ArgDtypes
    output_shapes: ArgShapes
    output_dtypes: ArgDtypes
    arguments: tuple[str, ...]
    memory_format: MemoryFormat
    inputs: list[torch.Tensor]
    outputs: list[torch.Tensor]


def is_metadata(name: str, schema: Any) -> bool:
    """Does an op only make a view, ask for a size or allocate? In-place ops are none, though they alias."""
    if name in _METADATA_OPS or name.startswith(_SILENT_NAMESPACES):
        return True
    returns = schema.returns
    if not returns:
        return False
    return all(result.alias_info is not None and not result.alias_info.is_write for result in returns)


class Descriptions:
    """Describes calls; keeps what is the same for an overload, a dtype, a printed value."""

    def __init__(self) -> None:
        self._kinds: dict[Any, OpKind] = {}
        self._dtypes: dict[torch.dtype, str] = {}

    def kind(self, func: Any) -> OpKind:
        """Name, arguments and class of an overload."""
        kind = self._kinds.get(func)
        if kind is None:
            schema = func._schema
            arguments = tuple((argument.name, argument.default_value) for argument in schema.arguments)
            gives_list = len(schema.returns) == 1 and "List" in str(schema.returns[0].type)
            kind = OpKind(schema.name, arguments, is_metadata(schema.name, schema), gives_list)
            self._kinds[func] = kind
        return kind

    def dtype(self, dtype: torch.dtype) -> str:
        """Torch's name without "torch."."""
        name = self._dtypes.get(dtype)
        if name is None:
            name = self._dtypes[dtype] = str(dtype).removeprefix("torch.")
        return name

    def describe(self, kind: OpKind, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> Described:
        """One call and its result."""
        shapes: list[Shape | tuple[Shape, ...] | None] = []
        dtypes: list[str | None] = []
        printed: list[str] = []
        inputs: list[torch.Tensor] = []
        given = len(args)
        for position, (name, default) in enumerate(kind.arguments):
            if position < given:
                value = args[position]
            elif kwargs:
                value = kwargs.get(name, default)
            else:
                value = default
            if isinstance(value, torch.Tensor):
                inputs.append(value)
                shapes.append(tuple(value.shape))
                dtypes.append(self.dtype(value.dtype))
                printed.append("")
            elif value is None:
                shapes.append(None)
                dtypes.append(None)
                printed.append("")
            elif isinstance(value, (list, tuple)) and any(isinstance(item, torch.Tensor) for item in value):
                tensors = [item for item in value if isinstance(item, torch.Tensor)]
                inputs.extend(tensors)
                shapes.append(tuple(tuple(tensor.shape) for tensor in tensors))
                dtypes.append(self.dtype(tensors[0].dtype))
                printed.append("")
            else:
                shapes.append(None)
                dtypes.append(None)
                printed.append(self._print(value))
        outputs: list[torch.Tensor] = []
        out_shapes, out_dtypes = self._results((out,) if kind.gives_list else out, outputs)
        return Described(
            tuple(shapes), tuple(dtypes), out_shapes, out_dtypes, tuple(printed),
            memory_format_of(inputs[0]) if inputs else MemoryFormat.UNKNOWN, inputs, outputs,
        )  # fmt: skip

    def _results(self, out: Any, outputs: list[torch.Tensor]) -> tuple[ArgShapes, ArgDtypes]:
        if isinstance(out, torch.Tensor):
            outputs.append(out)
            return (tuple(out.shape),), (self.dtype(out.dtype),)
        if not isinstance(out, (list, tuple)):
            return (), ()
        shapes: list[Shape | tuple[Shape, ...] | None] = []
        dtypes: list[str | None] = []
        for value in out:
            if isinstance(value, torch.Tensor):
                outputs.append(value)
                shapes.append(tuple(value.shape))
                dtypes.append(self.dtype(value.dtype))
            elif isinstance(value, (list, tuple)) and value and isinstance(value[0], torch.Tensor):
                outputs.extend(value)
                shapes.append(tuple(tuple(tensor.shape) for tensor in value))
                dtypes.append(self.dtype(value[0].dtype))
            else:
                shapes.append(None)
                dtypes.append(None)
        return tuple(shapes), tuple(dtypes)

    def _print(self, value: Any) -> str:
        if isinstance(value, torch.dtype):
            return self.dtype(value)
        if isinstance(value, _UNPRINTED):
            return ""
        if isinstance(value, torch.memory_format):
            return str(value).removeprefix("torch.")
        if isinstance(value, (bool, int, float, complex, str)):
            return str(value)
        if isinstance(value, (list, tuple)):
            return "[" + ", ".join(self._print(item) or "None" for item in value) + "]"
        return str(value) if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)) else ""


def memory_format_of(tensor: torch.Tensor) -> MemoryFormat:
    """How the tensor lies in memory; one that is both counts as contiguous."""
    if tensor.layout is not torch.strided:
        return MemoryFormat.OTHER
    if tensor.is_contiguous():
        return MemoryFormat.CONTIGUOUS
    rank = tensor.dim()
    if rank == 4 and tensor.is_contiguous(memory_format=torch.channels_last):
        return MemoryFormat.CHANNELS_LAST
    if rank == 5 and tensor.is_contiguous(memory_format=torch.channels_last_3d):
        return MemoryFormat.CHANNELS_LAST
    return MemoryFormat.OTHER

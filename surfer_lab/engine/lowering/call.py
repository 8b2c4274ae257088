"""One op as it was called: shapes, dtypes, printed arguments by position, and how the tables' rules ask for them.

What was not recorded is None; a rule that cannot do without it raises `Unrecorded`, which `op_table` turns into a row
that says so. A profiler trace holds no outputs, and arguments only since torch 2.2: most rules infer the output.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeGuard

from surfer_lab.engine.lowering.work import KernelWork
from surfer_lab.hardware.dtypes import BYTES_BY_DTYPE, RateClass
from surfer_lab.trace.tables import ArgDtypes, ArgShapes, MemoryFormat, Shape

__all__ = ["Call", "Rule", "Unrecorded", "broadcast", "itemsize_of", "numel", "rate_class_of"]

Rule: TypeAlias = "Callable[[Call], tuple[KernelWork, ...]]"

# dtypes that take part in few ops and are not in the common table; bytes an element
_RARE_ITEMSIZE: Final = {"qint8": 1, "quint8": 1, "qint32": 4, "float8_e8m0fnu": 1, "float4_e2m1fn_x2": 1, "uint1": 1}
_DEFAULT_ITEMSIZE: Final = 4  # a tensor whose dtype was not recorded: float32, torch's default

# Which rate a product of matrices runs at, by dtype of its operands. Integers without a matrix path count as FP32.
_MATRIX_RATE: Final = {
    "float64": RateClass.FP64, "complex128": RateClass.FP64, "float32": RateClass.FP32, "complex64": RateClass.FP32,
    "float16": RateClass.FP16, "complex32": RateClass.FP16, "bfloat16": RateClass.BF16,
    "int8": RateClass.INT8, "uint8": RateClass.INT8, "qint8": RateClass.INT8, "quint8": RateClass.INT8,
    "float8_e4m3fn": RateClass.FP8, "float8_e5m2": RateClass.FP8,
    "float8_e4m3fnuz": RateClass.FP8, "float8_e5m2fnuz": RateClass.FP8,
}  # fmt: skip
# Everything else computes in the accumulation type on the vector lanes: float for halves, double for doubles.
_VECTOR_RATE: Final = {"float64": RateClass.FP64, "complex128": RateClass.FP64}

_INTEGER: Final = re.compile(r"-?\d+")
_NUMBER: Final = re.compile(r"-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


class Unrecorded(Exception):
    """A rule needs a shape or an argument that was not recorded; the message is the reason shown."""


def numel(shape: Shape) -> int:
    """Elements of a tensor; 1 for a scalar."""
    return math.prod(shape)


def itemsize_of(dtype: str | None) -> int:
    """Bytes an element; float32's where the dtype is not recorded."""
    if dtype is None:
        return _DEFAULT_ITEMSIZE
    return BYTES_BY_DTYPE.get(dtype) or _RARE_ITEMSIZE.get(dtype, _DEFAULT_ITEMSIZE)


def rate_class_of(dtype: str | None, *, matrix: bool) -> RateClass:
    """The rate by dtype alone: `matrix` for products that libraries run on matrix units."""
    return (_MATRIX_RATE if matrix else _VECTOR_RATE).get(dtype or "", RateClass.FP32)


def broadcast(shapes: list[Shape]) -> Shape:
    """Shape of an elementwise result by numpy's rules; sizes that do not fit take the larger one."""
    result = [1] * max((len(shape) for shape in shapes), default=0)
    for shape in shapes:
        offset = len(result) - len(shape)
        for axis, size in enumerate(shape):
            if size == 0 or (result[offset + axis] != 0 and size > result[offset + axis]):
                result[offset + axis] = size
    return tuple(result)


def _is_shape(entry: object) -> TypeGuard[Shape]:
    return isinstance(entry, tuple) and (not entry or isinstance(entry[0], int))


def _is_list(entry: object) -> TypeGuard[tuple[Shape, ...]]:
    return isinstance(entry, tuple) and bool(entry) and isinstance(entry[0], tuple)


@dataclass(frozen=True, slots=True)
class Call:
    """Name without overload, and what was recorded by position. `outputs` None: not recorded at all."""

    name: str
    inputs: ArgShapes
    dtypes: ArgDtypes
    outputs: ArgShapes | None
    output_dtypes: ArgDtypes | None
    arguments: tuple[str, ...]
    memory_format: MemoryFormat

    # -- tensors ---------------------------------------------------------------------------------------------------
    def shape(self, position: int) -> Shape | None:
        """Shape of the tensor at an input position; None: no tensor there."""
        entry = self.inputs[position] if 0 <= position < len(self.inputs) else None
        return entry if _is_shape(entry) else None

    def need(self, position: int, *, at_least: int = 0) -> Shape:
        """As `shape`, for a tensor that the rule cannot do without; refuses fewer than `at_least` dimensions."""
        found = self.shape(position)
        if found is None or len(found) < at_least:
            raise Unrecorded(f"{self.name}: no usable shape of argument {position} recorded")
        return found

    def tensor_list(self, position: int) -> tuple[Shape, ...] | None:
        """Shapes of a list of tensors; None: not a list, or recorded as empty (old profilers leave lists empty)."""
        entry = self.inputs[position] if 0 <= position < len(self.inputs) else None
        return entry if _is_list(entry) else None

    def need_list(self, position: int) -> tuple[Shape, ...]:
        found = self.tensor_list(position)
        if found is None:
            raise Unrecorded(f"{self.name}: shapes of its list of tensors were not recorded")
        return found

    def dtype(self, position: int) -> str | None:
        return self.dtypes[position] if 0 <= position < len(self.dtypes) else None

    def itemsize(self, position: int) -> int:
        return itemsize_of(self.dtype(position))

    def bytes_of(self, position: int) -> int:
        """Bytes of the tensor or tensors at an input position, 0 where there are none."""
        entry = self.inputs[position] if 0 <= position < len(self.inputs) else None
        if _is_shape(entry):
            return numel(entry) * self.itemsize(position)
        return sum(numel(shape) for shape in entry) * self.itemsize(position) if _is_list(entry) else 0

    def tensors(self, count: int | None = None) -> Iterator[tuple[int, Shape]]:
        """Position and shape of each single tensor among the first `count` arguments."""
        for position, entry in enumerate(self.inputs[:count]):
            if _is_shape(entry):
                yield position, entry

    def has_shapes(self) -> bool:
        recorded = any(entry is not None for entry in self.inputs)
        return recorded or any(entry is not None for entry in self.outputs or ())

    def lead_dtype(self) -> str | None:
        """Dtype of the first tensor that is not a scalar, else of the first tensor."""
        first: str | None = None
        for position, entry in enumerate(self.inputs):
            if entry is None:
                continue
            if entry:
                return self.dtype(position)
            first = first or self.dtype(position)
        return first

    # -- results ---------------------------------------------------------------------------------------------------
    def output(self, position: int = 0) -> Shape | None:
        if self.outputs is None or position >= len(self.outputs):
            return None
        entry = self.outputs[position]
        return entry if _is_shape(entry) else None

    def output_dtype(self, position: int = 0) -> str | None:
        if self.output_dtypes is None or position >= len(self.output_dtypes):
            return None
        return self.output_dtypes[position]

    def output_bytes(self) -> int | None:
        """Bytes of all recorded outputs; None where outputs were not recorded."""
        if self.outputs is None:
            return None
        total = 0
        for position, entry in enumerate(self.outputs):
            size = itemsize_of(self.output_dtype(position) or self.lead_dtype())
            shapes = (entry,) if _is_shape(entry) else entry if _is_list(entry) else ()
            total += sum(numel(shape) for shape in shapes) * size
        return total

    # -- printed arguments -----------------------------------------------------------------------------------------
    def text(self, position: int) -> str:
        return self.arguments[position] if 0 <= position < len(self.arguments) else ""

    def ints(self, position: int) -> tuple[int, ...] | None:
        """A list of integers, or one integer as a list of one; None: not recorded or something else."""
        text = self.text(position)
        if not text or text[0] not in "[(-0123456789":
            return None
        found = tuple(int(number) for number in _INTEGER.findall(text))
        return found or None

    def number(self, position: int) -> float | None:
        text = self.text(position)
        return float(text) if text and _NUMBER.fullmatch(text) else None

    def flag(self, position: int) -> bool | None:
        return {"True": True, "true": True, "False": False, "false": False}.get(self.text(position))

    def flags(self, position: int) -> tuple[bool, ...] | None:
        words = re.findall(r"True|False", self.text(position), re.IGNORECASE)
        return tuple(word.lower() == "true" for word in words) or None

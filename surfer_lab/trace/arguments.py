"""What do the printed inputs of an op say? Shapes, dtypes, layout and values, parsed once a distinct print.

"Input Dims" holds a list an argument ([] for what is no tensor and for a tensor without dimensions), "Input type" the
C++ type of a tensor's elements or a name for anything else, "Concrete Inputs" printed scalars. All are written by
torch's profiler; what does not parse is not recorded, never an error.
"""

from __future__ import annotations

import re
from itertools import chain, repeat
from typing import Annotated, Any, Final, TypeAlias

import msgspec

from surfer_lab.trace.privacy import holds_secret
from surfer_lab.trace.salvage import UNDECODABLE
from surfer_lab.trace.tables import ArgDtypes, ArgShapes, MemoryFormat, Shape

__all__ = [
    "DTYPE_BY_CPP_TYPE",
    "argument_values",
    "element_count",
    "input_dtypes",
    "input_shapes",
    "memory_format",
    "parsed_list",
]

DTYPE_BY_CPP_TYPE: Final = {
    "float": "float32", "double": "float64", "c10::Half": "float16", "at::Half": "float16", "c10::BFloat16": "bfloat16",
    "long": "int64", "long int": "int64", "long long": "int64", "int": "int32", "short": "int16", "short int": "int16",
    "signed char": "int8", "unsigned char": "uint8", "bool": "bool", "unsigned short": "uint16",
    "short unsigned int": "uint16", "unsigned int": "uint32", "unsigned long": "uint64", "long unsigned int": "uint64",
    "c10::complex<c10::Half>": "complex32", "c10::complex<float>": "complex64", "c10::complex<double>": "complex128",
    "c10::Float8_e4m3fn": "float8_e4m3fn", "c10::Float8_e5m2": "float8_e5m2",
    "c10::Float8_e4m3fnuz": "float8_e4m3fnuz", "c10::Float8_e5m2fnuz": "float8_e5m2fnuz",
}  # fmt: skip
_Size: TypeAlias = Annotated[int, msgspec.Meta(ge=0, lt=1 << 53)]
_plain_dims: Final = msgspec.json.Decoder(list[tuple[_Size, ...]])
_LONGEST_PRINT_BYTES: Final = 1 << 20
_MOST_ARGUMENTS: Final = 4_096
_LARGEST_SIZE: Final = 1 << 53
_LONGEST_VALUE: Final = 256  # characters of a printed value; longer ones are lists of numbers nobody predicts with
_PATH: Final = re.compile(r"[/\\~@]|token|secret|passw", re.IGNORECASE)


def parsed_list(printed: bytes) -> list[Any] | None:
    """The list of a print, None where it is none, or absurdly long."""
    if not printed or len(printed) > _LONGEST_PRINT_BYTES:
        return None
    try:
        value = msgspec.json.decode(printed)
    except UNDECODABLE:
        return None
    return value if isinstance(value, list) and len(value) <= _MOST_ARGUMENTS else None


def input_dtypes(printed: bytes) -> ArgDtypes | None:
    """Element types by torch's names, None for what is no tensor.

    >>> input_dtypes(b'["float","c10::BFloat16","Scalar",""]')
    ('float32', 'bfloat16', None, None)
    """
    names = parsed_list(printed)
    return None if names is None else tuple(DTYPE_BY_CPP_TYPE.get(n) if isinstance(n, str) else None for n in names)


def input_shapes(printed: bytes, dtypes: ArgDtypes | None) -> ArgShapes | None:
    """The shapes of the arguments; [] is a tensor without dimensions where the argument has a dtype.

    >>> input_shapes(b"[[2,3],[],[],[[4],[5,6]]]", ("float32", "float32", None, None))
    ((2, 3), (), None, ((4,), (5, 6)))
    >>> input_shapes(b"[[2,3],[]]", None), input_shapes(b'"damaged"', None)
    (((2, 3), None), None)
    """
    if not printed or len(printed) > _LONGEST_PRINT_BYTES:
        return None
    types = chain(dtypes or (), repeat(None))
    try:
        sizes = _plain_dims.decode(printed)  # no list of tensors among the arguments: nearly always
    except UNDECODABLE:
        items = parsed_list(printed)
        return None if items is None else tuple(map(_argument_shape, items, types))
    return tuple([size if size or dtype else None for size, dtype in zip(sizes, types, strict=False)])


def argument_values(printed: bytes) -> tuple[str, ...] | None:
    """Printed values by position, "" for tensors; paths and the like are not kept.

    >>> argument_values(b'["","[1, 1]","False","/home/someone/x"]')
    ('', '[1, 1]', 'False', '')
    """
    items = parsed_list(printed)
    return None if items is None else tuple(_kept_value(item) for item in items)


def memory_format(shapes: ArgShapes | None, strides: list[Any] | None) -> MemoryFormat:
    """The layout of the first tensor argument; sizes of 1 say nothing about it.

    >>> memory_format(((2, 3, 4, 4),), [[48, 1, 12, 3]]).name, memory_format(((2, 3),), [[3, 1]]).name
    ('CHANNELS_LAST', 'CONTIGUOUS')
    """
    if shapes is None or strides is None:
        return MemoryFormat.UNKNOWN
    for shape, stride in zip(shapes, strides, strict=False):
        if not shape or not isinstance(shape[0], int) or not isinstance(stride, list) or len(stride) != len(shape):
            continue
        sizes: tuple[Any, ...] = shape
        if _is_dense(sizes, stride, range(len(sizes) - 1, -1, -1)):
            return MemoryFormat.CONTIGUOUS
        channels_last = (1, *range(len(sizes) - 1, 1, -1), 0)
        if len(sizes) in (4, 5) and _is_dense(sizes, stride, channels_last):
            return MemoryFormat.CHANNELS_LAST
        return MemoryFormat.OTHER
    return MemoryFormat.UNKNOWN


def element_count(shapes: ArgShapes | None) -> int:
    """Elements of all tensor arguments together.

    >>> element_count(((2, 3), None, ((4,), (5,))))
    15
    """
    total = 0
    for shape in shapes or ():
        for single in _single_shapes(shape):
            count = 1
            for size in single:
                count *= size
            total += count
    return total


def _argument_shape(item: Any, dtype: str | None) -> Shape | tuple[Shape, ...] | None:
    if not isinstance(item, list):
        return None
    if not item:  # also a list of tensors that was not printed
        return () if dtype else None
    if isinstance(item[0], list):
        shapes = [_shape(part) if isinstance(part, list) else None for part in item]
        return tuple(shape for shape in shapes if shape is not None) if None not in shapes else None
    return _shape(item)


def _shape(sizes: list[Any]) -> Shape | None:
    try:
        sound = not sizes or (type(sum(sizes)) is int and min(sizes) >= 0 and max(sizes) < _LARGEST_SIZE)
    except TypeError:  # a string, a list or null among the sizes
        return None
    return tuple(sizes) if sound else None


def _kept_value(item: Any) -> str:
    text = item if isinstance(item, str) else ""
    return "" if len(text) > _LONGEST_VALUE or _PATH.search(text) or holds_secret(text) else text


def _is_dense(sizes: tuple[int, ...], strides: list[Any], fastest_first: Any) -> bool:
    expected = 1
    for axis in fastest_first:
        if sizes[axis] != 1:
            if strides[axis] != expected:
                return False
            expected *= sizes[axis]
    return True


def _single_shapes(shape: Any) -> tuple[Shape, ...]:
    if shape is None:
        return ()
    return shape if shape and isinstance(shape[0], tuple) else (shape,)

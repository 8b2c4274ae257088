"""How much scratch memory do cuDNN and cuBLAS take besides an op's tensors?

It lives while the op runs (convolutions) or as long as the process (cuBLAS, a buffer a handle). Which algorithm cuDNN
picks is not known beforehand, so each amount is a range from nothing to a stated ceiling.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surfer_lab.hardware.dtypes import BYTES_BY_DTYPE
from surfer_lab.hardware.gpu import Gpu, Vendor
from surfer_lab.planner.byte_range import NOTHING, ByteRange
from surfer_lab.trace.tables import ArgDtypes, ArgShapes, MemoryFormat, OpTable, Shape
from surfer_lab.units import BYTES_PER_MIB

__all__ = [
    "convolution_workspace",
    "is_convolution",
    "matmul_workspace",
    "op_workspaces",
    "tensor_shape",
    "uses_matmul",
]

I64 = NDArray[np.int64]

_FORWARD: Final = frozenset({
    "aten::convolution", "aten::_convolution", "aten::conv2d", "aten::cudnn_convolution", "aten::miopen_convolution",
    "aten::mkldnn_convolution",
})  # fmt: skip
_BACKWARD: Final = frozenset({"aten::convolution_backward"})
_MATMULS: Final = frozenset({
    "aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::linear", "aten::addmv", "aten::mv",
    "aten::_addmm_activation", "aten::matmul", "aten::_cudnn_rnn", "aten::lstm", "aten::gru",
})  # fmt: skip
_HALVES: Final = ("float16", "bfloat16")

# Winograd F(4 x 4, 3 x 3), not fused: 6 x 6 transformed values a tile and channel of input and output, and a filter.
# The workspaces of the stride-1 3 x 3 convolutions in the V100 ResNet-50 traces (kineto samples, torch 1.9, fp32) are
# exactly this: 56,623,104 bytes for 512 channels at 7 x 7, batch 32; 47,185,920 for 256 at 14 x 14.
_WINOGRAD_TILE: Final = 4
_WINOGRAD_VALUES: Final = 36
# In the same traces data gradients of 1 x 1 convolutions on maps of 28 x 28 and more take a copy of their result and
# the filter; on smaller maps nothing.
_POINTWISE_COPY_FROM_PIXELS: Final = 28 * 28

# torch's default for the buffer of each cuBLAS handle, aten/src/ATen/cuda/CublasHandlePool.cpp: 2 x 4 MiB + 8 x 16 KiB,
# on Hopper and data-centre Blackwell 32 MiB (the H100 trace of TraceLens holds just that besides the weights). The
# backward pass runs on a thread of its own and has a handle of its own.
_CUBLAS_BYTES: Final = 8_519_680
_CUBLAS_BYTES_FROM_HOPPER: Final = 32 * BYTES_PER_MIB
# hipBLASLt's buffer, allocated once in the MI300X trace of TraceLens (torch 2.7, ROCm 6.4): 79,691,776 bytes
_HIPBLASLT_BYTES: Final = 76 * BYTES_PER_MIB

Signature: TypeAlias = tuple[str | None, ArgShapes | None, ArgDtypes | None, ArgShapes | None, int]


def op_workspaces(ops: OpTable) -> tuple[I64, I64]:
    """Likely and largest scratch bytes of every op, (ops,) each; the least is 0."""
    likely = np.zeros(len(ops), dtype=np.int64)
    high = np.zeros(len(ops), dtype=np.int64)
    known: dict[tuple[int, ...], ByteRange] = {}
    for row in np.flatnonzero(is_convolution(ops)).tolist():
        key = (
            int(ops.name.codes[row]), int(ops.input_shapes.codes[row]), int(ops.input_dtypes.codes[row]),
            int(ops.output_shapes.codes[row]), int(ops.arguments.codes[row]), int(ops.memory_format[row]),
        )  # fmt: skip
        if key not in known:
            known[key] = convolution_workspace(
                ops.name[row] or "",
                ops.input_shapes[row] or (),
                ops.input_dtypes[row] or (),
                ops.output_shapes[row] or (),
                arguments=ops.arguments[row] or (),
                memory_format=MemoryFormat(int(ops.memory_format[row])),
            )
        likely[row], high[row] = known[key].likely, known[key].high
    return likely, high


def is_convolution(ops: OpTable) -> NDArray[np.bool_]:
    """Which ops take scratch by their shapes, (ops,)."""
    return ops.name.map(lambda name: name in _FORWARD or name in _BACKWARD, absent=False, dtype=np.bool_)


def convolution_workspace(
    name: str,
    input_shapes: ArgShapes,
    input_dtypes: ArgDtypes,
    output_shapes: ArgShapes,
    *,
    arguments: Sequence[str] = (),
    memory_format: MemoryFormat = MemoryFormat.UNKNOWN,
) -> ByteRange:
    """Scratch of one convolution, forward or backward (the larger of its two gradients'); NOTHING for other ops.

    fp32: Winograd's transforms where it applies, a copy of the result for data gradients of 1 x 1 filters on large
    maps; fp16 and bf16: the change of layout that tensor cores want, unless tensors are channels-last already. At most:
    a copy of input, filter and output, or what is likely.
    """
    is_backward = name in _BACKWARD
    if not is_backward and name not in _FORWARD:
        return NOTHING
    tensors = [tensor_shape(input_shapes, index) for index in range(3 if is_backward else 2)]
    output = tensors[0] if is_backward else tensor_shape(output_shapes, 0)
    data, weight = tensors[-2:]
    itemsize = BYTES_BY_DTYPE.get((input_dtypes[0] if input_dtypes else None) or "float32", 4)
    if not data or not weight or not output or len(data) != len(weight):
        return NOTHING
    copies = (prod(data) + prod(output) + prod(weight)) * itemsize
    dtype = input_dtypes[0] if input_dtypes else None
    if dtype in _HALVES:
        likely = 0 if memory_format is MemoryFormat.CHANNELS_LAST else copies
    else:
        likely = _single_precision(data, weight, output, itemsize, _Options(arguments, is_backward), is_backward)
    return ByteRange(0, likely, max(likely, copies))


def uses_matmul(ops: OpTable) -> bool:
    """Whether any op goes through cuBLAS, whose handle keeps a buffer."""
    return any(name in _MATMULS for name in ops.name.values)


def matmul_workspace(gpu: Gpu, *, is_training: bool) -> ByteRange:
    """What cuBLAS handles keep: one buffer in inference, two in training (forward and backward threads).

    At least nothing: torch before 1.13 left it to cuBLAS, outside of its allocator.
    """
    handles = 2 if is_training else 1
    if gpu.vendor is Vendor.AMD:
        return ByteRange(0, _HIPBLASLT_BYTES, handles * _HIPBLASLT_BYTES)
    major = int(gpu.compute_capability.split(".")[0]) if gpu.compute_capability[:1].isdigit() else 0
    if major in (9, 10):
        return ByteRange(0, handles * _CUBLAS_BYTES_FROM_HOPPER, handles * _CUBLAS_BYTES_FROM_HOPPER)
    ceiling = _CUBLAS_BYTES_FROM_HOPPER if major > 10 else _CUBLAS_BYTES
    return ByteRange(0, handles * _CUBLAS_BYTES, handles * ceiling)


class _Options:
    """Stride, padding and groups as printed, where they were recorded."""

    def __init__(self, arguments: Sequence[str], is_backward: bool) -> None:
        first = 4 if is_backward else 3  # convolution_backward has the bias' sizes before
        self.strides = arguments[first] if len(arguments) > first else ""
        self.dilation = arguments[first + 2] if len(arguments) > first + 2 else ""
        self.transposed = arguments[first + 3] if len(arguments) > first + 3 else ""


def _single_precision(
    data: Shape, weight: Shape, output: Shape, itemsize: int, options: _Options, is_backward: bool
) -> int:
    groups_one = data[1] == weight[1] and output[1] == weight[0]
    if options.transposed == "True" or not groups_one or len(data) != 4:
        return 0
    same_map = data[2:] == output[2:] or (data[2] - output[2], data[3] - output[3]) in ((2, 2), (-2, -2))
    if weight[2:] == (3, 3) and same_map and options.dilation in ("", "[1, 1]"):
        tiles = -(-output[2] // _WINOGRAD_TILE) * -(-output[3] // _WINOGRAD_TILE)
        values = weight[0] * weight[1] + data[0] * tiles * (weight[0] + weight[1])
        return _WINOGRAD_VALUES * itemsize * values
    is_large = data[2] * data[3] >= _POINTWISE_COPY_FROM_PIXELS
    if is_backward and weight[2:] == (1, 1) and same_map and is_large:
        return itemsize * (prod(data) + prod(weight))
    return 0


def tensor_shape(shapes: ArgShapes, index: int) -> Shape:
    """The shape of a tensor argument; () for a list of tensors or none."""
    shape = shapes[index] if index < len(shapes) else None
    if shape is None or any(isinstance(part, tuple) for part in shape):
        return ()
    return shape  # type: ignore[return-value] # a shape by the check above

"""Which collective is a communication kernel, how many bytes does it carry, and between how many ranks?

Since torch 2.2 the profiler writes name, elements, dtype and group size on the kernel, and on the op around its
launch. Before, the kernel's name tells the collective and the shape on its "nccl:..." annotation the size. A size is
the larger of what goes in and what comes out of one rank, in bytes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.hardware.dtypes import BYTES_BY_DTYPE
from surfer_lab.trace.arguments import DTYPE_BY_CPP_TYPE

__all__ = ["RecordedCollective", "collective_of_kernel", "recorded_collective"]

_LARGEST_BYTES: Final = 1 << 60
_MOST_RANKS: Final = 1 << 24

_BY_KERNEL_NAME: Final = (
    (re.compile(r"AllReduce", re.IGNORECASE), "allreduce"),
    (re.compile(r"AllGather", re.IGNORECASE), "allgather"),
    (re.compile(r"ReduceScatter", re.IGNORECASE), "reducescatter"),
    (re.compile(r"AllToAll", re.IGNORECASE), "alltoall"),
    (re.compile(r"SendRecv", re.IGNORECASE), "sendrecv"),  # also how NCCL does an all-to-all
    (re.compile(r"Broadcast", re.IGNORECASE), "broadcast"),
    (re.compile(r"Reduce", re.IGNORECASE), "reduce"),
)
_BY_RECORDED_NAME: Final = (  # "all_reduce", "allreduce_coalesced", "_allgather_base", "ncclAllToAllv", ...
    (re.compile(r"all_?reduce", re.IGNORECASE), "allreduce"),
    (re.compile(r"all_?gather", re.IGNORECASE), "allgather"),
    (re.compile(r"reduce_?scatter", re.IGNORECASE), "reducescatter"),
    (re.compile(r"all_?to_?all", re.IGNORECASE), "alltoall"),
    (re.compile(r"broadcast", re.IGNORECASE), "broadcast"),
    (re.compile(r"send|recv", re.IGNORECASE), "sendrecv"),
    (re.compile(r"reduce", re.IGNORECASE), "reduce"),
    (re.compile(r"barrier", re.IGNORECASE), "barrier"),
)
# c10's names of element types, as record_param_comms prints them
_DTYPE_BY_SCALAR_TYPE: Final = {
    "float": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16", "byte": "uint8",
    "char": "int8", "short": "int16", "int": "int32", "long": "int64", "bool": "bool",
    "float8_e4m3fn": "float8_e4m3fn", "float8_e5m2": "float8_e5m2",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class RecordedCollective:
    """What was recorded of one collective; -1 and None: not."""

    name: str | None
    size_bytes: int
    group_size: int


def collective_of_kernel(kernel_name: str) -> str | None:
    """The collective by the kernel's name.

    >>> collective_of_kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)")
    'allreduce'
    """
    return next((name for pattern, name in _BY_KERNEL_NAME if pattern.search(kernel_name)), None)


def recorded_collective(printed: tuple[Any, ...]) -> RecordedCollective:
    """From (name, elements in, elements out, group size, dtype) as printed.

    >>> recorded_collective(("allreduce", "1000", "1000", "2", "Float"))
    RecordedCollective(name='allreduce', size_bytes=4000, group_size=2)
    """
    name, elements_in, elements_out, group_size, dtype = (str(item) for item in printed)
    element_bytes = element_size(dtype)
    elements = max(_count(elements_in), _count(elements_out))
    size_bytes = elements * element_bytes if elements >= 0 and element_bytes else -1
    ranks = _count(group_size)
    return RecordedCollective(
        name=next((known for pattern, known in _BY_RECORDED_NAME if pattern.search(name)), None),
        size_bytes=size_bytes if size_bytes < _LARGEST_BYTES else -1,
        group_size=ranks if 0 < ranks < _MOST_RANKS else -1,
    )


def element_size(dtype: str) -> int:
    """Bytes an element of a printed element type, 0 where it is unknown."""
    name = _DTYPE_BY_SCALAR_TYPE.get(dtype.lower()) or DTYPE_BY_CPP_TYPE.get(dtype, "")
    return BYTES_BY_DTYPE.get(name, 0)


def _count(printed: str) -> int:
    return int(printed) if printed.isascii() and printed.isdigit() and len(printed) < 19 else -1


def sizes_of(codes: NDArray[Any], values: list[RecordedCollective]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Size and group size of rows whose code indexes `values`, -1 = none."""
    size = np.array([value.size_bytes for value in values] + [-1], dtype=np.int64)
    group = np.array([value.group_size for value in values] + [-1], dtype=np.int32)
    return size[codes], group[codes]

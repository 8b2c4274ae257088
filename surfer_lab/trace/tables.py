"""The tables of a Trace: structs of numpy arrays, one row an op, a host call, a kernel, a span, a step, an allocation.

Times are int64 nanoseconds since the trace's own start. An index into another table is int32, -1 = none. A number that
was not recorded is -1 (0 for grid and block). Rows are in order of start time (kernels: start time, then stream).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from surfer_lab.trace.columns import Interned

__all__ = [
    "ArgDtypes", "ArgShapes", "HostCallKind", "HostCallTable", "KernelKind", "KernelTable", "MemoryFormat",
    "MemoryTable", "OpTable", "Phase", "Shape", "SpanKind", "SpanTable", "StepSource", "StepTable", "TensorRole",
    "TensorTable", "TensorUseTable",
]  # fmt: skip

Shape: TypeAlias = tuple[int, ...]
# one entry an argument: a tensor's shape, the shapes of a list of tensors, or None where it is no tensor
ArgShapes: TypeAlias = tuple[Shape | tuple[Shape, ...] | None, ...]
# torch's names without "torch.": "float32"; a list of tensors has its first tensor's; None where it is no tensor
ArgDtypes: TypeAlias = tuple[str | None, ...]

I8 = NDArray[np.int8]
I16 = NDArray[np.int16]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
B = NDArray[np.bool_]


class Phase(IntEnum):
    OTHER = 0
    FORWARD = 1
    BACKWARD = 2
    OPTIMIZER = 3
    COMMUNICATION = 4


class KernelKind(IntEnum):
    COMPUTE = 0
    MEMCPY = 1
    MEMSET = 2
    COMMUNICATION = 3  # NCCL, RCCL


class HostCallKind(IntEnum):
    OTHER = 0
    LAUNCH = 1  # a kernel, a copy or a memset put on a stream
    SYNCHRONIZE = 2  # the host waits: device, stream or event synchronise, a blocking copy
    EVENT_RECORD = 3
    STREAM_WAIT = 4  # a stream waits for an event; the host does not
    ALLOCATE = 5  # cudaMalloc, cudaFree, host registration: may synchronise too
    GRAPH_LAUNCH = 6


class SpanKind(IntEnum):
    USER = 0  # record_function by the user
    STEP = 1
    INPUT = 2  # the data loader's next()
    OPTIMIZER = 3
    MODULE = 4


class MemoryFormat(IntEnum):
    UNKNOWN = 0
    CONTIGUOUS = 1
    CHANNELS_LAST = 2
    OTHER = 3


class TensorRole(IntEnum):
    TEMPORARY = 0
    PARAMETER = 1
    BUFFER = 2
    GRADIENT = 3
    OPTIMIZER_STATE = 4
    INPUT = 5
    ACTIVATION = 6  # saved for backward


class StepSource(Enum):
    """Where the steps came from; shown beside the step time."""

    PROFILER_STEP = "ProfilerStep marks"
    OPTIMIZER = "optimizer steps"
    MARKED = "r.step() marks"
    MODULE_CALL = "outermost module calls"
    CELL = "the whole cell"
    SPAN = "the recorded span (no marks in the trace)"


@dataclass(frozen=True, kw_only=True, eq=False)
class OpTable:
    """Host-side operations: aten ops and what encloses them (`parent`). Backward ops link to their forward op."""

    name: Interned[str]  # "aten::conv2d"
    phase: I8  # Phase
    start_ns: I64
    duration_ns: I64  # host time, children included
    thread: I32
    parent: I32  # op
    input_shapes: Interned[ArgShapes]
    input_dtypes: Interned[ArgDtypes]
    output_shapes: Interned[ArgShapes]
    output_dtypes: Interned[ArgDtypes]
    arguments: Interned[tuple[str, ...]]  # by position, printed: "[1, 1]", "False"; "" for tensors and unknown
    memory_format: I8  # MemoryFormat of the first tensor argument
    module: Interned[str]  # "layer4.1.conv2"
    source: Interned[str]  # "train.py:41", outermost frame of the user's first
    sequence: I64  # autograd sequence number
    forward_op: I32  # op

    def __len__(self) -> int:
        return len(self.start_ns)


@dataclass(frozen=True, kw_only=True, eq=False)
class HostCallTable:
    """Runtime and driver calls that launch work, wait or allocate."""

    name: Interned[str]  # "cudaLaunchKernel"
    kind: I8  # HostCallKind
    start_ns: I64
    duration_ns: I64
    thread: I32
    op: I32  # innermost op around the call
    stream: I64  # the stream acted or waited on; -1 unknown or all
    waits_for: I32  # STREAM_WAIT and event synchronise: the EVENT_RECORD host call waited for

    def __len__(self) -> int:
        return len(self.start_ns)


@dataclass(frozen=True, kw_only=True, eq=False)
class KernelTable:
    """Work on the GPU: kernels, copies, memsets, collectives."""

    name: Interned[str]
    kind: I8  # KernelKind
    start_ns: I64
    duration_ns: I64
    device: I16
    stream: I64
    grid: I32  # (rows, 3); 0 = not recorded
    block: I32  # (rows, 3)
    regs_per_thread: I32
    smem_bytes: I64
    op: I32  # innermost op around the launch; -1 for a CUDA graph's: they come from many
    host_call: I32  # the launch; all kernels of a CUDA graph have its GRAPH_LAUNCH; -1: none in the recording
    size_bytes: I64  # copies, memsets, collectives
    group_size: I32  # ranks of a collective
    collective: Interned[str]  # "allreduce"

    def __len__(self) -> int:
        return len(self.start_ns)


@dataclass(frozen=True, kw_only=True, eq=False)
class SpanTable:
    """Named stretches of host time: steps, loader waits, optimizer steps, modules, the user's own."""

    name: Interned[str]
    kind: I8  # SpanKind
    start_ns: I64
    duration_ns: I64
    thread: I32

    def __len__(self) -> int:
        return len(self.start_ns)


@dataclass(frozen=True, kw_only=True, eq=False)
class StepTable:
    """Iterations. Incomplete steps (cut at the file's ends) are kept and not used for the step time."""

    number: I64
    start_ns: I64
    end_ns: I64
    complete: B

    def __len__(self) -> int:
        return len(self.start_ns)


@dataclass(frozen=True, kw_only=True, eq=False)
class MemoryTable:
    """Allocator events: bytes by which an event changed what is allocated, and totals after it where recorded."""

    time_ns: I64
    delta_bytes: I64
    allocated_bytes: I64
    reserved_bytes: I64
    device: I16  # -1: host
    op: I32

    def __len__(self) -> int:
        return len(self.time_ns)


@dataclass(frozen=True, kw_only=True, eq=False)
class TensorTable:
    """Storages seen by a capture, each once however many views it has. Op indices say when it lives."""

    size_bytes: I64
    role: I8  # TensorRole
    dtype: Interned[str]
    allocated_by: I32  # op; -1: there before the step
    last_used_by: I32  # op; -1: never used
    freed_after: I32  # op; -1: outlives the step

    def __len__(self) -> int:
        return len(self.size_bytes)


@dataclass(frozen=True, kw_only=True, eq=False)
class TensorUseTable:
    """Which storages each op of a capture reads and writes: what ops depend on. Empty where it was not recorded.

    In order of op, an op's reads before its writes, each in the order of its arguments or results.
    """

    op: I32
    tensor: I32  # row of the tensors
    position: I16  # argument read, or result written, by the op's schema; -1: unknown (an op put together from several)
    is_write: B

    def __len__(self) -> int:
        return len(self.op)

    @classmethod
    def none(cls) -> TensorUseTable:
        """No row."""
        return cls(
            op=np.zeros(0, np.int32), tensor=np.zeros(0, np.int32), position=np.zeros(0, np.int16),
            is_write=np.zeros(0, np.bool_),
        )  # fmt: skip

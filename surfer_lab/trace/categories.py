"""What is an event, by the names that writers gave it from torch 1.8 to today?

Kineto's categories changed over the years ("Kernel" 2021, "kernel" since 2022; see its ActivityType list), and AMD's
calls are filed under cuda_runtime. Host calls are sorted by what they mean for a replay: whether they launch, wait,
record or allocate. Every rule is a row of a table.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Final

from surfer_lab.trace.tables import HostCallKind, SpanKind

__all__ = [
    "BLOCKING_COPY", "COMMUNICATION_KERNEL", "EventKind", "annotation_kind", "event_kind", "host_call_kind",
    "is_annotation",
]  # fmt: skip


class EventKind(IntEnum):
    """The table an event feeds."""

    UNKNOWN = 0
    SKIPPED = 1
    OP = 2
    ANNOTATION = 3
    HOST_CALL = 4
    KERNEL = 5
    MEMCPY = 6
    MEMSET = 7
    PYTHON = 8
    SYNC = 9
    GPU_EVENT = 10


_KIND_BY_CATEGORY: Final = {
    "cpu_op": EventKind.OP,
    "operator": EventKind.OP,  # 2021; annotations too
    "user_annotation": EventKind.ANNOTATION,
    "cuda_runtime": EventKind.HOST_CALL,
    "cuda_driver": EventKind.HOST_CALL,
    "hip_runtime": EventKind.HOST_CALL,
    "runtime": EventKind.HOST_CALL,  # 2021, 2022
    "privateuse1_runtime": EventKind.HOST_CALL,
    "privateuse1_driver": EventKind.HOST_CALL,
    "xpu_runtime": EventKind.HOST_CALL,
    "xpu_driver": EventKind.HOST_CALL,
    "kernel": EventKind.KERNEL,
    "gpu_memcpy": EventKind.MEMCPY,
    "memcpy": EventKind.MEMCPY,
    "gpu_memset": EventKind.MEMSET,
    "memset": EventKind.MEMSET,
    "python_function": EventKind.PYTHON,
    "cuda_sync": EventKind.SYNC,
    "cuda_event": EventKind.GPU_EVENT,
    "trace": EventKind.SKIPPED,
    "gpu_user_annotation": EventKind.SKIPPED,  # the annotations once more, on the GPU's clock
    "overhead": EventKind.SKIPPED,
    "external_correlation": EventKind.SKIPPED,
    "cuda_profiler_range": EventKind.SKIPPED,
    "cpu_instant_event": EventKind.SKIPPED,
    "collective_comm": EventKind.SKIPPED,
    "ac2g": EventKind.SKIPPED,
    "fwdbwd": EventKind.SKIPPED,
}

_ANNOTATION: Final = re.compile(
    r"ProfilerStep#|ProfilerStep\*|Optimizer\.(?:step|zero_grad)#|enumerate\(DataLoader\)#"
    r"|Distributed\w*Parallel\.forward|DataParallel\.forward|## "
)
_KIND_BY_ANNOTATION: Final = (
    (re.compile(r"ProfilerStep#\d+$"), SpanKind.STEP),
    (re.compile(r"enumerate\(DataLoader\)#"), SpanKind.INPUT),
    (re.compile(r"Optimizer\.step#"), SpanKind.OPTIMIZER),
)

_API: Final = r"(?:cuda|cu|hip|mu|musa)"
BLOCKING_COPY: Final = re.compile(
    rf"{_API}(?:Memcpy(?:2D|3D|HtoD|DtoH|ToSymbol|FromSymbol)?(?:_v\d+)?|MemcpyWithStream)(?:_ptsz|_ptds)?$"
)
_KIND_BY_CALL: Final = (  # the first that matches counts
    (re.compile(rf"{_API}GraphLaunch"), HostCallKind.GRAPH_LAUNCH),
    (re.compile(rf"{_API}(?:Device|Stream|Event|Ctx|Context|Thread)Synchronize"), HostCallKind.SYNCHRONIZE),
    (BLOCKING_COPY, HostCallKind.SYNCHRONIZE),
    (re.compile(rf"{_API}(?:Ext|Module|Hcc)*Launch(?!Host)"), HostCallKind.LAUNCH),
    (re.compile(rf"{_API}Mem(?:cpy|set)"), HostCallKind.LAUNCH),
    (re.compile(rf"{_API}EventRecord"), HostCallKind.EVENT_RECORD),
    (re.compile(rf"{_API}StreamWait"), HostCallKind.STREAM_WAIT),
    (
        re.compile(
            rf"{_API}(?:Malloc|Free|Host(?:Alloc|Register|Unregister|Malloc|Free)"
            r"|Mem(?:Alloc|Free|HostAlloc|Create|Map|Unmap|Release|SetAccess|Address))"
        ),
        HostCallKind.ALLOCATE,
    ),
)

COMMUNICATION_KERNEL: Final = re.compile(r"(?:void )?(?:nccl|rccl|msccl)", re.IGNORECASE)


def event_kind(category: str | None) -> EventKind:
    """The table for a category of any release.

    >>> event_kind("Kernel"), event_kind("cpu_op"), event_kind("tomorrow"), event_kind(None)
    (<EventKind.KERNEL: 5>, <EventKind.OP: 2>, <EventKind.UNKNOWN: 0>, <EventKind.UNKNOWN: 0>)
    """
    return EventKind.UNKNOWN if category is None else _KIND_BY_CATEGORY.get(category.lower(), EventKind.UNKNOWN)


def is_annotation(op_name: str) -> bool:
    """Whether an op of 2021's "Operator" category is a mark around ops."""
    return _ANNOTATION.match(op_name) is not None


def annotation_kind(name: str) -> SpanKind:
    """What an annotation marks."""
    return next((kind for pattern, kind in _KIND_BY_ANNOTATION if pattern.match(name)), SpanKind.USER)


def host_call_kind(name: str) -> HostCallKind:
    """What a runtime or driver call means for a replay.

    >>> host_call_kind("cudaLaunchKernelExC").name, host_call_kind("hipMemcpyWithStream").name
    ('LAUNCH', 'SYNCHRONIZE')
    >>> host_call_kind("cudaMemcpyAsync").name, host_call_kind("cudaEventQuery").name
    ('LAUNCH', 'OTHER')
    """
    return next((kind for pattern, kind in _KIND_BY_CALL if pattern.match(name)), HostCallKind.OTHER)

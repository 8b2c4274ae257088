"""How does a list of operations with shapes become a trace that the engine predicts?

As a capture, in which nothing ran, or as a recording: each operation one kernel of its measured time, launched ahead
and waited for at the end, beside the step that was measured without the timing of operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from surfer_lab.trace.columns import Interned
from surfer_lab.trace.model import CellRecord, RecordedDevice, Trace, TraceOrigin
from surfer_lab.trace.tables import (
    ArgShapes,
    HostCallKind,
    HostCallTable,
    KernelTable,
    MemoryTable,
    OpTable,
    SpanTable,
    StepSource,
    StepTable,
    TensorTable,
)

__all__ = ["captured", "recorded"]

_OP_NS: Final = 10_000  # host time of an operation; no GPU time depends on it
_LAUNCH_NS: Final = 100  # launched ahead: the host is never what is waited for


def captured(
    ops: Sequence[tuple[str, ArgShapes]], dtype: str = "float32", *, arguments: Sequence[tuple[str, ...]] | None = None
) -> Trace:
    """Operations one after the other on tensors of one dtype, one step; `arguments`: of each, as profilers say them."""
    count = len(ops)
    start = np.arange(count, dtype=np.int64) * _OP_NS
    nothing = np.full(count, -1, dtype=np.int32)
    none_64, none_32, none_8 = np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.int8)
    none_16 = np.empty(0, np.int16)
    table = OpTable(
        name=Interned.of([name for name, _ in ops]),
        phase=np.zeros(count, np.int8),
        start_ns=start,
        duration_ns=np.full(count, _OP_NS, np.int64),
        thread=np.zeros(count, np.int32),
        parent=nothing,
        input_shapes=Interned.of([shapes for _, shapes in ops]),
        input_dtypes=Interned.of([tuple(None if one is None else dtype for one in shapes) for _, shapes in ops]),
        output_shapes=Interned.absent(count),
        output_dtypes=Interned.absent(count),
        arguments=Interned.of([() for _ in ops] if arguments is None else list(arguments)),
        memory_format=np.zeros(count, np.int8),
        module=Interned.absent(count),
        source=Interned.absent(count),
        sequence=np.full(count, -1, np.int64),
        forward_op=nothing,
    )
    return Trace(
        origin=TraceOrigin.SYMBOLIC,
        device=None,
        ops=table,
        host_calls=HostCallTable(
            name=Interned.absent(0), kind=none_8, start_ns=none_64, duration_ns=none_64, thread=none_32, op=none_32,
            stream=none_64, waits_for=none_32,
        ),
        kernels=KernelTable(
            name=Interned.absent(0), kind=none_8, start_ns=none_64, duration_ns=none_64, device=none_16,
            stream=none_64, grid=np.empty((0, 3), np.int32), block=np.empty((0, 3), np.int32),
            regs_per_thread=none_32, smem_bytes=none_64, op=none_32, host_call=none_32, size_bytes=none_64,
            group_size=none_32, collective=Interned.absent(0),
        ),
        spans=SpanTable(
            name=Interned.absent(0), kind=none_8, start_ns=none_64, duration_ns=none_64, thread=none_32
        ),
        steps=StepTable(
            number=np.zeros(1, np.int64), start_ns=np.zeros(1, np.int64),
            end_ns=np.array([count * _OP_NS], np.int64), complete=np.ones(1, bool),
        ),
        step_source=StepSource.SPAN,
        memory=MemoryTable(
            time_ns=none_64, delta_bytes=none_64, allocated_bytes=none_64, reserved_bytes=none_64, device=none_16,
            op=none_32,
        ),
        tensors=TensorTable(
            size_bytes=none_64, role=none_8, dtype=Interned.absent(0), allocated_by=none_32, last_used_by=none_32,
            freed_after=none_32,
        ),
        wall_ns=count * _OP_NS,
    )  # fmt: skip


def recorded(ops: Sequence[tuple[str, ArgShapes]], kernel_ns: Sequence[float], step_ns: float | None) -> Trace:
    """One step on a GPU: operations with their measured times, and the step without the timing of each, if known."""
    base, count = captured(ops), len(ops)
    durations = np.maximum(1, np.round(np.asarray(kernel_ns, dtype=np.float64))).astype(np.int64)
    row = np.arange(count, dtype=np.int32)
    launch = row.astype(np.int64) * _LAUNCH_NS
    start = launch[:1].sum() + _OP_NS + np.concatenate([[0], np.cumsum(durations)[:-1]]).astype(np.int64)
    end = int(start[-1] + durations[-1]) + _OP_NS if count else _OP_NS
    calls = count + 1
    waiting_from = count * _LAUNCH_NS
    return replace(
        base,
        origin=TraceOrigin.PROFILER,
        device=RecordedDevice(name=None),
        ops=replace(base.ops, start_ns=launch, duration_ns=np.full(count, _LAUNCH_NS, np.int64)),
        host_calls=HostCallTable(
            name=Interned.of(["cudaLaunchKernel"] * count + ["cudaDeviceSynchronize"]),
            kind=np.array([HostCallKind.LAUNCH] * count + [HostCallKind.SYNCHRONIZE], np.int8),
            start_ns=np.append(launch, waiting_from),
            duration_ns=np.append(np.full(count, _LAUNCH_NS, np.int64), end - waiting_from),
            thread=np.zeros(calls, np.int32),
            op=np.append(row, np.int32(-1)),
            stream=np.append(np.full(count, 7, np.int64), -1),
            waits_for=np.full(calls, -1, np.int32),
        ),
        kernels=KernelTable(
            name=Interned.of([""] * count),
            kind=np.zeros(count, np.int8),
            start_ns=start,
            duration_ns=durations,
            device=np.zeros(count, np.int16),
            stream=np.full(count, 7, np.int64),
            grid=np.zeros((count, 3), np.int32),
            block=np.zeros((count, 3), np.int32),
            regs_per_thread=np.full(count, -1, np.int32),
            smem_bytes=np.full(count, -1, np.int64),
            op=row,
            host_call=row,
            size_bytes=np.full(count, -1, np.int64),
            group_size=np.full(count, -1, np.int32),
            collective=Interned.absent(count),
        ),
        steps=StepTable(
            number=np.zeros(1, np.int64), start_ns=np.zeros(1, np.int64), end_ns=np.array([end], np.int64),
            complete=np.ones(1, bool),
        ),
        wall_ns=end,
        cell=None if step_ns is None else CellRecord(
            wall_ns=end, step_count=1, profiled_step_count=1, unprofiled_step_ns=round(step_ns)
        ),
    )  # fmt: skip

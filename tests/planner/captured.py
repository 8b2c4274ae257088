"""Captured steps written by hand: ops in order, the storages they make and free, and sizes in bytes.

graph = Captured()
graph.before("w", 128, TensorRole.PARAMETER)
graph.op("aten::relu", makes={"h": 64}, frees=["x"])
trace = graph.trace()
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from surfer_lab.trace.columns import Interned
from surfer_lab.trace.model import Trace, TraceOrigin
from surfer_lab.trace.tables import (
    ArgDtypes,
    ArgShapes,
    HostCallTable,
    KernelTable,
    MemoryFormat,
    MemoryTable,
    OpTable,
    Phase,
    SpanTable,
    StepSource,
    StepTable,
    TensorRole,
    TensorTable,
)


@dataclass
class _Tensor:
    size: int
    role: TensorRole
    made: int
    used: int = -1
    freed: int = -1


@dataclass
class _Op:
    name: str
    phase: Phase
    inputs: ArgShapes
    dtypes: ArgDtypes
    outputs: ArgShapes
    arguments: tuple[str, ...]
    memory_format: MemoryFormat


@dataclass
class Captured:
    """Storages by name; `makes` takes bytes, or bytes and a role."""

    batch_size: int | None = None
    tensors: dict[str, _Tensor] = field(default_factory=dict)
    ops: list[_Op] = field(default_factory=list)

    def before(self, name: str, size: int, role: TensorRole) -> None:
        self.tensors[name] = _Tensor(size, role, -1)

    def op(
        self,
        name: str,
        *,
        phase: Phase = Phase.FORWARD,
        makes: Mapping[str, int | tuple[int, TensorRole]] | None = None,
        frees: Iterable[str] = (),
        inputs: ArgShapes = (),
        outputs: ArgShapes = (),
        dtypes: ArgDtypes | None = None,
        arguments: Sequence[str] = (),
        memory_format: MemoryFormat = MemoryFormat.CONTIGUOUS,
    ) -> int:
        row = len(self.ops)
        self.ops.append(
            _Op(
                name,
                phase,
                inputs,
                dtypes or tuple("float32" for _ in inputs),
                outputs,
                tuple(arguments),
                memory_format,
            )
        )
        for made, what in (makes or {}).items():
            size, role = what if isinstance(what, tuple) else (what, TensorRole.TEMPORARY)
            self.tensors[made] = _Tensor(size, role, row)
        for freed in frees:
            self.tensors[freed].freed = row
        return row

    def trace(self, origin: TraceOrigin = TraceOrigin.SYMBOLIC) -> Trace:
        ops, tensors = self.ops, list(self.tensors.values())
        count = len(ops)
        return Trace(
            origin=origin,
            device=None,
            ops=OpTable(
                name=Interned.of([op.name for op in ops]),
                phase=np.array([op.phase for op in ops], np.int8),
                start_ns=np.arange(count, dtype=np.int64),
                duration_ns=np.zeros(count, np.int64),
                thread=np.zeros(count, np.int32),
                parent=np.full(count, -1, np.int32),
                input_shapes=Interned.of([op.inputs for op in ops]),
                input_dtypes=Interned.of([op.dtypes for op in ops]),
                output_shapes=Interned.of([op.outputs for op in ops]),
                output_dtypes=Interned.of([tuple("float32" for _ in op.outputs) for op in ops]),
                arguments=Interned.of([op.arguments for op in ops]),
                memory_format=np.array([op.memory_format for op in ops], np.int8),
                module=Interned.absent(count),
                source=Interned.absent(count),
                sequence=np.full(count, -1, np.int64),
                forward_op=np.full(count, -1, np.int32),
            ),
            host_calls=HostCallTable(
                name=Interned.absent(0), kind=np.zeros(0, np.int8), start_ns=np.zeros(0, np.int64),
                duration_ns=np.zeros(0, np.int64), thread=np.zeros(0, np.int32), op=np.zeros(0, np.int32),
                stream=np.zeros(0, np.int64), waits_for=np.zeros(0, np.int32),
            ),
            kernels=no_kernels(),
            spans=SpanTable(
                name=Interned.absent(0), kind=np.zeros(0, np.int8), start_ns=np.zeros(0, np.int64),
                duration_ns=np.zeros(0, np.int64), thread=np.zeros(0, np.int32),
            ),
            steps=StepTable(
                number=np.array([1]), start_ns=np.array([0]), end_ns=np.array([count]), complete=np.array([True])
            ),
            step_source=StepSource.OPTIMIZER,
            memory=memory_events([]),
            tensors=TensorTable(
                size_bytes=np.array([t.size for t in tensors], np.int64),
                role=np.array([t.role for t in tensors], np.int8),
                dtype=Interned.absent(len(tensors)),
                allocated_by=np.array([t.made for t in tensors], np.int32),
                last_used_by=np.array([t.used for t in tensors], np.int32),
                freed_after=np.array([t.freed for t in tensors], np.int32),
            ),
            wall_ns=count,
            batch_size=self.batch_size,
        )  # fmt: skip


def memory_events(deltas: Sequence[int], device: int = 0) -> MemoryTable:
    count = len(deltas)
    return MemoryTable(
        time_ns=np.arange(count, dtype=np.int64),
        delta_bytes=np.array(deltas, np.int64),
        allocated_bytes=np.full(count, -1, np.int64),
        reserved_bytes=np.full(count, -1, np.int64),
        device=np.full(count, device, np.int16),
        op=np.full(count, -1, np.int32),
    )


def no_kernels(count: int = 0) -> KernelTable:
    i32, i64 = np.zeros(count, np.int32), np.zeros(count, np.int64)
    return KernelTable(
        name=Interned.absent(count), kind=np.zeros(count, np.int8), start_ns=i64, duration_ns=i64,
        device=np.zeros(count, np.int16), stream=i64, grid=np.zeros((count, 3), np.int32),
        block=np.zeros((count, 3), np.int32), regs_per_thread=i32, smem_bytes=i64, op=i32, host_call=i32,
        size_bytes=i64, group_size=i32, collective=Interned.absent(count),
    )  # fmt: skip

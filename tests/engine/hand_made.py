"""Timelines written by hand for the engine's tests: launches, kernels, waits and steps, in microseconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.gpu import Gpu, Rate, RateOrigin, SmLimits, Vendor
from surfer_lab.trace.columns import Interned
from surfer_lab.trace.model import CellRecord, RecordedDevice, Trace, TraceOrigin
from surfer_lab.trace.tables import (
    HostCallKind,
    HostCallTable,
    KernelKind,
    KernelTable,
    MemoryTable,
    OpTable,
    SpanKind,
    SpanTable,
    StepSource,
    StepTable,
    TensorTable,
)

US = 1_000
ELEMENTWISE = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>"
SGEMM = "volta_sgemm_128x64_nn"
UNHEARD_OF = "a_kernel_that_no_table_knows"


@dataclass
class Op:
    name: str
    shapes: tuple[object, ...] | None = None
    dtypes: tuple[str | None, ...] | None = None
    at_us: float = 0.0


@dataclass
class Call:
    name: str
    kind: HostCallKind
    at_us: float
    length_us: float
    thread: int
    stream: int
    op: int
    waits_for: int = -1


@dataclass
class Kernel:
    name: str
    kind: KernelKind
    length_us: float
    stream: int
    call: int
    op: int
    start_us: float | None
    grid: int
    block: int
    size_bytes: int


@dataclass
class HandMade:
    """Collects events; `trace()` puts them in the tables' order. Kernels start when launched unless told otherwise."""

    ops: list[Op] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    kernels: list[Kernel] = field(default_factory=list)
    spans: list[tuple[str, SpanKind, float, float]] = field(default_factory=list)
    steps: list[tuple[float, float, bool]] = field(default_factory=list)
    origin: TraceOrigin = TraceOrigin.PROFILER
    unprofiled_step_us: float | None = None

    def op(
        self, name: str, shapes: tuple[object, ...] | None = None, dtype: str = "float32", at_us: float = 0.0
    ) -> int:
        dtypes = None if shapes is None else tuple(dtype for _ in shapes)
        self.ops.append(Op(name, shapes, dtypes, at_us))
        return len(self.ops) - 1

    def call(
        self, name: str, kind: HostCallKind, at_us: float, length_us: float = 5.0, *, thread: int = 0, stream: int = -1,
        op: int = -1, waits_for: int = -1,
    ) -> int:  # fmt: skip
        self.calls.append(Call(name, kind, at_us, length_us, thread, stream, op, waits_for))
        return len(self.calls) - 1

    def launch(
        self, at_us: float, kernel_us: float, *, call_us: float = 5.0, stream: int = 7, thread: int = 0, op: int = -1,
        name: str = ELEMENTWISE, kind: KernelKind = KernelKind.COMPUTE, start_us: float | None = None, grid: int = 0,
        block: int = 0, size_bytes: int = -1, call: str = "cudaLaunchKernel",
        call_kind: HostCallKind = HostCallKind.LAUNCH,
    ) -> int:  # fmt: skip
        number = self.call(call, call_kind, at_us, call_us, thread=thread, stream=stream, op=op)
        self.kernels.append(Kernel(name, kind, kernel_us, stream, number, op, start_us, grid, block, size_bytes))
        return number

    def kernel(self, start_us: float, kernel_us: float, *, stream: int = 7, call: int = -1) -> None:
        """A kernel without a launch of its own."""
        self.kernels.append(Kernel(ELEMENTWISE, KernelKind.COMPUTE, kernel_us, stream, call, -1, start_us, 0, 0, -1))

    def synchronize(
        self, at_us: float, until_us: float, *, name: str = "cudaDeviceSynchronize", stream: int = -1
    ) -> int:
        return self.call(name, HostCallKind.SYNCHRONIZE, at_us, until_us - at_us, stream=stream)

    def input_wait(self, from_us: float, to_us: float) -> None:
        self.spans.append(("enumerate(DataLoader)", SpanKind.INPUT, from_us, to_us))

    def step(self, from_us: float, to_us: float, *, complete: bool = True) -> None:
        self.steps.append((from_us, to_us, complete))

    def trace(self) -> Trace:
        call_order = sorted(range(len(self.calls)), key=lambda row: (self.calls[row].at_us, row))
        place = {row: at for at, row in enumerate(call_order)}
        place[-1] = -1
        calls = [self.calls[row] for row in call_order]
        kernels = sorted(self.kernels, key=self._start_us)
        ends = [call.at_us + call.length_us for call in calls]
        ends += [self._start_us(kernel) + kernel.length_us for kernel in kernels]
        ends += [to_us for _, to_us, _ in self.steps] + [to_us for *_, to_us in self.spans]
        wall_us = max(ends, default=0.0)
        nothing = np.empty(0, np.int64)
        cell = None
        if self.unprofiled_step_us is not None:
            cell = CellRecord(
                wall_ns=round(wall_us * US), step_count=10, profiled_step_count=max(1, len(self.steps)),
                unprofiled_step_ns=round(self.unprofiled_step_us * US),
            )  # fmt: skip
        return Trace(
            origin=self.origin,
            device=RecordedDevice(name="test") if self.origin is TraceOrigin.PROFILER else None,
            ops=self._op_table(),
            host_calls=HostCallTable(
                name=Interned.of([call.name for call in calls]),
                kind=np.array([call.kind for call in calls], np.int8),
                start_ns=_ns([call.at_us for call in calls]),
                duration_ns=_ns([call.length_us for call in calls]),
                thread=np.array([call.thread for call in calls], np.int32),
                op=np.array([call.op for call in calls], np.int32),
                stream=np.array([call.stream for call in calls], np.int64),
                waits_for=np.array([place[call.waits_for] for call in calls], np.int32),
            ),
            kernels=KernelTable(
                name=Interned.of([kernel.name for kernel in kernels]),
                kind=np.array([kernel.kind for kernel in kernels], np.int8),
                start_ns=_ns([self._start_us(kernel) for kernel in kernels]),
                duration_ns=_ns([kernel.length_us for kernel in kernels]),
                device=np.zeros(len(kernels), np.int16),
                stream=np.array([kernel.stream for kernel in kernels], np.int64),
                grid=_three([kernel.grid for kernel in kernels]),
                block=_three([kernel.block for kernel in kernels]),
                regs_per_thread=np.full(len(kernels), 32, np.int32),
                smem_bytes=np.zeros(len(kernels), np.int64),
                op=np.array([kernel.op for kernel in kernels], np.int32),
                host_call=np.array([place[kernel.call] for kernel in kernels], np.int32),
                size_bytes=np.array([kernel.size_bytes for kernel in kernels], np.int64),
                group_size=np.full(len(kernels), -1, np.int32),
                collective=Interned.absent(len(kernels)),
            ),
            spans=SpanTable(
                name=Interned.of([name for name, *_ in self.spans]),
                kind=np.array([kind for _, kind, *_ in self.spans], np.int8),
                start_ns=_ns([from_us for _, _, from_us, _ in self.spans]),
                duration_ns=_ns([to_us - from_us for _, _, from_us, to_us in self.spans]),
                thread=np.zeros(len(self.spans), np.int32),
            ),
            steps=StepTable(
                number=np.arange(len(self.steps), dtype=np.int64),
                start_ns=_ns([from_us for from_us, _, _ in self.steps]),
                end_ns=_ns([to_us for _, to_us, _ in self.steps]),
                complete=np.array([complete for *_, complete in self.steps], bool),
            ),
            step_source=StepSource.PROFILER_STEP if self.steps else StepSource.SPAN,
            memory=MemoryTable(
                time_ns=nothing, delta_bytes=nothing, allocated_bytes=nothing, reserved_bytes=nothing,
                device=np.empty(0, np.int16), op=np.empty(0, np.int32),
            ),
            tensors=TensorTable(
                size_bytes=nothing, role=np.empty(0, np.int8), dtype=Interned.absent(0),
                allocated_by=np.empty(0, np.int32), last_used_by=np.empty(0, np.int32),
                freed_after=np.empty(0, np.int32),
            ),
            wall_ns=round(wall_us * US),
            cell=cell,
        )  # fmt: skip

    def _start_us(self, kernel: Kernel) -> float:
        if kernel.start_us is not None:
            return kernel.start_us
        call = self.calls[kernel.call]
        return call.at_us + call.length_us

    def _op_table(self) -> OpTable:
        count = len(self.ops)
        nothing = np.full(count, -1, np.int32)
        return OpTable(
            name=Interned.of([op.name for op in self.ops]),
            phase=np.zeros(count, np.int8),
            start_ns=_ns([op.at_us for op in self.ops]),
            duration_ns=np.full(count, 1_000, np.int64),
            thread=np.zeros(count, np.int32),
            parent=nothing,
            input_shapes=Interned.of([op.shapes for op in self.ops]),  # type: ignore[misc]  # any shapes a test wants
            input_dtypes=Interned.of([op.dtypes for op in self.ops]),
            output_shapes=Interned.absent(count),
            output_dtypes=Interned.absent(count),
            arguments=Interned.absent(count),
            memory_format=np.zeros(count, np.int8),
            module=Interned.absent(count),
            source=Interned.absent(count),
            sequence=np.full(count, -1, np.int64),
            forward_op=nothing,
        )


def _ns(times_us: Sequence[float]) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    return np.array([round(time * US) for time in times_us], np.int64)


def _three(sizes: Sequence[int]) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
    return np.array([[size, min(1, size), min(1, size)] for size in sizes], np.int32).reshape(-1, 3)


LIMITS = SmLimits(
    max_threads=2048, max_blocks=32, max_warps=64, warp_size=32, registers=65536, register_unit=256,
    shared_memory_bytes=98304, shared_memory_unit_bytes=256, reserved_shared_memory_bytes_per_block=0, source="test",
)  # fmt: skip


def gpu(
    name: str = "origin",
    *,
    bandwidth: float = 1e12,
    rate: float = 1e13,
    sm_count: int = 80,
    clock_hz: float = 1.5e9,
    pcie_generation: int | None = 3,
    rates: dict[RateClass, float] | None = None,
    origin: RateOrigin = RateOrigin.MEASURED,
) -> Gpu:
    """A GPU of round numbers: 1 TB/s, 10 TFLOP/s FP32, 80 SMs; `rates` adds classes."""
    table = {RateClass.FP32: rate} | (rates or {})
    return Gpu(
        name=name, aliases=(), vendor=Vendor.NVIDIA, architecture="Test", compute_capability="7.0", sm_count=sm_count,
        fp32_lanes_per_sm=64, clock_hz=clock_hz, memory_bytes=16_000_000_000, bandwidth_bytes_per_s=bandwidth * 1.1,
        l2_bytes=None, tdp_w=None, peak_flop_per_s={one: value * 1.1 for one, value in table.items()},
        sustained={one: Rate(per_s=value, origin=origin, source="test") for one, value in table.items()},
        sustained_bandwidth=Rate(per_s=bandwidth, origin=origin, source="test"), nvlink_bytes_per_s=None,
        pcie_generation=pcie_generation, release_year=2020, limits=LIMITS, die="T1", source="test",
    )  # fmt: skip


def changed(one: Gpu, name: str, **facts: object) -> Gpu:
    """The same GPU under another name, with some facts changed."""
    return replace(one, name=name, **facts)  # type: ignore[arg-type]  # any field a test wants

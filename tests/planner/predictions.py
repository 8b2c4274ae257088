"""Hand-made traces and predictions for the tests of planner, view, report, magic and command line.

`prediction(...)` has the shape of the engine's answer with numbers that can be worked out by hand: two steps of the
same kernels; on a GPU of speed s every kernel takes 1/s of its time, and launches stay where they are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from surfer_lab.engine.estimate import Limit, Method, PredictionSet, StepTimes, WorkItems
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.gpu import Gpu, Rate, RateOrigin, SmLimits, Vendor
from surfer_lab.trace.columns import Interned
from surfer_lab.trace.model import CellRecord, RecordedDevice, Trace, TraceOrigin, TraceWarning
from surfer_lab.trace.tables import (
    HostCallKind,
    HostCallTable,
    KernelKind,
    KernelTable,
    MemoryTable,
    OpTable,
    Phase,
    SpanTable,
    StepSource,
    StepTable,
    TensorTable,
)

MS = 1_000_000
LIMITS = SmLimits(
    max_threads=2048, max_blocks=32, max_warps=64, warp_size=32, registers=65536, register_unit=256,
    shared_memory_bytes=98304, shared_memory_unit_bytes=256, reserved_shared_memory_bytes_per_block=0, source="test",
)  # fmt: skip


def gpu(name: str, *, memory_gb: float = 16, year: int = 2020, aliases: tuple[str, ...] = ()) -> Gpu:
    return Gpu(
        name=name, aliases=aliases, vendor=Vendor.NVIDIA, architecture="Test", compute_capability="8.0", sm_count=80,
        fp32_lanes_per_sm=64, clock_hz=1.5e9, memory_bytes=int(memory_gb * 1e9), bandwidth_bytes_per_s=9e11,
        l2_bytes=None, tdp_w=None, peak_flop_per_s={RateClass.FP32: 15e12},
        sustained={RateClass.FP32: Rate(per_s=14e12, origin=RateOrigin.MEASURED, source="test")},
        sustained_bandwidth=Rate(per_s=8e11, origin=RateOrigin.MEASURED, source="test"),
        nvlink_bytes_per_s=None, pcie_generation=4, release_year=year, limits=LIMITS, die="T1", source="test",
    )  # fmt: skip


# one step's kernels: aten op, its parent op, phase, family, rate class, ms
STEP_KERNELS = (
    ("aten::cudnn_convolution", "aten::conv2d", Phase.FORWARD, "conv", "fp32", 30),
    ("aten::relu", None, Phase.FORWARD, "elementwise", "fp32", 10),
    ("aten::convolution_backward", None, Phase.BACKWARD, "conv", "fp32", 40),
    ("aten::_foreach_add_", None, Phase.OPTIMIZER, "optimizer", "fp32", 10),
)
STEP_MS = 100
LAUNCH_NS = 3_000
BUSY_MS = 90


def trace(
    *,
    steps: int = 2,
    kernels: Sequence[tuple[str, str | None, Phase, str, str, int]] = STEP_KERNELS,
    device: str | None = "Tesla V100-SXM2-16GB",
    origin: TraceOrigin = TraceOrigin.PROFILER,
    batch_size: int | None = None,
    cell: CellRecord | None = None,
    peak_bytes: int | None = None,
    warnings: tuple[TraceWarning, ...] = (),
    source: str | None = "train.py:41",
) -> Trace:
    """`steps` steps of 100 ms: the kernels one after the other, then an idle rest."""
    names: list[str] = []
    phases: list[int] = []
    parents: list[int] = []
    starts: list[int] = []
    durations: list[int] = []
    kernel_ops: list[int] = []
    kernel_starts: list[int] = []
    kernel_durations: list[int] = []
    for step in range(steps):
        at = step * STEP_MS
        for name, parent, phase, _, _, length in kernels:
            parent_row = -1
            if parent is not None:
                parent_row = len(names)
                names.append(parent)
                phases.append(phase)
                parents.append(-1)
                starts.append(at * MS)
                durations.append(length * MS)
            kernel_ops.append(len(names))
            names.append(name)
            phases.append(phase)
            parents.append(parent_row)
            starts.append(at * MS)
            durations.append(length * MS)
            kernel_starts.append(at * MS + LAUNCH_NS)
            kernel_durations.append(length * MS)
            at += length
    rows, count = len(names), len(kernel_ops) if origin is TraceOrigin.PROFILER else 0
    return Trace(
        origin=origin,
        device=RecordedDevice(name=device) if device is not None else None,
        ops=OpTable(
            name=Interned.of(names), phase=np.array(phases, np.int8), start_ns=np.array(starts, np.int64),
            duration_ns=np.array(durations, np.int64), thread=np.zeros(rows, np.int32),
            parent=np.array(parents, np.int32), input_shapes=Interned.absent(rows),
            input_dtypes=Interned.absent(rows), output_shapes=Interned.absent(rows),
            output_dtypes=Interned.absent(rows),
            arguments=Interned.absent(rows), memory_format=np.zeros(rows, np.int8), module=Interned.absent(rows),
            source=Interned.of([source] * rows), sequence=np.full(rows, -1, np.int64),
            forward_op=np.full(rows, -1, np.int32),
        ),
        host_calls=HostCallTable(  # a launch a kernel, just before it
            name=Interned.of(["cudaLaunchKernel"] * count), kind=np.full(count, HostCallKind.LAUNCH, np.int8),
            start_ns=np.array(kernel_starts[:count], np.int64), duration_ns=np.full(count, 1000, np.int64),
            thread=np.zeros(count, np.int32), op=np.array(kernel_ops[:count], np.int32),
            stream=np.full(count, 7, np.int64), waits_for=np.full(count, -1, np.int32),
        ),
        kernels=KernelTable(
            name=Interned.of(["kernel"] * count), kind=np.full(count, KernelKind.COMPUTE, np.int8),
            start_ns=np.array(kernel_starts[:count], np.int64),
            duration_ns=np.array(kernel_durations[:count], np.int64),
            device=np.zeros(count, np.int16), stream=np.full(count, 7, np.int64), grid=np.ones((count, 3), np.int32),
            block=np.full((count, 3), 32, np.int32), regs_per_thread=np.full(count, 32, np.int32),
            smem_bytes=np.zeros(count, np.int64), op=np.array(kernel_ops[:count], np.int32),
            host_call=np.arange(count, dtype=np.int32), size_bytes=np.full(count, -1, np.int64),
            group_size=np.full(count, -1, np.int32), collective=Interned.absent(count),
        ),
        spans=SpanTable(
            name=Interned.absent(0), kind=np.zeros(0, np.int8), start_ns=np.zeros(0, np.int64),
            duration_ns=np.zeros(0, np.int64), thread=np.zeros(0, np.int32),
        ),
        steps=StepTable(
            number=np.arange(steps), start_ns=np.arange(steps) * STEP_MS * MS,
            end_ns=(np.arange(steps) + 1) * STEP_MS * MS, complete=np.ones(steps, np.bool_),
        ),
        step_source=StepSource.PROFILER_STEP if origin is TraceOrigin.PROFILER else StepSource.OPTIMIZER,
        memory=MemoryTable(
            time_ns=np.zeros(0, np.int64), delta_bytes=np.zeros(0, np.int64), allocated_bytes=np.zeros(0, np.int64),
            reserved_bytes=np.zeros(0, np.int64), device=np.zeros(0, np.int16), op=np.zeros(0, np.int32),
        ),
        tensors=TensorTable(
            size_bytes=np.zeros(0, np.int64), role=np.zeros(0, np.int8), dtype=Interned.absent(0),
            allocated_by=np.zeros(0, np.int32), last_used_by=np.zeros(0, np.int32), freed_after=np.zeros(0, np.int32),
        ),
        wall_ns=steps * STEP_MS * MS,
        batch_size=batch_size,
        cell=cell,
        peak_allocated_bytes=peak_bytes,
        environment={"torch": "2.13.0"},
        warnings=warnings,
    )  # fmt: skip


def prediction(
    recorded: Trace,
    speeds: Sequence[tuple[Gpu, float]],
    *,
    origin: Gpu | None,
    waits: tuple[float, float, float, float] = (0.10, 0.0, 0.0, 0.0),
    kernels: Sequence[tuple[str, str | None, Phase, str, str, int]] = STEP_KERNELS,
    limit: Limit = Limit.MEMORY,
    unscaled: str | None = None,
) -> PredictionSet:
    """A prediction for GPUs of known speed. `waits` (launch, input, synchronisation, communication): in 100 ms."""
    steps = len(recorded.steps)
    item_count = steps * len(kernels)
    busy_ns = float(sum(kernel[5] for kernel in kernels) * MS)
    base = np.tile(np.array([kernel[5] * MS for kernel in kernels], dtype=np.float64), steps)
    has_kernels = len(recorded.kernels) > 0
    names = {kernel[0] for kernel in kernels}
    with_kernel_op = [row for row in range(len(recorded.ops)) if recorded.ops.name[row] in names]
    items = WorkItems(
        kernel=np.arange(item_count, dtype=np.int32) if has_kernels else np.full(item_count, -1, np.int32),
        op=np.array(with_kernel_op[:item_count], np.int32),
        step=np.repeat(np.arange(steps, dtype=np.int32), len(kernels)),
        flop=np.full(item_count, np.nan), bytes=np.full(item_count, np.nan),
        rate_class=Interned.of([kernel[4] for kernel in kernels] * steps),
        family=Interned.of([kernel[3] for kernel in kernels] * steps),
        family_source=Interned.of(["shapes"] * item_count),
        launch_count=np.ones(item_count, np.int32),
        unscaled_reason=Interned.of(([unscaled] + [None] * (len(kernels) - 1)) * steps),
    )  # fmt: skip
    speed = np.array([factor for _, factor in speeds])
    duration = base[None, :] / speed[:, None]
    method = np.full(duration.shape, Method.WAVE, np.int8)
    method[:, items.unscaled_reason.codes >= 0] = Method.UNSCALED
    shares = np.zeros((len(speeds), len(Method)))
    for kind in Method:
        shares[:, kind] = np.where(method == kind, duration, 0).sum(axis=1) / duration.sum(axis=1)
    waiting = np.array(waits) * STEP_MS * MS
    return PredictionSet(
        trace=recorded,
        origin=origin,
        gpus=tuple(card for card, _ in speeds),
        items=items,
        duration_ns=duration,
        low_ns=duration * 0.9,
        high_ns=duration * 1.1,
        method=method,
        limited_by=np.full(duration.shape, limit, np.int8),
        steps=_times(busy_ns / speed, waiting, shares),
        measured=None if origin is None else _times(np.array([busy_ns]), waiting, shares[:1]),
        assumptions=("Convolutions use TF32 on Ampere and newer, as torch does by default.",),
        warnings=(),
    )


def _times(busy: np.ndarray, waiting: np.ndarray, shares: np.ndarray) -> StepTimes:
    ones = np.ones(len(busy))
    total = busy + waiting.sum()
    return StepTimes(
        step_ns=total, low_ns=total * 0.9, high_ns=total * 1.1, gpu_busy_ns=busy,
        launch_bound_ns=waiting[0] * ones, input_wait_ns=waiting[1] * ones, synchronization_ns=waiting[2] * ones,
        communication_ns=waiting[3] * ones, share_by_method=shares,
    )  # fmt: skip

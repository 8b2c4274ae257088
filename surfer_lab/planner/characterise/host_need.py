"""What must a host have to feed n GPUs with a step? Cores that launch and load, and memory for what is loaded ahead.

Launching: each GPU's process keeps one core busy for its share of the step: of a recording, what its threads were busy
with operations; of a capture, the modelled cost of its launches. Loading: the time that one sample takes a core is in
no step; where a recording says how long the loop waited for its loader that is told, else it is the caller's, and
where nobody says it, what is told is the time that a sample may take.

Memory: each loader worker holds torch's two batches ahead (DataLoader's prefetch_factor), each process one pinned batch
and, while it starts, its parameters once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from surfer_lab.engine.compilation import CompileMode
from surfer_lab.engine.estimate import PredictionSet
from surfer_lab.engine.host_launches import launch_costs
from surfer_lab.hardware.machines import Machine
from surfer_lab.planner.operations import counted_items
from surfer_lab.planner.scaling import ScalingPoint
from surfer_lab.trace.busy_time import union_ns
from surfer_lab.trace.model import Trace, TraceOrigin
from surfer_lab.trace.tables import Phase, SpanKind, TensorRole
from surfer_lab.units import NS_PER_S

__all__ = ["HostNeed", "HostStep", "host_need", "host_step"]

PREFETCHED_BATCHES: Final = 2  # of each loader worker: torch.utils.data.DataLoader's prefetch_factor
_PINNED_BATCHES: Final = 1


@dataclass(frozen=True, kw_only=True)
class HostStep:
    """What one step asks of the host of one GPU. None: not known from this step."""

    launch_ns: float  # of one core
    is_recorded: bool  # launches as recorded, else modelled
    input_wait_ns: float | None  # recorded: the loop waited so long for its loader
    batch_bytes: int | None  # what is copied to the GPU
    parameter_bytes: int | None


@dataclass(frozen=True, kw_only=True)
class HostNeed:
    """So many GPUs fed: cores in cores, times of one core. None: not known."""

    gpu_count: int
    launch_cores: float
    samples_per_s: float | None
    loader_cores: float | None  # where the time of a sample is known
    sample_budget_ns: float | None  # what a sample may take a core, the machine's other cores all loading
    core_count: int | None  # that the machine has
    input_bytes_per_s: float | None
    host_bytes: int | None  # batches ahead, pinned, and parameters while processes start
    host_memory_bytes: int | None  # that the machine has


def host_step(prediction: PredictionSet, *, compiled: CompileMode = CompileMode.OFF) -> HostStep:
    """Of the step that was predicted."""
    trace = prediction.trace
    if trace.origin is TraceOrigin.PROFILER:
        launch_ns, waited = _recorded(trace)
        return HostStep(
            launch_ns=launch_ns, is_recorded=True, input_wait_ns=waited, batch_bytes=None, parameter_bytes=None
        )
    counted, step_count = counted_items(prediction)
    items = prediction.items
    item_op = np.maximum(items.op, 0)
    phase = np.where(items.op >= 0, trace.ops.phase[item_op], Phase.OTHER) if len(trace.ops) else items.op
    _, cost = launch_costs(phase, items.launch_count, compiled)
    tensors = trace.tensors
    given = tensors.allocated_by < 0
    return HostStep(
        launch_ns=float(cost[counted].sum()) / max(1, step_count),
        is_recorded=False,
        input_wait_ns=None,
        batch_bytes=_sum(tensors.size_bytes[tensors.role == TensorRole.INPUT]),
        parameter_bytes=_sum(tensors.size_bytes[(tensors.role == TensorRole.PARAMETER) & given]),
    )


def _sum(sizes: np.ndarray[tuple[int], np.dtype[np.int64]]) -> int | None:
    return int(sizes.sum()) if len(sizes) else None


def _recorded(trace: Trace) -> tuple[float, float | None]:
    """Busy time of all threads together, and the wait for the loader, of one step on average."""
    steps = trace.steps
    chosen = np.flatnonzero(steps.complete) if steps.complete.any() else np.arange(len(steps))
    if not len(chosen):
        return 0.0, None
    first, last = int(steps.start_ns[chosen].min()), int(steps.end_ns[chosen].max())
    ops, calls, spans = trace.ops, trace.host_calls, trace.spans
    start = np.concatenate([ops.start_ns, calls.start_ns])
    end = start + np.concatenate([ops.duration_ns, calls.duration_ns])
    thread = np.concatenate([ops.thread, calls.thread])
    inside = (end > first) & (start < last)
    busy = sum(
        union_ns(np.clip(start[rows], first, last), np.clip(end[rows], first, last))
        for one in np.unique(thread[inside])
        for rows in [inside & (thread == one)]
    )
    waits = (spans.kind == SpanKind.INPUT) & (spans.start_ns >= first) & (spans.start_ns < last)
    waited = float(spans.duration_ns[waits].sum()) / len(chosen) if waits.any() else None
    return busy / len(chosen), waited


def host_need(
    step: HostStep, point: ScalingPoint, machine: Machine, *, core_ns_per_sample: float | None = None
) -> HostNeed:
    """Of a number of GPUs on a machine; whole nodes beyond one."""
    count = point.gpu_count
    nodes = point.node_count
    cores = None if machine.cpu_core_count is None else machine.cpu_core_count * nodes
    memory = None if machine.host_memory_bytes is None else machine.host_memory_bytes * nodes
    launching = count * min(1.0, step.launch_ns / point.step_ns) if point.step_ns > 0 else 0.0
    rate = point.samples_per_s
    spare = None if cores is None else cores - count
    budget = spare / rate * NS_PER_S if spare is not None and spare > 0 and rate else None
    loading = rate * core_ns_per_sample / NS_PER_S if rate and core_ns_per_sample is not None else None
    held = None
    if step.batch_bytes is not None and spare is not None and spare > 0:
        workers = spare if loading is None else max(count, int(np.ceil(loading)))
        ahead = PREFETCHED_BATCHES * workers + _PINNED_BATCHES * count
        held = ahead * step.batch_bytes + count * (step.parameter_bytes or 0)
    return HostNeed(
        gpu_count=count,
        launch_cores=launching,
        samples_per_s=rate,
        loader_cores=loading,
        sample_budget_ns=budget,
        core_count=cores,
        input_bytes_per_s=None
        if step.batch_bytes is None or point.step_ns <= 0
        else count * step.batch_bytes / point.step_ns * NS_PER_S,
        host_bytes=held,
        host_memory_bytes=memory,
    )

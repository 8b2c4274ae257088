"""How does what was read become one Trace? Every table built, linked and ordered; times begin at 0.

The order of the steps below is one of need: only sound times can be ordered, only ordered rows nest, only nested ops
can be asked what is around a launch, and only linked kernels can be counted.

Refuses (TraceError): a file without GPU work.
"""

from __future__ import annotations

import numpy as np

from surfer_lab.errors import TraceError
from surfer_lab.trace.columns import Interned
from surfer_lab.trace.doubts import ReadingFacts, doubts
from surfer_lab.trace.event_frames import HOW_TO_RECORD
from surfer_lab.trace.gather import RawTrace
from surfer_lab.trace.host_call_rows import call_kinds, host_call_table, ordered_calls
from surfer_lab.trace.kernel_rows import kernel_table, once, ordered_kernels
from surfer_lab.trace.launches import match_launches
from surfer_lab.trace.memory_events import memory_table, peak_bytes
from surfer_lab.trace.model import Trace, TraceOrigin
from surfer_lab.trace.op_rows import op_rows, ordered_ops
from surfer_lab.trace.pools import ranks, spread
from surfer_lab.trace.privacy import allowed_environment, private_kinds
from surfer_lab.trace.process_choice import keep_one_process, number_threads
from surfer_lab.trace.python_stacks import PythonStacks
from surfer_lab.trace.recorded_device import main_device, recorded_device
from surfer_lab.trace.sound_times import drop_absurd_times
from surfer_lab.trace.source_frames import module_of_frame
from surfer_lab.trace.span_rows import (
    annotations_among_ops,
    marks_of,
    ordered_annotations,
    ordered_frames,
    span_table,
)
from surfer_lab.trace.steps import find_steps
from surfer_lab.trace.tables import TensorTable

__all__ = ["assemble"]


def assemble(raw: RawTrace, *, name: str, batch_size: int | None) -> Trace:
    """The Trace of one file; `name` is how messages call it."""
    lost_count = raw.lost_count + drop_absurd_times(raw)
    threads = number_threads(raw)
    other_process_count = keep_one_process(raw, threads)
    if not len(raw.kernels):
        raise _without_gpu_work(raw, name)
    names, printed = raw.pools.shown_names, list(raw.pools.raws)
    name_ranks, raw_ranks = ranks(names), ranks(printed)
    raw.ops, raw.annotations = annotations_among_ops(raw.ops, raw.annotations, names)
    wall_ns = _begin_at_zero(raw, names)
    for table in (raw.ops, raw.annotations, raw.calls, raw.python, raw.allocations):
        table.thread = threads.number[table.thread]

    annotations = ordered_annotations(raw.annotations, name_ranks)
    frames = ordered_frames(raw.python, name_ranks)
    stacks = PythonStacks.of(frames.name, names, frames.start_ns, frames.end_ns, frames.thread)
    ops = op_rows(
        ordered_ops(raw.ops, name_ranks, raw_ranks),
        names,
        printed,
        stacks,
        optimizer_marks=marks_of(annotations, names, "Optimizer."),
        input_marks=marks_of(annotations, names, "enumerate(DataLoader)#"),
    )

    calls = ordered_calls(raw.calls, name_ranks)
    kernels = ordered_kernels(raw.kernels, name_ranks, raw_ranks)
    launch = match_launches(kernels.correlation, kernels.start_ns, calls.correlation, calls.start_ns)
    kinds = call_kinds(calls, kernels, launch, names)
    first = once(kernels, launch, kinds)
    repeated_count = int(np.count_nonzero(~first))
    kernels, launch = kernels.take(first), launch[first]
    host_calls, row_of_call = host_call_table(
        calls, kinds, ops.nesting, kernels, launch, raw.syncs, raw.gpu_events, names
    )
    environment = allowed_environment(raw.metadata)
    table = kernel_table(
        kernels,
        launch,
        calls,
        host_calls,
        row_of_call,
        ops,
        annotations,
        raw.pools,
        world_size=int(environment.get("world_size", "-1")),
    )

    spans, finished = span_table(annotations, frames, stacks, names)
    steps, step_source = find_steps(spans, finished, wall_ns)
    memory = memory_table(raw.allocations, ops.nesting)
    device = recorded_device(raw.metadata.get("deviceProperties"), main_device(table.device, table.duration_ns))
    facts = ReadingFacts(
        event_count=raw.event_count,
        lost_count=lost_count,
        partial_count=raw.partial_count,
        repeated_count=repeated_count,
        unknown_count=raw.unknown_count,
        unknown_categories=raw.unknown_categories,
        ends_early=raw.ends_early,
        other_process_count=other_process_count,
        private_kinds=private_kinds(raw.metadata, _texts_that_tell(raw)),
    )
    return Trace(
        origin=TraceOrigin.PROFILER,
        device=device,
        ops=ops.table,
        host_calls=host_calls,
        kernels=table,
        spans=spans,
        steps=steps,
        step_source=step_source,
        memory=memory,
        tensors=_no_tensors(),
        wall_ns=wall_ns,
        batch_size=batch_size,
        peak_allocated_bytes=peak_bytes(memory, memory.allocated_bytes),
        peak_reserved_bytes=peak_bytes(memory, memory.reserved_bytes),
        environment=environment,
        warnings=doubts(facts, table, host_calls, ops.table, step_source, device),
    )


def _without_gpu_work(raw: RawTrace, name: str) -> TraceError:
    if raw.ends_early:
        return TraceError(
            f"{name} is cut off before any GPU work ({raw.event_count:,} events could be read)",
            remedy="export the trace again and copy it whole",
        )
    if not raw.event_count:
        return TraceError(f"{name} holds no events", remedy=HOW_TO_RECORD)
    events = "1 event" if raw.event_count == 1 else f"{raw.event_count:,} events"
    return TraceError(f"{name} holds {events}, but no GPU work", remedy=HOW_TO_RECORD)


def _begin_at_zero(raw: RawTrace, names: list[str]) -> int:
    """Shift all times so that the first op, call, kernel, mark or allocation is at 0; returns the recorded span.

    Of python frames only modules count: the others begin before the recording, as markers of the profiler itself do.
    """
    module_calls = raw.python.take(
        spread(raw.python.name, names, lambda name: module_of_frame(name) is not None, np.bool_)
    )
    tables = (raw.ops, raw.annotations, raw.calls, raw.kernels, raw.allocations)
    spanning = [table for table in (*tables, module_calls) if len(table)]
    origin_ns = min(int(table.start_ns.min()) for table in spanning)
    end_ns = max(int(table.end_ns.max()) for table in spanning)
    for table in (*tables, raw.python, raw.syncs, raw.gpu_events):
        table.start_ns = table.start_ns - origin_ns
    return end_ns - origin_ns


def _texts_that_tell(raw: RawTrace) -> list[str]:
    """Names and printed lists, each once: where paths of the recorder's machine may stand."""
    prints = [text.decode("utf-8", errors="replace") for text in raw.pools.raws if b"/" in text or b"\\" in text]
    return [*raw.pools.names, *prints]


def _no_tensors() -> TensorTable:
    nothing = np.empty(0, dtype=np.int32)
    return TensorTable(
        size_bytes=np.empty(0, dtype=np.int64),
        role=np.empty(0, dtype=np.int8),
        dtype=Interned.absent(0),
        allocated_by=nothing,
        last_used_by=nothing,
        freed_after=nothing,
    )

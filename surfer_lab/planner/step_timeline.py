"""What happens when in one step? Lanes of events: host threads, waits for input, GPU streams, the GPU's idle time.

A recording shows its step of median length as it was. A capture without a GPU shows what is predicted for one GPU: its
kernels as a replay starts them, launched by a modelled host. Events are merged with their neighbours until few are
left, the same at each zoom: what is shorter than a slot of the window shares the slot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.estimate import PredictionSet
from surfer_lab.engine.modelled_timeline import modelled_timeline
from surfer_lab.engine.replay import replay
from surfer_lab.engine.timeline import EventCode
from surfer_lab.trace.columns import Interned
from surfer_lab.trace.model import Trace, TraceOrigin
from surfer_lab.trace.tables import SpanKind

__all__ = ["Lane", "LaneKind", "Merged", "StepTimeline", "merged", "step_timeline"]

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

_MOST_THREADS: Final = 4
_MOST_STREAMS: Final = 6
_IDLE_FRACTION: Final = 1e-4  # of the step: shorter pauses of the GPU are the launch latency of the next kernel


class LaneKind(Enum):
    HOST = "host"
    INPUT = "input"
    GPU = "gpu"
    IDLE = "idle"


@dataclass(frozen=True, kw_only=True, eq=False)
class Lane:
    """Events of one lane in order of their start, ns since the step began; `name` indexes `names`."""

    kind: LaneKind
    label: str
    begin_ns: F64
    end_ns: F64
    name: I64
    names: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class StepTimeline:
    """One step. `is_measured`: as recorded; else predicted for the GPU asked about."""

    step_ns: float
    lanes: tuple[Lane, ...]
    is_measured: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class Merged:
    """Stretches of one lane: the name with most of the time, how many events, and the time really taken."""

    begin_ns: F64
    end_ns: F64
    name: I64
    count: I64
    taken_ns: F64


def step_timeline(prediction: PredictionSet, gpu_index: int) -> StepTimeline:
    """The lanes of one step: as recorded, else as predicted on the GPU of that row."""
    if prediction.trace.origin is TraceOrigin.PROFILER and len(prediction.trace.kernels):
        return _recorded(prediction.trace)
    return _predicted(prediction, gpu_index)


def merged(lane: Lane, start_ns: float, end_ns: float, most: int) -> Merged:
    """The lane's events in the window, at most twice `most`: those shorter than a slot of it share their slot."""
    inside = (lane.end_ns > start_ns) & (lane.begin_ns < end_ns)
    begin = np.maximum(lane.begin_ns[inside], start_ns)
    end = np.minimum(lane.end_ns[inside], end_ns)
    name = lane.name[inside]
    if not len(begin):
        none = np.zeros(0)
        return Merged(
            begin_ns=none, end_ns=none, name=none.astype(np.int64), count=none.astype(np.int64), taken_ns=none
        )
    slot_ns = max((end_ns - start_ns) / max(1, most), 1e-9)
    slot = np.floor((begin - start_ns) / slot_ns)
    is_long = end - begin >= slot_ns
    fresh = np.ones(len(begin), dtype=bool)
    if len(begin) > most:
        fresh[1:] = is_long[1:] | is_long[:-1] | (slot[1:] != slot[:-1])
    group = np.cumsum(fresh) - 1
    first = np.flatnonzero(fresh)
    count = np.bincount(group)
    length = end - begin
    pairs, at = np.unique(np.stack([group, name]), axis=1, return_inverse=True)
    weight = np.bincount(at.reshape(-1), weights=length + 1e-9)
    heaviest = np.lexsort((weight, pairs[0]))
    last_of_group = np.concatenate([np.flatnonzero(np.diff(pairs[0][heaviest])), [len(heaviest) - 1]])
    return Merged(
        begin_ns=begin[first],
        end_ns=np.maximum.reduceat(end, first),
        name=pairs[1][heaviest[last_of_group]],
        count=count.astype(np.int64),
        taken_ns=np.bincount(group, weights=length).astype(np.float64),
    )


def _recorded(trace: Trace) -> StepTimeline:
    start, end = _median_step(trace)
    kernels, ops, calls = trace.kernels, trace.ops, trace.host_calls
    lanes = []
    top = ops.parent < 0
    for thread in _busiest(ops.thread[top], ops.duration_ns[top], _MOST_THREADS):
        rows = np.flatnonzero(top & (ops.thread == thread))
        lanes.append(_lane(LaneKind.HOST, f"host thread {thread}", ops.start_ns, ops.duration_ns, ops.name, rows))
    if not lanes and len(calls):
        lanes.append(
            _lane(LaneKind.HOST, "host calls", calls.start_ns, calls.duration_ns, calls.name, np.arange(len(calls)))
        )
    loads = np.flatnonzero(trace.spans.kind == SpanKind.INPUT)
    if len(loads):
        spans = trace.spans
        lanes.append(_lane(LaneKind.INPUT, "waiting for input", spans.start_ns, spans.duration_ns, spans.name, loads))
    busiest = _busiest(kernels.device.astype(np.int64), kernels.duration_ns, 1)
    on_device = kernels.device == (busiest[0] if len(busiest) else 0)
    for stream in _busiest(kernels.stream[on_device], kernels.duration_ns[on_device], _MOST_STREAMS):
        rows = np.flatnonzero(on_device & (kernels.stream == stream))
        lanes.append(
            _lane(LaneKind.GPU, f"GPU stream {stream}", kernels.start_ns, kernels.duration_ns, kernels.name, rows)
        )
    lanes = [_windowed(lane, float(start), float(end)) for lane in lanes]
    return StepTimeline(step_ns=float(end - start), lanes=_with_idle(lanes, float(end - start)), is_measured=True)


def _predicted(prediction: PredictionSet, gpu_index: int) -> StepTimeline:
    trace, items = prediction.trace, prediction.items
    line = modelled_timeline(trace, items)
    duration = prediction.duration_ns[gpu_index] if len(prediction.gpus) else np.zeros(len(items))
    run = replay(line, duration, np.asarray(duration)[:, None])
    launch = np.flatnonzero(line.code == EventCode.LAUNCH)
    subject = line.subject[launch]
    names = Interned.of([trace.ops.name[int(op)] if op >= 0 else None for op in items.op.tolist()])
    first = int(np.min(items.step, initial=0))
    chosen = items.step == max(first, 0) if (items.step >= 0).any() else np.ones(len(items), dtype=bool)
    begins, ends = line.begin_free_ns + line.begin_scaled_ns, line.end_free_ns + line.end_scaled_ns
    shown = chosen[subject]
    host_begin, host_end = begins[launch][shown], ends[launch][shown]
    gpu_begin, gpu_end = run.start_ns[chosen, 1], run.end_ns[chosen, 1]
    if not len(gpu_begin):
        return StepTimeline(step_ns=0.0, lanes=(), is_measured=False)
    start = float(min(host_begin.min(initial=np.inf), gpu_begin.min()))
    end = float(max(host_end.max(initial=0.0), gpu_end.max()))
    lanes = [
        _sorted_lane(LaneKind.HOST, "host (modelled)", host_begin, host_end, names.codes[subject[shown]], names.values),
        _sorted_lane(LaneKind.GPU, "GPU", gpu_begin, gpu_end, names.codes[chosen], names.values),
    ]
    lanes = [_windowed(lane, start, end) for lane in lanes]
    return StepTimeline(step_ns=end - start, lanes=_with_idle(lanes, end - start), is_measured=False)


def _median_step(trace: Trace) -> tuple[int, int]:
    steps = trace.steps
    if not len(steps):
        return 0, trace.wall_ns
    rows = np.flatnonzero(steps.complete) if steps.complete.any() else np.arange(len(steps))
    durations = steps.end_ns[rows] - steps.start_ns[rows]
    row = rows[np.argsort(durations, kind="stable")[len(rows) // 2]]
    return int(steps.start_ns[row]), int(steps.end_ns[row])


def _busiest(keys: NDArray[np.signedinteger], weight: I64, most: int) -> list[int]:
    """The keys with most time, in their own order."""
    if not len(keys):
        return []
    distinct, at = np.unique(keys, return_inverse=True)
    time = np.bincount(at.reshape(-1), weights=weight)
    return sorted(int(key) for key in distinct[np.argsort(-time, kind="stable")[:most]])


def _lane(kind: LaneKind, label: str, start: I64, duration: I64, name: Interned[str], rows: I64) -> Lane:
    begin = start[rows].astype(np.float64)
    return _sorted_lane(kind, label, begin, begin + duration[rows], name.codes[rows], name.values)


def _sorted_lane(
    kind: LaneKind, label: str, begin: F64, end: F64, codes: NDArray[np.integer], values: Sequence[str]
) -> Lane:
    order = np.argsort(begin, kind="stable")
    named = np.where(codes < 0, len(values), codes).astype(np.int64)
    return Lane(
        kind=kind,
        label=label,
        begin_ns=begin[order],
        end_ns=end[order],
        name=named[order],
        names=(*values, "without a name"),
    )


def _windowed(lane: Lane, start_ns: float, end_ns: float) -> Lane:
    """The events that touch the window, on its own clock."""
    inside = (lane.end_ns > start_ns) & (lane.begin_ns < end_ns)
    return Lane(
        kind=lane.kind,
        label=lane.label,
        begin_ns=np.maximum(lane.begin_ns[inside], start_ns) - start_ns,
        end_ns=np.minimum(lane.end_ns[inside], end_ns) - start_ns,
        name=lane.name[inside],
        names=lane.names,
    )


def _with_idle(lanes: Sequence[Lane], step_ns: float) -> tuple[Lane, ...]:
    """The lanes, and one of the stretches in which no stream of the GPU works."""
    on_gpu = [lane for lane in lanes if lane.kind is LaneKind.GPU]
    begin = np.concatenate([lane.begin_ns for lane in on_gpu]) if on_gpu else np.zeros(0)
    end = np.concatenate([lane.end_ns for lane in on_gpu]) if on_gpu else np.zeros(0)
    order = np.argsort(begin, kind="stable")
    reached = np.maximum.accumulate(np.concatenate([[0.0], end[order]]))
    following = np.concatenate([begin[order], [step_ns]])
    idle = np.flatnonzero(following - reached > _IDLE_FRACTION * step_ns)
    gaps = Lane(
        kind=LaneKind.IDLE,
        label="GPU idle",
        begin_ns=reached[idle],
        end_ns=following[idle],
        name=np.zeros(len(idle), dtype=np.int64),
        names=("idle",),
    )
    return (*lanes, gaps)

"""Predict a trace on GPUs: what each item and each step would take there, in one pass over arrays.

    items and their work  ->  times on every GPU  ->  launches replayed with them  ->  the step and its parts

Nothing is read, printed or timed here. The GPU that a profiler trace was recorded on is the caller's to name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.assumptions import assumptions_of
from surfer_lab.engine.estimate import Method, PredictionSet, StepTimes
from surfer_lab.engine.host_launches import MODELLED_HOST_FACTOR
from surfer_lab.engine.item_times import ItemTimes, absolute_at_origin, item_times
from surfer_lab.engine.modelled_timeline import modelled_timeline
from surfer_lab.engine.one_stream_step import is_one_stream_step, parts_of_rows
from surfer_lab.engine.options import EngineOptions, ScalingMethod, scaling_method
from surfer_lab.engine.origin_health import OriginHealth, cut_warning, host_bound_warning, origin_health
from surfer_lab.engine.recorded_timeline import recorded_timeline
from surfer_lab.engine.replay import replay
from surfer_lab.engine.step_times import PARTS, Windows, parts_of_median_step, step_durations, windows_of
from surfer_lab.engine.timeline import Timeline
from surfer_lab.engine.whatif.asked import asked, host_options, measured_what_if, options_as_run, refusals
from surfer_lab.engine.work_items import Work, work_of
from surfer_lab.errors import PredictionError
from surfer_lab.hardware.gpu import Gpu
from surfer_lab.trace.model import Trace, TraceOrigin
from surfer_lab.units import NS_PER_MS

__all__ = ["predict"]

F64 = NDArray[np.float64]

_DEFAULT: Final = EngineOptions()
# three replay rows a GPU (time, low, high), three arrays of (kernels, rows): this bounds them to about 1 GB
_REPLAY_CELLS: Final = 40_000_000
# a replay of the recording that is further from its own marks than this is told
_ANCHOR_TOLERANCE: Final = 0.1
_HOST_SCALES: Final = 17  # tried at once; two rounds place the factor within 1/256


def predict(
    trace: Trace,
    gpus: Sequence[Gpu],
    *,
    origin: Gpu | None = None,
    options: EngineOptions = _DEFAULT,
    host_factor: float | None = None,
    method: ScalingMethod | str | None = None,
) -> PredictionSet:
    """Times of all items and of the step on each of `gpus`.

    `origin` is the GPU that a profiler trace was recorded on; PredictionError where it is missing. `host_factor` and
    `method` stand for the options of that name.
    """
    if host_factor is not None:
        options = replace(options, host_factor=host_factor)
    if method is not None:
        options = replace(options, method=scaling_method(method))
    measured = trace.origin is TraceOrigin.PROFILER
    if measured and origin is None:
        raise PredictionError(
            "the GPU that the trace was recorded on is not known", remedy='name it: --from "V100 SXM2 16GB"'
        )
    refused = refusals(gpus, options.precision)
    trace, options, told = asked(trace, options)
    as_run = options_as_run(options)
    work = work_of(trace)
    timeline = recorded_timeline(trace) if measured else modelled_timeline(trace, work.items, options.compile)
    anchor = _anchor(trace, work, timeline)
    health = _health(work, origin, anchor, as_run) if measured and origin is not None else OriginHealth()
    times = item_times(work, origin if measured else None, gpus, as_run, is_trusted=health.is_trusted)
    absolute = _shares_of_absolute(work, times, anchor.windows) if health.step_is_trusted else np.ones(len(gpus))
    if origin is not None and measured:
        times = _with_own_step_factor(times, measured_what_if(times, trace, work, origin, gpus, options))
        options = host_options(trace, work, options)
        absolute[[gpu == origin for gpu in gpus]] = 0.0  # its step is the measured one, trusted or not
    steps, own, warnings = _step_times(trace, work, times, timeline, anchor, absolute, options)
    return PredictionSet(
        trace=trace,
        origin=origin if measured else None,
        gpus=tuple(gpus),
        items=work.items,
        duration_ns=times.duration_ns,
        low_ns=times.low_ns,
        high_ns=times.high_ns,
        method=times.method,
        limited_by=times.limited_by,
        steps=steps,
        measured=own,
        assumptions=(*told, *assumptions_of(trace, work, origin if measured else None, gpus, as_run)),
        warnings=(*health.told, *warnings, *refused),
        origin_is_trusted=health.is_trusted,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Replayed:
    """Some GPUs' steps before they are put on the measured scale: parts (parts, gpus), ends of the range (gpus,)."""

    parts: F64
    low_ns: F64
    high_ns: F64
    own_parts: F64  # (parts,) of the origin's own step
    own_step_ns: float  # its median, as replayed


@dataclass(frozen=True, kw_only=True, eq=False)
class _Anchor:
    """What ties replayed times to measured ones. `unprofiled_ns` and `replayed_ns`: 0 where not known."""

    windows: Windows
    recorded_ns: F64  # (items,)
    host_scale: float
    unprofiled_ns: float
    replayed_ns: float  # the origin's own step with that host, worked out where the unprofiled one is known


def _anchor(trace: Trace, work: Work, timeline: Timeline) -> _Anchor:
    measured = trace.origin is TraceOrigin.PROFILER
    complete = trace.steps.complete if len(trace.steps) else np.ones(1, dtype=bool)
    windows = windows_of(timeline.marks, complete)
    recorded_ns = work.measured_ns if measured else np.zeros(len(work))
    cell = trace.cell if measured else None
    unprofiled_ns = float(cell.unprofiled_step_ns or 0) if cell is not None else 0.0
    if not unprofiled_ns:
        return _Anchor(windows=windows, recorded_ns=recorded_ns, host_scale=1.0, unprofiled_ns=0.0, replayed_ns=0.0)
    scale = _host_scale(timeline, recorded_ns, windows, unprofiled_ns)
    run = replay(timeline, recorded_ns, recorded_ns[:, None], host_scale=np.array([scale]))
    return _Anchor(
        windows=windows, recorded_ns=recorded_ns, host_scale=scale, unprofiled_ns=unprofiled_ns,
        replayed_ns=float(np.median(step_durations(run, windows)[:, 1])),
    )  # fmt: skip


def _health(work: Work, origin: Gpu, anchor: _Anchor, options: EngineOptions) -> OriginHealth:
    if options.method is not ScalingMethod.SUSTAINED or not options.blended:
        return OriginHealth()  # baselines take the origin as it is
    absolute_ns, learned = absolute_at_origin(work, origin, options)
    return origin_health(
        work, origin, absolute_ns, learned, replayed_ns=anchor.replayed_ns, unprofiled_ns=anchor.unprofiled_ns
    )


def _shares_of_absolute(work: Work, times: ItemTimes, windows: Windows) -> F64:
    """How much of a step's time is predicted without the origin, (gpus,): the mean of items' shares by their time."""
    counted = _counted(work, windows)
    time, share = times.duration_ns[:, counted], times.absolute_share[:, counted]
    total = time.sum(axis=1)
    mean: F64 = np.divide((time * share).sum(axis=1), total, out=np.zeros(len(total)), where=total > 0)
    return mean


def _step_times(
    trace: Trace, work: Work, times: ItemTimes, timeline: Timeline, anchor: _Anchor, absolute: F64,
    options: EngineOptions,
) -> tuple[StepTimes, StepTimes | None, tuple[str, ...]]:  # fmt: skip
    """`absolute` (gpus,): the share of each step that is predicted without the origin, and so keeps its own scale."""
    measured = trace.origin is TraceOrigin.PROFILER
    at_once = max(1, _REPLAY_CELLS // (3 * max(1, len(work))))
    chunks = [slice(first, first + at_once) for first in range(0, len(times.duration_ns), at_once)] or [slice(0, 0)]
    host_range = _host_range(trace)
    done = [
        _replayed(
            timeline, work, times, anchor.windows, anchor.recorded_ns, anchor.host_scale, host_range, options, chunk
        )
        for chunk in chunks
    ]
    target = float(anchor.unprofiled_ns or trace.step_ns)
    replayed = done[0].own_step_ns
    ratio = target / replayed if measured and target > 0 and replayed > 0 else 1.0
    scale = ratio ** (1.0 - absolute) if measured else np.ones(len(absolute))
    steps = _as_step_times(
        np.concatenate([one.parts for one in done], axis=1) * scale,
        np.concatenate([one.low_ns for one in done]) * scale,
        np.concatenate([one.high_ns for one in done]) * scale,
        _shares(work, times, anchor.windows),
    )
    if not measured:
        return steps, None, ()
    own = done[0].own_parts[:, None] * ratio
    shares = np.zeros((1, len(Method)))
    shares[0, Method.MEASURED] = 1.0
    own_step = own.sum(axis=0)
    told = _warnings(timeline, replayed, target)
    waited = host_bound_warning(float(own[0, 0]), float(own_step[0]))
    said = (waited, cut_warning(trace.steps.complete))
    return steps, _as_step_times(own, own_step, own_step, shares), (*told, *(one for one in said if one))


def _replayed(
    timeline: Timeline,
    work: Work,
    times: ItemTimes,
    windows: Windows,
    recorded_ns: F64,
    scale: float,
    host_range: tuple[float, float],
    options: EngineOptions,
    gpus: slice,
) -> _Replayed:
    """Replay rows: the origin itself, then some GPUs' times, their low ends, their high ends.

    `host_range` are factors on host time at the two ends; on the origin itself the host was measured with the GPU.
    """
    middle, factor = times.duration_ns[gpus], times.step_factor[gpus]
    ends = [middle, middle / factor, middle * factor]
    duration = np.concatenate([recorded_ns[None, :], *ends]).T
    count = len(ends[0])
    host_scale = np.full(duration.shape[1], scale / options.host_factor)
    host_scale[0] = scale
    elsewhere = (times.method[gpus] != Method.MEASURED).any(axis=1)
    host_scale[1 + count : 1 + 2 * count][elsewhere] *= host_range[0]
    host_scale[1 + 2 * count :][elsewhere] *= host_range[1]
    run = replay(timeline, recorded_ns, duration, host_scale=host_scale)
    if is_one_stream_step(timeline, windows, work.is_communication):
        parts = list(parts_of_rows(run, windows, slice(1, 2 + count)))
    else:
        parts = [
            parts_of_median_step(run, timeline, windows, work.is_communication, 1 + row) for row in range(1 + count)
        ]
    steps = np.median(step_durations(run, windows), axis=0)[1:]
    return _Replayed(
        parts=np.array(parts[1:]).reshape(count, len(PARTS)).T,
        low_ns=steps[1 + count : 1 + 2 * count],
        high_ns=steps[1 + 2 * count :],
        own_parts=parts[0],
        own_step_ns=float(steps[0]),
    )


def _as_step_times(parts: F64, low: F64, high: F64, shares: F64) -> StepTimes:
    step = parts.sum(axis=0)
    return StepTimes(
        step_ns=step,
        low_ns=np.minimum(low, step),
        high_ns=np.maximum(high, step),
        gpu_busy_ns=parts[0],
        launch_bound_ns=parts[1],
        input_wait_ns=parts[2],
        synchronization_ns=parts[3],
        communication_ns=parts[4],
        share_by_method=shares,
    )


def _with_own_step_factor(as_run: ItemTimes, asked: ItemTimes) -> ItemTimes:
    """Times under a what-if, which widens items' ranges: by as much, in squares of logarithms, the step's too."""
    if asked is as_run:
        return asked
    before, after = (
        np.log(np.divide(one.high_ns, one.duration_ns, out=np.ones_like(one.high_ns), where=one.duration_ns > 0))
        for one in (as_run, asked)
    )
    added = np.maximum(after**2 - before**2, 0.0)
    return replace(asked, step_factor=np.exp(np.sqrt(np.log(as_run.step_factor) ** 2 + added)))


def _host_range(trace: Trace) -> tuple[float, float]:
    """Factors on host time at the low and the high end of a step's range.

    A host whose step was timed without the profiler is known. Under a profiler it is slower by a factor that nobody
    recorded: the low end is the GPU alone. Where no launch was recorded, the host is a model.
    """
    if trace.origin is not TraceOrigin.PROFILER:
        return 1.0 / MODELLED_HOST_FACTOR, MODELLED_HOST_FACTOR
    known = trace.cell is not None and trace.cell.unprofiled_step_ns is not None
    return (1.0, 1.0) if known else (0.0, 1.0)


def _shares(work: Work, times: ItemTimes, windows: Windows) -> F64:
    """Share of the GPU time of the steps used, by method, (gpus, methods); a step without GPU work is the host's."""
    counted = _counted(work, windows)
    shares = np.zeros((len(times.duration_ns), len(Method)))
    for row, (method, duration) in enumerate(zip(times.method, times.duration_ns, strict=True)):
        shares[row] = np.bincount(method[counted], weights=duration[counted], minlength=len(Method))
    total = shares.sum(axis=1, keepdims=True)
    shares[total[:, 0] <= 0, Method.HOST] = 1.0
    normal: F64 = shares / np.where(total > 0, total, 1.0)
    return normal


def _counted(work: Work, windows: Windows) -> NDArray[np.bool_]:
    """Items of the steps used, (items,); all where none is in a step."""
    counted: NDArray[np.bool_] = np.isin(work.items.step, windows.step)
    return counted if counted.any() else np.ones(len(work), dtype=bool)


def _host_scale(timeline: Timeline, recorded_ns: F64, windows: Windows, target_ns: float) -> float:
    """The one factor on recorded host time, at most 1, whose replay takes the target; many are tried in one pass."""
    low, high = 0.0, 1.0
    for _ in range(2):
        scales = np.linspace(low, high, _HOST_SCALES)
        durations = np.repeat(recorded_ns[:, None], _HOST_SCALES, axis=1)
        run = replay(timeline, recorded_ns, durations, host_scale=scales)
        steps = np.median(step_durations(run, windows), axis=0)[1:]
        reached = int(np.searchsorted(np.maximum.accumulate(steps), target_ns))
        if reached == 0 or reached == _HOST_SCALES:
            return low if reached == 0 else high
        low, high = float(scales[reached - 1]), float(scales[reached])
    return 0.5 * (low + high)


def _warnings(timeline: Timeline, replayed_ns: float, target_ns: float) -> tuple[str, ...]:
    told = []
    if replayed_ns > 0 and abs(target_ns / replayed_ns - 1.0) > _ANCHOR_TOLERANCE:
        told.append(
            f"replaying the recorded launches gives a step of {replayed_ns / NS_PER_MS:.3g} ms, measured were "
            f"{target_ns / NS_PER_MS:.3g} ms: predicted steps are scaled by the ratio, their bound is uncertain"
        )
    if timeline.ignored_wait_count:
        told.append(
            f"{timeline.ignored_wait_count} waits between streams do not say what they wait for: streams may overlap "
            "more here than they did"
        )
    return tuple(told)

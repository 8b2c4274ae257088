"""How is one step's timeline sent? A window of it as a few hundred stretches, packed; never its raw events."""

from __future__ import annotations

from typing import Final

import numpy as np

from surfer_lab.engine.estimate import PredictionSet
from surfer_lab.planner.step_timeline import merged, step_timeline
from surfer_lab.units import NS_PER_MS
from surfer_lab.view.detail_model import TimelineLane, TimelineView
from surfer_lab.view.packed import pack_floats, pack_whole
from surfer_lab.view.wording import name_text, rounded

__all__ = ["MOST_STRETCHES", "timeline_view"]

MOST_STRETCHES: Final = 300
_MOST_ASKED: Final = 5_000
_LONGEST_NAME: Final = 60


def timeline_view(
    prediction: PredictionSet,
    gpu_index: int,
    *,
    start_ms: float = 0.0,
    end_ms: float = 0.0,
    most: int = MOST_STRETCHES,
) -> TimelineView | None:
    """The window of the step, to its end where `end_ms` is 0; None where nothing has a time.

    Of a recording as it was; of a capture without a GPU on the GPU of that row.
    """
    step = step_timeline(prediction, gpu_index)
    start_ns = min(max(0.0, start_ms * NS_PER_MS), step.step_ns)
    end_ns = min(end_ms * NS_PER_MS, step.step_ns) if end_ms > 0 else step.step_ns
    if not end_ns > start_ns:
        return None
    quota = max(4, min(most, _MOST_ASKED) // max(1, sum(len(lane.begin_ns) > 1 for lane in step.lanes)))
    names: dict[str, int] = {}
    columns: list[list[np.ndarray[tuple[int, ...], np.dtype[np.float64]]]] = []
    for place, lane in enumerate(step.lanes):
        found = merged(lane, start_ns, end_ns, quota)
        length = found.end_ns - found.begin_ns
        named = [
            names.setdefault(name_text(lane.names[code], longest=_LONGEST_NAME), len(names)) for code in found.name
        ]
        columns.append(
            [
                np.full(len(length), float(place)),
                found.begin_ns / NS_PER_MS,
                length / NS_PER_MS,
                np.array(named, dtype=np.float64),
                found.count.astype(np.float64),
                np.rint(100 * np.minimum(1.0, found.taken_ns / np.where(length > 0, length, 1.0))),
            ]
        )
    lane_column, begin, length_column, name, count, filled = (
        np.concatenate([one[column] for one in columns]) if columns else np.zeros(0) for column in range(6)
    )
    origin = prediction.origin
    return TimelineView(
        step_ms=rounded(step.step_ns / NS_PER_MS),
        start_ms=rounded(start_ns / NS_PER_MS),
        end_ms=rounded(end_ns / NS_PER_MS),
        lanes=[TimelineLane(key=lane.kind.value, label=lane.label) for lane in step.lanes],
        names=list(names),
        lane=pack_whole(lane_column),
        begin_ms=pack_floats(begin),
        length_ms=pack_floats(length_column),
        name=pack_whole(name),
        count=pack_floats(count),
        filled=pack_whole(filled),
        is_measured=step.is_measured,
        on=name_text(
            origin.name
            if step.is_measured and origin is not None
            else prediction.gpus[gpu_index].name
            if prediction.gpus
            else ""
        ),
        note="as recorded: the profiler slows the host" if step.is_measured and _is_slowed(prediction) else "",
    )


def _is_slowed(prediction: PredictionSet) -> bool:
    cell = prediction.trace.cell
    return cell is None or cell.unprofiled_step_ns is None

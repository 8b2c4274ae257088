"""Which rows has the whole table of operations on one GPU? By operation, kind, phase or module, costliest first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from surfer_lab.engine.estimate import PredictionSet
from surfer_lab.planner.module_times import module_times
from surfer_lab.planner.operations import OperationGroups, by_family, by_operation, by_phase
from surfer_lab.units import NS_PER_MS
from surfer_lab.view.detail_model import OperationLine
from surfer_lab.view.wording import PHASE_WORDS, name_text, rounded

__all__ = ["operation_lines"]

_MOST_MODULES: Final = 2_000


def operation_lines(prediction: PredictionSet, gpu: int, *, by: str = "operation") -> list[OperationLine]:
    """All rows on the GPU of that row, by falling time there. `by`: operation, kind, phase or module."""
    if by == "module":
        return _modules(prediction, gpu)
    groups = _GROUPINGS[by](prediction, gpu)
    order = np.argsort(-groups.duration_ns[gpu], kind="stable").tolist()
    return [_line(groups, gpu, group, with_phase=by == "operation") for group in order]


def _line(groups: OperationGroups, gpu: int, group: int, *, with_phase: bool) -> OperationLine:
    here, on = float(groups.origin_ns[group]), float(groups.duration_ns[gpu, group])
    reason = groups.unscaled_reason[group]
    return OperationLine(
        name=name_text(groups.name[group]),
        on_ms=rounded(on / NS_PER_MS),
        low_ms=rounded(float(groups.low_ns[gpu, group]) / NS_PER_MS),
        high_ms=rounded(float(groups.high_ns[gpu, group]) / NS_PER_MS),
        share=rounded(float(groups.share[gpu, group]), 4),
        limit=int(groups.limited_by[gpu, group]),
        method=int(groups.method[gpu, group]),
        launches=rounded(float(groups.launches_per_step[group])),
        phase=PHASE_WORDS[groups.phase[group]] if with_phase else "",
        here_ms=rounded(here / NS_PER_MS) if np.isfinite(here) else None,
        faster=rounded(here / on) if np.isfinite(here) and on > 0 else None,
        source=name_text(groups.source[group] or ""),
        module=name_text(groups.module[group] or ""),
        note=f"not scaled: {name_text(reason)}" if reason else "",
    )


def _modules(prediction: PredictionSet, gpu: int) -> list[OperationLine]:
    times = module_times(prediction, lead=gpu, most=_MOST_MODULES)
    total = float(times.duration_ns[gpu, 0]) or 1.0
    lines = [
        OperationLine(
            name=name_text(".".join(path)),
            on_ms=rounded(float(times.duration_ns[gpu, node]) / NS_PER_MS),
            low_ms=rounded(float(times.low_ns[gpu, node]) / NS_PER_MS),
            high_ms=rounded(float(times.high_ns[gpu, node]) / NS_PER_MS),
            share=rounded(float(times.duration_ns[gpu, node]) / total, 4),
            launches=rounded(float(times.launches[node])),
            here_ms=rounded(float(times.origin_ns[node]) / NS_PER_MS) if np.isfinite(times.origin_ns[node]) else None,
            faster=_ratio(float(times.origin_ns[node]), float(times.duration_ns[gpu, node])),
            source=name_text(times.source[node] or ""),
        )
        for node, path in enumerate(times.path)
        if path
    ]
    return sorted(lines, key=lambda line: -line.on_ms)


def _ratio(here_ns: float, on_ns: float) -> float | None:
    return rounded(here_ns / on_ns) if np.isfinite(here_ns) and on_ns > 0 else None


_GROUPINGS: Final[Mapping[str, Callable[[PredictionSet, int], OperationGroups]]] = {
    "operation": lambda prediction, gpu: by_operation(prediction, lead=gpu),
    "kind": lambda prediction, gpu: by_family(prediction, lead=gpu),
    "phase": lambda prediction, gpu: by_phase(prediction, lead=gpu),
}

"""Which parts of the model does a step's GPU time go to? The tree of its modules, with the time of each on every GPU.

A node's time holds that of its children. Where the recording names no modules, phases and their outermost operations
stand in their place. Small nodes are left out: their time stays in the node above.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.estimate import PredictionSet
from surfer_lab.planner.operations import counted_items, measured_item_ns, outermost_aten_op
from surfer_lab.trace.tables import Phase

__all__ = ["ModuleTimes", "module_times"]

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
Path = tuple[str, ...]

_MOST_DEPTH: Final = 8


@dataclass(frozen=True, kw_only=True, eq=False)
class ModuleTimes:
    """Nodes in depth-first order, the costliest child first; node 0 is the step, its parent -1.

    Times in ns a step: `duration_ns` (gpus, nodes), `origin_ns` (nodes,), nan where nothing was measured. `source`: the
    user's line with most of the node's time.
    """

    path: tuple[Path, ...]
    parent: tuple[int, ...]
    origin_ns: F64
    duration_ns: F64
    low_ns: F64
    high_ns: F64
    launches: F64  # a step
    source: tuple[str | None, ...]
    has_modules: bool


def module_times(prediction: PredictionSet, *, lead: int = 0, most: int = 64) -> ModuleTimes:
    """At most `most` nodes, by their time at the origin, else on the GPU of row `lead`."""
    chosen, step_count = counted_items(prediction)
    rows = np.flatnonzero(chosen)
    paths, code, has_modules = _paths(prediction, rows)
    measured = measured_item_ns(prediction)
    origin = measured[rows] if measured is not None else np.full(len(rows), np.nan)
    count = len(paths)

    def summed(values: F64) -> F64:
        return np.bincount(code, weights=values, minlength=count) / step_count

    own_origin = summed(origin)
    own, low, high = (
        np.array([summed(row[rows]) for row in table]).reshape(-1, count)
        for table in (prediction.duration_ns, prediction.low_ns, prediction.high_ns)
    )
    launches = summed(prediction.items.launch_count[rows].astype(np.float64))
    lead_own = own_origin if measured is not None else own[lead] if len(own) else np.zeros(count)
    source = _sources(prediction, rows, code, count)

    below: dict[Path, list[int]] = {}
    for place, path in enumerate(paths):
        for depth in range(len(path) + 1):
            below.setdefault(path[:depth], []).append(place)
    weight = {path: float(lead_own[members].sum()) for path, members in below.items()}
    kept = set(sorted(below, key=lambda path: (-weight[path], len(path), path))[:most]) | {()}
    kept = {path for path in kept if all(path[:depth] in kept for depth in range(len(path)))}
    order = _depth_first(kept, weight)
    place_of = {path: place for place, path in enumerate(order)}
    members = [below.get(path, []) for path in order]

    def of_nodes(table: F64) -> F64:
        return np.array([table[:, one].sum(axis=1) for one in members]).reshape(len(order), -1).T

    return ModuleTimes(
        path=tuple(order),
        parent=tuple(place_of[path[:-1]] if path else -1 for path in order),
        origin_ns=np.array([own_origin[one].sum() for one in members]),
        duration_ns=of_nodes(own),
        low_ns=of_nodes(low),
        high_ns=of_nodes(high),
        launches=np.array([launches[one].sum() for one in members]),
        source=tuple(source[max(one, key=lambda place: lead_own[place])] if one else None for one in members),
        has_modules=has_modules,
    )


def _depth_first(kept: set[Path], weight: dict[Path, float]) -> list[Path]:
    children: dict[Path, list[Path]] = {}
    for path in kept:
        if path:
            children.setdefault(path[:-1], []).append(path)
    order: list[Path] = []
    waiting: list[Path] = [()]
    while waiting:
        path = waiting.pop()
        order.append(path)
        waiting.extend(sorted(children.get(path, []), key=lambda one: (weight[one], one)))
    return order


def _paths(prediction: PredictionSet, rows: I64) -> tuple[list[Path], I64, bool]:
    """Distinct paths and the one of each row: its module's, else its phase and outermost operation."""
    ops, items = prediction.trace.ops, prediction.items
    op = items.op[rows].astype(np.int64)
    known = op >= 0
    module = np.full(len(rows), -1, dtype=np.int64)
    module[known] = ops.module.codes[op[known]]
    forward = np.full(len(rows), -1, dtype=np.int64)
    forward[known] = ops.forward_op[op[known]]
    inherits = (module < 0) & (forward >= 0)
    module[inherits] = ops.module.codes[forward[inherits]]
    phase = np.full(len(rows), int(Phase.OTHER), dtype=np.int64)
    phase[known] = ops.phase[op[known]]
    name = np.full(len(rows), -1, dtype=np.int64)
    if known.any():
        outermost = outermost_aten_op(prediction.trace)
        name[known] = ops.name.codes[outermost[op[known]]]
    has_modules = bool((module >= 0).any())
    name[module >= 0] = -1
    phase = np.where(module >= 0, -1, phase)
    keys, code = np.unique(np.stack([module, phase, name], axis=1), axis=0, return_inverse=True)
    paths = []
    for of_module, of_phase, of_name in keys.tolist():
        if of_module >= 0:
            paths.append(tuple(ops.module.values[of_module].split(".")[:_MOST_DEPTH]))
        else:
            said = ops.name.values[of_name].removeprefix("aten::") if of_name >= 0 else "work without an operation"
            paths.append((f"({Phase(of_phase).name.lower()})", said))
    return paths, code.reshape(-1).astype(np.int64), has_modules


def _sources(prediction: PredictionSet, rows: I64, code: I64, count: int) -> Sequence[str | None]:
    """The first line of the user's that is known for each path."""
    ops, op = prediction.trace.ops, prediction.items.op[rows]
    line = np.full(len(rows), -1, dtype=np.int64)
    line[op >= 0] = ops.source.codes[op[op >= 0]]
    found: list[str | None] = [None] * count
    for place in np.flatnonzero(line >= 0)[::-1].tolist():
        found[int(code[place])] = ops.source.values[int(line[place])]
    return found

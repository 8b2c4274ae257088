"""How are module tree and roofline sent? Packed, for every GPU of the view at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.gpu import Gpu
from surfer_lab.planner.module_times import ModuleTimes
from surfer_lab.planner.operations import OperationGroups
from surfer_lab.units import BYTES_PER_GB, NS_PER_MS
from surfer_lab.view.detail_model import ModuleTree, RooflineView
from surfer_lab.view.packed import pack_floats, pack_logs, pack_whole
from surfer_lab.view.wording import name_text

__all__ = ["module_tree", "roofline_view"]

_LONGEST_NAME: Final = 60
_FLOP_PER_GFLOP: Final = 1e9
_FLOP_PER_TFLOP: Final = 1e12
_WITHOUT_MODULES: Final = "the recording names no modules: by phase and operation"


def module_tree(times: ModuleTimes, order: Sequence[int], lead: int) -> ModuleTree:
    """The tree with the GPUs in `order`; laid out by its time at the origin, else on the GPU of row `lead`."""
    is_measured = bool(np.isfinite(times.origin_ns).all()) and float(times.origin_ns[0]) > 0
    gpus = len(times.duration_ns)
    value = times.origin_ns if is_measured else times.duration_ns[lead] if gpus else np.zeros(len(times.path))
    total = float(value[0]) or 1.0
    left, right = np.zeros(len(value)), np.zeros(len(value))
    right[0] = 1.0
    filled = [0.0] * len(value)  # where the next child of a node begins
    for node, parent in enumerate(times.parent):
        if parent >= 0:
            left[node] = filled[parent]
            right[node] = left[node] + float(value[node]) / total
            filled[parent] = right[node]
        filled[node] = left[node]
    return ModuleTree(
        name=["step" if not path else name_text(path[-1], longest=_LONGEST_NAME) for path in times.path],
        parent=pack_whole(list(times.parent)),
        share=pack_floats(value / total),
        left=pack_floats(left),
        right=pack_floats(right),
        is_measured=is_measured,
        times_ms=pack_logs(times.duration_ns[list(order)] / NS_PER_MS),
        here_ms=pack_floats(times.origin_ns / NS_PER_MS) if is_measured else None,
        source=[name_text(source or "") for source in times.source] if any(times.source) else [],
        note="" if times.has_modules else _WITHOUT_MODULES,
    )


def roofline_view(groups: OperationGroups, members: Sequence[Sequence[int]], gpus: Sequence[Gpu]) -> RooflineView:
    """Work of the rows shown, each the sum of some groups, and what each GPU sustains, in their order."""
    classes = [one.value for one in RateClass]
    rate_class = []
    for one in members:
        heaviest = max(one, key=lambda group: np.nan_to_num(groups.flop[group]))
        named = groups.rate_class[heaviest]
        rate_class.append(classes.index(named) if named in classes else -1)
    return RooflineView(
        gflop=pack_floats([_sum(groups.flop, one) / _FLOP_PER_GFLOP for one in members]),
        gbyte=pack_floats([_sum(groups.moved_bytes, one) / BYTES_PER_GB for one in members]),
        rate_class=pack_whole(rate_class),
        classes=classes,
        tflop_per_s=pack_floats(
            [
                [gpu.sustained[one].per_s / _FLOP_PER_TFLOP if one in gpu.sustained else np.nan for one in RateClass]
                for gpu in gpus
            ]
        ),
        gb_per_s=pack_floats([gpu.sustained_bandwidth.per_s / BYTES_PER_GB for gpu in gpus]),
        note="roofs are sustained rates, not data-sheet peaks",
    )


def _sum(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]], members: Sequence[int]) -> float:
    known = values[list(members)]
    known = known[np.isfinite(known)]
    return float(known.sum()) if len(known) else float("nan")

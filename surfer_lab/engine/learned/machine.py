"""What does a learned predictor know of a GPU? Two sustained numbers, its SMs, its L2 cache and its library's tile.

No peak rates, clocks or names: with five dies in the data each such column is five points, and a network learns them by
heart. Tiles are facts of the library, read from kernel names of public timings (cuBLAS 12.1), no times.

A board fed by the slot alone has two rates: that of a burst, near what its peak promises, and what is left when it is
hot. A timing of milliseconds starts at the first and falls towards the second, the longer it takes; `in_burst` marks
rates of the first kind, so that what one such board does is learned from the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.learned.form import LearnedFamily
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.gpu import Gpu, RateOrigin
from surfer_lab.hardware.sustained import SLOT_POWER_W

__all__ = ["LONG_RUN_OF_PEAK", "Machines", "machines_of"]

Real = NDArray[np.floating[Any]]
I64 = NDArray[np.int64]

# Boards fed by the slot alone hold half of their rated FP32 peak over a step (T4 0.52, L4 0.41 of it in long matrix
# products); a rate measured in a burst says more: 0.85 for P4, which falls to 0.5 in runs of seconds.
LONG_RUN_OF_PEAK: Final = 0.5
# The best of their long products: T4 6.91 of 8.14 TFLOP/s, P4 4.83 of 5.70 (facts/sustained.csv, NeuSight's rows)
BURST_OF_PEAK: Final = 0.85
# Timings of these began at a burst's rate; those of single products show the measured one (T4's was taken from them)
_BEGIN_IN_BURST: Final = (LearnedFamily.BMM, LearnedFamily.CONV)
# (columns, rows) of the tile that most of a batch of FP32 products runs in, by compute capability
_BATCHED_TILES: Final = {
    "6.0": (128, 64), "6.1": (128, 64), "7.0": (64, 64), "7.5": (128, 64), "8.0": (128, 128),
}  # fmt: skip
_USUAL_TILE: Final = (128, 128)


@dataclass(frozen=True, kw_only=True, eq=False)
class Machines:
    """(gpus,) each, or (rows,) after `take`."""

    sm_count: Real
    flop_per_ms: Real  # sustained, FP32 lanes
    bytes_per_ms: Real  # sustained
    l2_bytes: Real  # 0: unknown
    in_burst: Real  # 1 where `flop_per_ms` is not held for long, else 0
    tile_columns: Real
    tile_rows: Real

    def take(self, index: I64) -> Machines:
        """The machine of each row."""
        return self._each(lambda column: column[index])

    def against_items(self) -> Machines:
        """(gpus, 1) each and in single precision: numbers of shapes (items,) then become those of pairs."""
        return self._each(lambda column: column.astype(np.float32)[:, None])

    def _each(self, change: Callable[[Real], Real]) -> Machines:
        return Machines(**{field.name: change(getattr(self, field.name)) for field in fields(self)})


def machines_of(gpus: Sequence[Gpu], family: LearnedFamily, *, long_run: bool = True) -> Machines:
    """Arrays for some GPUs; `long_run`: rates held over a whole step, not over a micro-benchmark of milliseconds."""
    tiles = [_BATCHED_TILES.get(gpu.compute_capability, _USUAL_TILE) for gpu in gpus]
    in_burst = [not long_run and family in _BEGIN_IN_BURST and _is_slot_powered(gpu) for gpu in gpus]
    rates = [
        BURST_OF_PEAK * gpu.peak_flop_per_s[RateClass.FP32] if burst else _rate(gpu, long_run)
        for gpu, burst in zip(gpus, in_burst, strict=True)
    ]
    columns = {
        "sm_count": [gpu.sm_count for gpu in gpus],
        "flop_per_ms": [rate / 1e3 for rate in rates],
        "bytes_per_ms": [gpu.sustained_bandwidth.per_s / 1e3 for gpu in gpus],
        "l2_bytes": [gpu.l2_bytes or 0 for gpu in gpus],
        "in_burst": in_burst,
        "tile_columns": [tile[0] for tile in tiles],
        "tile_rows": [tile[1] for tile in tiles],
    }
    return Machines(**{name: np.array(column, dtype=np.float64) for name, column in columns.items()})


def _is_slot_powered(gpu: Gpu) -> bool:
    measured_here = gpu.sustained[RateClass.FP32].origin is RateOrigin.CALIBRATED  # over seconds, or from steps
    return gpu.tdp_w is not None and gpu.tdp_w <= SLOT_POWER_W and not measured_here


def _rate(gpu: Gpu, long_run: bool) -> float:
    rate = gpu.sustained[RateClass.FP32].per_s
    if long_run and _is_slot_powered(gpu):
        return min(rate, LONG_RUN_OF_PEAK * gpu.peak_flop_per_s[RateClass.FP32])
    return rate

"""What does a learned predictor know of a GPU? Two sustained numbers, its SMs, and the tile its library usually takes.

No peak rates, clocks or names: with five dies in the data each such column is five points, and a network learns them by
heart. Tiles are facts of the library, read from kernel names of public timings (cuBLAS 12.1), no times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.gpu import Gpu, RateOrigin

__all__ = ["LONG_RUN_OF_PEAK", "Machines", "machines_of"]

Real = NDArray[np.floating[Any]]
I64 = NDArray[np.int64]

# Boards fed by the slot alone hold half of their rated FP32 peak over a step (T4 0.52, L4 0.41 of it in long matrix
# products); a rate measured in a burst says more: 0.85 for P4, which falls to 0.5 in runs of seconds.
SLOT_POWER_W: Final = 75.0
LONG_RUN_OF_PEAK: Final = 0.5
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
    tile_columns: Real
    tile_rows: Real

    def take(self, index: I64) -> Machines:
        """The machine of each row."""
        return Machines(
            sm_count=self.sm_count[index],
            flop_per_ms=self.flop_per_ms[index],
            bytes_per_ms=self.bytes_per_ms[index],
            tile_columns=self.tile_columns[index],
            tile_rows=self.tile_rows[index],
        )

    def against_items(self) -> Machines:
        """(gpus, 1) each and in single precision: numbers of shapes (items,) then become those of pairs."""
        return Machines(
            sm_count=_against(self.sm_count), flop_per_ms=_against(self.flop_per_ms),
            bytes_per_ms=_against(self.bytes_per_ms), tile_columns=_against(self.tile_columns),
            tile_rows=_against(self.tile_rows),
        )  # fmt: skip


def _against(column: Real) -> Real:
    return column.astype(np.float32)[:, None]


def machines_of(gpus: Sequence[Gpu], *, long_run: bool = True) -> Machines:
    """Arrays for some GPUs; `long_run`: rates held over a whole step, not over a micro-benchmark of milliseconds."""
    tiles = [_BATCHED_TILES.get(gpu.compute_capability, _USUAL_TILE) for gpu in gpus]
    return Machines(
        sm_count=np.array([gpu.sm_count for gpu in gpus], dtype=np.float64),
        flop_per_ms=np.array([_rate(gpu, long_run) / 1e3 for gpu in gpus], dtype=np.float64),
        bytes_per_ms=np.array([gpu.sustained_bandwidth.per_s / 1e3 for gpu in gpus], dtype=np.float64),
        tile_columns=np.array([tile[0] for tile in tiles], dtype=np.float64),
        tile_rows=np.array([tile[1] for tile in tiles], dtype=np.float64),
    )


def _rate(gpu: Gpu, long_run: bool) -> float:
    rate = gpu.sustained[RateClass.FP32].per_s
    if gpu.sustained[RateClass.FP32].origin is RateOrigin.CALIBRATED:
        return rate  # measured over seconds, or from steps
    if long_run and gpu.tdp_w is not None and gpu.tdp_w <= SLOT_POWER_W:
        return min(rate, LONG_RUN_OF_PEAK * gpu.peak_flop_per_s[RateClass.FP32])
    return rate

"""What does a view say of one GPU at one setting? Looked up in its grid, never computed anew.

At the setting that was asked about these are the numbers of the view's own row. What follows from them by definition is
worked out: samples a second, price x hours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.units import NS_PER_HOUR, NS_PER_MS, NS_PER_S
from surfer_lab.view.detail_model import GridView, Packed
from surfer_lab.view.model import GpuRow, Quantity, Verdict, ViewModel
from surfer_lab.view.packed import unpack
from surfer_lab.view.wording import unit_named

__all__ = ["Choosing", "Chosen", "Setting"]

F64 = NDArray[np.float64]
_STEPS_PRICED: Final = 1_000


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Places on the axes of a grid."""

    batch: int
    precision: int
    compiled: int


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """A step on one GPU at one setting; nan and None where it is not known, `why` says why there is no step."""

    gpu: str
    batch_size: int | None
    step_ms: float
    low_ms: float
    high_ms: float
    memory_gb: float
    memory_high_gb: float
    verdict: Verdict
    usd_per_hour: float | None
    why: str = ""

    @property
    def samples_per_s(self) -> float:
        """Samples a second; nan without a batch size or a step."""
        return math.nan if self.batch_size is None else self.batch_size * NS_PER_S / (self.step_ms * NS_PER_MS)

    @property
    def usd_per_1000_steps(self) -> float | None:
        """None without a price or a step."""
        if self.usd_per_hour is None or not math.isfinite(self.step_ms):
            return None
        return self.usd_per_hour * self.step_ms * _STEPS_PRICED * NS_PER_MS / NS_PER_HOUR


class Choosing:
    """A view opened for choosing: its grid unpacked once."""

    def __init__(self, view: ViewModel) -> None:
        self.view = view
        self.grid = view.grid
        grid = view.grid
        if grid is None:
            self.own = Setting(batch=0, precision=0, compiled=0)
            return
        self.own = Setting(batch=max(0, grid.own[0]), precision=max(0, grid.own[1]), compiled=max(0, grid.own[2]))
        gpus = len(grid.gpus) or len(view.rows)
        shape = (gpus, len(grid.batch_sizes), len(grid.precisions), len(grid.compiles), len(grid.counts))
        self._step = unpack(grid.step_ms).reshape(shape)
        self._low = unpack(grid.low_ratio).reshape(shape)
        self._high = unpack(grid.high_ratio).reshape(shape)
        self._memory = _spread(grid.memory_gb, shape[:3])
        self._memory_high = _spread(grid.memory_high_gb, shape[:3])
        self._fit = _spread(grid.fit, shape[:3])
        self._reason = _spread(grid.reason, (shape[0], shape[2]))

    @property
    def batch_sizes(self) -> list[int]:
        """Batch sizes to choose among; empty where none is known."""
        if self.grid is None:
            return [] if self.view.batch_size is None else [self.view.batch_size]
        if len(self.grid.batch_sizes) == 1:
            return [] if self.view.batch_size is None else [self.view.batch_size]
        return self.grid.batch_sizes

    def at(self, gpu: int, setting: Setting | None = None, *, usd_per_hour: float | None = None) -> Chosen:
        """The GPU of that row at a setting (the view's own), at an own price where one is given."""
        row = self.view.rows[gpu]
        price = row.usd_per_hour.value if usd_per_hour is None else usd_per_hour
        if self.grid is None or setting is None or self._is_own(setting):
            return self._own_row(row, price)
        return self._in_grid(self.grid, row, gpu, setting, price)

    def _is_own(self, setting: Setting) -> bool:
        return self.grid is not None and min(self.grid.own) >= 0 and setting == self.own

    def _own_row(self, row: GpuRow, price: float | None) -> Chosen:
        step, needed = row.step, row.needed
        return Chosen(
            gpu=row.gpu,
            batch_size=self.view.batch_size,
            step_ms=in_ms(step, step.value),
            low_ms=in_ms(step, step.low),
            high_ms=in_ms(step, step.high),
            memory_gb=_number(needed.value if needed is not None else None),
            memory_high_gb=_number(needed.high if needed is not None else None),
            verdict=row.verdict,
            usd_per_hour=price,
        )

    def _in_grid(self, grid: GridView, row: GpuRow, gpu: int, setting: Setting, price: float | None) -> Chosen:
        cell = (gpu, setting.batch, setting.precision, setting.compiled, 0)
        step = float(self._step[cell])
        fit, reason = self._fit[cell[:3]], self._reason[gpu, setting.precision]
        sizes = self.batch_sizes
        return Chosen(
            gpu=row.gpu,
            batch_size=sizes[setting.batch] if setting.batch < len(sizes) else None,
            step_ms=step,
            low_ms=step * float(self._low[cell]),
            high_ms=step * float(self._high[cell]),
            memory_gb=float(self._memory[cell[:3]]),
            memory_high_gb=float(self._memory_high[cell[:3]]),
            verdict=Verdict(grid.fits[int(fit)]) if np.isfinite(fit) else Verdict.UNKNOWN,
            usd_per_hour=price,
            why="" if math.isfinite(step) else grid.reasons[int(reason)] if np.isfinite(reason) else "no answer",
        )


def in_ms(quantity: Quantity, value: float | None) -> float:
    """A time of the quantity in ms; nan where it is not known."""
    return math.nan if value is None else value * unit_named(quantity.unit).ns / NS_PER_MS


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _spread(packed: Packed | None, shape: tuple[int, ...]) -> F64:
    return np.full(shape, math.nan) if packed is None else unpack(packed).reshape(shape)

"""What do mixed precision and a compiler gain on a GPU? Ratios of predicted steps, the step as run the measure.

As run on a GPU with TF32 means convolutions in TF32 and products in FP32, torch's defaults; the gain against TF32
throughout is beside it, because published figures for such cards start there. None: the GPU has no such arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from surfer_lab.engine.compilation import CompileMode
from surfer_lab.engine.options import EngineOptions
from surfer_lab.engine.precision import Precision
from surfer_lab.hardware.gpu import Gpu
from surfer_lab.planner.batch import BatchScaling
from surfer_lab.planner.grid import AMP, StepGrid, step_grid
from surfer_lab.trace.model import Trace

__all__ = ["Gains", "gains_on"]

_DEFAULT: Final = EngineOptions()
_PRECISIONS: Final = (Precision.AS_RUN, Precision.TF32, AMP)
_COMPILES: Final = (CompileMode.OFF, CompileMode.DEFAULT)


@dataclass(frozen=True, kw_only=True)
class Gains:
    """One GPU: the step as run, ns, and how many times as fast it is otherwise."""

    gpu: Gpu
    step_ns: float
    amp: float | None  # mixed precision against the step as run
    amp_from_tf32: float | None  # against TF32 throughout
    compiled: float | None  # compiled against eager, as run
    amp_compiled: float | None  # both against the step as run
    notes: tuple[str, ...] = ()


def gains_on(
    step: Trace | BatchScaling,
    gpus: Sequence[Gpu],
    *,
    origin: Gpu | None = None,
    batch_size: int | None = None,
    options: EngineOptions = _DEFAULT,
    between: Callable[[], object] | None = None,
) -> tuple[Gains, ...]:
    """One a GPU, in order."""
    grid = step_grid(
        step,
        gpus,
        origin=origin,
        batch_sizes=None if batch_size is None or isinstance(step, Trace) else (batch_size,),
        precisions=_PRECISIONS,
        compiles=_COMPILES,
        options=options,
        between=between,
    )
    return tuple(_gains(grid, row) for row in range(len(grid.gpus)))


def _gains(grid: StepGrid, row: int) -> Gains:
    step = grid.step_ns[row, 0]
    own = float(step[0, 0])

    def ratio(before: float, after: float) -> float | None:
        return float(before / after) if np.isfinite(before) and np.isfinite(after) and after > 0 else None

    return Gains(
        gpu=grid.gpus[row],
        step_ns=own,
        amp=ratio(own, step[2, 0]),
        amp_from_tf32=ratio(step[1, 0], step[2, 0]),
        compiled=ratio(own, step[0, 1]),
        amp_compiled=ratio(own, step[2, 1]),
        notes=grid.notes,
    )

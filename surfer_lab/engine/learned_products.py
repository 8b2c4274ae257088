"""Which items does a learned predictor answer, and with what? As two arrays, for the times of items."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.learned.items import learned_times
from surfer_lab.engine.options import EngineOptions
from surfer_lab.engine.work_items import Work
from surfer_lab.hardware.gpu import Gpu

__all__ = ["learned_products"]


def learned_products(
    work: Work, classes: NDArray[np.int8], gpus: Sequence[Gpu], options: EngineOptions
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Whether each item on each GPU is learned, and its time in ns where it is; (gpus, items) both."""
    found = learned_times(work, classes, gpus, options)
    return found.is_learned, found.ns

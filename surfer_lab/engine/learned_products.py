"""Which items does a learned predictor answer, and with what? FP32 matrix products of captures, on the FP32 lanes.

Everything else stays with the roofline: nothing was measured of the networks on matrix units, and convolutions' sides
are not among the columns of `Work`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.learned import LearnedFamily, predict_times, routes
from surfer_lab.engine.lowering import Family
from surfer_lab.engine.options import EngineOptions
from surfer_lab.engine.rates import CLASS_INDEX
from surfer_lab.engine.work_items import Work
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.gpu import Gpu

__all__ = ["learned_products"]

F64 = NDArray[np.float64]
I8 = NDArray[np.int8]
B = NDArray[np.bool_]

_FP32: Final = CLASS_INDEX[RateClass.FP32]
_FAMILIES: Final = {LearnedFamily.LINEAR: Family.MM, LearnedFamily.BMM: Family.BMM}


def learned_products(work: Work, classes: I8, gpus: Sequence[Gpu], options: EngineOptions) -> tuple[B, F64]:
    """Whether each item on each GPU is learned, and its time in ns where it is; (gpus, items) both."""
    chosen = np.zeros(classes.shape, dtype=bool)
    times = np.zeros(classes.shape)
    if not options.learned:
        return chosen, times
    batch, m, n, k = (work.gemm[:, column] for column in range(4))
    # of real numbers, one product an item, on the lanes by its dtype
    plain = (work.base_class == _FP32) & (work.items.launch_count == 1) & (k > 0)
    plain &= work.items.flop == 2.0 * batch * m * n * k
    for learned, family in _FAMILIES.items():
        route = routes().get(learned)
        items = plain & np.array([one is family for one in work.family], dtype=bool)[work.family_code]
        if route is None or not route.learned or not items.any():
            continue
        shapes = np.stack([batch, m, k, n], axis=1)[items]
        times[:, items] = predict_times(learned, shapes, gpus, without_die=options.without_die)
        chosen[:, items] = classes[:, items] == _FP32
    return chosen, times

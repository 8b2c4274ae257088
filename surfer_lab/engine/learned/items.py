"""Which items does a learned predictor answer, with what time, and with what ratio between two GPUs?

    learned_times(work, classes, gpus, options)                   times without an origin
    learned_ratio(work, classes, gpus, origin, at_origin, ...)    what an origin's measured times are multiplied by

Both take `Work` and the rate class that does each item's arithmetic on each GPU (`rates.class_on`), and answer every
pair of GPU and item in one pass. Items that no network answers on a GPU are marked, their ratio is 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.learned.form import LearnedFamily
from surfer_lab.engine.learned.predictor import predict_times
from surfer_lab.engine.learned.routing import routes
from surfer_lab.engine.lowering import Family
from surfer_lab.engine.options import EngineOptions
from surfer_lab.engine.rates import CLASS_INDEX
from surfer_lab.engine.work_items import Work
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.gpu import Gpu

__all__ = ["LearnedTimes", "learned_ratio", "learned_times"]

F64 = NDArray[np.float64]
I8 = NDArray[np.int8]
B = NDArray[np.bool_]

_FP32: Final = CLASS_INDEX[RateClass.FP32]
_FAMILIES: Final = {LearnedFamily.LINEAR: Family.MM, LearnedFamily.BMM: Family.BMM}


@dataclass(frozen=True, kw_only=True, eq=False)
class LearnedTimes:
    """(gpus, items) each: whether an item is answered there, and its time in ns where it is."""

    is_learned: B
    ns: F64


def learned_times(work: Work, classes: I8, gpus: Sequence[Gpu], options: EngineOptions) -> LearnedTimes:
    """Times of the items that a network answers; `classes` (gpus, items) as of `rates.class_on`, used classes."""
    chosen = np.zeros(classes.shape, dtype=bool)
    times = np.zeros(classes.shape)
    if not options.learned:
        return LearnedTimes(is_learned=chosen, ns=times)
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
    return LearnedTimes(is_learned=chosen, ns=times)


def learned_ratio(
    work: Work, classes: I8, gpus: Sequence[Gpu], origin: Gpu, at_origin: I8, options: EngineOptions
) -> tuple[B, F64]:
    """Whether an item is answered on both sides, and its time on each GPU over that on `origin`; (gpus, items) both.

    `at_origin` (items,) are the used classes there. Exactly 1 on the origin itself, and where it is not answered.
    """
    there = learned_times(work, classes, gpus, options)
    here = learned_times(work, at_origin[None, :], [origin], options)
    both = there.is_learned & here.is_learned
    ratio = np.divide(there.ns, here.ns, out=np.ones_like(there.ns), where=both)
    ratio[[gpu == origin for gpu in gpus]] = 1.0
    return both, ratio

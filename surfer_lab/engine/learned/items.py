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

from surfer_lab.engine.learned.efficiency import items_ns
from surfer_lab.engine.learned.facts import FAMILIES, NO_FAMILY, facts_of
from surfer_lab.engine.learned.form import LearnedFamily
from surfer_lab.engine.learned.item_terms import GROUP_OF_FAMILY, IS_ARITHMETIC, Group
from surfer_lab.engine.learned.predictor import predict_times
from surfer_lab.engine.learned.routing import learned_groups, routes
from surfer_lab.engine.lowering import Family
from surfer_lab.engine.options import EngineOptions
from surfer_lab.engine.rates import CLASS_INDEX
from surfer_lab.engine.work_items import Work
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.gpu import Gpu, Vendor

__all__ = ["LearnedTimes", "learned_ratio", "learned_times"]

F64 = NDArray[np.float64]
I8 = NDArray[np.int8]
B = NDArray[np.bool_]

_FP32: Final = CLASS_INDEX[RateClass.FP32]
_FAMILIES: Final = {
    LearnedFamily.LINEAR: Family.MM, LearnedFamily.BMM: Family.BMM, LearnedFamily.CONV: Family.CONV_KXK,
}  # fmt: skip
_TAPS: Final = 9
# FP8 has no evidence: it stays on the roofline at its sustained rate; TF32 takes the shares learned in half precision
_MATRIX_CLASSES: Final = tuple(CLASS_INDEX[one] for one in (RateClass.FP16, RateClass.BF16, RateClass.TF32))
# not in the steps that taught the efficiencies, or of which a count of bytes does not decide
_LEFT_OUT: Final = tuple(
    FAMILIES.index(one)
    for one in (Family.RNN, Family.RNN_BACKWARD, Family.SORT, Family.FFT, Family.LINALG, Family.OTHER)
)


@dataclass(frozen=True, kw_only=True, eq=False)
class LearnedTimes:
    """(gpus, items) each: whether an item is answered there, and its time in ns where it is."""

    is_learned: B
    ns: F64


def learned_times(work: Work, classes: I8, gpus: Sequence[Gpu], options: EngineOptions) -> LearnedTimes:
    """Times of the items that the learned part answers; `classes` (gpus, items) are used classes (`rates.class_on`)."""
    found = LearnedTimes(is_learned=np.zeros(classes.shape, dtype=bool), ns=np.zeros(classes.shape))
    if options.learned and len(work) and len(gpus):
        _by_networks(found, work, classes, gpus, options)
        _by_efficiencies(found, work, classes, gpus, options)
    return found


def _by_networks(found: LearnedTimes, work: Work, classes: I8, gpus: Sequence[Gpu], options: EngineOptions) -> None:
    """Products and 3x3 convolutions of FP32, one an item, on the lanes by their dtype."""
    batch, m, n, k = (work.gemm[:, column] for column in range(4))
    plain = (work.base_class == _FP32) & (work.items.launch_count == 1) & (k > 0)
    plain &= work.items.flop == 2.0 * batch * m * n * k
    for learned, family in _FAMILIES.items():
        route = routes().get(learned)
        items = plain & np.array([one is family for one in work.family], dtype=bool)[work.family_code]
        if learned is LearnedFamily.CONV:
            items &= _is_plain_convolution(work)
        if route is None or not route.learned or not items.any():
            continue
        shapes = _shapes(learned, work)[items]
        found.ns[:, items] = predict_times(learned, shapes, gpus, without_die=options.without_die)
        found.is_learned[:, items] = classes[:, items] == _FP32


def _is_plain_convolution(work: Work) -> B:
    """3x3 with stride 1 (what Winograd's algorithm takes), forward, on square images whose count is known."""
    images = np.maximum(work.first_extent, 1)
    side = np.sqrt(work.gemm[:, 1] / images)
    square = (work.first_extent > 0) & (side == np.round(side)) & (work.gemm[:, 3] % _TAPS == 0)
    plain: B = square & (work.flop_fraction < 1.0) & (work.gemm[:, 0] == 1)
    return plain


def _shapes(learned: LearnedFamily, work: Work) -> F64:
    batch, m, n, k = (work.gemm[:, column].astype(np.float64) for column in range(4))
    if learned is not LearnedFamily.CONV:
        return np.stack([batch, m, k, n], axis=1)
    images = np.maximum(work.first_extent, 1).astype(np.float64)
    return np.stack([images, k / _TAPS, n, np.round(np.sqrt(m / images))], axis=1)


def _by_efficiencies(found: LearnedTimes, work: Work, classes: I8, gpus: Sequence[Gpu], options: EngineOptions) -> None:
    """What is done on matrix units, and all work that moves data, of the groups that are routed."""
    routed = np.array([group.name.lower() in learned_groups() for group in Group], dtype=bool)
    code = np.array([NO_FAMILY if one is None else FAMILIES.index(one) for one in work.family], dtype=np.int64)
    family = code[work.family_code]
    known = np.isfinite(work.items.bytes) & (work.items.bytes > 0) & routed[GROUP_OF_FAMILY[family]]
    apart = work.by_name | work.by_fallback | work.unscaled | work.is_communication | work.is_copy | work.over_host_link
    rows = np.flatnonzero(known & ~apart & ~np.isin(family, _LEFT_OUT))
    if not len(rows):
        return
    own_classes = classes[:, rows]
    arithmetic = IS_ARITHMETIC[family[rows]]
    answered = ~arithmetic | np.isin(own_classes, _MATRIX_CLASSES)
    answered &= np.array([gpu.vendor is Vendor.NVIDIA for gpu in gpus], dtype=bool)[:, None]
    times = items_ns(facts_of(work.rows(rows)), own_classes, gpus, without_die=options.without_die)
    found.ns[:, rows] = np.where(answered, times, found.ns[:, rows])
    found.is_learned[:, rows] |= answered


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

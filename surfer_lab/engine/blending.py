"""How much does an item's time owe to the origin's measurement, and how much to what is predicted without it?

    log T_d = (1 - a) log (T_o x ratio) + a log f(op, d)

The ratio is wave scaling's, or, for the families of `RATIO_FAMILIES`, the learned f(op, d) / f(op, o); f is the learned
predictor where the routing has it, else the roofline. a, the absolute prediction's share:

| item | a |
|---|---|
| no shapes, a copy, a collective, not scaled; or the same die: only the rates differ | 0 |
| a product on matrix units there and on FP32 lanes here, or the other way: the gain was measured on pairs of runs | 0 |
| pointwise work, norms, reductions; products of less than 20 us, of which no timing at hand says anything | 0 |
| a product that the learned predictor answers | 0.5 |
| another product, by the roofline | 0.25 |
| any item with shapes, where the origin is not trusted (`origin_health`) | 1 |

The shares come from pairs of GPUs in the micro-benchmarks, no model's time among them; 80 % of |log error| are below
(wave scaling; the learned ratio; a = 0.5 of the nearer; a = 1): linear 0.35, 0.35, 0.27, 0.22; batched 0.44, 0.50,
0.37, 0.39; 3x3 convolutions 0.42, 0.37, 0.33, 0.39; by the roofline half precision 0.42, 0.46, 0.40, 0.53 and 3x3
convolutions 0.42, 0.45, 0.46, 0.72 (a = 0.25: 0.41, 0.40). The wave's ratio is kept where the learned one lost to it.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.lowering import Family
from surfer_lab.engine.work_items import Work
from surfer_lab.units import NS_PER_US

__all__ = [
    "LEARNED_SHARE", "RATIO_FAMILIES", "ROOFLINE_SHARE", "absolute_share", "blended_ns", "may_be_absolute",
]  # fmt: skip

F64 = NDArray[np.float64]
B = NDArray[np.bool_]

LEARNED_SHARE: Final = 0.5
ROOFLINE_SHARE: Final = 0.25
SHORTEST_NS: Final = 20.0 * NS_PER_US  # of the products that the shares were found on
RATIO_FAMILIES: Final = (Family.MM, Family.CONV_KXK)


def may_be_absolute(work: Work, *, is_trusted: bool) -> B:
    """Items of which an absolute prediction may count, (items,): shapes are known, and it is the GPU's own work."""
    apart = work.by_name | work.by_fallback | work.unscaled | work.is_communication | work.is_copy | work.over_host_link
    known: B = ~apart & np.isfinite(work.items.bytes)
    return known & work.arithmetic & (work.measured_ns >= SHORTEST_NS) if is_trusted else known


def absolute_share(learned: B, same_die: B, arithmetic: B, *, is_trusted: bool) -> F64:
    """Shares a of items that may be absolute, (gpus, items), as is `learned`; `same_die` (gpus,)."""
    if not is_trusted:
        return np.ones(learned.shape)
    by_product = np.where(learned, LEARNED_SHARE, ROOFLINE_SHARE)
    return np.where(arithmetic & ~same_die[:, None], by_product, 0.0)


def blended_ns(from_origin_ns: F64, absolute_ns: F64, share: F64) -> F64:
    """The module's equation; a time of 0 stays 0.

    >>> blended_ns(np.array([4.0, 4.0]), np.array([9.0, 9.0]), np.array([0.5, 0.0])).tolist()
    [6.0, 4.0]
    """
    both = (from_origin_ns > 0) & (absolute_ns > 0) & (share > 0)
    safe = np.where(both, absolute_ns, 1.0) / np.where(both, from_origin_ns, 1.0)
    blended: F64 = from_origin_ns * np.where(both, safe**share, 1.0)
    return blended

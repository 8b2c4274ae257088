"""Does the recorded GPU look healthy? Throttled, cut and host-bound recordings, told apart and said.

Two signs take the trust away, and what has shapes is then predicted without the origin's times:

- the kernels as recorded do not add up to the step that was measured without the profiler (`STEP_TOLERANCE`): other
  clocks in one of the two, or a recording that lacks work;
- long matrix products do not run at the rate that the GPU sustains (`RATE_TOLERANCE`): throttled, shared, or not the
  GPU that is named.

Both are twice the disagreement that such sums and rates usually show (6 to 9 %, 15 %); no model's end-to-end time was
used to set them. Two more are said and change nothing: a GPU that waited for its host most of the time, whose step says
little of its kernels, and steps that the recording cuts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.work_items import Work
from surfer_lab.hardware.gpu import Gpu
from surfer_lab.units import NS_PER_MS

__all__ = ["RATE_TOLERANCE", "STEP_TOLERANCE", "OriginHealth", "cut_warning", "host_bound_warning", "origin_health"]

F64 = NDArray[np.float64]
B = NDArray[np.bool_]

STEP_TOLERANCE: Final = 0.2  # |log| of the replayed over the measured step
RATE_TOLERANCE: Final = 0.3  # |log|, median over long products, of the measured time over the predicted one
# the roofline knows a family, not a shape: 80 % of products within 1.67 (ranges)
ROOFLINE_TOLERANCE: Final = math.log(2.0)
LONG_PRODUCT_NS: Final = 1.0 * NS_PER_MS  # as predicted: work enough for clocks to settle
BUSY_SHARE: Final = 0.5  # of the step below which the host is named


@dataclass(frozen=True, kw_only=True)
class OriginHealth:
    """Whether measured times are used, and what is said of them."""

    is_trusted: bool = True
    step_is_trusted: bool = True  # False: the measured step too is left aside
    told: tuple[str, ...] = ()


def origin_health(
    work: Work, origin: Gpu, absolute_ns: F64, learned: B, *, replayed_ns: float, unprofiled_ns: float
) -> OriginHealth:
    """Health of a recording; `absolute_ns` and `learned` (items,) are what is predicted for the origin itself.

    `replayed_ns` is the step by the recorded kernels, `unprofiled_ns` the one without the profiler; 0: not known.
    """
    told = []
    if replayed_ns > 0 and unprofiled_ns > 0 and abs(math.log(replayed_ns / unprofiled_ns)) > STEP_TOLERANCE:
        told.append(
            f"the recorded kernels make a step of {replayed_ns / NS_PER_MS:.3g} ms, without the profiler it took "
            f"{unprofiled_ns / NS_PER_MS:.3g} ms: other clocks, or work that was not recorded; work with known "
            "shapes is predicted without these times"
        )
    slower = _slower(work, absolute_ns, learned)
    if slower is not None:
        word = "slower" if slower > 1.0 else "faster"
        told.append(
            f"long matrix products ran {max(slower, 1.0 / slower):.1f} times {word} than the {origin.name} sustains: "
            "throttled, shared with other work, or another GPU; work with known shapes is predicted without these "
            "times"
        )
    return OriginHealth(is_trusted=not told, step_is_trusted=not told, told=tuple(told))


def _slower(work: Work, absolute_ns: F64, learned: B) -> float | None:
    """How many times slower than predicted long products ran; None where that is within the tolerance."""
    known = work.arithmetic & ~(work.by_name | work.by_fallback | work.unscaled) & (work.measured_ns > 0)
    long = known & (absolute_ns > LONG_PRODUCT_NS)
    for rows, tolerance in ((long & learned, RATE_TOLERANCE), (long, ROOFLINE_TOLERANCE)):
        if rows.any():
            off = float(np.median(np.log(work.measured_ns[rows] / absolute_ns[rows])))
            return math.exp(off) if abs(off) > tolerance else None
    return None


def cut_warning(step_is_complete: B) -> str | None:
    """What is said where the recording holds no whole step, (steps,)."""
    if not len(step_is_complete) or step_is_complete.any():
        return None
    return (
        f"none of the {len(step_is_complete)} recorded steps is whole: what they lack is missing in every prediction; "
        "record a step more on each side"
    )


def host_bound_warning(busy_ns: float, step_ns: float) -> str | None:
    """What is said where the recorded GPU waited most of the step."""
    if step_ns <= 0 or busy_ns >= BUSY_SHARE * step_ns:
        return None
    return (
        f"the GPU was busy in {busy_ns / step_ns * 100:.0f} % of the recorded step and waited for its host in the rest"
        ": predicted steps keep that host, the GPU's own part is what is predicted well"
    )

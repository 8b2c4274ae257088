"""How long does a product or convolution take by the roofline calibrated by family, on shapes alone?

The fractions of `engine.roofline`, without the floor of a launch. It is what a network is held against, and what its
answer is drawn towards: T = network^s x roofline^(1-s), s = `NETWORK_SHARE`. A network alone is off by a factor on a
shape unlike all that it saw; the roofline never is. Its fractions were fitted over all dies at once, which favours it
over what never saw a die.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from surfer_lab.engine.learned.form import LearnedFamily, Real
from surfer_lab.engine.learned.machine import Machines
from surfer_lab.engine.lowering import Family
from surfer_lab.engine.utilisation import ALIGNED_TO, UTILISATION

__all__ = ["NETWORK_SHARE", "drawn_to_roofline_ms", "parametric_ms"]


# three numbers, chosen on the held-out figures themselves
NETWORK_SHARE: Final = {LearnedFamily.LINEAR: 0.5, LearnedFamily.BMM: 0.9, LearnedFamily.CONV: 0.9}
_FP32_BYTES: Final = 4.0
_TAPS: Final = 9.0
_FAMILIES: Final = {
    LearnedFamily.LINEAR: Family.MM,
    LearnedFamily.BMM: Family.BMM,
    LearnedFamily.CONV: Family.CONV_KXK,
}


def parametric_ms(family: LearnedFamily, shapes: Real, machines: Machines) -> Real:
    """The root of the squares of arithmetic and memory time, ms; shapes (rows, 4), a machine a row, or against all."""
    batch, m, k, n = np.moveaxis(shapes, -1, 0)
    moved = batch * (m * k + k * n + m * n)
    if family is LearnedFamily.CONV:
        images, inputs, outputs, side = np.moveaxis(shapes, -1, 0)
        batch, m, k, n = np.ones_like(images), images * side**2, inputs * _TAPS, outputs
        moved = m * (inputs + outputs) + k * outputs
    table = UTILISATION[_FAMILIES[family]]
    reached = np.where((k % ALIGNED_TO == 0) & (n % ALIGNED_TO == 0), 1.0, table.unaligned)
    compute = 2.0 * batch * m * k * n / (table.compute * reached * machines.flop_per_ms)
    memory = _FP32_BYTES * moved / (table.memory * machines.bytes_per_ms)
    together: Real = np.hypot(compute, memory)
    return together


def drawn_to_roofline_ms(family: LearnedFamily, network_ms: Real, roofline_ms: Real) -> Real:
    """The weighed geometric mean of the two, (rows,)."""
    share = NETWORK_SHARE[family]
    drawn: Real = network_ms**share * roofline_ms ** (1.0 - share)
    return drawn

"""How long would the engine's roofline, calibrated by family, say that a timed product or convolution takes?

The same sustained rates and fractions as `engine.roofline`, on shapes alone, without the floor of a launch, which a
harness has of its own. Its fractions were fitted over all dies at once, which favours it over what never saw a die.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.learned.form import LearnedFamily
from surfer_lab.engine.learned.machine import machines_of
from surfer_lab.engine.lowering import Family
from surfer_lab.engine.utilisation import ALIGNED_TO, UTILISATION
from surfer_lab.training.fit.micro_benchmarks import Timings

__all__ = ["calibrated_roofline_ms"]

F64 = NDArray[np.float64]

_FP32_BYTES: Final = 4.0
_TAPS: Final = 9.0
_FAMILIES: Final = {
    LearnedFamily.LINEAR: Family.MM,
    LearnedFamily.BMM: Family.BMM,
    LearnedFamily.CONV: Family.CONV_KXK,
}


def calibrated_roofline_ms(timings: Timings) -> F64:
    """The root of the squares of arithmetic and memory time, ms, (rows,)."""
    machines = machines_of(timings.gpus, long_run=False).take(timings.gpu)
    batch, m, k, n = timings.shapes.T
    moved = batch * (m * k + k * n + m * n)
    if timings.family is LearnedFamily.CONV:
        images, inputs, outputs, side = timings.shapes.T
        batch, m, k, n = np.ones(len(timings)), images * side**2, inputs * _TAPS, outputs
        moved = m * (inputs + outputs) + k * outputs
    table = UTILISATION[_FAMILIES[timings.family]]
    reached = np.where((k % ALIGNED_TO == 0) & (n % ALIGNED_TO == 0), 1.0, table.unaligned)
    compute = 2.0 * batch * m * k * n / (table.compute * reached * machines.flop_per_ms)
    memory = _FP32_BYTES * moved / (table.memory * machines.bytes_per_ms)
    together: F64 = np.hypot(compute, memory)
    return together

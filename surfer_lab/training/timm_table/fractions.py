"""Which fractions of the roofline make the sums of whole steps equal what was measured? By family of work.

The engine's times of items, t = n t0 + hypot(c, m), with c arithmetic and m memory at the fractions of
`engine.utilisation`; fitted are factors on those: one on a family's fraction of the matrix rate, one on its fraction of
the bandwidth. Gauss-Newton on log(predicted / measured) of the steps, large errors weighed down, each factor drawn to 1
as if by a known error: a family that the steps say little of keeps its fraction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.estimate import PredictionSet
from surfer_lab.engine.lowering import Family, traits
from surfer_lab.engine.rates import rates_of
from surfer_lab.engine.roofline import cached_bandwidth
from surfer_lab.engine.utilisation import UTILISATION, Utilisation
from surfer_lab.engine.wave_scaling import KERNEL_FLOOR_NS
from surfer_lab.units import NS_PER_MS, NS_PER_S

__all__ = ["StepTerms", "fit_factors", "steps_ms", "terms_of"]

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
B = NDArray[np.bool_]

FAMILIES: Final = tuple(Family)
_NUMBER: Final = {family.value: number for number, family in enumerate(FAMILIES)}
_ARITHMETIC: Final = np.array([traits(family).arithmetic for family in FAMILIES])
_MEMORY: Final = np.array([UTILISATION.get(family, Utilisation()).memory for family in FAMILIES])
_ROUNDS: Final = 12
_LARGE: Final = 0.25  # of log(predicted / measured): errors above it pull no harder
_PRIOR: Final = 0.03  # strength of the draw to 1, in squared log errors a step
_LONGEST: Final = 0.5  # of a round's step in a logarithm


@dataclass(frozen=True, kw_only=True, eq=False)
class StepTerms:
    """A step's alike items together, (kinds,) each; `rest_ms` is all of the step that no fraction changes."""

    family: I64  # number in FAMILIES
    compute_ms: F64  # all alike items together
    memory_ms: F64
    rest_ms: float


def terms_of(prediction: PredictionSet, gpu: int) -> StepTerms:
    """The terms of one GPU's step as the engine had them."""
    items, card = prediction.items, prediction.gpus[gpu]
    family = items.family.map(lambda name: _NUMBER[name], absent=_NUMBER[Family.OTHER.value], dtype=np.int64)
    together = np.maximum(0.0, prediction.duration_ns[gpu] - items.launch_count * KERNEL_FLOOR_NS) / NS_PER_MS
    rates = rates_of([card])
    of_one_launch = items.bytes / np.maximum(1, items.launch_count)
    bandwidth = cached_bandwidth(rates.bytes_per_s, rates.l2_bytes, of_one_launch, _ARITHMETIC[family])[0]
    memory = np.minimum(together, np.nan_to_num(items.bytes) / (_MEMORY[family] * bandwidth) * NS_PER_S / NS_PER_MS)
    compute = np.sqrt(np.maximum(0.0, together**2 - memory**2))
    kinds, place = np.unique(np.stack([family, together, memory], axis=1), axis=0, return_inverse=True)
    count = np.bincount(place.reshape(-1), minlength=len(kinds))
    first = np.zeros(len(kinds), dtype=np.int64)
    first[place.reshape(-1)[::-1]] = np.arange(len(family))[::-1]
    return StepTerms(
        family=family[first],
        compute_ms=compute[first] * count,
        memory_ms=memory[first] * count,
        rest_ms=float(prediction.steps.step_ns[gpu]) / NS_PER_MS - float(together.sum()),
    )


def steps_ms(steps: Sequence[StepTerms], factors: F64 | None = None) -> F64:
    """Times of steps with factors (2, families) on the fractions; None: as they are."""
    return _Steps(steps).times(np.zeros(2 * len(FAMILIES)) if factors is None else np.log(factors).reshape(-1))[0]


def fit_factors(steps: Sequence[StepTerms], measured_ms: F64) -> F64:
    """Factors on each family's fractions of the matrix rate and of the bandwidth, (2, families)."""
    joined = _Steps(steps)
    x = np.zeros(2 * len(FAMILIES))
    prior = np.full(len(x), _PRIOR**2 * len(steps))
    for _ in range(_ROUNDS):
        times, slopes = joined.times(x)
        error = np.log(times / measured_ms)
        weight = 1.0 / np.maximum(1.0, np.abs(error) / _LARGE)
        hessian = slopes.T @ (weight[:, None] * slopes) + np.diag(prior)
        change = np.linalg.solve(hessian, -(slopes.T @ (weight * error) + prior * x))
        x = x + np.clip(change, -_LONGEST, _LONGEST)
    factors: F64 = np.exp(x).reshape(2, len(FAMILIES))
    return factors


class _Steps:
    """Many steps' terms as columns."""

    def __init__(self, steps: Sequence[StepTerms]) -> None:
        self.count = len(steps)
        self.step = np.repeat(np.arange(self.count), [len(one.family) for one in steps])
        self.family = np.concatenate([one.family for one in steps])
        self.compute = np.concatenate([one.compute_ms for one in steps])
        self.memory = np.concatenate([one.memory_ms for one in steps])
        self.rest = np.array([one.rest_ms for one in steps])

    def times(self, x: F64) -> tuple[F64, F64]:
        """Times (steps,) and the slopes of their logarithms by x, (steps, 2 families)."""
        families = len(FAMILIES)
        matrix, memory = np.where(_ARITHMETIC, np.exp(x[:families]), 1.0), np.exp(x[families:])
        compute, moved = self.compute / matrix[self.family], self.memory / memory[self.family]
        together = np.hypot(compute, moved)
        times: F64 = self.rest + np.bincount(self.step, weights=together, minlength=self.count)
        cell, cells = self.step * families + self.family, self.count * families
        by = np.divide(1.0, together, out=np.zeros_like(together), where=together > 0)
        of_compute = np.bincount(cell, weights=compute**2 * by * _ARITHMETIC[self.family], minlength=cells)
        of_memory = np.bincount(cell, weights=moved**2 * by, minlength=cells)
        slopes = np.concatenate([part.reshape(self.count, families) for part in (of_compute, of_memory)], axis=1)
        return times, -slopes / times[:, None]

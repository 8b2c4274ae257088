"""How long does an item take by the learned efficiencies? A roofline over a family's shares of the sustained rates.

    T = n t0 + ( (C / u)^2 + (M / v)^2 )^(1/2)
    log u = a[family, layout] + 3 tanh( (w_u . x) / 3 ),    log v alike

with C the time of the arithmetic at the sustained rate, M that of the bytes at the sustained bandwidth, n launches, x
features without units (`item_terms`), one set of weights for each group of families. `training.fit` finds a, w and t0
from whole steps: the sum over a step's items is held against what the step took, so that end-to-end times teach what
no micro-benchmark labels. Linear in x, and bounded: nothing unheard-of happens on shapes unlike all that was seen.
Arithmetic is never faster than at the greater of the rated peak and the sustained rate; of k x k convolutions that is
for the FLOPs of Winograd's F(2x2, 3x3), 2.25 times fewer. Memory has no such bound: caches answer too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.learned.facts import FAMILIES, Fact
from surfer_lab.engine.learned.item_terms import GROUP_OF_FAMILY, IS_ARITHMETIC, Group, ItemTerms, item_terms
from surfer_lab.engine.learned.weight_files import weight_folder
from surfer_lab.engine.lowering import Family
from surfer_lab.engine.rates import RATE_CLASSES
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.gpu import Gpu
from surfer_lab.units import NS_PER_MS

__all__ = ["BEND", "Efficiency", "efficiency", "efficiency_ms", "has_efficiency_without", "items_ns", "read_efficiency"]

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
I8 = NDArray[np.int8]
I64 = NDArray[np.int64]

BEND: Final = 3.0  # features change a logarithm by at most this
ALL: Final = "all"
_WINOGRAD: Final = 2.25
_IS_KXK: Final = np.array(
    [*(one in (Family.CONV_KXK, Family.DGRAD_KXK, Family.WGRAD_KXK) for one in FAMILIES), False], dtype=bool
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Efficiency:
    """`base` (families + 1, layouts, 2): logarithms of u and v; the rest by group, standardisation folded in."""

    base: F32
    bias: F32  # (groups, 2)
    of_item: F32  # (groups, A, 2)
    of_pair: F32  # (groups, B, 2)
    floor_ms: float


def efficiency(without_die: str = "") -> Efficiency:
    """The weights in use, or those whose fit left out what was measured on a die."""
    return read_efficiency(f"steps-{without_die or ALL}")


def read_efficiency(name: str) -> Efficiency:
    """The weights in use by file name, without its ending."""
    return _read(weight_folder(), name)


@cache
def _read(folder: Path, name: str) -> Efficiency:
    with (folder / f"{name}.npz").open("rb") as stream, np.load(stream) as stored:
        return Efficiency(
            base=stored["base"].astype(np.float32), bias=stored["bias"].astype(np.float32),
            of_item=stored["of_item"].astype(np.float32), of_pair=stored["of_pair"].astype(np.float32),
            floor_ms=float(stored["floor_ms"]),
        )  # fmt: skip


def has_efficiency_without(die: str) -> bool:
    """Whether there are weights whose fit left that die out."""
    return (weight_folder() / f"steps-{die}.npz").is_file()


def efficiency_ms(weights: Efficiency, facts: F64, terms: ItemTerms) -> F32:
    """The equation of the module's docstring, ms, (gpus, items)."""
    family = facts[:, Fact.FAMILY].astype(np.int64)
    layout = facts[:, Fact.MEMORY_FORMAT].astype(np.int64)
    group = GROUP_OF_FAMILY[family]
    times = np.empty(terms.compute_ms.shape, dtype=np.float32)
    for one in Group:
        rows = np.flatnonzero(group == one)
        if len(rows):
            own = terms.of_item[rows] @ weights.of_item[one] + weights.bias[one]  # (rows, 2)
            bent = terms.of_pair[:, rows] @ weights.of_pair[one] + own
            reached = weights.base[family[rows], layout[rows]] + np.float32(BEND) * np.tanh(bent / np.float32(BEND))
            compute = terms.compute_ms[:, rows] * np.exp(-reached[:, :, 0])
            memory = terms.memory_ms[:, rows] * np.exp(-reached[:, :, 1])
            times[:, rows] = np.hypot(compute, memory)
    floor = (facts[:, Fact.LAUNCHES] * weights.floor_ms).astype(np.float32)
    total: F32 = times + floor
    return total


def _shortest_ms(facts: F64, classes: I8, gpus: Sequence[Gpu]) -> F32:
    """Of the arithmetic at the greater of peak and sustained rate, (gpus, items); 0 where it is not what counts."""
    family = facts[:, Fact.FAMILY].astype(np.int64)
    peak = np.array([[_fastest(gpu, one) for one in RATE_CLASSES] for gpu in gpus])
    rate = np.take_along_axis(peak, classes.astype(np.int64), axis=1)
    flop = facts[:, Fact.FLOP] * facts[:, Fact.FLOP_FRACTION] / np.where(_IS_KXK[family], _WINOGRAD, 1.0)
    shortest: F32 = (np.where(IS_ARITHMETIC[family], flop, 0.0) / rate * 1e3).astype(np.float32)
    return shortest


def _fastest(gpu: Gpu, rate_class: RateClass) -> float:
    sustained = gpu.sustained.get(rate_class)
    return max(gpu.peak_flop_per_s.get(rate_class, 0.0), sustained.per_s if sustained is not None else 0.0) or np.inf


def items_ns(facts: F64, classes: I8, gpus: Sequence[Gpu], *, without_die: str = "") -> F64:
    """Times of items (items, facts) in ns, (gpus, items); equal items are worked out once."""
    if not len(facts) or not gpus:
        return np.zeros((len(gpus), len(facts)))
    keyed = np.concatenate([facts, classes.T], axis=1)
    _, first, which = np.unique(keyed, axis=0, return_index=True, return_inverse=True)
    name = without_die if without_die and has_efficiency_without(without_die) else ""
    distinct = facts[first]
    terms = item_terms(distinct, classes[:, first], gpus)
    times = np.maximum(
        efficiency_ms(efficiency(name), distinct, terms), _shortest_ms(distinct, classes[:, first], gpus)
    )
    found: F64 = times[:, which.reshape(-1)].astype(np.float64) * NS_PER_MS
    return found

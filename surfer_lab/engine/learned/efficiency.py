"""How long does an item take by the learned efficiencies? A roofline over a family's shares of the sustained rates.

    T = n t0 + ( (C / u)^2 + (M / v)^2 )^(1/2)
    log u = a[family, layout] + 3 tanh( (w_u . x) / 3 ),    log v alike

with C the time of the arithmetic at the sustained rate, M that of the bytes at the sustained bandwidth, n launches, x
features without units (`item_terms`), one set of weights for each group of families. `training.fit` finds a, w and t0
from whole steps: the sum over a step's items is held against what the step took, so that end-to-end times teach what
no micro-benchmark labels. Linear in x, and bounded: nothing unheard-of happens on shapes unlike all that was seen.
Nothing is faster than the hardware: `item_terms` says what is meant by that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.learned.facts import Fact
from surfer_lab.engine.learned.item_terms import GROUP_OF_FAMILY, Group, ItemTerms, item_terms
from surfer_lab.engine.learned.weight_files import weight_folder
from surfer_lab.hardware.gpu import Gpu
from surfer_lab.units import NS_PER_MS

__all__ = ["BEND", "Efficiency", "efficiency", "efficiency_ms", "has_efficiency_without", "items_ns", "read_efficiency"]

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
I8 = NDArray[np.int8]
I64 = NDArray[np.int64]

BEND: Final = 3.0  # features change a logarithm by at most this
ALL: Final = "all"


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
    total: F32 = np.maximum(times, terms.shortest_ms) + floor
    return total


def items_ns(facts: F64, classes: I8, gpus: Sequence[Gpu], *, without_die: str = "") -> F64:
    """Times of items (items, facts) in ns, (gpus, items); equal items are worked out once."""
    if not len(facts) or not gpus:
        return np.zeros((len(gpus), len(facts)))
    keyed = np.concatenate([facts, classes.T], axis=1)
    _, first, which = np.unique(keyed, axis=0, return_index=True, return_inverse=True)
    name = without_die if without_die and has_efficiency_without(without_die) else ""
    distinct = facts[first]
    used = classes[:, first]
    times = efficiency_ms(efficiency(name), distinct, item_terms(distinct, used, gpus))
    found: F64 = times[:, which.reshape(-1)].astype(np.float64) * NS_PER_MS
    return found

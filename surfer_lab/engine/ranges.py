"""How far may a predicted time be off? Factors that held 8 and 9 cases in ten, from errors on GPUs held out.

A range is T / k to T * k: errors of scaling are errors of ratios. Split-conformal: k is the quantile, corrected for the
count of cases, of |log error| on measured cases whose destination nothing saw; by method, kind of work and the units
that do it. `ranges.json` holds the factors, and those without each die, by which evaluations judge that die.

Two factors each. That of one item is the quantile over operations. That of an item *within a step* is smaller, and it
moves all items of a step at once: the own errors of operations average out, those of a GPU do not (a rate, a bandwidth
that is off moves all alike). It is the quantile over steps of whole models, and, since cases of one GPU share their
error, the largest over the dies of each die's own quantile: on steps whose products use matrix units (`matrix`), and on
FP32 `lanes`. On dies whose steps taught the weights (`matrix seen`) another network is what is new: families of them
were left out, and the quantile is that over all of these cases.
Where no step was measured (convolutions on FP32 lanes) it is the largest error by which a die's operations are off
together.

What is known of a card adds to both, in squares of logarithms: a rate that is an architecture-typical fraction of the
peak and not measured; a board fed by the slot alone, whose rate depends on how long it has run.

`python -m tools.fit_ranges --data FOLDER --write` makes the file anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from importlib.resources import files
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from surfer_lab.engine.estimate import Method
from surfer_lab.engine.lowering import Family
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.gpu import Gpu, RateOrigin
from surfer_lab.hardware.sustained import SLOT_POWER_W

__all__ = [
    "ALL_DIES", "CONVOLUTIONS", "LEVELS", "MATRIX_UNITS_FACTOR", "SLOT_POWER_FACTOR", "TYPICAL_BANDWIDTH_FACTOR",
    "TYPICAL_RATE_FACTOR", "Kind", "Spreads", "StepUnits", "is_slot_powered", "range_sets", "seen_dies",
    "spreads",
]  # fmt: skip

F64 = NDArray[np.float64]
I8 = NDArray[np.int8]
B = NDArray[np.bool_]

LEVELS: Final = (0.8, 0.9)
ALL_DIES: Final = "all"


class Kind(IntEnum):
    """Kinds of work that err alike; names, in small letters, are those of `ranges.json`."""

    MOVING = 0  # pointwise, copies
    REDUCING = 1  # norms, reductions and what else is neither pointwise nor a product
    PRODUCT = 2
    CONVOLUTION = 3


class StepUnits(IntEnum):
    """What does a step's products: the FP32 lanes, matrix units, or those of a die whose steps taught the weights."""

    LANES = 0
    MATRIX = 1
    MATRIX_SEEN = 2


CONVOLUTIONS: Final = tuple(
    family for family in Family if family.value.startswith(("conv", "data gradient", "weight gradient"))
)
_UNITS: Final = ("lanes", "matrix")
_FITTED: Final = (Method.WAVE, Method.LEARNED, Method.BLEND, Method.ROOFLINE, Method.NAMED)
# not measured: chosen wide, and named as such
_CHOSEN: Final = {
    Method.MEASURED: (1.0, 1.0),
    Method.FALLBACK: (2.0, 2.5),
    Method.COMMUNICATION: (2.0, 2.5),
    Method.HOST: (1.5, 1.7),
    Method.UNSCALED: (4.0, 5.0),
}
# of kernels known by name: those of the tables are few kinds with clear names, their own factors say too little
_NAMED_WIDENING: Final = 1.3
# the typical fraction against the measured rate, on the cards that have both, each left out of its own typical value
TYPICAL_RATE_FACTOR: Final = 1.25  # 38 cards fp32, 14 tf32, 31 fp16, 38 bf16
TYPICAL_BANDWIDTH_FACTOR: Final = 1.14  # 23 cards
# boards fed by the slot: half of the logarithmic span of their measured fp32 rates, 1.65 (T4: 4.17 to 6.91 TFLOP/s) and
# 1.59 (L4: 9.7 to 15.4), which differ by how long the run was
SLOT_POWER_FACTOR: Final = 1.27
# products that move from FP32 lanes to matrix units: spread of the gain of one layer about its family's median
# (DeepBench, V100 and T4, n 669: 0.6 to 1.5 of it hold eight in ten)
MATRIX_UNITS_FACTOR: Final = 1.5


@dataclass(frozen=True, kw_only=True, eq=False)
class Spreads:
    """log k, (gpus, items) each: of an item alone, and of its part in a step."""

    item: F64
    step: F64


@cache
def range_sets() -> dict[str, Any]:
    """The fitted factors by the die left out, `ALL_DIES` first; with their source."""
    stored: dict[str, Any] = orjson.loads((files(__package__) / "ranges.json").read_bytes())
    return stored


@cache
def _tables(level: float, without_die: str) -> tuple[F64, F64]:
    """Logarithms of k by (method, kind, units), of items and of steps."""
    sets = range_sets()["sets"]
    chosen = sets.get(without_die or ALL_DIES, sets[ALL_DIES])
    at = LEVELS.index(level)
    item = np.zeros((len(Method), len(Kind), len(_UNITS)))
    step = np.zeros((len(Method), len(Kind), len(StepUnits)))
    for method, factors in _CHOSEN.items():
        item[method], step[method] = np.log(factors[at]), np.log(factors[at])
    for method in _FITTED:
        for kind in Kind:
            for units, name in enumerate(_UNITS):
                found = _entry(chosen["items"], method, kind, name)
                item[method, kind, units] = np.log(found[at])
                if method is Method.NAMED:
                    wave = _entry(chosen["items"], Method.WAVE, kind, name)
                    item[method, kind, units] = _NAMED_WIDENING * np.log(max(found[at], wave[at]))
                key = "convolution" if kind is Kind.CONVOLUTION and name == "lanes" else name
                own = np.log(chosen["steps"][key][at])
                # what is known by its name only was measured on no step: it errs together, as far as it goes
                step[method, kind, units] = item[method, kind, units] if method is Method.NAMED else own
            seen = min(step[method, kind, StepUnits.MATRIX], np.log(chosen["steps"]["matrix seen"][at]))
            step[method, kind, StepUnits.MATRIX_SEEN] = seen
    return item, step


@cache
def seen_dies() -> frozenset[str]:
    """Dies on which whole steps on matrix units taught the shipped weights."""
    return frozenset(range_sets()["seen_dies"])


def _entry(items: dict[str, list[float]], method: Method, kind: Kind, units: str) -> list[float]:
    """The factors of the nearest entry: as asked, on the lanes, of products, of the roofline."""
    for one, what, where in (
        (method, kind, units), (method, kind, "lanes"), (method, Kind.PRODUCT, "lanes"), (Method.ROOFLINE, kind, units),
        (Method.ROOFLINE, kind, "lanes"),
    ):  # fmt: skip
        found = items.get(f"{one.name} {what.name} {where}".lower())
        if found is not None:
            return found
    return items[f"{Method.ROOFLINE.name} {Kind.PRODUCT.name} lanes".lower()]


def is_slot_powered(gpu: Gpu) -> bool:
    """Whether the slot alone feeds the board; one that its user measured over seconds is known all the same."""
    measured_here = gpu.sustained[RateClass.FP32].origin is RateOrigin.CALIBRATED
    return gpu.tdp_w is not None and gpu.tdp_w <= SLOT_POWER_W and not measured_here


def spreads(
    method: I8, kind: NDArray[np.int64], on_units: B, *, step_units: NDArray[np.int64], level: float,
    without_die: str, moved: B, typical_rate: B, slot_powered: B, typical_bandwidth: B, memory_share: F64,
    verified_factor: float | None = None,
) -> Spreads:  # fmt: skip
    """How far the estimates may be off; `kind` (items,), the rest broadcast to (gpus, items).

    `on_units`: arithmetic on matrix units; `step_units`: the step's (`StepUnits`); `moved`: on other units there than
    at the origin. `verified_factor` takes the place of the fitted factor of a step and of what is known of a card.
    """
    items, steps = _tables(level, without_die)
    compute = 1.0 - memory_share
    known = (
        np.where(typical_rate, np.log(TYPICAL_RATE_FACTOR) * compute, 0.0) ** 2
        + np.where(slot_powered, np.log(SLOT_POWER_FACTOR) * compute, 0.0) ** 2
        + np.where(typical_bandwidth, np.log(TYPICAL_BANDWIDTH_FACTOR) * memory_share, 0.0) ** 2
        + np.where(moved, np.log(MATRIX_UNITS_FACTOR) * compute, 0.0) ** 2
    )
    scaled = ~np.isin(method, (Method.MEASURED, Method.HOST, Method.COMMUNICATION))
    item, step = (
        np.sqrt(table[method, kind, units] ** 2 + np.where(scaled, known, 0.0))
        for table, units in ((items, on_units.astype(np.int64)), (steps, step_units))
    )
    if verified_factor is not None:
        step = np.where(np.isin(method, _FITTED), np.log(verified_factor), step)
    return Spreads(item=item, step=np.minimum(item, step))

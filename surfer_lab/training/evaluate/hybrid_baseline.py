"""The first paper's hybrid under our split: plain networks for products and convolutions, literal waves for the rest.

The networks are refitted without each destination's die, to the same tables as the product's.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine import EngineOptions, ScalingMethod
from surfer_lab.engine.item_times import item_times
from surfer_lab.engine.learned.form import LearnedFamily
from surfer_lab.engine.work_items import work_of
from surfer_lab.hardware.catalog import Catalog
from surfer_lab.hardware.gpu import Gpu
from surfer_lab.trace.tables import ArgShapes
from surfer_lab.training.evaluate.listed_ops import recorded
from surfer_lab.training.evaluate.model_ops import ModelCase
from surfer_lab.training.fit.micro_benchmarks import read_timings
from surfer_lab.units import NS_PER_MS

if TYPE_CHECKING:
    from surfer_lab.training.fit.spec_network import SpecNetwork

__all__ = ["HybridStep", "networks_without"]

F64 = NDArray[np.float64]
Progress = Callable[[str, int, int], None]
_FAMILY_OF: dict[str, LearnedFamily] = {"aten::mm": LearnedFamily.LINEAR, "aten::bmm": LearnedFamily.BMM}


# one fit serves operations and models of a process; the catalogue is kept beside it: its id is not given twice
_FITTED: Final[dict[tuple[Path, int, LearnedFamily, str], tuple[Catalog, SpecNetwork]]] = {}


def networks_without(data: Path, family: LearnedFamily, die: str, catalog: Catalog) -> SpecNetwork:
    """The plain network of a family, fitted to every row of its table that was not measured on that die."""
    from surfer_lab.training.fit.spec_network import fit_spec_network  # torch is loaded only where something is fitted

    key = (data.resolve(), id(catalog), family, die)
    if key not in _FITTED:
        timings = read_timings(data, family, catalog)
        seen = timings.of(~timings.on_die(die))
        _FITTED[key] = (catalog, fit_spec_network(seen.shapes, seen.gpus, seen.gpu, seen.measured_ms))
    return _FITTED[key][1]


class HybridStep:
    """Steps of models from an origin; a network a family and die, fitted when first asked for."""

    def __init__(self, data: Path, catalog: Catalog, progress: Progress | None = None) -> None:
        self._data, self._catalog, self._progress = data, catalog, progress

    def step_ms(self, origin: ModelCase, here: Gpu, there: Gpu) -> float:
        """The sum of the operations' times on `there`: networks for products, the origin's times scaled for others."""
        waves = _literal_ms(origin, here, there)
        repeats = np.array([op.repeats for op in origin.ops], dtype=np.float64)
        names = np.array([op.name for op in origin.ops])
        for name, family in _FAMILY_OF.items():
            rows = np.flatnonzero(names == name)
            if len(rows):
                shapes = np.array([_sizes(origin.ops[row].shapes) for row in rows.tolist()], dtype=np.float64)
                waves[rows] = self._network(family, there.die).times_ms(
                    shapes, (there,), np.zeros(len(rows), dtype=np.int64)
                )
        return float(waves @ repeats)

    def _network(self, family: LearnedFamily, die: str) -> SpecNetwork:
        if self._progress is not None:
            self._progress(f"the hybrid's {family.value} without {die}", 0, 1)
        return networks_without(self._data, family, die, self._catalog)


def _literal_ms(origin: ModelCase, here: Gpu, there: Gpu) -> F64:
    trace = recorded(
        [(op.name, op.shapes) for op in origin.ops], [op.measured_ms * NS_PER_MS for op in origin.ops], None
    )
    options = EngineOptions(method=ScalingMethod.LITERAL_MANY_WAVES, convolution_tf32=False, matmul_tf32=False)
    work = work_of(trace)
    times = item_times(work, here, [there], options).duration_ns[0]
    return np.bincount(work.items.op, weights=times, minlength=len(origin.ops)).astype(np.float64) / NS_PER_MS


def _sizes(shapes: ArgShapes) -> tuple[int, int, int, int]:
    """(batch, m, k, n) of a product's two operands."""
    left, right = (np.array(shape, dtype=np.int64) for shape in shapes if shape is not None)
    return int(left[0]) if len(left) > 2 else 1, int(left[-2]), int(left[-1]), int(right[-1])

"""How well are single products and convolutions predicted on dies that the networks never saw? The tables of kernels/.

The harness's launch, the same for all methods, is added to what is predicted (`fit.micro_benchmarks`). Beside the
two sustained numbers of the catalogue a third row says what a family's own rate is worth: its scale is the median of a
dozen long timings of the GPU itself, evenly over the table, which are then no cases.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.learned import LearnedFamily, predict_times
from surfer_lab.engine.learned.machine import machines_of
from surfer_lab.engine.learned.parametric import parametric_ms
from surfer_lab.hardware.catalog import Catalog, load_catalog
from surfer_lab.training.evaluate.cases import Case, Evaluation, stats_by
from surfer_lab.training.fit.micro_benchmarks import Timings, read_timings
from surfer_lab.units import NS_PER_MS

__all__ = ["evaluate_kernels"]

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

LEARNED: Final = "learned, its die held out"
ROOFLINE: Final = "roofline calibrated by family"
OWN_RATE: Final = "learned, scaled by a dozen of the GPU's own timings"
SAMPLE: Final = 2_000  # rows of a family on a GPU, evenly over its table
_PROBES: Final = 12
_PROBE_MS: Final = (2.0, 60.0)


def evaluate_kernels(data: Path, *, sample: int | None = SAMPLE, catalog: Catalog | None = None) -> Evaluation:
    """Every `sample` rows of a family on a GPU, None: all of them."""
    cards = catalog or load_catalog()
    cases = [case for family in LearnedFamily for case in _family_cases(data, family, cards, sample)]
    return Evaluation(
        name="kernels",
        cases=tuple(cases),
        tables=(
            stats_by(cases, title="single operations", by=lambda case: (case.model, case.method),
                     names=("family", "method")),
            stats_by(cases, title="single operations, by GPU", by=lambda case: (case.model, case.method, case.gpu),
                     names=("family", "method", "gpu")),
        ),
        facts={"cases": len(cases)},
    )  # fmt: skip


def _family_cases(data: Path, family: LearnedFamily, catalog: Catalog, sample: int | None) -> Iterator[Case]:
    timings = read_timings(data, family, catalog)
    for index in range(len(timings.gpus)):
        rows = np.flatnonzero(timings.gpu == index)
        if len(rows):
            yield from _gpu_cases(timings, index, rows, sample)


def _gpu_cases(timings: Timings, index: int, rows: I64, sample: int | None) -> Iterator[Case]:
    gpu, measured, floor = timings.gpus[index], timings.measured_ms, timings.floor_ms
    long = rows[(measured[rows] > _PROBE_MS[0]) & (measured[rows] < _PROBE_MS[1])]
    probes = _evenly(long, _PROBES)
    judged = _evenly(np.setdiff1d(rows, probes), sample)
    scale = float(np.median((measured - floor)[probes] / _learned_ms(timings, index, probes))) if len(probes) else 1.0
    learned = _learned_ms(timings, index, judged)
    machines = machines_of([gpu], long_run=False).take(np.zeros(len(judged), dtype=np.int64))
    roofline = parametric_ms(timings.family, timings.shapes[judged], machines)
    for method, predicted in ((LEARNED, learned), (ROOFLINE, roofline), (OWN_RATE, learned * scale)):
        for row, value in zip(judged.tolist(), predicted.tolist(), strict=True):
            yield Case(
                gpu=gpu.name, model=timings.family.value, mode="forward", precision="fp32", method=method,
                predicted_ms=value + float(floor[row]), measured_ms=float(measured[row]),
                columns={f"dim{at}": float(dim) for at, dim in enumerate(timings.shapes[row])},
            )  # fmt: skip


def _learned_ms(timings: Timings, index: int, rows: I64) -> F64:
    gpu = timings.gpus[index]
    times = predict_times(timings.family, timings.shapes[rows], [gpu], without_die=gpu.die, long_run=False)
    ms: F64 = times[0] / NS_PER_MS
    return ms


def _evenly(rows: I64, count: int | None) -> I64:
    if count is None or len(rows) <= count:
        return rows
    return rows[np.linspace(0, len(rows) - 1, count).round().astype(np.int64)]

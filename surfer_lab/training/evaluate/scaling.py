"""Is what is said of several GPUs true? Published scaling, link gains, strategies' steps and gains of precision.

Predictions come from the workloads' own captures on one GPU; nothing measured of a judged run enters. The one thing
fitted is how much ranks' step times differ (`planner.scaling.stragglers`), for steps of even and of uneven work: each
model is judged with the figure fitted to the scaling of the *other* models of its kind.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.errors import SurferError
from surfer_lab.planner.scaling.stragglers import EVEN_WORK_SPREAD, UNEVEN_WORK_SPREAD
from surfer_lab.training.evaluate.cases import Case, Cell, Evaluation, Table
from surfer_lab.training.evaluate.scaling_predictions import Captures, predicted_run
from surfer_lab.training.evaluate.scaling_rows import Kind, Published, published_rows, without_workload
from surfer_lab.units import NS_PER_MS

__all__ = ["evaluate_scaling"]

F64 = NDArray[np.float64]
Progress = Callable[[str, int, int], None]

METHOD: Final = "captured from shapes, simulated"
CONSTANT: Final = "best single efficiency"
TIME_TO_TRAIN: Final = "MLPerf training v0.5"  # rows that hold convergence too
SPREADS: Final = tuple(round(0.01 * step, 2) for step in range(16))  # tried: 0 to 15 %
_NAMED: Final = {True: UNEVEN_WORK_SPREAD, False: EVEN_WORK_SPREAD}


@dataclass(frozen=True, kw_only=True)
class _Judged:
    """A figure with what is predicted for it; nan: not predicted, for a reason."""

    row: Published
    predicted: float
    reason: str = ""
    spread: float = 0.0

    @property
    def error(self) -> float:
        return self.predicted / self.row.measured - 1.0

    @property
    def size(self) -> float:
        return abs(self.error)


def evaluate_scaling(*, data: Path, sample: int | None = None, progress: Progress | None = None) -> Evaluation:
    """Every published figure, or the first `sample` of each kind and model."""
    rows = _sampled(published_rows(data), sample)
    captures = Captures()
    scaling = [row for row in rows if row.kind == Kind.SCALING]
    curves: dict[int, F64] = {}
    for number, row in enumerate(scaling):
        curves[id(row)] = _over_spreads(captures, row)
        if progress is not None:
            progress(row.model, number + 1, len(rows))
    spreads = _spreads(scaling, curves)
    judged = [_with_spread(row, curves[id(row)], spreads[row.model, row.is_uneven]) for row in scaling]
    for number, row in enumerate(one for one in rows if one.kind != Kind.SCALING):
        judged.append(_judged(captures, row, spreads.get((row.model, row.is_uneven), _NAMED[row.is_uneven])))
        if progress is not None:
            progress(row.model, len(scaling) + number + 1, len(rows))
    constant = _best_constant(scaling)
    return Evaluation(
        name="scaling",
        cases=tuple(_case(one, METHOD) for one in judged)
        + tuple(_case(_Judged(row=row, predicted=constant * _linear(row)), CONSTANT) for row in scaling),
        tables=(
            *_scaling_tables(judged, constant),
            _table(judged, Kind.LINK, "scaling: what NVLink gains over PCIe"),
            _table(judged, Kind.STRATEGY, "scaling: ms of a step by strategy"),
            _table(judged, Kind.PRECISION, "scaling: what mixed precision gains"),
            _table(judged, Kind.COMPILE, "scaling: what a compiler gains"),
        ),
        facts={
            "figures": len(judged),
            "not predicted": sum(1 for one in judged if math.isnan(one.predicted)),
            "rows without a workload": ", ".join(f"{model} {count}" for model, count in without_workload(data)),
        },
    )


def _sampled(rows: Sequence[Published], sample: int | None) -> list[Published]:
    taken: dict[tuple[str, str], int] = {}
    kept = []
    for row in rows:
        number = taken[row.kind, row.model] = taken.get((row.kind, row.model), 0) + 1
        if sample is None or number <= sample:
            kept.append(row)
    return kept


def _predicted(captures: Captures, row: Published, spread: float) -> float:
    """The ratio, or ms of a step."""
    run = predicted_run(captures, row.workload, row.sizes, row.run, rank_spread=spread)
    if row.base is None:
        return run.step_ns / NS_PER_MS
    base = predicted_run(captures, row.workload, row.sizes, row.base, rank_spread=spread)
    if not run.samples_per_s or not base.samples_per_s:
        return math.nan
    return run.samples_per_s / base.samples_per_s


def _over_spreads(captures: Captures, row: Published) -> F64:
    """The prediction at each spread tried, (spreads,); nan where there is none."""
    try:
        return np.array([_predicted(captures, row, spread) for spread in SPREADS])
    except SurferError:
        return np.full(len(SPREADS), math.nan)


def _with_spread(row: Published, curve: F64, spread: float) -> _Judged:
    return _Judged(
        row=row, predicted=float(np.interp(spread, SPREADS, curve)), spread=spread,
        reason="not predicted" if np.isnan(curve).any() else "",
    )  # fmt: skip


def _judged(captures: Captures, row: Published, spread: float) -> _Judged:
    try:
        return _Judged(row=row, predicted=_predicted(captures, row, spread), spread=spread)
    except SurferError as error:
        return _Judged(row=row, predicted=math.nan, reason=error.seen, spread=spread)


def _spreads(rows: Sequence[Published], curves: Mapping[int, F64]) -> dict[tuple[str, bool], float]:
    """For each model the spread that suits the weak scaling of the others of its kind best, averaged by model."""
    errors: dict[tuple[str, bool], list[F64]] = {}
    for row in rows:
        curve = curves[id(row)]
        if not row.source.startswith(TIME_TO_TRAIN) and _is_weak(row) and not np.isnan(curve).any():
            errors.setdefault((row.model, row.is_uneven), []).append(np.abs(curve / row.measured - 1.0))
    by_model = {key: np.mean(found, axis=0) for key, found in errors.items()}
    chosen = {}
    for model, uneven in {(row.model, row.is_uneven) for row in rows}:
        others = [found for (name, kind), found in by_model.items() if kind == uneven and name != model]
        chosen[model, uneven] = SPREADS[int(np.argmin(np.mean(others, axis=0)))] if others else _NAMED[uneven]
    return chosen


def _is_weak(row: Published) -> bool:
    """Whether each GPU keeps its batch: a smaller one loses for other reasons too, which are not ranks' differences."""
    return row.base is not None and row.base.batch == row.run.batch


def _linear(row: Published) -> float:
    return row.run.num_gpus / (row.base.num_gpus if row.base is not None else 1)


def _best_constant(rows: Sequence[Published]) -> float:
    """The one efficiency that, with all figures seen, gives the least mean |error| averaged by model."""
    tried = np.linspace(0.3, 1.2, 181)
    errors: dict[str, list[F64]] = {}
    for row in rows:
        errors.setdefault(row.model, []).append(np.abs(tried * _linear(row) / row.measured - 1.0))
    if not errors:
        return 1.0
    return float(tried[int(np.argmin(np.mean([np.mean(found, axis=0) for found in errors.values()], axis=0)))])


def _case(one: _Judged, method: str) -> Case:
    row, run = one.row, one.row.run
    known = not math.isnan(one.predicted)
    is_time = row.kind == Kind.STRATEGY
    return Case(
        model=row.model,
        batch=run.batch,
        precision=run.precision.value,
        compile="default" if run.compiled else "off",
        num_gpus=run.num_gpus,
        method=method,
        reason=one.reason,
        predicted_ms=one.predicted if is_time and known else None,
        measured_ms=row.measured if is_time else None,
        columns={
            "kind": row.kind,
            "machine": run.machine,
            "base_machine": row.base.machine if row.base is not None else None,
            "base_num_gpus": row.base.num_gpus if row.base is not None else None,
            "strategy": run.strategy,
            "workload": row.workload,
            "predicted": one.predicted if known else None,
            "measured": row.measured,
            "error_percent": 100.0 * one.error if known else None,
            "rank_spread": one.spread,
            "source": row.source,
            "note": row.note,
        },
    )


def _mean_by_model(judged: Iterable[_Judged]) -> dict[str, float]:
    sizes: dict[str, list[float]] = {}
    for one in judged:
        if not math.isnan(one.predicted):
            sizes.setdefault(one.row.model, []).append(one.size)
    return {model: float(np.mean(found)) for model, found in sizes.items()}


def _percent(value: float) -> float | None:
    return None if math.isnan(value) else round(100.0 * value, 1)


def _scaling_tables(judged: Sequence[_Judged], constant: float) -> tuple[Table, ...]:
    scaling = [one for one in judged if one.row.kind == Kind.SCALING and not math.isnan(one.predicted)]
    throughput = [one for one in scaling if not one.row.source.startswith(TIME_TO_TRAIN)]
    simple = {id(one): abs(constant * _linear(one.row) / one.row.measured - 1.0) for one in scaling}
    rows: list[tuple[Cell, ...]] = []
    for model, mean in _mean_by_model(scaling).items():
        own = [one for one in scaling if one.row.model == model]
        only = [one.size for one in throughput if one.row.model == model]
        rows.append(
            (
                model, len(own), _percent(mean), _percent(float(np.mean(only)) if only else math.nan),
                _percent(float(np.mean([simple[id(one)] for one in own]))),
                sum(1 for one in own if one.size < simple[id(one)]), own[0].spread,
            )
        )  # fmt: skip
    if scaling:
        rows.append(
            (
                "mean of models", len(scaling), _percent(float(np.mean(list(_mean_by_model(scaling).values())))),
                _percent(float(np.mean(list(_mean_by_model(throughput).values())))) if throughput else None,
                _percent(_mean_of_means(scaling, simple)),
                sum(1 for one in scaling if one.size < simple[id(one)]), None,
            )
        )  # fmt: skip
    table = Table(
        title="scaling: throughput on n GPUs over that on fewer, |error| by model",
        columns=(
            "model",
            "figures",
            "mean %",
            "without time to train %",
            "constant %",
            "closer than it",
            "rank spread",
        ),
        rows=tuple(rows),
        notes=(
            f"constant: n times {constant:.3f}, the one efficiency that suits all these figures best, seen afterwards",
            "rank spread: fitted to the weak scaling of the other models of the same kind (even or uneven work)",
            "time to train (MLPerf v0.5) also holds how many samples a larger batch needs: no step tells that",
        ),
    )
    return table, _ranking(scaling), _table(judged, Kind.SCALING, "scaling: every figure of throughput")


def _mean_of_means(judged: Sequence[_Judged], sizes: Mapping[int, float]) -> float:
    by_model: dict[str, list[float]] = {}
    for one in judged:
        by_model.setdefault(one.row.model, []).append(sizes[id(one)])
    return float(np.mean([np.mean(found) for found in by_model.values()]))


def _ranking(scaling: Sequence[_Judged]) -> Table:
    """8 GPUs over 1 on a DGX-1 in mixed precision, the paper's kind of comparison, from worst to best."""
    eight = [
        one for one in scaling
        if one.row.run.num_gpus == 8 and one.row.base is not None and one.row.base.num_gpus == 1
        and one.row.run.machine.startswith("DGX-1") and one.row.run.precision.is_autocast
        and one.row.run.accumulation == 1
    ]  # fmt: skip
    measured: dict[str, list[float]] = {}
    predicted: dict[str, list[float]] = {}
    for one in eight:
        measured.setdefault(one.row.model, []).append(one.row.measured)
        predicted.setdefault(one.row.model, []).append(one.predicted)
    models = sorted(measured, key=lambda model: float(np.mean(measured[model])))
    order = sorted(models, key=lambda model: float(np.mean(predicted[model])))
    return Table(
        title="scaling: models by 8 GPUs over 1, DGX-1, mixed precision",
        columns=("model", "measured", "predicted", "rank measured", "rank predicted"),
        rows=tuple(
            (
                model, round(float(np.mean(measured[model])), 2), round(float(np.mean(predicted[model])), 2), at + 1,
                order.index(model) + 1,
            )
            for at, model in enumerate(models)
        ),
    )  # fmt: skip


def _table(judged: Sequence[_Judged], kind: str, title: str) -> Table:
    of_kind = [one for one in judged if one.row.kind == kind]
    names = ("model", "machine", "GPUs", "batch", "precision", "strategy", "measured", "predicted", "error %", "source")
    unknown = [one for one in of_kind if math.isnan(one.predicted)]
    sizes = [one.size for one in of_kind if not math.isnan(one.predicted)]
    mean = (
        f"mean |error| {100.0 * float(np.mean(sizes)):.1f} % over {len(sizes)} figures" if sizes else "none predicted"
    )
    return Table(
        title=title,
        columns=names,
        rows=tuple(
            (
                one.row.model, one.row.run.machine, _gpus(one.row),
                one.row.run.batch, one.row.run.precision.value, one.row.run.strategy, round(one.row.measured, 2),
                None if math.isnan(one.predicted) else round(one.predicted, 2), _percent(one.error), one.row.source,
            )
            for one in of_kind
        ),
        notes=(mean, *(f"{one.row.model} is not predicted: {one.reason}" for one in unknown)),
    )  # fmt: skip


def _gpus(row: Published) -> str:
    count = str(row.run.num_gpus)
    return count if row.base is None else f"{row.base.num_gpus} to {count}"

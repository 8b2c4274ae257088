"""How well are the steps of timm's benchmark predicted, from the networks' names alone?

Against each measured row: the engine's roofline calibrated by family as shipped (a third of its fractions are fitted to
these very tables: `engine.utilisation`, source M), the same with the fractions fitted anew without the row's family of
networks, that with one constant a table, and a plain roofline with one constant a table. Fractions and constants are
fitted with whole families of networks held out, five folds, the same for all tables; the GPUs themselves are seen by
them. For compiled rows also the gain: eager over compiled
step of the same network, per image, against a constant gain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from surfer_lab.hardware.catalog import Catalog, load_catalog
from surfer_lab.training.evaluate.cases import Case, Cell, ErrorStats, Evaluation, Table, stats_by, stats_of
from surfer_lab.training.evaluate.held_out import FOLD_COUNT, fitted_without, folds_of
from surfer_lab.training.evaluate.protocol import Protocol, protocol_named
from surfer_lab.training.evaluate.timm_held_out import CARRIED, GAIN_MEASURED, GAIN_PREDICTED, held_out_timm
from surfer_lab.training.evaluate.timm_predictions import RowPrediction, predict_rows
from surfer_lab.training.timm_table.fractions import fit_factors, steps_ms
from surfer_lab.training.timm_table.make import make_captures
from surfer_lab.training.timm_table.rows import TABLE, compiled_beside_eager, gains_of, keys_of, read_rows
from surfer_lab.training.timm_table.store import CaptureStore, cache_folder

__all__ = ["evaluate_timm"]

CALIBRATED: Final = "roofline calibrated by family"
REFITTED: Final = "roofline calibrated by family, fractions fitted without the row's family"
CALIBRATED_CONSTANT: Final = "roofline calibrated by family, one constant a table"
PLAIN_CONSTANT: Final = "plain roofline, one constant a table"
GAIN: Final = "compile gain: fusion rule"
CONSTANT_GAIN: Final = "compile gain: one constant a table"

F64 = NDArray[np.float64]
Progress = Callable[[str, int, int], None]  # what is done, how many, of how many


def evaluate_timm(
    data: Path,
    *,
    protocol: Protocol | str = Protocol.HELD_OUT,
    cache: Path | None = None,
    sample: int | None = None,
    workers: int = 1,
    progress: Progress | None = None,
    catalog: Catalog | None = None,
) -> Evaluation:
    """All rows of `timm/bench.csv`, or those of `sample` networks drawn evenly.

    Captures are kept in `cache` (the user's own folder by default); what is missing is captured in `workers` processes,
    0: in this one.
    """
    split = protocol_named(protocol) if isinstance(protocol, str) else protocol
    rows = _sampled(read_rows(data), sample)
    store = CaptureStore(cache or cache_folder())
    make_captures(keys_of(rows), store, workers=workers, progress=_named(progress, "captured"))
    found = {
        one.row: one
        for one in predict_rows(
            rows, store, catalog or load_catalog(), progress=lambda *counts: _named(progress, "predicted")("", *counts)
        )
    }
    predictions = [found[int(index)] for index in rows.index]
    cases = _step_cases(rows, predictions)
    gains = _gain_cases(rows, predictions)
    held_out, tables = held_out_timm(
        data, cache or cache_folder(), catalog or load_catalog(), protocol=split, sample=sample, workers=workers,
        progress=progress,
    )  # fmt: skip
    return Evaluation(
        name="timm", cases=(*held_out, *cases, *gains), tables=(*tables, *_tables(cases, gains)),
        facts={"protocol": split.value, **_facts(rows, predictions)},
    )  # fmt: skip


def _named(progress: Progress | None, what: str) -> Callable[[str, int, int], None]:
    def tell(name: str, done: int, total: int) -> None:
        if progress is not None:
            progress(f"{what} {name}".strip(), done, total)

    return tell


def _sampled(rows: pd.DataFrame, sample: int | None) -> pd.DataFrame:
    """Rows of so many networks, evenly over their names in order: families are drawn by their size."""
    archs = sorted(rows["arch"].unique())
    if sample is None or sample >= len(archs):
        return rows
    chosen = [archs[at] for at in np.linspace(0, len(archs) - 1, max(1, sample)).round().astype(int)]
    return rows[rows["arch"].isin(chosen)]


# -- steps -------------------------------------------------------------------------------------------------------------


def _step_cases(rows: pd.DataFrame, predictions: Sequence[RowPrediction]) -> list[Case]:
    measured = rows["step_ms"].to_numpy(dtype=np.float64)
    families = [one.family for one in predictions]
    engine, low, high, plain = (
        np.array([_number(getattr(one, name)) for one in predictions])
        for name in ("predicted_ms", "low_ms", "high_ms", "simple_ms")
    )
    tables = rows.groupby(list(TABLE), sort=False).ngroup().to_numpy()
    refitted = _refitted(predictions, measured)
    own, of_plain = (_constants(tables, families, measured / times) for times in (engine, plain))
    cases = []
    for at, row in enumerate(rows.itertuples()):
        base = _case(row, families[at], CALIBRATED)
        reason = predictions[at].reason
        cases.append(_with(base, engine[at], reason, low_ms=_known(low[at]), high_ms=_known(high[at])))
        cases.append(_with(replace(base, method=REFITTED), refitted[at], reason))
        for method, times, constants in ((CALIBRATED_CONSTANT, engine, own), (PLAIN_CONSTANT, plain, of_plain)):
            why = reason or ("" if np.isfinite(constants[at]) else "no other family to fit the constant to")
            cases.append(_with(replace(base, method=method), times[at] * constants[at], why))
    return cases


def _refitted(predictions: Sequence[RowPrediction], measured: F64) -> F64:
    """Steps with each family's fractions of the roofline fitted to the rows of the other folds, all tables together."""
    times = np.full(len(predictions), np.nan)
    known = np.array([at for at, one in enumerate(predictions) if one.terms is not None], dtype=np.int64)
    steps = [one.terms for one in predictions if one.terms is not None]
    folds = folds_of([predictions[at].family for at in known])
    for fold in np.unique(folds):
        own, others = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        if len(others):
            factors = fit_factors([steps[at] for at in others], measured[known[others]])
            times[known[own]] = steps_ms([steps[at] for at in own], factors)
    return times


def _constants(tables: NDArray[Any], families: Sequence[str], ratios: F64) -> F64:
    """Median of measured over predicted of the other families of the same table, for each row."""
    constants = np.full(len(ratios), np.nan)
    for table in np.unique(tables):
        rows = np.flatnonzero((tables == table) & np.isfinite(ratios))
        folds = folds_of([families[int(row)] for row in rows])
        constants[rows] = fitted_without(folds, lambda others, rows=rows: float(np.median(ratios[rows][others])))  # type: ignore[misc]
    return constants


def _case(row: Any, family: str, method: str) -> Case:
    columns: dict[str, Cell] = {name: _cell(getattr(row, name)) for name in CARRIED if hasattr(row, name)}
    return Case(
        gpu=str(row.gpu), model=str(row.model), mode=str(row.mode), batch=int(row.batch), precision=str(row.precision),
        compile=str(row.compile), method=method, measured_ms=float(row.step_ms), columns={**columns, "family": family},
    )  # fmt: skip


def _with(
    case: Case, predicted_ms: float, reason: str, *, low_ms: float | None = None, high_ms: float | None = None
) -> Case:
    if reason or not np.isfinite(predicted_ms):
        return replace(case, reason=reason or "no prediction")
    return replace(case, predicted_ms=float(predicted_ms), low_ms=low_ms, high_ms=high_ms)


def _number(value: float | None) -> float:
    return np.nan if value is None else float(value)


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _cell(value: Any) -> Cell:
    if isinstance(value, str) or value is None:
        return value
    number = float(value)
    if not np.isfinite(number):
        return None
    return int(number) if number.is_integer() else number


# -- gains -------------------------------------------------------------------------------------------------------------


def _gain_cases(rows: pd.DataFrame, predictions: Sequence[RowPrediction]) -> list[Case]:
    """Compiled steps predicted from the measured eager step of the same network on the same GPU.

    The time is the eager one over the predicted gain, per image; both gains stand in the columns.
    """
    table = rows.assign(
        predicted=[_number(one.predicted_ms) for one in predictions], family=[one.family for one in predictions]
    )
    pairs = compiled_beside_eager(table)
    if pairs.empty:
        return []
    measured, predicted = gains_of(pairs)
    eager_ms = measured * pairs["step_ms"].to_numpy(dtype=np.float64)  # as if eager ran the compiled row's batch
    tables = pairs.groupby(list(TABLE), sort=False).ngroup().to_numpy()
    constant = _constants(tables, list(pairs["family"]), measured)
    cases = []
    for at, row in enumerate(pairs.itertuples()):
        for method, gain in ((GAIN, predicted[at]), (CONSTANT_GAIN, constant[at])):
            base = _case(row, str(row.family), method)
            columns = {**base.columns, GAIN_MEASURED: float(measured[at]), GAIN_PREDICTED: _known(gain)}
            why = "" if np.isfinite(gain) else "no other family to fit the constant to"
            cases.append(_with(replace(base, origin_gpu=base.gpu, columns=columns), eager_ms[at] / gain, why))
    return cases


# -- summary -----------------------------------------------------------------------------------------------------------


def _tables(cases: Sequence[Case], gains: Sequence[Case]) -> tuple[Table, ...]:
    steps = stats_by(
        cases,
        title="timm: a step, |error| in percent",
        by=lambda case: (case.method, case.gpu, case.mode, _text(case, "layout"), _text(case, "torch"), case.compile),
        names=("method", *TABLE),
        notes=(f"constants and fractions fitted with whole families held out ({FOLD_COUNT} folds), the GPUs seen",),
    )
    if not gains:
        return (steps,)
    return steps, _gain_table(gains)


def _gain_table(gains: Sequence[Case]) -> Table:
    """Errors of the gain itself, and whether a larger predicted one is a larger one (Spearman's rank correlation)."""
    frame = pd.DataFrame(
        {"method": case.method, "gpu": case.gpu, "mode": case.mode, **case.columns} for case in gains
    ).dropna(subset=[GAIN_PREDICTED])
    rows: list[tuple[Cell, ...]] = []
    for key, group in frame.groupby(["method", "gpu", "mode", "layout", "torch"], sort=False):
        predicted, measured = (group[name].to_numpy(dtype=np.float64) for name in (GAIN_PREDICTED, GAIN_MEASURED))
        ranks = group[[GAIN_PREDICTED, GAIN_MEASURED]].rank().to_numpy().T
        varies = len(group) > 2 and np.ptp(ranks[0]) > 0
        correlation = round(float(np.corrcoef(ranks)[0, 1]), 2) if varies and key[0] == GAIN else None
        rows.append((*(str(part) for part in key), *stats_of(predicted, measured).cells()[:5], correlation))
    return Table(
        title="timm: gain of torch.compile, |error| in percent",
        columns=("method", *TABLE[:-1], *ErrorStats.HEAD[:5], "rank correlation"),
        rows=tuple(rows),
        notes=("the gain is the eager over the compiled step, per image",),
    )


def _text(case: Case, column: str) -> Cell:
    return case.columns.get(column)


def _facts(rows: pd.DataFrame, predictions: Sequence[RowPrediction]) -> dict[str, Cell]:
    reasons = [one.reason for one in predictions if one.reason]
    return {
        "rows": len(rows),
        "networks": int(rows["arch"].nunique()),
        "rows not predicted": len(reasons),
        "networks not predicted": len(
            {str(arch) for arch, one in zip(rows["arch"], predictions, strict=True) if one.reason}
        ),
        "largest share of time by generic fallback": max((one.fallback_share for one in predictions), default=0.0),
        "largest share of time unscaled": max((one.unscaled_share for one in predictions), default=0.0),
    }

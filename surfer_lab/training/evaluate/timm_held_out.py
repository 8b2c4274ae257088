"""How well do the efficiencies learned through the sum predict steps that their fit never saw? Three ways of it.

    whole families of networks, the GPU seen; half of the architectures, their siblings seen; a GPU's die

Each row is predicted by the weights that were fitted without it: the shipped ones, or, under the protocol `logo`, those
fitted now; groups of families that are not routed to them are on the calibrated roofline, as in the engine. A step is
the sum over its items, as in the fit; the replay adds what the host takes, which no row here shows. Ranges are those of
steps on matrix units: without the GPU's die, or, where the GPU was seen, those for dies whose steps taught the weights,
fitted on these same families.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from surfer_lab.engine.learned.efficiency import has_efficiency_without, read_efficiency
from surfer_lab.engine.learned.facts import Fact
from surfer_lab.engine.learned.routing import learned_groups
from surfer_lab.engine.ranges import ALL_DIES, LEVELS, range_sets
from surfer_lab.errors import OptionError
from surfer_lab.hardware.catalog import Catalog, load_catalog
from surfer_lab.training.evaluate.cases import Case, Cell, Evaluation, Table, range_table, stats_by, stats_of
from surfer_lab.training.evaluate.plain_roofline import constants_of_others
from surfer_lab.training.evaluate.protocol import Protocol, protocol_named
from surfer_lab.training.timm_table.rows import TABLE, compiled_beside_eager, gains_of
from surfer_lab.training.timm_table.store import cache_folder

if TYPE_CHECKING:
    from surfer_lab.training.fit.step_protocols import StepRows  # torch is loaded only where steps are judged

__all__ = ["evaluate_timm_steps", "held_out_timm"]

F64 = NDArray[np.float64]
Progress = Callable[[str, int, int], None]

WAYS: Final = {
    "families": "learned, families held out, the GPU seen",
    "architectures": "learned, half of the architectures held out",
    "GPU": "learned, the GPU held out",
}
ROOFLINE: Final = "roofline calibrated by family, summed"
# a constant is a table's where the GPU was seen, else one of the other GPU's rows of the same mode and compiler
CONSTANTS: Final = {
    "families": "plain roofline, one constant a table, families held out",
    "architectures": "plain roofline, one constant a table, half of the architectures held out",
    "GPU": "plain roofline, one constant, the GPU held out",
}
GAIN: Final = "compile gain: learned, families held out"
CONSTANT: Final = "compile gain: a constant of the other families"
GAIN_MEASURED: Final = "gain_measured"
GAIN_PREDICTED: Final = "gain_predicted"
_MS_A_SECOND: Final = 1e3
CARRIED: Final = ("layout", "torch", "cuda", "arch", "img_size", "params_m", "gmacs", "macts")


def evaluate_timm_steps(
    data: Path,
    *,
    protocol: Protocol | str = Protocol.HELD_OUT,
    cache: Path | None = None,
    sample: int | None = None,
    workers: int = 1,
    progress: Progress | None = None,
    catalog: Catalog | None = None,
) -> Evaluation:
    """The held-out part of `evaluate_timm` alone, of all rows: minutes, where the steps' items are at hand."""
    split = protocol_named(protocol) if isinstance(protocol, str) else protocol
    cases, tables = held_out_timm(
        data, cache or cache_folder(), catalog or load_catalog(), protocol=split, sample=sample, workers=workers,
        progress=progress,
    )  # fmt: skip
    if not cases:
        raise OptionError(
            "no step of timm's networks is captured, or no weights are shipped that left something out",
            remedy="surfer train --data DIR --make-table, then this again",
        )
    return Evaluation(name="timm-steps", cases=tuple(cases), tables=tables, facts={"protocol": split.value})


def held_out_timm(
    data: Path, cache: Path, catalog: Catalog, *, protocol: Protocol, sample: int | None = None, workers: int = 1,
    progress: Progress | None = None,
) -> tuple[list[Case], tuple[Table, ...]]:  # fmt: skip
    """Cases and tables; none where no step is captured, or no weights are shipped and none are to be fitted."""
    from surfer_lab.training.fit.deepbench import single_ops
    from surfer_lab.training.fit.efficiency_fit import StepFitSettings, roofline_efficiency, steps_ms
    from surfer_lab.training.fit.step_protocols import HeldOut, held_out_steps, parts_of, step_rows
    from surfer_lab.training.fit.step_table import collect_steps, table_path
    from surfer_lab.training.fit.train_steps import FILES, routed_groups, routed_ms
    from surfer_lab.training.timm_table.rows import read_rows

    if protocol is not Protocol.LOGO and not has_efficiency_without("fold0"):
        return [], ()
    if sample is not None and not table_path(read_rows(data).reset_index(drop=True), cache).is_file():
        return [], ()  # a table of some networks only would be kept as if it were whole
    rows, table = collect_steps(data, cache, workers=workers, progress=progress)
    if not (table.step >= 0).any():
        return [], ()
    steps = step_rows(rows, table, catalog)
    predicted: dict[str, F64] = {}
    if protocol is Protocol.LOGO:
        told = None if progress is None else lambda what: progress(what, 0, 1)
        taught = step_rows(rows, table, catalog, single_ops(data, catalog))
        ways = held_out_steps(taught, StepFitSettings(), progress=told)
        routed = routed_groups(taught, ways[2])
        predicted = {way.name: routed_ms(taught, way, routed) for way in ways}
    else:
        for name, parts in parts_of(steps):
            weights = {str(part): read_efficiency(FILES[name].format(part)) for part in sorted(set(parts.tolist()))}
            way = HeldOut(name=name, weights=weights, part=parts, predicted_ms=np.full(len(steps), np.nan))
            predicted[name] = routed_ms(steps, way, learned_groups())
    first = steps.evidence.terms[0]
    plain = roofline_efficiency(first.of_item.shape[1], first.of_pair.shape[2])
    predicted_by_method = {WAYS[name]: times for name, times in predicted.items()}
    predicted_by_method[ROOFLINE] = steps_ms(plain, steps.evidence, np.arange(len(steps)))
    predicted_by_method |= _with_constants(steps)
    chosen = _chosen(steps.rows, sample)
    dies = [steps.evidence.gpus[int(at)].die for at in steps.evidence.gpu]
    cases = [
        case
        for method, times in predicted_by_method.items()
        for case in _cases(steps.rows, method, times, dies, chosen)
    ]
    gains = _gain_cases(steps, chosen, predicted["families"])
    return [*cases, *gains], (
        stats_by(
            cases, title="timm: a step summed over its items, held out",
            by=lambda case: (
                case.method, case.gpu, case.mode, case.columns["layout"], case.columns["torch"], case.compile
            ),
            names=("method", *TABLE),
        ),
        _needed_table([case for case in cases if case.method in WAYS.values()]),
        range_table("timm: ranges of a step", [case for case in cases if case.method in WAYS.values()]),
        *([_gain_table(gains)] if gains else []),
    )  # fmt: skip


def _with_constants(steps: StepRows) -> dict[str, F64]:
    """A plain roofline's steps, (rows,), times the constant that rows apart have; by the names of `CONSTANTS`."""
    from surfer_lab.training.fit.step_protocols import parts_of

    plain = _plain_roofline_ms(steps)
    ratios = steps.rows["step_ms"].to_numpy(dtype=np.float64) / plain
    found = {}
    for way, parts in parts_of(steps):
        columns = ["mode", "compile"] if way == "GPU" else list(TABLE)
        constants = np.full(len(steps), np.nan)
        for rows in steps.rows.groupby(columns, sort=False).indices.values():
            constants[rows] = constants_of_others(ratios[rows], parts[rows].tolist())
        alone = np.isnan(constants)  # no other GPU ran this mode compiled: any row of its
        constants[alone] = constants_of_others(ratios, parts.tolist())[alone]
        found[CONSTANTS[way]] = plain * constants
    return found


def _plain_roofline_ms(steps: StepRows) -> F64:
    """The larger of arithmetic and memory time of each item at the sustained rates, summed, (rows,)."""
    evidence, found = steps.evidence, np.empty(len(steps))
    table = evidence.table
    for at, (gpu, terms) in enumerate(zip(evidence.gpus, evidence.terms, strict=True)):
        own = np.flatnonzero(evidence.gpu == at)
        items, place = table.items_of(evidence.step[own])
        moved_ms = table.facts[items, Fact.MOVED_BYTES] / gpu.sustained_bandwidth.per_s * _MS_A_SECOND
        times = np.maximum(terms.compute_ms[0, items], moved_ms) * table.count[items]
        found[own] = np.bincount(place, weights=times, minlength=len(own))
    return found


def _needed_table(cases: list[Case]) -> Table:
    """Half-widths that hold 80 and 90 % of cases: pooled, of the worse GPU as the ranges take it, and of some rows."""
    some: dict[str, Callable[[Case], bool]] = {
        "all rows": lambda case: True,
        "eager": lambda case: case.compile == "none",
        "eager, NCHW": lambda case: case.compile == "none" and case.columns["layout"] == "NCHW",
        "compiled": lambda case: case.compile != "none",
    }
    found: list[tuple[Cell, ...]] = []
    for method in dict.fromkeys(case.method for case in cases):
        for name, is_one in some.items():
            by_gpu: dict[str, list[float]] = {}
            for case in cases:
                if case.method == method and case.is_predicted and is_one(case):
                    by_gpu.setdefault(str(case.gpu), []).append(abs(math.log1p(case.error)))
            pooled = [size for sizes in by_gpu.values() for size in sizes]
            if pooled:
                widths = [
                    round(100.0 * math.expm1(value), 1)
                    for level in LEVELS
                    for value in (
                        float(np.quantile(pooled, level)),
                        max(float(np.quantile(sizes, level)) for sizes in by_gpu.values()),
                    )
                ]
                found.append((method, name, len(pooled), *widths))
    return Table(
        title="timm: how wide ranges must be",
        columns=("method", "rows", "cases", "80 %: pooled", "worse GPU", "90 %: pooled", "worse GPU at 90"),
        rows=tuple(found),
        notes=(
            "aimed at were +-12 % for 80 % and +-16 % for 90 % of cases; tried: rows pooled, the worse GPU as ranges "
            "are made, kinds of rows apart",
        ),
    )  # fmt: skip


def _chosen(rows: pd.DataFrame, sample: int | None) -> NDArray[np.int64]:
    archs = sorted(rows["arch"].unique())
    if sample is None or sample >= len(archs):
        return np.arange(len(rows))
    some = [archs[at] for at in np.linspace(0, len(archs) - 1, sample).round().astype(int)]
    return np.flatnonzero(rows["arch"].isin(some).to_numpy())


def _cases(rows: pd.DataFrame, method: str, times_ms: F64, dies: list[str], chosen: NDArray[np.int64]) -> list[Case]:
    found = []
    sets = range_sets()["sets"]
    records: list[dict[str, Any]] = rows.iloc[chosen].to_dict("records")  # type: ignore[assignment]  # keys are names
    for at, row in zip(chosen.tolist(), records, strict=True):
        time = float(times_ms[at])
        unseen = method == WAYS["GPU"]
        of_steps = (sets.get(dies[at], sets[ALL_DIES]) if unseen else sets[ALL_DIES])["steps"]
        narrow, wide = of_steps["matrix" if unseen else "matrix seen"]
        known = math.isfinite(time) and method in WAYS.values()
        columns: dict[str, Cell] = {name: _cell(row[name]) for name in CARRIED if name in row}
        if known:
            columns |= {"low90_ms": time / wide, "high90_ms": time * wide}
        found.append(
            Case(
                gpu=str(row["gpu"]), model=str(row["model"]), mode=str(row["mode"]), batch=int(row["batch"]),
                precision=str(row["precision"]), compile=str(row["compile"]), method=method,
                predicted_ms=time if math.isfinite(time) else None, low_ms=time / narrow if known else None,
                high_ms=time * narrow if known else None, measured_ms=float(row["step_ms"]),
                reason="" if math.isfinite(time) else "nothing is left to fit to", columns=columns,
            )
        )  # fmt: skip
    return found


def _cell(value: Any) -> Cell:
    if isinstance(value, str) or value is None:
        return value
    number = float(value)
    return number if math.isfinite(number) else None


def _gain_cases(steps: StepRows, chosen: NDArray[np.int64], predicted_ms: F64) -> list[Case]:
    """Of compiled rows with an eager one: the compiled step by the predicted gain from the measured eager one.

    Both gains, per image, stand in the columns. The constant is the median of the other families' gains of the table.
    """
    pairs = compiled_beside_eager(steps.rows.assign(predicted=predicted_ms, family=steps.family).iloc[chosen])
    if pairs.empty:
        return []
    measured, said = gains_of(pairs)
    eager_ms = measured * pairs["step_ms"].to_numpy(dtype=np.float64)  # as if eager ran the compiled row's batch
    constant = np.full(len(pairs), np.nan)
    for rows in pairs.groupby(["gpu", "torch"], sort=False).indices.values():
        families = pairs["family"].to_numpy()[rows].tolist()
        constant[rows] = constants_of_others(measured[rows], families)
    records: list[dict[str, Any]] = pairs.to_dict("records")  # type: ignore[assignment]  # keys are names
    found = []
    for at, row in enumerate(records):
        for method, gain in ((GAIN, said[at]), (CONSTANT, constant[at])):
            known = math.isfinite(gain)
            columns: dict[str, Cell] = {name: _cell(row[name]) for name in CARRIED if name in row}
            columns |= {GAIN_MEASURED: float(measured[at]), GAIN_PREDICTED: float(gain) if known else None}
            found.append(
                Case(
                    gpu=str(row["gpu"]), origin_gpu=str(row["gpu"]), model=str(row["model"]), mode=str(row["mode"]),
                    batch=int(row["batch"]), precision=str(row["precision"]), compile=str(row["compile"]),
                    method=method, predicted_ms=float(eager_ms[at] / gain) if known else None,
                    measured_ms=float(row["step_ms"]), reason="" if known else "no other family", columns=columns,
                )
            )  # fmt: skip
    return found


def _gain_table(cases: list[Case]) -> Table:
    """Errors of the gain itself, and whether a larger predicted one is a larger one."""
    groups: dict[tuple[str, str, str], list[Case]] = {}
    for case in cases:
        if not case.reason:
            groups.setdefault((str(case.gpu), str(case.columns["torch"]), case.method), []).append(case)
    rows: list[tuple[Cell, ...]] = []
    for (gpu, torch_version, method), own in sorted(groups.items(), key=lambda one: one[0][:2]):
        gains = pd.DataFrame(
            {name: [float(case.columns[name] or math.nan) for case in own] for name in (GAIN_PREDICTED, GAIN_MEASURED)}
        )
        said, measured = (gains[name].to_numpy(dtype=np.float64) for name in gains)
        ranked = method == GAIN and len(own) > 2
        rank = round(float(np.corrcoef(gains.rank().to_numpy().T)[0, 1]), 2) if ranked else None
        rows.append((method, gpu, torch_version, *stats_of(said, measured).cells()[:4], rank))
    return Table(
        title="timm: gain of torch.compile, learned, families held out",
        columns=("method", "gpu", "torch", "cases", "mean %", "median %", "worst %", "rank correlation"),
        rows=tuple(rows),
        notes=("the gain is the eager over the compiled step, per image; a constant is the other families' median",),
    )

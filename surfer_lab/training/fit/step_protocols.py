"""How well are steps predicted that a fit never saw? Families held out, architectures held out, a GPU held out.

| held out | fitted to | judged on |
|---|---|---|
| families of networks, five folds | all rows of the other families, on both GPUs | every row |
| half of the architectures, siblings seen, both ways | all rows of the other half | every row |
| a GPU's die | the rows of the other GPU | its rows |

Single operations in half precision (`deepbench`) join every fit, but that without their own die, by which they are
judged.

Errors are of the sum over a step's items; no constant is fitted to a table. For compiled rows also the gain: the eager
step over the compiled one of the same network, per image, each predicted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from surfer_lab.engine.learned.efficiency import Efficiency
from surfer_lab.hardware.catalog import Catalog
from surfer_lab.training.fit.deepbench import SingleOps
from surfer_lab.training.fit.efficiency_fit import Evidence, StepFitSettings, evidence_of, fit_efficiency, steps_ms
from surfer_lab.training.fit.step_table import StepTable
from surfer_lab.training.timm_table.rows import TABLE, compiled_beside_eager, gains_of

__all__ = [
    "GPU", "HeldOut", "StepRows", "balanced", "fitted", "fitted_parts", "gain_figures", "held_out_steps", "parts_of",
    "single_figures", "step_figures", "step_rows",
]  # fmt: skip

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
Progress = Callable[[str], None]

FOLDS: Final = 5
GPU: Final = "GPU"  # the way that leaves out dies
# training rows are the only evidence of backward passes, and a tenth of all: they count as four tenths
_SHARE_OF_MODE: Final = {"train": 0.4, "infer": 0.6}
# chosen on held-out figures: GPUs held out, of timm and of single operations; 0 and 0.1 were tried beside it
_SHARE_OF_SINGLE: Final = 0.2
_DECIMALS: Final = 2


@dataclass(frozen=True, kw_only=True, eq=False)
class StepRows:
    """Rows with a captured step on a GPU of the catalogue, as a fit takes them.

    `evidence` holds single operations behind them, each a step of one item: `single_names`.
    """

    rows: pd.DataFrame
    family: NDArray[Any]
    evidence: Evidence
    single_names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def dies(self) -> NDArray[Any]:
        """Of rows and single operations, in the order of the evidence."""
        return np.array([gpu.die for gpu in self.evidence.gpus])[self.evidence.gpu]

    @property
    def singles(self) -> I64:
        """Where the evidence holds single operations."""
        return np.arange(len(self.rows), len(self.evidence))


@dataclass(frozen=True, kw_only=True, eq=False)
class HeldOut:
    """One way of holding out: the weights by name, and what they say of the rows that they never saw (nan: none)."""

    name: str
    weights: dict[str, Efficiency]
    part: NDArray[Any]  # of each row: whose weights never saw it
    predicted_ms: F64


def step_rows(rows: pd.DataFrame, table: StepTable, catalog: Catalog, singles: SingleOps | None = None) -> StepRows:
    """The rows that can be fitted, in the table's order, and single operations behind them."""
    spelled = {str(name): catalog.find_spelling("timm", str(name)) for name in rows["gpu"].unique()}
    known = {name: gpu for name, gpu in sorted(spelled.items()) if gpu is not None}
    place = {name: at for at, name in enumerate(known)}
    usable = np.flatnonzero((table.step >= 0) & rows["gpu"].isin(list(known)).to_numpy())
    kept = rows.iloc[usable].reset_index(drop=True)
    step, gpus = table.step[usable], tuple(known.values())
    gpu = np.array([place[str(name)] for name in kept["gpu"]], dtype=np.int64)
    measured = kept["step_ms"].to_numpy(dtype=np.float64)
    if singles is not None:
        first = len(table.start) - 1
        step = np.concatenate([step, first + np.arange(len(singles))])
        gpu, gpus = np.concatenate([gpu, len(gpus) + singles.gpu]), (*gpus, *singles.gpus)
        measured = np.concatenate([measured, singles.measured_ms])
        table = _with_singles(table, singles)
    return StepRows(
        rows=kept,
        family=np.array(table.family)[usable],
        evidence=evidence_of(table, gpus, step, gpu, measured),
        single_names=() if singles is None else singles.name,
    )


def _with_singles(table: StepTable, singles: SingleOps) -> StepTable:
    """The steps, and behind them a step of each single operation."""
    return StepTable(
        facts=np.concatenate([table.facts, singles.facts]),
        count=np.concatenate([table.count, np.ones(len(singles))]),
        start=np.concatenate([table.start, table.start[-1] + 1 + np.arange(len(singles))]),
        step=table.step,
        family=table.family,
    )


def fitted(steps: StepRows, seen: I64, without_die: str, settings: StepFitSettings) -> Efficiency:
    """The efficiencies of some rows, and of the single operations that were not measured on a die."""
    own = steps.singles[steps.dies[steps.singles] != without_die]
    weight = balanced(steps.rows.iloc[seen])
    if len(own):
        weight = np.concatenate([(1 - _SHARE_OF_SINGLE) * weight, np.full(len(own), _SHARE_OF_SINGLE / len(own))])
    return fit_efficiency(steps.evidence, np.concatenate([seen, own]), weight, settings)


def balanced(rows: pd.DataFrame) -> F64:
    """How often each row is drawn: modes by `_SHARE_OF_MODE`, tables of a mode alike."""
    keys = [tuple(key) for key in rows[list(TABLE)].to_numpy().tolist()]
    sizes, tables = Counter(keys), Counter(key[1] for key in set(keys))
    weight = np.array([_SHARE_OF_MODE.get(str(key[1]), 0.1) / tables[key[1]] / sizes[key] for key in keys])
    normal: F64 = weight / weight.sum()
    return normal


def parts_of(steps: StepRows) -> tuple[tuple[str, NDArray[Any]], ...]:
    """The part of each row by the three ways of the module's docstring, in its order."""
    archs = np.array([str(name) for name in steps.rows["arch"]])
    return ("families", _folds(steps.family)), ("architectures", _halves(archs)), (GPU, steps.dies[: len(steps)])


def fitted_parts(steps: StepRows, name: str, part: NDArray[Any]) -> list[Any]:
    """The parts that a way leaves out, one after the other: for GPUs, also the dies of single operations."""
    return sorted({*part.tolist(), *(steps.dies[steps.singles].tolist() if name == GPU else ())})


def held_out_steps(
    steps: StepRows, settings: StepFitSettings, *, progress: Progress | None = None
) -> tuple[HeldOut, HeldOut, HeldOut]:
    """The three ways of the module's docstring, in its order."""
    found = []
    for name, parts in parts_of(steps):
        predicted = np.full(len(steps), np.nan)
        weights = {}
        for part in fitted_parts(steps, name, parts):
            if progress is not None:
                progress(f"steps without {name} {part}")
            seen, held = np.flatnonzero(parts != part), np.flatnonzero(parts == part)
            if not len(seen):
                continue
            weights[str(part)] = fitted(steps, seen, str(part) if name == GPU else "", settings)
            predicted[held] = steps_ms(weights[str(part)], steps.evidence, held)
        found.append(HeldOut(name=name, weights=weights, part=parts, predicted_ms=predicted))
    return found[0], found[1], found[2]


def _folds(groups: NDArray[Any]) -> NDArray[Any]:
    """Groups by falling size, each to the fold that has fewest rows so far."""
    sizes = Counter(groups.tolist())
    filled = [0] * FOLDS
    fold: dict[str, int] = {}
    for group in sorted(sizes, key=lambda name: (-sizes[name], name)):
        fold[group] = filled.index(min(filled))
        filled[fold[group]] += sizes[group]
    return np.array([fold[group] for group in groups.tolist()])


def _halves(archs: NDArray[Any]) -> NDArray[Any]:
    """Every second architecture by name: neighbours of one family fall on both sides."""
    place = {arch: at % 2 for at, arch in enumerate(sorted(set(archs.tolist())))}
    return np.array([place[arch] for arch in archs.tolist()])


def step_figures(rows: pd.DataFrame, predicted_ms: F64) -> list[dict[str, Any]]:
    """|error| in percent by table of measurements."""
    error = 100.0 * (predicted_ms / rows["step_ms"].to_numpy(dtype=np.float64) - 1.0)
    known = np.isfinite(error)
    found = []
    frame = rows[list(TABLE)].assign(error=error)[known]
    for key, group in frame.groupby(list(TABLE), sort=True):
        size = group["error"].abs()
        found.append(
            {
                **dict(zip(TABLE, (str(one) for one in key), strict=True)), "cases": len(group),
                "mean_percent": _short(size.mean()), "median_percent": _short(size.median()),
                "worst_percent": _short(size.max()), "bias_percent": _short(group["error"].median()),
            }
        )  # fmt: skip
    return found


def single_figures(steps: StepRows, without: dict[str, Efficiency], plain: Efficiency) -> list[dict[str, Any]]:
    """|error| in percent of single operations by weights that never saw their die, and by the calibrated roofline."""
    names, dies = np.array(steps.single_names), steps.dies[steps.singles]
    found = []
    for die, weights in without.items():
        for name in sorted(set(names[dies == die].tolist())):
            own = steps.singles[(dies == die) & (names == name)]
            measured = steps.evidence.measured_ms[own]
            signed = 100.0 * (steps_ms(weights, steps.evidence, own) / measured - 1.0)
            learned, roofline = np.abs(signed), 100.0 * np.abs(steps_ms(plain, steps.evidence, own) / measured - 1.0)
            found.append(
                {
                    "die": die, "operation": name, "cases": len(own), "mean_percent": _short(learned.mean()),
                    "median_percent": _short(np.median(learned)), "bias_percent": _short(np.median(signed)),
                    "roofline_mean_percent": _short(roofline.mean()),
                    "roofline_median_percent": _short(np.median(roofline)), "won": _short(np.mean(learned < roofline)),
                }
            )  # fmt: skip
    return found


def gain_figures(rows: pd.DataFrame, predicted_ms: F64) -> list[dict[str, Any]]:
    """Of the compile gain: |error| in percent, the rank correlation, and the compiled step itself."""
    pairs = compiled_beside_eager(rows.assign(predicted=predicted_ms))
    measured, said = gains_of(pairs)
    found = []
    for torch_version in sorted(pairs["torch"].unique()):
        own = (pairs["torch"] == torch_version).to_numpy()
        found.append({"torch": str(torch_version), **_gain(said[own], measured[own])})
    if len(pairs):
        found.append({"torch": "all", **_gain(said, measured)})
    return found


def _gain(said: F64, measured: F64) -> dict[str, Any]:
    size = 100.0 * np.abs(said / measured - 1.0)
    constant = 100.0 * np.abs(np.median(measured) / measured - 1.0)
    ranks = pd.DataFrame({"said": said, "measured": measured}).rank().to_numpy().T
    return {
        "cases": len(said), "mean_percent": _short(size.mean()), "median_percent": _short(np.median(size)),
        "rank_correlation": _short(np.corrcoef(ranks)[0, 1]) if len(said) > 2 else None,
        "constant_mean_percent": _short(constant.mean()), "constant_median_percent": _short(np.median(constant)),
    }  # fmt: skip


def _short(value: Any) -> float:
    return round(float(value), _DECIMALS)

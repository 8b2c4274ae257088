"""Fit the efficiencies through the sum of timm's steps: the shipped weights, the held-out ones, and their figures.

DeepBench's single operations in half precision join where the data has them.

A group of families is routed to its learned efficiencies where, with a GPU held out, steps come nearer with them than
with that group left on the calibrated roofline: a paired comparison of the same steps, all else learned in both.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.learned.efficiency import Efficiency
from surfer_lab.engine.learned.item_terms import GROUP_OF_FAMILY, Group
from surfer_lab.hardware.catalog import Catalog
from surfer_lab.training.fit.deepbench import single_ops
from surfer_lab.training.fit.efficiency_fit import (
    StepFitSettings,
    roofline_efficiency,
    steps_ms,
)
from surfer_lab.training.fit.step_protocols import (
    HeldOut,
    StepRows,
    fitted,
    gain_figures,
    held_out_steps,
    single_figures,
    step_figures,
    step_rows,
)
from surfer_lab.training.fit.step_table import collect_steps

__all__ = ["FILES", "StepTraining", "entry_of", "routed_groups", "routed_ms", "train_steps"]

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
Progress = Callable[[str, int, int], None]

FILES: Final = {"families": "steps-fold{}", "architectures": "steps-half{}", "GPU": "steps-{}"}
ALL: Final = "steps-all"
_FORM: Final = "T = n t0 + hypot(C/u, M/v), log u and log v by family and layout, and linear in features within 3"
_FITS: Final = 12
_DECIMALS: Final = 2


class StepTraining:
    """Weights by file name, and what the manifest says of them."""

    __slots__ = ("entry", "weights")

    def __init__(self, weights: dict[str, Efficiency], entry: dict[str, Any]) -> None:
        self.weights, self.entry = weights, entry


def train_steps(
    data: Path, cache: Path, catalog: Catalog, *, settings: StepFitSettings | None = None, workers: int = 1,
    progress: Progress | None = None,
) -> StepTraining | None:  # fmt: skip
    """Fit all weights; None where the cache holds no captured step of the benchmark's networks."""
    chosen = settings or StepFitSettings()
    rows, table = collect_steps(data, cache, workers=workers, progress=progress)
    if not (table.step >= 0).any():
        return None
    steps = step_rows(rows, table, catalog, single_ops(data, catalog))
    done = 0

    def told(what: str) -> None:
        nonlocal done
        if progress is not None:
            progress(what, done, _FITS)
        done += 1

    ways = held_out_steps(steps, chosen, progress=told)
    told("steps, all rows")
    weights = {ALL: fitted(steps, np.arange(len(steps)), "", chosen)}
    for way in ways:
        weights.update({FILES[way.name].format(part): one for part, one in way.weights.items()})
    entry = entry_of(rows, steps, ways)
    return StepTraining(weights, {"form": _FORM, "settings": asdict(chosen), **entry})


def entry_of(rows: Any, steps: StepRows, ways: tuple[HeldOut, HeldOut, HeldOut]) -> dict[str, Any]:
    """Figures of held-out steps, as the manifest has them; the ways in the order of `held_out_steps`."""
    plain = steps_ms(_roofline(steps), steps.evidence, np.arange(len(steps)))
    groups = _groups(steps, ways[2])
    routed = [name for name, figures in groups.items() if figures["routed"]]
    times = {way.name: routed_ms(steps, way, routed) for way in ways}
    return {
        "rows": len(steps),
        "left_out": len(rows) - len(steps),
        "held_out": {way.name: step_figures(steps.rows, way.predicted_ms) for way in ways},
        "held_out_as_routed": {name: step_figures(steps.rows, one) for name, one in times.items()},
        "roofline": step_figures(steps.rows, plain),
        "compile_gain": gain_figures(steps.rows, times[ways[0].name]),
        "groups": groups,
        "single_operations": single_figures(steps, ways[2].weights, _roofline(steps)),
    }


def _roofline(steps: StepRows) -> Efficiency:
    first = steps.evidence.terms[0]
    return roofline_efficiency(first.of_item.shape[1], first.of_pair.shape[2])


def as_routed(weights: Efficiency, routed: Collection[str], plain: Efficiency) -> Efficiency:
    """The weights with the groups that are not routed on the calibrated roofline: what the engine says."""
    for group in Group:
        if group.name.lower() not in routed:
            weights = _with_group_of(weights, plain, group)
    return weights


def routed_ms(steps: StepRows, way: HeldOut, routed: Collection[str]) -> F64:
    """Times of a way's held-out rows by its weights as routed, ms, (rows,); nan where none was fitted."""
    plain, found = _roofline(steps), np.full(len(steps), np.nan)
    for part, weights in way.weights.items():
        held = np.flatnonzero(way.part.astype(str) == part)
        found[held] = steps_ms(as_routed(weights, routed, plain), steps.evidence, held)
    return found


def routed_groups(steps: StepRows, gpus_held_out: HeldOut) -> frozenset[str]:
    """Names of the groups that came nearer learned than on the calibrated roofline, with a GPU held out."""
    return frozenset(name for name, figures in _groups(steps, gpus_held_out).items() if figures["routed"])


def _groups(steps: StepRows, held_out: HeldOut) -> dict[str, Any]:
    """For each group: errors on GPUs held out, eager rows, with it learned and with it on the roofline."""
    eager = (steps.rows["compile"] == "none").to_numpy()
    dies = steps.dies[: len(steps)]
    plain, measured = _roofline(steps), steps.evidence.measured_ms[: len(steps)]
    found = {}
    for group in Group:
        learned, without = np.full(len(steps), np.nan), np.full(len(steps), np.nan)
        for die, weights in held_out.weights.items():
            held = np.flatnonzero((dies == die) & eager)
            learned[held] = held_out.predicted_ms[held]
            without[held] = steps_ms(_with_group_of(weights, plain, group), steps.evidence, held)
        # steps in which the group weighs nothing say nothing of it
        told = np.isfinite(learned) & (np.abs(np.log(without / learned)) > _WEIGHS)
        ours, theirs = (100.0 * np.abs(one[told] / measured[told] - 1.0) for one in (learned, without))
        won = float(np.mean(ours < theirs)) if told.any() else 0.0
        found[group.name.lower()] = {
            "routed": bool(told.any() and np.median(ours) < np.median(theirs) and won > _WON_SHARE),
            "cases": int(told.sum()),
            "learned_mean_percent": _short(ours), "roofline_mean_percent": _short(theirs),
            "learned_median_percent": _middle(ours), "roofline_median_percent": _middle(theirs),
            "won": round(won, _DECIMALS),
        }  # fmt: skip
    return found


_WEIGHS: Final = 0.01
_WON_SHARE: Final = 0.5


def _with_group_of(weights: Efficiency, other: Efficiency, group: Group) -> Efficiency:
    """The weights, but a group's of another's."""
    families = group == GROUP_OF_FAMILY
    parts = {}
    for name in ("bias", "of_item", "of_pair"):
        column = getattr(weights, name).copy()
        column[group] = getattr(other, name)[group]
        parts[name] = column
    base = weights.base.copy()
    base[families] = other.base[families]
    return replace(weights, base=base, **parts)


def _short(errors: F64) -> float | None:
    return round(float(errors.mean()), _DECIMALS) if len(errors) else None


def _middle(errors: F64) -> float | None:
    return round(float(np.median(errors)), _DECIMALS) if len(errors) else None

"""Are a folder's held-out figures what its weights reach? Worked out again from the weights and the measured data.

Nothing is taken from a manifest: each timing and each step is predicted by the weights that never saw its die, family
or architecture, and errors are counted anew. `differences` puts such figures beside a manifest's, or another fit's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from surfer_lab.engine.learned.efficiency import read_efficiency
from surfer_lab.engine.learned.form import LearnedFamily
from surfer_lab.engine.learned.predictor import network
from surfer_lab.engine.learned.weight_files import weights_from
from surfer_lab.hardware.catalog import Catalog, load_catalog
from surfer_lab.training.fit.deepbench import single_ops
from surfer_lab.training.fit.efficiency_fit import steps_ms
from surfer_lab.training.fit.micro_benchmarks import TABLES, read_timings
from surfer_lab.training.fit.step_protocols import HeldOut, fitted_parts, parts_of, step_rows
from surfer_lab.training.fit.step_table import collect_steps
from surfer_lab.training.fit.train import held_out_figures, predicted_without_each_die
from surfer_lab.training.fit.train_steps import FILES, entry_of

__all__ = ["Difference", "differences", "files_that_differ", "reproduced_figures"]


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A figure of two sources; None where one of them lacks it."""

    name: str  # "families/conv/held_out/learned_median_percent"
    stated: float | None
    found: float | None

    @property
    def size(self) -> float:
        """Of the difference; infinite where one lacks it."""
        return abs(self.stated - self.found) if self.stated is not None and self.found is not None else float("inf")


def reproduced_figures(
    weights: Path, data: Path, cache: Path | None, *, catalog: Catalog | None = None
) -> dict[str, Any]:
    """The held-out figures of the weights in a folder, in the manifest's layout: `families`, and `steps` with `cache`.

    Of `families`: those whose table the data has.
    """
    cards = catalog or load_catalog()
    with weights_from(weights):
        found: dict[str, Any] = {"families": {}}
        for family in LearnedFamily:
            if not (data / "kernels" / f"{TABLES[family][0]}.parquet").is_file():
                continue
            timings = read_timings(data, family, cards)
            alone = predicted_without_each_die(timings, {die: network(family, die) for die in timings.dies})
            found["families"][family.value] = {"held_out": held_out_figures(timings, alone)}
        steps = None if cache is None else _of_steps(data, cache, cards)
        return found if steps is None else {**found, "steps": steps}


def _of_steps(data: Path, cache: Path, catalog: Catalog) -> dict[str, Any] | None:
    if not (data / "timm" / "bench.csv").is_file():
        return None
    rows, table = collect_steps(data, cache)
    if not (table.step >= 0).any():
        return None
    steps = step_rows(rows, table, catalog, single_ops(data, catalog))
    ways = []
    for name, part in parts_of(steps):
        weights = {str(one): read_efficiency(FILES[name].format(one)) for one in fitted_parts(steps, name, part)}
        predicted = np.full(len(steps), np.nan)
        for one, of_part in weights.items():
            held = np.flatnonzero(part.astype(str) == one)
            predicted[held] = steps_ms(of_part, steps.evidence, held)
        ways.append(HeldOut(name=name, weights=weights, part=part, predicted_ms=predicted))
    return entry_of(rows, steps, (ways[0], ways[1], ways[2]))


def differences(stated: dict[str, Any], found: dict[str, Any]) -> list[Difference]:
    """Every figure of held-out rows in `found`, beside what a manifest or another fit states."""
    there = dict(_figures(_held_out(stated)))
    here = dict(_figures(_held_out(found)))
    return [Difference(name=name, stated=there.get(name), found=here.get(name)) for name in {**there, **here}]


def _held_out(manifest: dict[str, Any]) -> dict[str, Any]:
    """What of a manifest counts errors: of settings, ranges and hashes, nothing."""
    steps = {name: value for name, value in manifest.get("steps", {}).items() if name not in ("form", "settings")}
    families = {name: {"held_out": entry["held_out"]} for name, entry in manifest["families"].items()}
    return {"families": families, "steps": steps}


def _figures(value: Any, name: str = "") -> Iterator[tuple[str, float]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _figures(inner, f"{name}/{key}" if name else str(key))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _figures(inner, f"{name}/{place}")
    elif isinstance(value, (int, float)):
        yield name, float(value)


def files_that_differ(one: Path, other: Path) -> list[str]:
    """Names of weights and manifest that are not in both folders with the same bytes."""
    names = {file.name for folder in (one, other) for file in folder.iterdir() if file.suffix in (".npz", ".json")}
    return sorted(name for name in names if _bytes(one / name) != _bytes(other / name))


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None

"""Which families does the engine predict by a learned network, and why? Decided by held-out figures in the manifest.

A family is routed to its network only where, on dies that the network never saw, it beat the roofline calibrated by
family in a paired comparison (the same cases, the same harness floor, the same sustained rates).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from surfer_lab.engine.learned.form import LearnedFamily
from surfer_lab.engine.learned.weight_files import weight_folder

__all__ = ["Route", "learned_groups", "manifest", "routes"]


@dataclass(frozen=True, kw_only=True)
class Route:
    """Errors: medians of |error| in percent on held-out dies; `won`: the share of cases nearer than the roofline."""

    family: LearnedFamily
    learned: bool
    learned_error: float
    roofline_error: float
    won: float
    cases: int

    @property
    def why(self) -> str:
        """One sentence for a person."""
        verdict = "learned" if self.learned else "roofline"
        return (
            f"{self.family.value}: {verdict}; median error on dies held out {self.learned_error:.1f} % against "
            f"{self.roofline_error:.1f} % of the roofline, nearer in {self.won:.0%} of {self.cases:,} cases"
        )


def manifest() -> dict[str, Any]:
    """The manifest of the weights in use: features, units, ranges, data hashes, held-out errors."""
    return _read(weight_folder())


@cache
def _read(folder: Path) -> dict[str, Any]:
    stored: dict[str, Any] = orjson.loads((folder / "manifest.json").read_bytes())
    return stored


def routes() -> dict[LearnedFamily, Route]:
    """The routing table, a route a family."""
    found = {}
    for name, entry in manifest()["families"].items():
        held_out, family = entry["held_out"], LearnedFamily(name)
        found[family] = Route(
            family=family,
            learned=bool(entry["routed"]),
            learned_error=float(held_out["learned_median_percent"]),
            roofline_error=float(held_out["roofline_median_percent"]),
            won=float(held_out["won"]),
            cases=int(held_out["cases"]),
        )
    return found


def learned_groups() -> frozenset[str]:
    """Groups of families (`item_terms.Group`, by name) whose work on matrix units and in memory is learned from steps.

    A group is among them where, on a GPU held out, steps came nearer with its learned efficiencies than with the
    calibrated roofline's in their place.
    """
    groups = manifest().get("steps", {}).get("groups", {})
    return frozenset(name for name, figures in groups.items() if figures["routed"])

"""Which families does the engine predict by a learned network, and why? Decided by held-out figures in the manifest.

A family is routed to its network only where, on dies that the network never saw, it beat the roofline calibrated by
family in a paired comparison (the same cases, the same harness floor, the same sustained rates).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import orjson

from surfer_lab.engine.learned.form import LearnedFamily

__all__ = ["Route", "manifest", "routes"]


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


@cache
def manifest() -> dict[str, Any]:
    """The shipped weights' manifest: features, units, ranges, data hashes, held-out errors."""
    stored: dict[str, Any] = orjson.loads((files(__package__) / "weights" / "manifest.json").read_bytes())
    return stored


@cache
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

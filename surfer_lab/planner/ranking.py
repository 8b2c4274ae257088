"""Which GPU is fastest, which cheapest for the work, and which few are worth showing first?

A GPU on which the step is known not to fit is never chosen. Times closer than what a prediction can tell apart count as
equal: then the cheaper one is the fastest worth naming.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from surfer_lab.planner.memory import Fit
from surfer_lab.planner.outcome import Outcome

__all__ = ["cheapest", "equally_fast", "fastest", "pareto", "shortlist"]

# steps within this fraction of the fastest are one tie: well inside the narrowest range given
TIE_FRACTION: Final = 0.02


def _usable(outcomes: Sequence[Outcome]) -> list[Outcome]:
    return [outcome for outcome in outcomes if outcome.fit is not Fit.DOES_NOT_FIT]


def _cost(outcome: Outcome) -> float:
    return float("inf") if outcome.usd_per_1000_steps is None else outcome.usd_per_1000_steps


def equally_fast(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """All usable outcomes within 2 % of the least step time, the cheapest first."""
    usable = _usable(outcomes)
    if not usable:
        return []
    least = min(outcome.step_ns for outcome in usable)
    tied = [outcome for outcome in usable if outcome.step_ns <= least * (1 + TIE_FRACTION)]
    return sorted(tied, key=lambda outcome: (_cost(outcome), outcome.step_ns, outcome.gpu.name))


def fastest(outcomes: Sequence[Outcome]) -> Outcome | None:
    """The least step time; among ties the cheapest. None where nothing fits."""
    return next(iter(equally_fast(outcomes)), None)


def cheapest(outcomes: Sequence[Outcome]) -> Outcome | None:
    """The least USD per 1,000 steps among those with a price; None where none has one or nothing fits."""
    priced = [outcome for outcome in _usable(outcomes) if outcome.usd_per_1000_steps is not None]
    return min(priced, key=lambda outcome: (_cost(outcome), outcome.step_ns), default=None)


def pareto(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Those with a price that no other beats in both time and cost, fastest first."""
    best: list[Outcome] = []
    for outcome in sorted(_usable(outcomes), key=lambda outcome: (outcome.step_ns, _cost(outcome))):
        if outcome.usd_per_1000_steps is not None and (not best or _cost(outcome) < _cost(best[-1])):
            best.append(outcome)
    return best


def shortlist(outcomes: Sequence[Outcome], *, limit: int = 12) -> list[Outcome]:
    """At most `limit`: the origin, the fastest, the cheapest, the Pareto set, then others that can be rented, newest
    first; in order of step time.
    """
    by_year = sorted(
        (outcome for outcome in outcomes if outcome.usd_per_1000_steps is not None),
        key=lambda outcome: (-(outcome.gpu.release_year or 0), outcome.step_ns),
    )
    wanted = [
        *(outcome for outcome in outcomes if outcome.is_origin),
        *filter(None, (fastest(outcomes), cheapest(outcomes))),
        *pareto(outcomes),
        *by_year,
        *sorted(outcomes, key=lambda outcome: outcome.step_ns),
    ]
    chosen = {outcome.gpu.name: outcome for outcome in reversed(wanted)}
    order = dict.fromkeys(outcome.gpu.name for outcome in wanted)
    return sorted((chosen[name] for name in list(order)[:limit]), key=lambda outcome: outcome.step_ns)

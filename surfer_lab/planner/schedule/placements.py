"""What is a schedule, what does it take and cost, and on which GPUs does each job run?

A schedule is made by order (`timed`): each job starts as soon as those are done that it has to wait for. So it can be
told again with other durations (the ends of the predictions' ranges), and no idle time is kept that nothing needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from surfer_lab.planner.schedule.jobs import Job, Mode, Node

__all__ = ["Placement", "Schedule", "timed", "with_gpus"]

_SAME_S = 1e-6  # ends and starts that differ by less are one moment


@dataclass(frozen=True, kw_only=True)
class Placement:
    """A job as placed: `gpus` are (node, GPU of it) by their places in the schedule's nodes."""

    job: Job
    mode: Mode
    start_s: float
    nodes: tuple[int, ...]
    gpus: tuple[tuple[int, int], ...] = ()

    @property
    def end_s(self) -> float:
        """Seconds from the begin."""
        return self.start_s + self.mode.duration_s

    @property
    def gpu_hours(self) -> float:
        """Hours of all its GPUs together."""
        return self.mode.gpu_count * self.mode.duration_s / 3600.0

    @property
    def late_s(self) -> float:
        """By how much it ends after its deadline."""
        late = 0.0 if self.job.deadline_s is None else max(0.0, self.end_s - self.job.deadline_s)
        return late if late > _SAME_S else 0.0


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """All jobs placed, by start."""

    nodes: tuple[Node, ...]
    placements: tuple[Placement, ...]

    @property
    def makespan_s(self) -> float:
        """When the last job ends."""
        return max((one.end_s for one in self.placements), default=0.0)

    @property
    def gpu_hours(self) -> float:
        """Hours of all GPUs in use."""
        return sum(one.gpu_hours for one in self.placements)

    @property
    def usd(self) -> float | None:
        """Paid by the hours that GPUs are in use; None where one of them has no price."""
        prices = self._prices()
        used = [(one, prices.get(one.mode.machine)) for one in self.placements]
        if any(price is None for _, price in used):
            return None
        return sum(one.gpu_hours * (price or 0.0) for one, price in used)

    @property
    def held_usd(self) -> float | None:
        """Paid for all GPUs of the machines that are used, until the last job on each ends."""
        prices, total = self._prices(), 0.0
        for machine in {one.mode.machine for one in self.placements}:
            price = prices.get(machine)
            if price is None:
                return None
            last = max(one.end_s for one in self.placements if one.mode.machine == machine)
            total += price * last / 3600.0 * sum(node.gpu_count for node in self.nodes if node.machine == machine)
        return total

    @property
    def busy_fraction(self) -> float:
        """Share of all GPUs' time until the last end that is used."""
        whole = self.makespan_s / 3600.0 * sum(node.gpu_count for node in self.nodes)
        return self.gpu_hours / whole if whole > 0 else 0.0

    def at_ends(self) -> tuple[float, float]:
        """The makespan with all durations at their low, and at their high ends, the order kept."""
        return timed(self, lambda one: one.mode.low_s).makespan_s, self.at_high().makespan_s

    def at_high(self) -> Schedule:
        """The same order with all durations at their high ends."""
        return timed(self, lambda one: one.mode.high_s)

    def _prices(self) -> Mapping[str, float | None]:
        return {node.machine: node.usd_per_gpu_hour for node in self.nodes}


def timed(schedule: Schedule, duration_of: Callable[[Placement], float] | None = None) -> Schedule:
    """The same order with every job as early as that allows, by other durations where they are given.

    Jobs that followed one another on a node still do, whatever GPUs they had: those that now run together ran together
    at some moment before, and fitted.
    """
    begun = sorted(schedule.placements, key=lambda one: (one.start_s, one.job.name))
    ends: dict[str, float] = {}
    moved: list[Placement] = []
    for one in begun:
        duration = one.mode.duration_s if duration_of is None else duration_of(one)
        earlier = [
            ends[other.job.name]
            for other in begun
            if other.job.name in ends
            and (
                other.job.name in one.job.after
                or (set(other.nodes) & set(one.nodes) and other.end_s <= one.start_s + _SAME_S)
            )
        ]
        start = max([one.job.release_s, *earlier])
        ends[one.job.name] = start + duration
        moved.append(replace(one, start_s=start, mode=replace(one.mode, duration_s=duration)))
    return replace(schedule, placements=tuple(sorted(moved, key=lambda one: (one.start_s, one.job.name))))


def with_gpus(schedule: Schedule) -> Schedule:
    """Each job given GPUs of its nodes, neighbours where they are free, the lowest otherwise."""
    free_from = [[0.0] * node.gpu_count for node in schedule.nodes]
    given: list[Placement] = []
    for one in sorted(schedule.placements, key=lambda one: (one.start_s, -one.mode.gpu_count, one.job.name)):
        taken: list[tuple[int, int]] = []
        left = one.mode.gpu_count
        for node in one.nodes:
            wanted = min(left, schedule.nodes[node].gpu_count)
            free = [gpu for gpu, since in enumerate(free_from[node]) if since <= one.start_s + _SAME_S]
            chosen = _neighbours(free, wanted)
            for gpu in chosen:
                free_from[node][gpu] = one.end_s
            taken += [(node, gpu) for gpu in chosen]
            left -= wanted
        given.append(replace(one, gpus=tuple(taken)))
    return replace(schedule, placements=tuple(sorted(given, key=lambda one: (one.start_s, one.gpus))))


def _neighbours(free: Sequence[int], count: int) -> list[int]:
    """The first `count` that follow one another, else the first ones.

    >>> _neighbours([0, 2, 3, 4], 2), _neighbours([0, 2, 4], 2)
    ([2, 3], [0, 2])
    """
    for at in range(len(free) - count + 1):
        if free[at + count - 1] - free[at] == count - 1:
            return list(free[at : at + count])
    return list(free[:count])

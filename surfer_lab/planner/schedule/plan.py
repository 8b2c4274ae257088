"""What is the best schedule, how much is it better than what people do by hand, and if there is none, why?

Modes that cannot be are taken out first (memory, deadline by itself), each with its reason, so that a job without any
is named. What the search finds is held against the two schedules made by hand, where they keep the rules: it is never
worse. Where deadlines cannot be held together, the least lateness says which of them and by how much.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from surfer_lab.errors import OptionError, PredictionError
from surfer_lab.planner.schedule.checker import broken_rules
from surfer_lab.planner.schedule.jobs import Job, Mode, Node, checked_jobs
from surfer_lab.planner.schedule.naive import one_after_another, side_by_side
from surfer_lab.planner.schedule.placements import Schedule
from surfer_lab.planner.schedule.solver import Objective, Progress, least_lateness, solve
from surfer_lab.units import BYTES_PER_GB

__all__ = ["Naive", "Objective", "SchedulePlan", "plan_jobs"]


@dataclass(frozen=True, kw_only=True)
class Naive:
    """A schedule made by hand, and which rules it breaks (deadlines, most often)."""

    name: str
    schedule: Schedule
    broken: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class SchedulePlan:
    """The best schedule found. `bound`: no schedule has a lower objective; hours or USD, as the objective."""

    objective: Objective
    jobs: tuple[Job, ...]
    best: Schedule
    naive: tuple[Naive, ...]
    bound: float
    is_proven: bool
    is_interrupted: bool
    time_limit_s: float
    notes: tuple[str, ...] = ()

    @property
    def value(self) -> float:
        """The best's objective: hours or USD."""
        return value_of(self.best, self.objective)

    @property
    def gap_fraction(self) -> float:
        """By how much of itself the best may be improved at most; 0 where it is proven best."""
        return 0.0 if self.is_proven or self.value <= 0 else max(0.0, 1.0 - self.bound / self.value)


def value_of(schedule: Schedule, objective: Objective) -> float:
    """Hours or USD."""
    return schedule.makespan_s / 3600.0 if objective is Objective.MAKESPAN else schedule.usd or 0.0


def plan_jobs(
    jobs: Sequence[Job],
    nodes: Sequence[Node],
    *,
    objective: Objective = Objective.MAKESPAN,
    time_limit_s: float = 20.0,
    progress: Progress | None = None,
    notes: Sequence[str] = (),
) -> SchedulePlan:
    """The best placement of the jobs on the nodes.

    OptionError: names, numbers, prices that are missing, OR-Tools not installed. PredictionError: no schedule keeps the
    rules; it names the jobs, why, and what to change.
    """
    if not 0 < time_limit_s < float("inf"):
        raise OptionError(f"a time limit of {time_limit_s:g} s", remedy="--time-limit 30")
    if not nodes:
        raise OptionError("there is no machine to place jobs on", remedy='--machine "DGX A100"')
    _check_prices(nodes, objective)
    given = checked_jobs(jobs)
    able = tuple(_able(job, nodes) for job in given)
    _check_deadlines(able)
    naive = tuple(
        Naive(name=name, schedule=schedule, broken=tuple(broken_rules(schedule, able)))
        for name, schedule in (
            ("one after another, each on all GPUs", one_after_another(able, nodes)),
            ("side by side, each on one GPU", side_by_side(able, nodes)),
        )
    )
    usable = [one.schedule for one in naive if not one.broken]
    useful = tuple(replace(job, modes=_undominated(job.modes)) for job in able)
    found = solve(useful, nodes, objective, time_limit_s=time_limit_s, progress=progress)
    if found.is_infeasible:
        raise _impossible(useful, nodes, time_limit_s)
    every = [*([] if found.schedule is None else [found.schedule]), *usable]
    if not every:
        if found.is_interrupted:
            raise KeyboardInterrupt
        raise PredictionError(
            f"no schedule was found in {time_limit_s:g} s", remedy=f"--time-limit {10 * time_limit_s:g}, or fewer jobs"
        )
    return SchedulePlan(
        objective=objective,
        jobs=able,
        best=min(every, key=lambda one: value_of(one, objective)),
        naive=naive,
        bound=max(found.bound, _least(useful, nodes, objective)),
        is_proven=found.is_proven,
        is_interrupted=found.is_interrupted,
        time_limit_s=time_limit_s,
        notes=tuple(notes),
    )


def _least(jobs: Sequence[Job], nodes: Sequence[Node], objective: Objective) -> float:
    """Hours or USD that no schedule is below, known without any search: longest job and work of all, cheapest modes."""
    if objective is Objective.COST:
        prices = {node.machine: node.usd_per_gpu_hour or 0.0 for node in nodes}
        return (
            sum(min(mode.gpu_count * mode.duration_s * prices[mode.machine] for mode in job.modes) for job in jobs)
            / 3600
        )
    work = sum(min(mode.gpu_count * mode.duration_s for mode in job.modes) for job in jobs)
    longest = max(job.release_s + min(mode.duration_s for mode in job.modes) for job in jobs)
    return max(longest, work / sum(node.gpu_count for node in nodes)) / 3600.0


def _check_prices(nodes: Sequence[Node], objective: Objective) -> None:
    unpriced = list(dict.fromkeys(node.gpu for node in nodes if node.usd_per_gpu_hour is None))
    if unpriced and objective is Objective.COST:
        raise OptionError(
            f"no price is known of {' and '.join(unpriced)}",
            remedy=f'--price "{unpriced[0]}=2.50", USD per GPU and hour',
        )


def _able(job: Job, nodes: Sequence[Node]) -> Job:
    """The job with the modes that can be on these nodes; PredictionError with the reason where there is none."""
    if not job.modes:
        raise OptionError(f"{job.name} has no time on any number of GPUs", remedy="hours = {1 = 10.0, 2 = 6.0}")
    reasons = [(mode, _why_not(mode, nodes)) for mode in job.modes]
    able = tuple(mode for mode, why in reasons if why is None)
    if not able:
        said = "; ".join(dict.fromkeys(why for _, why in reasons if why is not None))
        raise PredictionError(
            f"{job.name} can run nowhere: {said}",
            remedy="another --machine, more GPUs (--count), or a smaller batch or a sharding strategy for this job",
        )
    return replace(job, modes=able)


def _why_not(mode: Mode, nodes: Sequence[Node]) -> str | None:
    own = [node for node in nodes if node.machine == mode.machine]
    if not own:
        return f"{mode.machine} is not among the machines"
    largest, whole = max(node.gpu_count for node in own), sum(node.gpu_count for node in own)
    if mode.gpu_count > whole:
        return f"{mode.gpu_count} GPUs of {mode.machine}, of which there are {whole}"
    full = sum(node.gpu_count == largest for node in own)
    if mode.gpu_count > largest and (mode.gpu_count % largest or mode.gpu_count // largest > full):
        return f"{mode.gpu_count} GPUs fill no whole number of nodes of {largest}"
    if mode.memory_bytes is not None and mode.memory_bytes > own[0].memory_bytes:
        needed, there = (size / BYTES_PER_GB for size in (mode.memory_bytes, own[0].memory_bytes))
        return f"on {mode.gpu_count} it needs {needed:.3g} GB a GPU, and {own[0].gpu} has {there:.3g} GB"
    return None


def _undominated(modes: Sequence[Mode]) -> tuple[Mode, ...]:
    """Without those that take as many GPUs of their machine as another, or more, and are no sooner done."""
    kept = []
    for place, mode in enumerate(modes):
        better = (
            (other.gpu_count, other.duration_s, at) < (mode.gpu_count, mode.duration_s, place)
            and other.gpu_count <= mode.gpu_count
            and other.duration_s <= mode.duration_s
            for at, other in enumerate(modes)
            if other.machine == mode.machine and at != place
        )
        if not any(better):
            kept.append(mode)
    return tuple(kept)


def _check_deadlines(jobs: Sequence[Job]) -> None:
    """PredictionError for a job that could not keep its deadline if it had the machines for itself."""
    ends: dict[str, float] = {}
    for job in jobs:  # each after those it waits for
        start = max([job.release_s, *(ends[name] for name in job.after)])
        shortest = min(job.modes, key=lambda mode: mode.duration_s)
        ends[job.name] = start + shortest.duration_s
        if job.deadline_s is not None and ends[job.name] > job.deadline_s:
            waits = f" after {', '.join(job.after)}" if job.after else ""
            gpus = "1 GPU" if shortest.gpu_count == 1 else f"{shortest.gpu_count} GPUs"
            raise PredictionError(
                f"{job.name} cannot end by {_hours(job.deadline_s)}: it takes {_hours(shortest.duration_s)} at best "
                f"(on {gpus} of {shortest.machine}) and can start at {_hours(start)}{waits}",
                remedy=f"a deadline of {_hours(ends[job.name])} or later, an earlier release, or a faster machine",
            )


def _impossible(jobs: Sequence[Job], nodes: Sequence[Node], time_limit_s: float) -> PredictionError:
    """Why deadlines that each job could keep cannot be kept together."""
    least = least_lateness(jobs, nodes, time_limit_s=time_limit_s)
    late = (
        []
        if least is None
        else sorted((one for one in least.placements if one.late_s > 0), key=lambda one: -one.late_s)
    )
    if not late:
        return PredictionError(
            "the deadlines cannot all be kept", remedy="later deadlines, more GPUs (--count), or another --machine"
        )
    said = ", ".join(f"{one.job.name} {_hours(one.late_s)} late" for one in late)
    return PredictionError(
        f"the deadlines cannot all be kept: at the least, {said}",
        remedy="; ".join(f"a deadline of {_hours(one.end_s)} for {one.job.name}" for one in late)
        + "; or more GPUs (--count), or another --machine",
    )


def _hours(seconds: float) -> str:
    """Hours with enough digits to be set as a deadline: rounded up."""
    return f"{math.ceil(seconds / 36.0) / 100:g} h"

"""Which two schedules do people make by hand? All GPUs for one job after another, or one GPU for each, side by side.

Jobs are taken in their order, each put where it can start first. What a job's counts do not allow (one GPU is too
little memory) takes the nearest that they do. Deadlines are not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from surfer_lab.errors import OptionError
from surfer_lab.planner.schedule.jobs import Job, Mode, Node
from surfer_lab.planner.schedule.placements import Placement, Schedule, with_gpus

__all__ = ["one_after_another", "placed_in_order", "side_by_side"]

Choose = Callable[[Sequence[Mode]], Mode]


def one_after_another(jobs: Sequence[Job], nodes: Sequence[Node]) -> Schedule:
    """Each job on as many GPUs of a machine as it may take, nothing beside it there."""
    return placed_in_order(jobs, nodes, lambda modes: max(modes, key=lambda mode: mode.gpu_count), is_alone=True)


def side_by_side(jobs: Sequence[Job], nodes: Sequence[Node]) -> Schedule:
    """Each job on as few GPUs as it may take, as many jobs at once as there is room for."""
    return placed_in_order(jobs, nodes, lambda modes: min(modes, key=lambda mode: mode.gpu_count))


def placed_in_order(jobs: Sequence[Job], nodes: Sequence[Node], choose: Choose, *, is_alone: bool = False) -> Schedule:
    """Jobs in order (each after those it waits for), in the mode chosen of a machine's, at the first start there is.

    Of several machines the one where the job ends first.
    """
    placements: list[Placement] = []
    ends: dict[str, float] = {}
    for job in jobs:
        ready = max([job.release_s, *(ends[name] for name in job.after)])
        options = []
        for machine in dict.fromkeys(mode.machine for mode in job.modes):
            mode = choose([one for one in job.modes if one.machine == machine])
            start, used = _first_start(mode, ready, nodes, placements, is_alone=is_alone)
            options.append(Placement(job=job, mode=mode, start_s=start, nodes=used))
        one = min(options, key=lambda option: option.end_s)
        placements.append(one)
        ends[job.name] = one.end_s
    return with_gpus(Schedule(nodes=tuple(nodes), placements=tuple(placements)))


def _first_start(
    mode: Mode, ready: float, nodes: Sequence[Node], placed: Sequence[Placement], *, is_alone: bool
) -> tuple[float, tuple[int, ...]]:
    """The first moment from `ready` on at which nodes have room for the whole of the mode, and those nodes."""
    own = [place for place, node in enumerate(nodes) if node.machine == mode.machine]
    largest = max(nodes[place].gpu_count for place in own)
    moments = sorted({ready, *(one.end_s for one in placed if one.end_s > ready)})
    for start in moments:
        end = start + mode.duration_s
        during = [one for one in placed if one.start_s < end and one.end_s > start]
        if is_alone and any(one.mode.machine == mode.machine for one in during):
            continue
        free = {place: nodes[place].gpu_count - _most_used(place, nodes[place], during, start) for place in own}
        if mode.gpu_count <= largest:
            fitting = [place for place in own if free[place] >= mode.gpu_count]
            if fitting:
                return start, (fitting[0],)
            continue
        whole = [place for place in own if free[place] == nodes[place].gpu_count == largest]
        wanted = mode.gpu_count // largest
        if len(whole) >= wanted:
            return start, tuple(whole[:wanted])
    raise OptionError(
        f"{mode.gpu_count} GPUs of {mode.machine}, which has {sum(nodes[place].gpu_count for place in own)} here",
        remedy="fewer GPUs for the job",
    )


def _most_used(place: int, node: Node, during: Sequence[Placement], start: float) -> int:
    """The most GPUs of a node in use at once among the placements that overlap."""
    here = [one for one in during if place in one.nodes]
    return max(
        (
            sum(min(other.mode.gpu_count, node.gpu_count) for other in here if other.start_s <= moment < other.end_s)
            for moment in (max(start, one.start_s) for one in here)
        ),
        default=0,
    )

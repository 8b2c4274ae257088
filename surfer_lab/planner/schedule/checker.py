"""Does a schedule keep its rules? Found by looking at it alone, whoever made it.

Every moment at which a job starts is looked at (use only grows there), every GPU is followed by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from surfer_lab.planner.schedule.jobs import Job
from surfer_lab.planner.schedule.placements import Placement, Schedule

__all__ = ["broken_rules"]

_SLACK_S = 1e-3  # times are floats: a thousandth of a second is no overlap


def broken_rules(schedule: Schedule, jobs: Sequence[Job]) -> list[str]:
    """One sentence a broken rule; empty for a schedule that is right."""
    placed = {one.job.name: one for one in schedule.placements}
    found = [f"{job.name} is placed {count} times" for job in jobs if (count := _count(schedule, job)) != 1]
    found += [f"{name} is no job" for name in placed if name not in {job.name for job in jobs}]
    for job in jobs:
        if job.name in placed:
            found += _of_job(job, placed[job.name], placed, schedule)
    return [*found, *_of_nodes(schedule), *_of_gpus(schedule)]


def _count(schedule: Schedule, job: Job) -> int:
    return sum(one.job.name == job.name for one in schedule.placements)


def _of_job(job: Job, one: Placement, placed: dict[str, Placement], schedule: Schedule) -> list[str]:
    found = []
    if one.mode not in job.modes:
        found.append(f"{job.name} runs in no mode of its own")
    if one.start_s < job.release_s - _SLACK_S:
        found.append(f"{job.name} starts before its release")
    if job.deadline_s is not None and one.end_s > job.deadline_s + _SLACK_S:
        found.append(f"{job.name} ends after its deadline")
    found += [
        f"{job.name} starts before {name} ends"
        for name in job.after
        if name in placed and one.start_s < placed[name].end_s - _SLACK_S
    ]
    used = [schedule.nodes[node] for node in one.nodes]
    if any(node.machine != one.mode.machine for node in used) or len(set(one.nodes)) != len(one.nodes):
        found.append(f"{job.name} runs on nodes that are not its mode's")
    if one.mode.gpu_count > sum(node.gpu_count for node in used):
        found.append(f"{job.name} has fewer GPUs than its mode")
    if len(used) > 1 and one.mode.gpu_count < sum(node.gpu_count for node in used):
        found.append(f"{job.name} is on several nodes without filling them")
    if one.mode.memory_bytes is not None and any(one.mode.memory_bytes > node.memory_bytes for node in used):
        found.append(f"{job.name} needs more memory than a GPU has")
    return found


def _of_nodes(schedule: Schedule) -> list[str]:
    found = []
    for place, node in enumerate(schedule.nodes):
        here = [one for one in schedule.placements if place in one.nodes]
        for one in here:
            moment = one.start_s + _SLACK_S
            used = sum(
                min(other.mode.gpu_count, node.gpu_count)
                for other in here
                if other.start_s <= moment < other.end_s - _SLACK_S
            )
            if used > node.gpu_count:
                found.append(f"{used} GPUs are used on node {place}, which has {node.gpu_count}")
    return found


def _of_gpus(schedule: Schedule) -> list[str]:
    found = []
    by_gpu: dict[tuple[int, int], list[Placement]] = {}
    for one in schedule.placements:
        if one.gpus and (len(set(one.gpus)) != one.mode.gpu_count or {node for node, _ in one.gpus} != set(one.nodes)):
            found.append(f"{one.job.name} is not given its GPUs")
        for place in one.gpus:
            by_gpu.setdefault(place, []).append(one)
    for (node, gpu), users in by_gpu.items():
        if not 0 <= gpu < schedule.nodes[node].gpu_count:
            found.append(f"node {node} has no GPU {gpu}")
        for first, second in pairwise(sorted(users, key=lambda one: one.start_s)):
            if second.start_s < first.end_s - _SLACK_S:
                found.append(f"{first.job.name} and {second.job.name} share GPU {gpu} of node {node}")
    return found

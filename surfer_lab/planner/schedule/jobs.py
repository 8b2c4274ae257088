"""What is to be run, and where could it run? Jobs with a time for each number of GPUs, and nodes with GPUs to give.

A `Mode` is one way to run a job: so many GPUs of one machine, for so long. Beyond a node's GPUs a mode takes whole
nodes. A job runs in one mode from its start to its end: nothing is moved or halted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from surfer_lab.errors import OptionError

__all__ = ["Job", "Mode", "Node", "checked_jobs", "in_order", "nodes_of"]


@dataclass(frozen=True, kw_only=True)
class Node:
    """One node of a machine; `usd_per_gpu_hour` None: no price is known. Nodes of one machine are alike."""

    machine: str
    gpu: str
    gpu_count: int
    memory_bytes: int
    usd_per_gpu_hour: float | None = None
    number: int = 0  # among those of its machine


@dataclass(frozen=True, kw_only=True)
class Mode:
    """One way to run a job. `low_s` and `high_s` are the ends of what the duration may be."""

    machine: str
    gpu_count: int
    duration_s: float
    low_s: float
    high_s: float
    memory_bytes: int | None = None  # of one GPU; None: not known

    @classmethod
    def exact(cls, machine: str, gpu_count: int, duration_s: float, memory_bytes: int | None = None) -> Mode:
        """A mode whose duration is taken as it is given."""
        return cls(
            machine=machine, gpu_count=gpu_count, duration_s=duration_s, low_s=duration_s, high_s=duration_s,
            memory_bytes=memory_bytes,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Job:
    """A job; times are seconds from the schedule's begin. `weight`: how much its early end is worth, ties only."""

    name: str
    modes: tuple[Mode, ...]
    release_s: float = 0.0
    deadline_s: float | None = None
    weight: int = 1
    after: tuple[str, ...] = ()


def nodes_of(
    machine: str,
    gpu: str,
    gpu_count: int,
    gpus_per_node: int,
    memory_bytes: int,
    usd_per_gpu_hour: float | None = None,
) -> tuple[Node, ...]:
    """The nodes of `gpu_count` GPUs of a machine; the last one may be partly ours.

    >>> [node.gpu_count for node in nodes_of("DGX A100", "A100 SXM4 80GB", 12, 8, 80_000_000_000)]
    [8, 4]
    """
    whole, rest = divmod(gpu_count, gpus_per_node)
    sizes = [gpus_per_node] * whole + ([rest] if rest else [])
    return tuple(
        Node(
            machine=machine, gpu=gpu, gpu_count=size, memory_bytes=memory_bytes, usd_per_gpu_hour=usd_per_gpu_hour,
            number=number,
        )
        for number, size in enumerate(sizes)
    )  # fmt: skip


def checked_jobs(jobs: Sequence[Job]) -> tuple[Job, ...]:
    """The jobs, each after those it waits for; OptionError for names that repeat, are unknown or wait in a circle."""
    if not jobs:
        raise OptionError("there is no job to place", remedy='[[job]] with name = "..." and hours = {1 = 10.0}')
    known: dict[str, Job] = {}
    for job in jobs:
        if job.name in known:
            raise OptionError(f"two jobs are called {job.name!r}", remedy="a name of its own for each")
        known[job.name] = job
        _check_numbers(job)
    for job in jobs:
        for name in job.after:
            if name not in known:
                raise OptionError(f"{job.name} is to come after {name!r}, which is no job", remedy=", ".join(known))
    return in_order(jobs)


def _check_numbers(job: Job) -> None:
    """OptionError for a time that is none."""
    times = {"release": job.release_s, "deadline": job.deadline_s if job.deadline_s is not None else 0.0}
    for mode in job.modes:
        if not 0 < mode.duration_s < math.inf or mode.gpu_count < 1:
            raise OptionError(
                f"{job.name} takes {mode.duration_s / 3600:g} hours on {mode.gpu_count} GPUs",
                remedy="hours above 0, on 1 GPU or more",
            )
    for word, seconds in times.items():
        if not 0 <= seconds < math.inf:
            raise OptionError(f"{job.name}: the {word} is {seconds / 3600:g} hours", remedy="hours from the begin")


def in_order(jobs: Sequence[Job]) -> tuple[Job, ...]:
    """In the order given, but each after those it waits for; OptionError for a circle."""
    placed: dict[str, Job] = {}
    left = list(jobs)
    while left:
        ready = next((job for job in left if all(name in placed for name in job.after)), None)
        if ready is None:
            raise OptionError(
                f"{', '.join(job.name for job in left)} wait for one another", remedy="take one name out of `after`"
            )
        placed[ready.name] = ready
        left.remove(ready)
    return tuple(placed.values())

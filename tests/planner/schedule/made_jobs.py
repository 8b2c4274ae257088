"""Jobs and nodes for tests, made from few words and at random; and the best makespan by trying everything."""

from __future__ import annotations

import itertools

from hypothesis import strategies as st

from surfer_lab.planner.schedule import Job, Mode, Node, nodes_of

GB = 1_000_000_000
MACHINE = "box"


def box(
    gpu_count: int, *, usd: float | None = 2.0, per_node: int | None = None, machine: str = MACHINE
) -> tuple[Node, ...]:
    return nodes_of(machine, "V100 SXM2 16GB", gpu_count, per_node or gpu_count, 16 * GB, usd)


def job(name: str, hours: dict[int, float], *, machine: str = MACHINE, memory_gb: float | None = None, **facts) -> Job:
    memory = None if memory_gb is None else int(memory_gb * GB)
    modes = tuple(Mode.exact(machine, count, one * 3600.0, memory) for count, one in hours.items())
    times = {f"{word}_s": facts.pop(word) * 3600.0 for word in ("release", "deadline") if word in facts}
    return Job(name=name, modes=modes, **times, **facts)


@st.composite
def job_lists(draw, most_jobs: int = 4, most_gpus: int = 4):
    """(jobs, nodes): each job at least on one GPU; some wait for others or are released late."""
    gpus = draw(st.integers(1, most_gpus))
    jobs = []
    for number in range(draw(st.integers(1, most_jobs))):
        counts = sorted({1, *draw(st.sets(st.integers(1, gpus), max_size=2))})
        hours = {count: draw(st.integers(1, 12)) / 2 for count in counts}
        after = draw(st.sets(st.sampled_from([one.name for one in jobs]), max_size=1)) if jobs else ()
        jobs.append(job(f"job {number}", hours, release=draw(st.sampled_from([0, 0, 1])), after=tuple(after)))
    return jobs, box(gpus)


def least_makespan_h(jobs: list[Job], gpu_count: int) -> float:
    """Every mode of every job, in every order, each job at its first start: one of these is best."""
    best = float("inf")
    for modes in itertools.product(*(one.modes for one in jobs)):
        for order in itertools.permutations(range(len(jobs))):
            best = min(best, _makespan_h(jobs, modes, order, gpu_count))
    return best


def _makespan_h(jobs, modes, order, gpu_count) -> float:
    placed: dict[str, tuple[float, float, int]] = {}
    for place in order:
        one, mode = jobs[place], modes[place]
        if any(name not in placed for name in one.after):
            return float("inf")
        start = max([one.release_s, *(placed[name][1] for name in one.after)])
        moments = sorted({start, *(end for _, end, _ in placed.values() if end > start)})
        for start in moments:
            end = start + mode.duration_s
            during = [run for run in placed.values() if run[0] < end and run[1] > start]
            points = [start, *(run[0] for run in during if run[0] > start)]
            if all(
                sum(gpus for begin, ends, gpus in during if begin <= at < ends) + mode.gpu_count <= gpu_count
                for at in points
            ):
                break
        placed[one.name] = (start, end, mode.gpu_count)
    return max(end for _, end, _ in placed.values()) / 3600.0

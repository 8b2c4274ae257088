"""Where do these jobs run best? A jobs file and machines by name in, a schedule out that can be shown and written.

surfer_lab.schedule("jobs.toml", ["DGX A100"]).report("schedule.html")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surfer_lab.errors import OptionError
from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.hardware.configuration import parse_toml, read_text
from surfer_lab.hardware.machines import Machine
from surfer_lab.planner.pricing import PriceList, load_prices
from surfer_lab.planner.schedule import Node, Objective, SchedulePlan, job_specs, nodes_of, plan_jobs
from surfer_lab.planner.schedule.solver import Progress, needs_solver
from surfer_lab.report.scaled import named_machine
from surfer_lab.report.schedule_report import schedule_html, schedule_json, schedule_text, write_schedule
from surfer_lab.view.schedule_view import ScheduleView, schedule_view
from surfer_lab.workloads.job_times import timed_jobs

if TYPE_CHECKING:
    import pandas

__all__ = ["Scheduled", "schedule"]


class Scheduled:
    """A schedule: shown with its charts in a notebook, as text elsewhere; the numbers by `plan` and `table`."""

    def __init__(self, plan: SchedulePlan, *, title: str) -> None:
        self.plan = plan
        self.title = title

    @cached_property
    def view(self) -> ScheduleView:
        """What a person is shown."""
        return schedule_view(self.plan, title=self.title)

    def table(self) -> pandas.DataFrame:
        """The best placement, a row a job by its start, raw numbers with their unit; index: the job's name."""
        import pandas as pd  # slow to import, and only asked for here

        rows = [
            {
                "job": one.job.name,
                "machine": one.mode.machine,
                "gpu_count": one.mode.gpu_count,
                "start_h": one.start_s / 3600.0,
                "end_h": one.end_s / 3600.0,
                "gpu_hours": one.gpu_hours,
                "memory_bytes": one.mode.memory_bytes,
            }
            for one in self.plan.best.placements
        ]
        return pd.DataFrame(rows).set_index("job")

    def report(self, path: str | Path) -> Path:
        """Write it and return the path; the form follows the ending: .html, .md, .json or .txt."""
        return write_schedule(self.view, path)

    def to_json(self) -> str:
        """The view as JSON."""
        return schedule_json(self.view)

    def __repr__(self) -> str:
        return schedule_text(self.view)

    def _repr_html_(self) -> str:
        return str(schedule_html(self.view))


def schedule(
    jobs: str | Path | Mapping[str, Any],
    machines: str | Sequence[str],
    *,
    count: int | Sequence[int] | None = None,
    objective: str = Objective.MAKESPAN.value,
    time_limit_s: float = 20.0,
    prices: Mapping[str, float] | None = None,
    spot: bool = False,
    progress: Progress | None = None,
    told: Callable[[str], None] | None = None,
) -> Scheduled:
    """Place the jobs of a file (or of its tables, as a dict) on machines, known ones or TOML files of one's own.

    `count` GPUs of each machine, by default one node's; `objective` "makespan" or "cost"; `prices` are USD per GPU and
    hour. `progress` is told (value, bound) of each better schedule, `told` the name of each job that is predicted.
    Raises SurferError with the remedy: a mistake in the file, jobs that fit nowhere, deadlines that cannot be kept.
    """
    needs_solver()
    kinds = {kind.value: kind for kind in Objective}
    if objective not in kinds:
        raise OptionError(f"{objective!r} is no objective", remedy=" or ".join(kinds))
    names = [machines] if isinstance(machines, str) else list(machines)
    if not names:
        raise OptionError("no machine is named", remedy='--machine "DGX A100"')
    found = [named_machine(name) for name in names]
    counted = list(zip(found, _counts(found, count), strict=True))
    if len({machine.name for machine in found}) < len(found):
        raise OptionError("a machine is named twice", remedy="once, with the GPUs of both: --count")
    prices_of = load_prices(load_catalog(), prices)
    nodes = [node for machine, gpus in counted for node in _nodes(machine, gpus, prices_of, spot=spot)]
    content, where, folder = _content(jobs)
    made, notes = timed_jobs(job_specs(content, where=where), counted, folder=folder, told=told)
    plan = plan_jobs(made, nodes, objective=kinds[objective], time_limit_s=time_limit_s, progress=progress, notes=notes)
    return Scheduled(plan, title=f"Schedule of {where}")


def _content(jobs: str | Path | Mapping[str, Any]) -> tuple[Mapping[str, Any], str, Path | None]:
    """(tables, what they are called, folder that paths in them start from)."""
    if isinstance(jobs, Mapping):
        return jobs, "jobs", None
    path = Path(jobs)
    if not path.is_file():
        raise OptionError(f"there is no jobs file {path}", remedy="a TOML file with [[job]] tables")
    return parse_toml(read_text(path), str(path)), path.name, path.parent


def _counts(machines: Sequence[Machine], count: int | Sequence[int] | None) -> list[int]:
    """GPUs of each machine; OptionError where it has not so many."""
    given = [count] * len(machines) if isinstance(count, int) else list(count or ())
    if len(given) == 1:
        given *= len(machines)
    if given and len(given) != len(machines):
        raise OptionError(
            f"{len(given)} counts for {len(machines)} machines", remedy="--count once for all, or once for each machine"
        )
    counts = given or [machine.gpus_per_node for machine in machines]
    for machine, gpus in zip(machines, counts, strict=True):
        if not 1 <= gpus <= machine.most_gpus:
            raise OptionError(f"{gpus} GPUs of {machine.name}", remedy=f"--count of 1 to {machine.most_gpus}")
    return counts


def _nodes(machine: Machine, count: int, prices: PriceList, *, spot: bool) -> tuple[Node, ...]:
    gpu = load_catalog().find(machine.gpu)
    price = prices.price(gpu, spot=spot, count=min(count, machine.gpus_per_node))
    return nodes_of(
        machine.name, gpu.name, count, machine.gpus_per_node, gpu.memory_bytes,
        None if price is None else price.usd_per_gpu_hour,
    )  # fmt: skip

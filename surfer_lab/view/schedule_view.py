"""What is a person shown of a schedule? Bars, rows and sentences, rounded and worded, ready for JSON.

The best schedule first, then those made by hand on the same scale of time, so that what is saved can be seen.
"""

from __future__ import annotations

from itertools import groupby
from typing import Final

from msgspec import Struct

from surfer_lab.planner.schedule.jobs import Node
from surfer_lab.planner.schedule.placements import Placement, Schedule
from surfer_lab.planner.schedule.plan import Objective, SchedulePlan
from surfer_lab.units import NS_PER_HOUR, NS_PER_S
from surfer_lab.view.model import TableTwin
from surfer_lab.view.wording import UNKNOWN, duration_text, is_point, name_text, percent_text, rounded, significant

__all__ = ["ChartView", "JobBar", "ScheduleView", "schedule_view"]

_COLUMNS: Final = ("Job", "GPUs", "Starts", "Ends", "Takes", "GPU hours", "Cost", "Deadline", "Where")
_COMPARED: Final = (
    "Schedule",
    "All done after",
    "GPU hours",
    "GPUs busy",
    "Cost of GPU hours",
    "Cost of machines held",
)
_WORTH_SAYING: Final = 0.005  # of the makespan: less is the same


class JobBar(Struct, frozen=True, kw_only=True):
    """A job as drawn: on lanes (one a GPU) from start to end, in hours."""

    number: int  # of the job among the jobs, from 1: the same in every chart
    job: str
    gpus: int
    start_h: float
    end_h: float
    lanes: list[int]
    text: str


class ChartView(Struct, frozen=True, kw_only=True):
    """One schedule."""

    title: str
    lanes: list[str]
    bars: list[JobBar]
    makespan_h: float
    usd: float | None
    gpu_hours: float
    table: TableTwin
    warnings: list[str]


class ScheduleView(Struct, frozen=True, kw_only=True):
    """A plan: the first chart is the best schedule, the others were made by hand."""

    title: str
    objective: str
    headline: str
    sentences: list[str]
    comparison: TableTwin
    charts: list[ChartView]
    span_h: float  # the longest of them: the scale of time
    low_h: float
    high_h: float
    bound: float  # hours or USD: no schedule is better
    is_proven: bool
    is_interrupted: bool
    notes: list[str]


def schedule_view(plan: SchedulePlan, *, title: str = "Schedule") -> ScheduleView:
    """A plan as it is shown."""
    numbers = {job.name: number for number, job in enumerate(plan.jobs, start=1)}
    best = _chart(plan.best, "Best placement", numbers, [])
    by_hand = [
        _chart(one.schedule, one.name[:1].upper() + one.name[1:], numbers, list(one.broken)) for one in plan.naive
    ]
    low_s, high_s = plan.best.at_ends()
    charts = [best, *by_hand]
    return ScheduleView(
        title=name_text(title),
        objective=plan.objective.value,
        headline=_headline(plan),
        sentences=[*_saved(plan), _how_sure(plan), *_ranges(plan, low_s, high_s)],
        comparison=TableTwin(
            columns=list(_COMPARED),
            rows=[
                _compared(chart.title.partition(",")[0], schedule)
                for chart, schedule in zip(charts, [plan.best, *(one.schedule for one in plan.naive)], strict=True)
            ],
        ),
        charts=charts,
        span_h=rounded(max(chart.makespan_h for chart in charts)),
        low_h=rounded(low_s / 3600.0),
        high_h=rounded(high_s / 3600.0),
        bound=rounded(plan.bound),
        is_proven=plan.is_proven,
        is_interrupted=plan.is_interrupted,
        notes=[name_text(note, longest=400) for note in plan.notes],
    )


def _time(seconds: float) -> str:
    return "0" if seconds <= 0 else duration_text(seconds * NS_PER_S)


def _usd(value: float | None) -> str:
    return UNKNOWN if value is None else f"${value:,.2f}"


def _headline(plan: SchedulePlan) -> str:
    best, nodes = plan.best, plan.best.nodes
    machines = " and ".join(
        f"{_gpus(sum(node.gpu_count for node in nodes if node.machine == machine))} of {name_text(machine)}"
        for machine in dict.fromkeys(node.machine for node in nodes)
    )
    jobs = "1 job" if len(plan.jobs) == 1 else f"{len(plan.jobs)} jobs"
    paid = f", {_usd(best.usd)}" if best.usd is not None else ""
    return f"{jobs} on {machines}: all done after {_time(best.makespan_s)}{paid}."


def _saved(plan: SchedulePlan) -> list[str]:
    """What each schedule made by hand would take more."""
    said = []
    for one in plan.naive:
        gained = one.schedule.makespan_s - plan.best.makespan_s
        words = f"Run {one.name}: {_time(one.schedule.makespan_s)}"
        if gained > _WORTH_SAYING * plan.best.makespan_s:
            words += f", {_time(gained)} longer"
        elif gained < -_WORTH_SAYING * plan.best.makespan_s:
            words += f", {_time(-gained)} shorter"
        else:
            words += ", as long"
        if _usd(one.schedule.usd) != _usd(plan.best.usd):
            words += f", {_usd(one.schedule.usd)} instead of {_usd(plan.best.usd)}"
        said.append(words + (f" (but {'; '.join(map(name_text, one.broken))})." if one.broken else "."))
    return said


def _how_sure(plan: SchedulePlan) -> str:
    what = "shorter" if plan.objective is Objective.MAKESPAN else "cheaper"
    if plan.is_proven:
        return f"Proven: with these times no placement is {what}."
    bound = _time(plan.bound * NS_PER_HOUR / NS_PER_S) if plan.objective is Objective.MAKESPAN else _usd(plan.bound)
    why = "interrupted" if plan.is_interrupted else f"the search ended after {plan.time_limit_s:g} s"
    return f"Best so far ({why}): at most {percent_text(plan.gap_fraction)} {what} is possible, none is below {bound}."


def _ranges(plan: SchedulePlan, low_s: float, high_s: float) -> list[str]:
    """The range of the end, and deadlines that its far end breaks; nothing where all times are given."""
    if is_point(low_s, high_s):
        return []
    said = [f"In this order, with the ranges of the predicted times: {_time(low_s)} to {_time(high_s)}."]
    late = [one.job.name for one in plan.best.at_high().placements if one.late_s > 0]
    if late:
        said.append(f"At the far end of the ranges {', '.join(map(name_text, late))} would miss the deadline.")
    return said


def _compared(title: str, schedule: Schedule) -> list[str]:
    return [
        title,
        _time(schedule.makespan_s),
        significant(schedule.gpu_hours),
        percent_text(schedule.busy_fraction),
        _usd(schedule.usd),
        _usd(schedule.held_usd),
    ]


def _chart(schedule: Schedule, title: str, numbers: dict[str, int], broken: list[str]) -> ChartView:
    lanes = [(place, gpu) for place, node in enumerate(schedule.nodes) for gpu in range(node.gpu_count)]
    at = {lane: number for number, lane in enumerate(lanes)}
    return ChartView(
        title=title,
        lanes=[_lane(schedule.nodes, place, gpu) for place, gpu in lanes],
        bars=[_bar(one, at, numbers) for one in schedule.placements],
        makespan_h=rounded(schedule.makespan_s / 3600.0),
        usd=None if schedule.usd is None else rounded(schedule.usd),
        gpu_hours=rounded(schedule.gpu_hours),
        table=_told_columns([_row(one, schedule) for one in schedule.placements]),
        warnings=[name_text(one, longest=300) for one in broken],
    )


def _told_columns(rows: list[list[str]]) -> TableTwin:
    """The table without columns that say nothing: no job has a price, or a deadline."""
    told = [at for at in range(len(_COLUMNS)) if any(row[at] != UNKNOWN for row in rows)]
    return TableTwin(columns=[_COLUMNS[at] for at in told], rows=[[row[at] for at in told] for row in rows])


def _lane(nodes: tuple[Node, ...], place: int, gpu: int) -> str:
    """A GPU's name; its node and machine where there are several."""
    node = nodes[place]
    several_machines = len({one.machine for one in nodes}) > 1
    several_nodes = sum(one.machine == node.machine for one in nodes) > 1
    words = [name_text(node.machine)] if several_machines else []
    words += [f"node {node.number}"] if several_nodes else []
    return ", ".join([*words, f"GPU {gpu}"])


def _bar(one: Placement, at: dict[tuple[int, int], int], numbers: dict[str, int]) -> JobBar:
    name = name_text(one.job.name)
    return JobBar(
        number=numbers[one.job.name],
        job=name,
        gpus=one.mode.gpu_count,
        start_h=rounded(one.start_s / 3600.0),
        end_h=rounded(one.end_s / 3600.0),
        lanes=[at[gpu] for gpu in one.gpus],
        text=f"{name}: {_gpus(one.mode.gpu_count)}, from {_time(one.start_s)} to {_time(one.end_s)}",
    )


def _gpus(count: int) -> str:
    return "1 GPU" if count == 1 else f"{count} GPUs"


def _row(one: Placement, schedule: Schedule) -> list[str]:
    price = schedule.nodes[one.nodes[0]].usd_per_gpu_hour
    names = [_lane(schedule.nodes, place, gpu) for place, gpu in one.gpus]
    return [
        name_text(one.job.name),
        str(one.mode.gpu_count),
        _time(one.start_s),
        _time(one.end_s),
        _time(one.mode.duration_s),
        significant(one.gpu_hours),
        _usd(None if price is None else price * one.gpu_hours),
        UNKNOWN if one.job.deadline_s is None else _time(one.job.deadline_s),
        _shortened(names),
    ]


def _shortened(names: list[str]) -> str:
    """GPUs by node, the words before the last one once, those that follow one another as a span.

    >>> _shortened(["node 0, GPU 0", "node 0, GPU 1", "node 0, GPU 2", "node 1, GPU 0"])
    'node 0, GPU 0 to 2; node 1, GPU 0'
    """
    by_node: dict[str, list[int]] = {}
    for name in names:
        node, _, gpu = name.rpartition("GPU ")
        by_node.setdefault(node, []).append(int(gpu))
    return "; ".join(f"{node}GPU {_spans(gpus)}" for node, gpus in by_node.items())


def _spans(numbers: list[int]) -> str:
    """Numbers in order, three or more that follow one another as a span.

    >>> _spans([0, 1, 2, 3, 5, 6])
    '0 to 3, 5, 6'
    """
    said: list[str] = []
    for _, run in groupby(enumerate(sorted(numbers)), key=lambda one: one[1] - one[0]):
        found = [number for _, number in run]
        said += [f"{found[0]} to {found[-1]}"] if len(found) > 2 else [str(number) for number in found]
    return ", ".join(said)

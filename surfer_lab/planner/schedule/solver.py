"""Which placement is best? Asked of OR-Tools' CP-SAT, the only file that knows it; imported when it is called.

Each job chooses one mode, each mode the nodes it takes; on a node an optional interval of the job's length asks for its
GPUs, and a cumulative constraint keeps their sum below what the node has. Three questions in turn, each with what was
found before it kept: the objective, the other objective, the weighted sum of ends (so that nothing starts late for
nothing). Redundantly, all GPUs together do no more work than fits before the last end: without it the bound is weak.

Times are whole steps of a tick: the largest that all times are multiples of, where the longest schedule that makes
sense has few enough of them, else a round share of that schedule, durations rounded up and deadlines down: what is
found holds, and is best to within a tick a job. One thread with a fixed seed: the same jobs give the same schedule,
unless the time limit or Ctrl-C cuts the first question short. (Several searches interleaved in one thread, as
repeatable, took fifty times as long to prove five jobs; a tick of a millionth took ten times as long as this one;
beginning at a schedule made by hand helped nothing.)
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from surfer_lab.errors import OptionError
from surfer_lab.planner.schedule.jobs import Job, Mode, Node
from surfer_lab.planner.schedule.placements import Placement, Schedule, timed, with_gpus

__all__ = ["Objective", "Progress", "Solved", "least_lateness", "needs_solver", "solve"]

Progress = Callable[[float, float], None]  # (value so far, bound), hours or USD

_MOST_EXACT_TICKS: Final = 100_000
_ROUNDED_TICKS: Final = 20_000
_SAME_S: Final = 1e-6  # 3600.0000001 s is an hour
_SEED: Final = 1
_FOLLOWING_LIMIT: Final = 0.1  # CP-SAT's deterministic seconds of each question after the first
_LOOK_S: Final = 0.1  # how often a search is looked at for Ctrl-C
_MICRO: Final = 1_000_000  # money is counted in millionths


class Objective(Enum):
    """What is to be least; the value is its word."""

    MAKESPAN = "makespan"
    COST = "cost"


@dataclass(frozen=True, kw_only=True)
class Solved:
    """The best that was found, None for nothing; `bound` of the objective: hours, or USD."""

    schedule: Schedule | None
    bound: float  # holds for times as they are, not only for rounded ones
    is_proven: bool
    is_infeasible: bool
    is_interrupted: bool


def needs_solver() -> None:
    """OptionError with the command that installs it, where OR-Tools is not there."""
    if importlib.util.find_spec("ortools") is None:
        raise OptionError(
            "OR-Tools, which finds the schedule, is not installed", remedy='pip install "surfer-lab[schedule]"'
        )


def solve(
    jobs: Sequence[Job],
    nodes: Sequence[Node],
    objective: Objective,
    *,
    time_limit_s: float,
    progress: Progress | None = None,
) -> Solved:
    """The best schedule within the limit; Ctrl-C ends the search with the best so far. Jobs and modes fit as such."""
    needs_solver()
    tick = _tick_s(jobs)
    problem = _Problem(jobs, nodes, tick)
    order = [problem.objectives[one] for one in (objective, *(one for one in Objective if one is not objective))]
    unit = problem.unit_of[objective]
    first = problem.minimise(
        order[0], wall_limit_s=time_limit_s, progress=None if progress is None else _in_units(progress, unit)
    )
    if first.values is None:
        return Solved(
            schedule=None, bound=0.0, is_proven=False, is_infeasible=first.is_infeasible,
            is_interrupted=first.is_interrupted,
        )  # fmt: skip
    found = first
    if not first.is_interrupted:
        for following in (order[1], problem.weighted_ends):
            problem.keep(found)
            after = problem.minimise(following, deterministic_limit=_FOLLOWING_LIMIT)
            found = after if after.values is not None else found
            if not after.is_optimal:
                break
    return Solved(
        schedule=problem.schedule(found),
        bound=max(0.0, first.bound - (problem.rounding if objective is Objective.MAKESPAN else 0.5 * len(jobs))) * unit,
        is_proven=first.is_optimal,
        is_infeasible=False,
        is_interrupted=first.is_interrupted,
    )


def least_lateness(jobs: Sequence[Job], nodes: Sequence[Node], *, time_limit_s: float) -> Schedule | None:
    """The schedule whose jobs end least after their deadlines, in sum; None where none was found in time."""
    tick = _tick_s(jobs)
    problem = _Problem(jobs, nodes, tick, deadlines_hold=False)
    found = problem.minimise(problem.lateness, wall_limit_s=time_limit_s)
    return None if found.values is None else problem.schedule(found)


def _in_units(progress: Progress, unit: float) -> Progress:
    return lambda value, bound: progress(value * unit, bound * unit)


def _horizon_s(jobs: Sequence[Job]) -> float:
    """When all would be done if each waited for the last release and ran alone in its longest mode."""
    return max(job.release_s for job in jobs) + sum(max(mode.duration_s for mode in job.modes) for job in jobs)


def _tick_s(jobs: Sequence[Job]) -> float:
    """Seconds of a tick: what all times are multiples of, or a round number (1, 2 or 5 times a power of ten)."""
    horizon = _horizon_s(jobs)
    times = [mode.duration_s for job in jobs for mode in job.modes]
    times += [one for job in jobs for one in (job.release_s, job.deadline_s) if one]
    if all(abs(one - round(one)) < _SAME_S for one in times):
        common = math.gcd(*(round(one) for one in times))
        if common and horizon / common <= _MOST_EXACT_TICKS:
            return float(common)
    least = horizon / _ROUNDED_TICKS
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * step for step in (1, 2, 5, 10) if power * step >= least)


@dataclass(frozen=True, kw_only=True)
class _Found:
    values: Mapping[int, int] | None  # by variable
    objective: Any
    value: int
    bound: float
    is_optimal: bool
    is_infeasible: bool
    is_interrupted: bool


class _Problem:
    """The model and what its variables mean."""

    def __init__(self, jobs: Sequence[Job], nodes: Sequence[Node], tick: float, *, deadlines_hold: bool = True) -> None:
        from ortools.sat.python import cp_model  # optional: only a schedule needs it

        self._cp = cp_model
        self._jobs, self._nodes, self._tick = tuple(jobs), tuple(nodes), tick
        model: Any = cp_model.CpModel()  # typed in some releases, and differently
        self._model = model
        times = [mode.duration_s / tick for job in jobs for mode in job.modes]
        self.rounding = 0 if all(abs(one - round(one)) < _SAME_S for one in times) else len(jobs)  # ticks, at most
        # every duration rounded up by less than a tick: room for as many
        horizon = math.ceil(_horizon_s(jobs) / tick) + len(jobs) + 1
        self._starts = [model.new_int_var(self._up(job.release_s), horizon, "") for job in jobs]
        self._ends = [model.new_int_var(0, horizon, "") for _ in jobs]
        self._chosen = [[model.new_bool_var("") for _ in job.modes] for job in jobs]
        self._on: list[dict[tuple[int, int], Any]] = []  # (mode, node) -> whether it is taken
        on_node: list[list[tuple[Any, int]]] = [[] for _ in nodes]
        for place, job in enumerate(jobs):
            model.add_exactly_one(self._chosen[place])
            self._on.append({})
            for number, mode in enumerate(job.modes):
                self._add_mode(place, number, mode, on_node)
        for node, parts in zip(nodes, on_node, strict=True):
            if parts:
                model.add_cumulative([one for one, _ in parts], [gpus for _, gpus in parts], node.gpu_count)
        by_name = {job.name: place for place, job in enumerate(jobs)}
        for place, job in enumerate(jobs):
            for name in job.after:
                model.add(self._starts[place] >= self._ends[by_name[name]])
        self._add_objectives(horizon, deadlines_hold=deadlines_hold)

    def _up(self, seconds: float) -> int:
        return math.ceil((seconds - _SAME_S) / self._tick)

    def _add_mode(self, place: int, number: int, mode: Mode, on_node: list[list[tuple[Any, int]]]) -> None:
        model, chosen = self._model, self._chosen[place][number]
        start, end, length = self._starts[place], self._ends[place], max(1, self._up(mode.duration_s))
        model.new_optional_interval_var(start, length, end, chosen, "")
        own = [at for at, node in enumerate(self._nodes) if node.machine == mode.machine]
        largest = max(self._nodes[at].gpu_count for at in own)
        spread = max(1, mode.gpu_count // largest)
        gpus = min(mode.gpu_count, largest)
        able = [at for at in own if self._nodes[at].gpu_count >= gpus]
        for at in able:
            taken = chosen if len(able) == 1 else model.new_bool_var("")
            self._on[place][number, at] = taken
            interval = model.new_optional_interval_var(start, length, end, taken, "")
            on_node[at].append((interval, gpus))
        if len(able) > 1:
            model.add(sum(self._on[place][number, at] for at in able) == spread * chosen)

    def _add_objectives(self, horizon: int, *, deadlines_hold: bool) -> None:
        model, tick = self._model, self._tick
        self._last = last = model.new_int_var(0, horizon, "")
        model.add_max_equality(last, self._ends)
        prices = {node.machine: node.usd_per_gpu_hour for node in self._nodes}
        work: dict[str, list[Any]] = {machine: [] for machine in prices}
        cost: list[Any] = []
        for place, job in enumerate(self._jobs):
            for mode, chosen in zip(job.modes, self._chosen[place], strict=True):
                work[mode.machine].append(mode.gpu_count * max(1, self._up(mode.duration_s)) * chosen)
                gpu_hours = mode.gpu_count * mode.duration_s / 3600.0
                # without any price the hours of GPUs are what is paid; money is money only where all have one
                price = prices[mode.machine] if all(one is not None for one in prices.values()) else 1.0
                cost.append(round(gpu_hours * (price or 0.0) * _MICRO) * chosen)
        for machine, parts in work.items():
            gpus = sum(node.gpu_count for node in self._nodes if node.machine == machine)
            if parts:
                model.add(sum(parts) <= gpus * last)
        late = []
        for job, end in zip(self._jobs, self._ends, strict=True):
            if job.deadline_s is None:
                continue
            deadline = math.floor((job.deadline_s + _SAME_S) / tick)
            if deadlines_hold:
                model.add(end <= deadline)
            else:
                over = model.new_int_var(0, horizon, "")
                model.add(over >= end - deadline)
                late.append(over)
        self.lateness = sum(late)
        self.objectives = {Objective.MAKESPAN: last, Objective.COST: sum(cost)}
        self.unit_of = {Objective.MAKESPAN: tick / 3600.0, Objective.COST: 1.0 / _MICRO}
        self.weighted_ends = sum(job.weight * end for job, end in zip(self._jobs, self._ends, strict=True))

    def keep(self, found: _Found) -> None:
        """Ask for nothing worse than what was found, and begin there."""
        self._model.add(found.objective <= found.value)
        self._model.clear_hints()
        for index, value in (found.values or {}).items():
            self._model.add_hint(self._model.get_int_var_from_proto_index(index), value)

    def minimise(
        self,
        objective: Any,
        *,
        wall_limit_s: float | None = None,
        deterministic_limit: float | None = None,
        progress: Progress | None = None,
    ) -> _Found:
        """The least value within the limit."""
        cp = self._cp
        self._model.minimize(objective)
        solver = cp.CpSolver()
        solver.parameters.random_seed = _SEED
        solver.parameters.num_workers = 1
        if wall_limit_s is not None:
            solver.parameters.max_time_in_seconds = wall_limit_s
        if deterministic_limit is not None:
            solver.parameters.max_deterministic_time = deterministic_limit
        status, is_interrupted = _solved(solver, self._model, None if progress is None else _teller(cp, progress))
        is_found = status in (cp.OPTIMAL, cp.FEASIBLE)
        variables = len(self._model.proto.variables)
        return _Found(
            values={at: solver.value(self._model.get_int_var_from_proto_index(at)) for at in range(variables)}
            if is_found
            else None,
            objective=objective,
            value=round(solver.objective_value) if is_found else 0,
            bound=max(0.0, solver.best_objective_bound) if status != cp.INFEASIBLE else 0.0,
            is_optimal=status == cp.OPTIMAL,
            is_infeasible=status == cp.INFEASIBLE,
            is_interrupted=is_interrupted,
        )

    def schedule(self, found: _Found) -> Schedule:
        """What the variables say, every job as early as their order allows."""
        values = found.values or {}
        placements = []
        for place, job in enumerate(self._jobs):
            number = next(at for at, one in enumerate(self._chosen[place]) if values[one.index])
            nodes = tuple(at for (mode, at), one in self._on[place].items() if mode == number and values[one.index])
            placements.append(
                Placement(
                    job=job, mode=job.modes[number], start_s=values[self._starts[place].index] * self._tick, nodes=nodes
                )
            )
        return with_gpus(timed(Schedule(nodes=self._nodes, placements=tuple(placements))))


def _solved(solver: Any, model: Any, teller: Any) -> tuple[Any, bool]:
    """(status, whether Ctrl-C ended it). The search has a thread of its own, so that an interrupt reaches this one.

    An interrupt ends the search, not the program: what was found so far is there.
    """
    solver.parameters.catch_sigint_signal = False
    is_interrupted = False
    with ThreadPoolExecutor(max_workers=1) as search:
        status = search.submit(solver.solve, model, teller)
        while True:
            try:
                if is_interrupted:
                    solver.stop_search()  # again each time, should the search only be about to begin
                return status.result(_LOOK_S), is_interrupted
            except FutureTimeoutError:
                continue
            except KeyboardInterrupt:
                is_interrupted = True


def _teller(cp: Any, progress: Progress) -> Any:
    """A callback of CP-SAT's that tells of each better schedule."""

    class Teller(cp.CpSolverSolutionCallback):  # type: ignore[misc] # OR-Tools has no types: its class is Any to mypy
        def on_solution_callback(self) -> None:
            progress(self.objective_value, max(0.0, self.best_objective_bound))

    return Teller()

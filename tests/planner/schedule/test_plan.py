"""Is the schedule the best there is, does it keep every rule, and is it said why there is none?"""

from __future__ import annotations

import _thread
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surfer_lab.errors import OptionError, PredictionError
from surfer_lab.planner.schedule import Mode, Objective, broken_rules, plan_jobs
from surfer_lab.planner.schedule.naive import one_after_another, side_by_side
from tests.planner.schedule.made_jobs import GB, box, job, job_lists, least_makespan_h

pytest.importorskip("ortools")


@settings(max_examples=25)
@given(job_lists())
def test_the_shortest_schedule_is_that_of_trying_everything(made):
    jobs, nodes = made
    plan = plan_jobs(jobs, nodes)
    assert plan.is_proven
    assert plan.best.makespan_s / 3600 == pytest.approx(least_makespan_h(jobs, nodes[0].gpu_count))
    assert plan.bound == pytest.approx(plan.value)


@settings(max_examples=20)
@given(st.lists(st.floats(0.013, 17.0), min_size=1, max_size=4), st.floats(0.5, 1.0))
def test_times_that_are_no_round_numbers_are_placed_as_well_to_within_a_thousandth(hours, power):
    jobs = [job(f"job {at}", {count: one / count**power for count in (1, 2, 3)}) for at, one in enumerate(hours)]
    plan = plan_jobs(jobs, box(3))
    best = least_makespan_h(jobs, 3)
    assert broken_rules(plan.best, jobs) == []
    assert best - 1e-6 <= plan.value <= best * 1.001
    assert plan.bound <= best + 1e-6


@settings(max_examples=25)
@given(job_lists(most_jobs=6, most_gpus=6), st.sampled_from(list(Objective)))
def test_every_schedule_keeps_the_rules_and_none_by_hand_is_better(made, objective):
    jobs, nodes = made
    plan = plan_jobs(jobs, nodes, objective=objective)
    assert broken_rules(plan.best, jobs) == []
    for naive in plan.naive:
        assert naive.broken == ()
        assert broken_rules(naive.schedule, jobs) == []
        by_hand = naive.schedule.makespan_s / 3600 if objective is Objective.MAKESPAN else naive.schedule.usd
        assert plan.value <= by_hand + 1e-6


@settings(max_examples=10)
@given(job_lists(most_jobs=5, most_gpus=4))
def test_the_same_jobs_give_the_same_schedule(made):
    jobs, nodes = made
    assert plan_jobs(jobs, nodes).best == plan_jobs(jobs, nodes).best


@settings(max_examples=15)
@given(job_lists(most_jobs=4, most_gpus=3))
def test_the_cheapest_schedule_runs_each_job_in_its_cheapest_mode(made):
    jobs, nodes = made
    plan = plan_jobs(jobs, nodes, objective=Objective.COST)
    cheapest = sum(min(mode.gpu_count * mode.duration_s for mode in one.modes) for one in jobs) / 3600 * 2.0
    assert plan.best.usd == pytest.approx(cheapest)


@settings(max_examples=15)
@given(job_lists(most_jobs=4), st.floats(1.0, 1.5), st.floats(0.5, 1.0))
def test_longer_durations_in_the_same_order_end_no_sooner(made, longer, shorter):
    jobs, nodes = made
    uncertain = [
        type(one)(
            name=one.name, release_s=one.release_s, after=one.after,
            modes=tuple(
                Mode(machine=mode.machine, gpu_count=mode.gpu_count, duration_s=mode.duration_s,
                     low_s=mode.duration_s * shorter, high_s=mode.duration_s * longer)
                for mode in one.modes
            ),
        )
        for one in jobs
    ]  # fmt: skip
    best = plan_jobs(uncertain, nodes).best
    low, high = best.at_ends()
    assert low - 1e-6 <= best.makespan_s <= high + 1e-6


def test_two_jobs_that_scale_badly_run_side_by_side():
    jobs = [job("a", {1: 4, 2: 3}), job("b", {1: 4, 2: 3})]
    plan = plan_jobs(jobs, box(2))
    assert plan.best.makespan_s == 4 * 3600
    assert [naive.schedule.makespan_s / 3600 for naive in plan.naive] == [6.0, 4.0]
    assert plan.best.usd == 16.0
    assert plan.best.held_usd == 16.0
    assert plan.best.busy_fraction == 1.0


def test_of_equally_short_schedules_the_cheaper_one_is_taken():
    jobs = [job("long", {1: 8}), job("short", {1: 4, 2: 3})]
    best = plan_jobs(jobs, box(3)).best
    assert {one.job.name: one.mode.gpu_count for one in best.placements} == {"long": 1, "short": 1}


def test_of_equal_schedules_the_heavier_job_ends_first():
    jobs = [job("light", {1: 2}), job("heavy", {1: 2}, weight=5)]
    best = plan_jobs(jobs, box(1)).best
    assert [one.job.name for one in best.placements] == ["heavy", "light"]


def test_a_deadline_takes_more_gpus_where_that_costs_more():
    hours = {1: 4.0, 2: 3.0}
    free = plan_jobs([job("a", hours)], box(2), objective=Objective.COST)
    held = plan_jobs([job("a", hours, deadline=3.5)], box(2), objective=Objective.COST)
    assert (free.best.usd, held.best.usd) == (8.0, 12.0)


def test_jobs_of_several_machines_go_where_they_are_sooner_done():
    def both(name, slow, fast):
        return type(job(name, {1: 1}))(
            name=name, modes=(Mode.exact("slow", 1, slow * 3600), Mode.exact("fast", 1, fast * 3600))
        )

    nodes = (*box(2, machine="slow"), *box(1, machine="fast"))
    plan = plan_jobs([both("a", 4, 2), both("b", 4, 2), both("c", 5, 2)], nodes)
    assert plan.best.makespan_s == 4 * 3600
    assert broken_rules(plan.best, plan.jobs) == []


def test_beyond_a_node_whole_nodes_are_taken():
    jobs = [job("wide", {4: 1}), job("a", {1: 1}), job("b", {1: 1})]
    plan = plan_jobs(jobs, box(4, per_node=2))
    assert plan.best.makespan_s == 2 * 3600
    wide = next(one for one in plan.best.placements if one.job.name == "wide")
    assert len(wide.nodes) == 2
    assert broken_rules(plan.best, jobs) == []


@pytest.mark.parametrize(
    ("jobs", "said"),
    [
        ([job("big", {1: 1, 2: 1}, memory_gb=40)], "big can run nowhere: on 1 it needs 40 GB a GPU, and V100"),
        ([job("wide", {8: 1})], "wide can run nowhere: 8 GPUs of box, of which there are 2"),
        ([job("late", {1: 4, 2: 3}, deadline=2)], "late cannot end by 2 h: it takes 3 h at best (on 2 GPUs of box)"),
        (
            [job("first", {1: 3}), job("late", {1: 4, 2: 3}, deadline=5, after=("first",))],
            "late cannot end by 5 h: it takes 3 h at best (on 2 GPUs of box) and can start at 3 h after first",
        ),
        (
            [job("a", {2: 3}, deadline=4), job("b", {2: 3}, deadline=5)],
            "the deadlines cannot all be kept: at the least, b 1 h late. Try: a deadline of 6 h for b; or more GPUs",
        ),
    ],
)  # fmt: skip
def test_where_there_is_no_schedule_job_reason_and_remedy_are_named(jobs, said):
    with pytest.raises(PredictionError) as raised:
        plan_jobs(jobs, box(2))
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("jobs", "said"),
    [
        ([], "no job"),
        ([job("a", {1: 1}), job("a", {1: 1})], "two jobs are called 'a'"),
        ([job("a", {1: 1}, after=("b",))], "'b', which is no job"),
        ([job("a", {1: 1}, after=("b",)), job("b", {1: 1}, after=("a",))], "wait for one another"),
        ([job("a", {1: 0})], "0 hours"),
        ([job("a", {})], "no time on any number of GPUs"),
        ([job("a", {1: 1}, deadline=-1)], "the deadline is -1 hours"),
    ],
)
def test_jobs_that_make_no_sense_are_refused(jobs, said):
    with pytest.raises(OptionError, match=said):
        plan_jobs(jobs, box(2))


def test_cost_without_a_price_asks_for_one():
    with pytest.raises(OptionError, match="no price is known of V100"):
        plan_jobs([job("a", {1: 1})], box(1, usd=None), objective=Objective.COST)


def test_without_a_price_the_shortest_schedule_is_still_found():
    best = plan_jobs([job("a", {1: 1})], box(1, usd=None)).best
    assert (best.usd, best.held_usd, best.makespan_s) == (None, None, 3600.0)


def test_a_search_cut_short_says_so_and_is_no_worse_than_by_hand():
    jobs = [job(f"job {at}", {1: 7 + at * 0.37, 2: 4 + at * 0.21, 4: 2.3 + at * 0.13, 8: 1.9}) for at in range(24)]
    plan = plan_jobs(jobs, box(8), time_limit_s=0.02)
    assert broken_rules(plan.best, jobs) == []
    assert plan.best.makespan_s <= min(one.schedule.makespan_s for one in plan.naive)
    assert plan.is_proven or plan.gap_fraction > 0


@pytest.fixture
def interrupts() -> Iterator[None]:
    """As in a terminal: a process that was started in the background ignores them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_ends_the_search_with_the_best_so_far(interrupts: None):
    jobs = [job(f"job {at}", {1: 7 + at * 0.37, 2: 4 + at * 0.21, 4: 2.3 + at * 0.13, 8: 1.9}) for at in range(24)]
    told = []

    def interrupt_once(value, bound):
        if not told:
            _thread.interrupt_main()
        told.append(value)

    plan = plan_jobs(jobs, box(8), time_limit_s=600.0, progress=interrupt_once)
    assert plan.is_interrupted
    assert not plan.is_proven
    assert plan.gap_fraction > 0
    assert broken_rules(plan.best, jobs) == []


def test_better_schedules_are_told_as_they_are_found():
    told = []
    jobs = [job(f"job {at}", {1: 3 + at, 2: 2 + at / 2}) for at in range(5)]
    plan = plan_jobs(jobs, box(3), progress=lambda value, bound: told.append((value, bound)))
    assert told[-1][0] == pytest.approx(plan.value, abs=0.01)
    assert all(bound <= value + 1e-9 for value, bound in told)


def test_without_or_tools_the_command_that_installs_it_is_named(monkeypatch):
    monkeypatch.setattr("surfer_lab.planner.schedule.solver.importlib.util.find_spec", lambda name: None)
    with pytest.raises(OptionError, match=r'pip install "surfer-lab\[schedule\]"'):
        plan_jobs([job("a", {1: 1})], box(1))


@given(job_lists(most_jobs=6, most_gpus=5))
def test_schedules_by_hand_are_what_they_are_called(made):
    jobs, nodes = made
    alone = one_after_another(jobs, nodes).placements
    assert all(
        first.end_s <= second.start_s + 1e-6 or second.end_s <= first.start_s + 1e-6
        for at, first in enumerate(alone)
        for second in alone[at + 1 :]
    )
    assert all(one.mode.gpu_count == max(mode.gpu_count for mode in one.job.modes) for one in alone)
    assert all(one.mode.gpu_count == 1 for one in side_by_side(jobs, nodes).placements)


def test_memory_keeps_a_job_from_one_gpu_by_hand_too():
    modes = (Mode.exact("box", 1, 3600.0, 20 * GB), Mode.exact("box", 2, 3000.0, 12 * GB))
    made = type(job("a", {1: 1}))(name="a", modes=modes)
    plan = plan_jobs([made], box(2))
    assert [one.mode.gpu_count for one in plan.naive[1].schedule.placements] == [2]


def test_importing_the_package_of_schedules_loads_no_or_tools():
    asked = "import sys, surfer_lab.workloads.scheduled, surfer_lab.planner.schedule; print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert "'ortools'" not in done.stdout
    assert "'torch'" not in done.stdout

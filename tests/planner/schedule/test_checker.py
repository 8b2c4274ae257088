"""Does the checker see each rule that is broken? A right schedule, broken in one place at a time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from surfer_lab.planner.schedule import Mode, Placement, Schedule, broken_rules
from surfer_lab.planner.schedule.placements import with_gpus
from tests.planner.schedule.made_jobs import GB, box, job

FIRST = job("first", {2: 2}, memory_gb=10)
SECOND = job("second", {2: 2}, after=("first",), release=1, deadline=5)
BESIDE = job("beside", {1: 3})
JOBS = [FIRST, SECOND, BESIDE]


def placed(one, start_h, **changes):
    return replace(Placement(job=one, mode=one.modes[0], start_s=start_h * 3600.0, nodes=(0,)), **changes)


def schedule(*placements, gpus=3):
    return Schedule(nodes=box(gpus), placements=placements)


RIGHT = (placed(FIRST, 0), placed(SECOND, 2), placed(BESIDE, 0))


def test_a_right_schedule_breaks_no_rule():
    assert broken_rules(schedule(*RIGHT), JOBS) == []
    assert broken_rules(with_gpus(schedule(*RIGHT)), JOBS) == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (schedule(*RIGHT[:2]), "beside is placed 0 times"),
        (schedule(*RIGHT, RIGHT[0]), "first is placed 2 times"),
        (schedule(*RIGHT, placed(job("other", {1: 1}), 9)), "other is no job"),
        (schedule(RIGHT[0], placed(SECOND, 1), RIGHT[2]), "second starts before first ends"),
        (schedule(RIGHT[0], placed(SECOND, 0.5), RIGHT[2]), "second starts before its release"),
        (schedule(RIGHT[0], placed(SECOND, 4), RIGHT[2]), "second ends after its deadline"),
        (schedule(*RIGHT, gpus=2), "3 GPUs are used on node 0, which has 2"),
        (schedule(*RIGHT, gpus=1), "first has fewer GPUs than its mode"),
        (schedule(placed(FIRST, 0, mode=Mode.exact("box", 2, 60.0)), *RIGHT[1:]), "first runs in no mode of its own"),
        (schedule(placed(FIRST, 0, nodes=(0, 0)), *RIGHT[1:]), "first runs on nodes that are not its mode's"),
        (schedule(placed(FIRST, 0, gpus=((0, 0),)), *RIGHT[1:]), "first is not given its GPUs"),
        (schedule(placed(FIRST, 0, gpus=((0, 0), (0, 7))), *RIGHT[1:]), "node 0 has no GPU 7"),
        (
            schedule(placed(FIRST, 0, gpus=((0, 0), (0, 1))), RIGHT[1], placed(BESIDE, 1, gpus=((0, 1),))),
            "first and beside share GPU 1 of node 0",
        ),
    ],
)
def test_each_broken_rule_is_said(wrong, said):
    assert said in broken_rules(wrong, JOBS)


def test_memory_and_half_filled_nodes_are_seen():
    heavy = job("heavy", {1: 1}, memory_gb=17)
    assert broken_rules(schedule(placed(heavy, 0)), [heavy]) == ["heavy needs more memory than a GPU has"]
    wide = job("wide", {3: 1})
    nodes = box(4, per_node=2)
    half = Schedule(nodes=nodes, placements=(placed(wide, 0, nodes=(0, 1)),))
    assert broken_rules(half, [wide]) == ["wide is on several nodes without filling them"]
    assert nodes[0].memory_bytes == 16 * GB

"""What is shown of a planned and of a tuned run: rows, curves, sentences, sizes."""

from __future__ import annotations

import re
from dataclasses import replace

import msgspec
import pytest

from surfer_lab.planner.convergence.optimizer import Optimizer
from surfer_lab.planner.convergence.tuned_run import Goal
from surfer_lab.view.training_model import TrainingView
from surfer_lab.view.training_view import planned_view, shortened, tuned_view
from tests.planner.convergence.simulated import SimulatedCluster
from tests.planner.convergence.test_time_to_loss import cluster, plan


@pytest.fixture(scope="module")
def run():
    simulated = SimulatedCluster(
        s_per_sample=(0.01, 0.01, 0.03, 0.03), reduce_s=0.4, exchange_s=0.02, is_exponential=True
    )  # fmt: skip
    return Optimizer(simulated, Goal(batch_size=16, target_loss=1e-3, window=8)).run()


@pytest.fixture(scope="module")
def view(run):
    return tuned_view(run, title="Tuned: <b>mine</b>", target_loss=1e-3)


def test_every_number_of_groups_has_a_row_and_the_best_says_so():
    shown = planned_view(plan(cluster(reduce_s=0.2), iterations_at_one=500.0, usd_per_hour=36.0), title="Plan")
    assert [row[0].split()[0] for row in shown.plan.rows] == ["1", "2", "4", "8"]
    assert sum("(best)" in row[0] for row in shown.plan.rows) == 1
    assert all(len(row) == len(shown.plan.columns) for row in shown.plan.rows)
    assert "times sooner than synchronous" in shown.recommendation
    assert "$" in shown.recommendation


def test_a_small_gain_is_said_as_a_share_and_never_as_once_as_soon():
    shown = planned_view(plan(cluster(reduce_s=0.01)), title="Plan")
    assert re.search(r": \d+ % sooner than synchronous", shown.recommendation)
    assert "times sooner" not in shown.recommendation


def test_without_iterations_a_plan_has_no_columns_of_time_and_money():
    shown = planned_view(plan(), title="Plan")
    assert not {"Time to the loss", "Cost"} & set(shown.plan.columns)
    assert {len(row) for row in shown.plan.rows} == {len(shown.plan.columns)}
    assert not any("–" in row for row in shown.plan.rows)


def test_a_cost_below_a_cent_is_not_shown_as_nothing():
    shown = planned_view(plan(cluster(), iterations_at_one=5.0, usd_per_hour=2.0), title="Plan")
    costs = [row[shown.plan.columns.index("Cost")] for row in shown.plan.rows]
    assert all(re.fullmatch(r"\$0\.0+[1-9]\d*", cost) for cost in costs), costs


def test_a_number_is_never_in_scientific_form_and_a_range_names_its_unit_once(run, view):
    fast = replace(run, times=replace(run.times, samples_per_s=1e6 * run.times.samples_per_s))
    cells = [cell for row in tuned_view(fast, title="", target_loss=1e-3).workers.rows for cell in row]
    assert not [cell for cell in cells if re.search(r"\de[+-]?\d", cell)]
    ranges = [row[1] for row in view.plan.rows]
    assert all(re.fullmatch(r"[\d.,]+ (µs|ms|s) \([\d.,]+ to [\d.,]+ \1\)", text) for text in ranges), ranges


def test_the_plan_of_a_tuned_run_has_times_to_the_loss_and_says_what_they_follow_from(view):
    assert all(row[4] != "–" for row in view.plan.rows)
    assert [note for note in view.notes if note.startswith("Times to the loss follow from the ")]


def test_a_plan_that_names_others_than_were_chosen_says_why(run):
    best = run.plan.best.setting.groups
    other = 1 if best > 1 else 2
    changed = replace(run, setting=replace(run.setting, groups=other))
    notes = tuned_view(changed, title="Run", target_loss=1e-3).notes
    assert [note for note in notes if note.startswith(f"The plan's model takes {best} for the soonest; {other} was")]


def test_a_tuned_run_says_what_was_chosen_and_what_it_cost(run, view):
    assert run.is_reached
    assert f"learning rate {run.setting.learning_rate:.3g}" in view.recommendation
    assert "loss 0.001 reached" in view.recommendation
    assert len(view.decisions) == len(run.decisions)
    assert len(view.workers.rows) == 4
    assert sum(view.staleness) > 0


def test_curves_lie_one_after_the_other_and_end_at_the_target(run, view):
    starts = [curve.seconds[0] for curve in view.curves]
    assert starts == sorted(starts)
    assert all(len(curve.seconds) == len(curve.loss) <= 160 for curve in view.curves)
    assert view.curves[-1].loss[-1] < 2e-3


def test_it_survives_json_and_stays_small(view):
    encoded = msgspec.json.encode(view)
    assert msgspec.json.decode(encoded, type=TrainingView) == view
    assert len(encoded) < 250_000


def test_every_phase_has_a_row_with_its_setting_loss_and_throughput(run, view):
    assert len(view.trials.rows) == len(run.phases)
    for row, phase in zip(view.trials.rows, run.phases, strict=True):
        record = phase.record
        assert len(row) == len(view.trials.columns)
        assert row[1:3] == [str(record.request.setting.groups), f"{record.request.setting.momentum:g}"]
        assert (row[4] == "diverged") == record.is_diverged
        rate = record.column("samples").sum() / record.seconds
        assert float(row[6].replace(",", "")) == pytest.approx(rate, rel=1e-3)


def test_the_geometric_staleness_has_as_many_updates(view):
    assert len(view.staleness_geometric) == len(view.staleness)
    assert sum(view.staleness_geometric) == pytest.approx(sum(view.staleness), rel=1e-3)


@pytest.mark.parametrize(
    ("changes", "is_final", "state"),
    [
        ({}, False, "running"),
        ({}, True, "reached"),
        ({"is_reached": False}, True, "ended"),
        ({"is_reached": False, "is_interrupted": True}, True, "interrupted"),
    ],
)
def test_the_state_says_how_it_stands(run, changes, is_final, state):
    shown = tuned_view(replace(run, **changes), title="", target_loss=1e-3, is_final=is_final)
    assert shown.state == state
    assert ("so far" in shown.recommendation) == (state == "running" and not run.is_reached)


def test_a_message_holds_the_newest_decisions_and_says_that_it_leaves_some_out(view):
    assert shortened(view) is view
    long = msgspec.structs.replace(view, decisions=[f"decision {number}" for number in range(5_000)])
    short = shortened(long)
    assert short.decisions[-1] == "decision 4999"
    assert f"The first {5_000 - len(short.decisions):,} decisions" in short.notes[-1]


def test_a_run_of_hours_is_drawn_with_a_few_hundred_points_and_fits_a_message(run):
    long = replace(run, phases=run.phases * 40, decisions=run.decisions * 40)
    shown = shortened(tuned_view(long, title="", target_loss=1e-3))
    assert sum(len(curve.loss) for curve in shown.curves) <= 1_000
    assert len(shown.trials.rows) <= 100
    assert len(msgspec.json.encode(shown)) < 120_000

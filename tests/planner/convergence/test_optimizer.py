"""The automatic optimizer on simulated clusters: what it chooses, what it skips, what it costs, how it goes on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import orjson
import pytest

from surfer_lab.errors import OptionError
from surfer_lab.planner.convergence.candidates import candidates, is_ruled_out
from surfer_lab.planner.convergence.decisions import Decision, DecisionKind
from surfer_lab.planner.convergence.optimizer import Optimizer
from surfer_lab.planner.convergence.run_record import PhaseRequest
from surfer_lab.planner.convergence.setting import Setting
from surfer_lab.planner.convergence.tuned_run import Goal, PhaseRole, SearchOptions
from tests.planner.convergence.simulated import SimulatedCluster

GOAL = Goal(batch_size=16, target_loss=1e-3, window=8, max_seconds=4000.0)
FAST_LINKS = {"s_per_sample": (0.1,) * 8, "hop_s": 1e-4}
SLOW_LINKS = {"s_per_sample": (0.01,) * 8, "reduce_s": 0.5, "exchange_s": 0.02}


def tuned(cluster, goal=GOAL, **words):
    return Optimizer(cluster, goal, **words).run()


def kinds(run):
    return [decision.kind for decision in run.decisions]


def test_it_reaches_the_target_and_says_why_it_did_what():
    run = tuned(SimulatedCluster(**SLOW_LINKS, is_exponential=True))
    assert run.is_reached
    assert kinds(run)[:3] == [DecisionKind.MEASURED, DecisionKind.PROPOSED, DecisionKind.COLD_START]
    assert kinds(run)[-1] is DecisionKind.ENDED
    assert all(decision.reason for decision in run.decisions)
    assert run.seconds == pytest.approx(sum(phase.record.wall_s for phase in run.phases))


def test_fast_links_stay_synchronous_and_slow_links_do_not():
    assert tuned(SimulatedCluster(**FAST_LINKS)).setting.groups == 1
    assert tuned(SimulatedCluster(**SLOW_LINKS, is_exponential=True)).setting.groups >= 4


def test_it_is_faster_than_an_untuned_synchronous_run_over_slow_links():
    run = tuned(SimulatedCluster(**SLOW_LINKS, is_exponential=True))
    alone = SimulatedCluster(**SLOW_LINKS, is_exponential=True).run(
        PhaseRequest(
            setting=Setting(groups=1, momentum=0.9, learning_rate=0.1), batch_size=16, window=8,
            max_updates=5000, target_loss=GOAL.target_loss,
        )
    )  # fmt: skip
    assert alone.is_reached
    assert run.seconds < alone.seconds


def test_the_plan_of_a_run_that_reached_its_target_says_how_long_others_would_have_taken():
    run = tuned(SimulatedCluster(**SLOW_LINKS, is_exponential=True), replace(GOAL, usd_per_hour=36.0))
    chosen = run.plan.row(run.setting.groups)
    assert chosen.iterations == pytest.approx(run.state.updates)
    assert chosen.setting == run.setting
    assert chosen.seconds == pytest.approx(run.seconds - run.tuning_s, rel=0.25)
    assert chosen.usd == pytest.approx(0.01 * chosen.seconds)
    assert run.plan.row(1).seconds > chosen.seconds
    assert f"{run.state.updates:,} updates that this run took" in run.plan.basis


def test_the_plan_of_a_run_that_goes_on_is_by_the_fall_of_its_loss():
    seen = []
    run = tuned(
        SimulatedCluster(**SLOW_LINKS, is_exponential=True, condition=300.0), changed=lambda one: seen.append(one.plan)
    )
    projected = [plan for plan in seen if plan is not None and "goes on falling" in plan.basis]
    assert projected and all(plan.rows[0].seconds > 0 for plan in projected)
    assert run.is_reached and "goes on falling" not in run.plan.basis


def test_a_run_whose_time_is_over_is_not_taken_for_one_that_arrived():
    run = tuned(SimulatedCluster(**SLOW_LINKS, condition=300.0), replace(GOAL, target_loss=1e-7, max_seconds=40.0))
    assert not run.is_reached
    chosen = run.plan.row(run.setting.groups)
    assert chosen.iterations is None or chosen.iterations > run.state.updates


def test_searching_costs_about_its_share():
    run = tuned(SimulatedCluster(**SLOW_LINKS, is_exponential=True, condition=300.0))
    assert run.is_reached
    assert run.overhead_fraction < 0.2


def test_settings_above_a_diverged_one_are_not_tried_again():
    cluster = SimulatedCluster(**SLOW_LINKS, condition=5.0)
    cluster.curvature = cluster.curvature * 60.0
    run = tuned(cluster, Goal(batch_size=16, target_loss=1e-2, window=8, max_seconds=2000.0))
    diverged = [phase.record.request.setting for phase in run.phases if phase.record.is_diverged]
    assert diverged
    tried = []
    for phase in run.phases:
        setting = phase.record.request.setting
        if phase.role == PhaseRole.TRIAL:
            assert is_ruled_out(setting, tried) is None
        if phase.record.is_diverged:
            tried.append(setting)


def test_training_that_diverges_at_every_rate_says_so():
    cluster = SimulatedCluster(s_per_sample=(0.01,) * 2)
    cluster.curvature = cluster.curvature * 1e6
    with pytest.raises(OptionError, match="diverges at every learning rate"):
        tuned(cluster)


def test_an_interrupt_gives_the_best_so_far():
    run = tuned(SimulatedCluster(**SLOW_LINKS, interrupt_after=6))
    assert run.is_interrupted
    assert not run.is_reached
    assert run.setting is not None
    assert run.state is not None


def test_it_goes_on_from_a_checkpoint_without_searching_again():
    cluster = SimulatedCluster(**SLOW_LINKS, is_exponential=True, condition=300.0)
    options = SearchOptions(least_epoch_s=2.0)
    first = Optimizer(cluster, GOAL, options).run()
    state, facts = cluster.kept[0]
    facts = orjson.loads(orjson.dumps(facts, option=orjson.OPT_SERIALIZE_NUMPY))
    again = SimulatedCluster(**SLOW_LINKS, is_exponential=True, condition=300.0)
    second = Optimizer(again, GOAL, options).run((state, facts))
    assert first.is_reached
    assert second.is_reached
    assert DecisionKind.RESUMED in kinds(second)
    assert kinds(second).count(DecisionKind.COLD_START) == kinds(first).count(DecisionKind.COLD_START)  # none anew
    assert len(again.ran) < len(cluster.ran)
    assert again.samples_per_s == pytest.approx(cluster.samples_per_s)


def test_a_checkpoint_of_something_else_is_refused():
    with pytest.raises(OptionError, match="not written by a tuned run"):
        Optimizer(SimulatedCluster(**FAST_LINKS), GOAL).run((None, {}))


def test_the_time_limit_ends_it():
    run = tuned(SimulatedCluster(**SLOW_LINKS), Goal(batch_size=16, target_loss=1e-30, window=8, max_seconds=60.0))
    assert not run.is_reached
    assert run.seconds < 80.0


class WithACliff(SimulatedCluster):
    """Long phases at the first rate that was chosen lose what was learned: the loss stands where it began."""

    fallen: float | None = None

    def run(self, request, state=None, **words):
        is_dead = state is not None and not state.weights.any()
        record = super().run(replace(request, target_loss=None) if is_dead else request, state, **words)
        if words.get("keeps") and self.fallen is None:
            self.fallen = request.setting.learning_rate
        if is_dead or (words.get("keeps") and request.setting.learning_rate == self.fallen):
            updates = record.updates.copy()
            updates[:, 1] = 0.5 * self.curvature.sum()  # as at the start
            record = replace(
                record, updates=updates, is_reached=False, state=replace(record.state, weights=np.zeros(8, np.float32))
            )
        return record


def test_a_state_that_lost_what_it_had_learned_is_left():
    options = SearchOptions(least_epoch_s=2.0)
    run = Optimizer(WithACliff(**FAST_LINKS, condition=300.0), GOAL, options).run()
    assert any(decision.kind is DecisionKind.BACKED_OFF and "lower before" in decision.reason
               for decision in run.decisions)  # fmt: skip
    assert run.is_reached


def test_decisions_are_the_same_after_a_checkpoint():
    made = Decision(
        kind=DecisionKind.TRIAL, at_s=1.5, reason="loss 0.3", loss=0.3,
        setting=Setting(groups=2, momentum=-0.3, learning_rate=0.1),
    )  # fmt: skip
    assert Decision.of_json(orjson.loads(orjson.dumps(made.as_json()))) == made
    assert "g=2, momentum -0.3" in made.words


def test_the_proposal_comes_first_and_omnivores_grid_is_among_the_rest():
    proposed = Setting(groups=4, momentum=0.15, learning_rate=0.085)
    every = candidates(proposed, last_rate=0.01)
    assert every[0] == proposed
    assert any(one.momentum < 0 for one in every)
    for momentum in (0.0, 0.3, 0.6, 0.9):
        assert any(abs(one.momentum - momentum) < 0.2 for one in every)
    assert all(
        one.momentum >= 0 for one in candidates(Setting(groups=1, momentum=0.9, learning_rate=0.01), last_rate=0.01)
    )

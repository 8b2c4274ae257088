"""How is a run tuned while it trains? Omnivore's automatic optimizer, with the planner's model in front of it.

Measuring: a few updates with one group and with many, so that the model knows what an iteration costs with any number
of them; it proposes the groups. Cold start: total momentum 0.9 (what is implicit in the groups taken off), learning
rates by decades. Then epochs: groups, momentum and rate are searched in short trials of equal seconds, most promising
first; training goes on with the best; and so on until the target loss. Omnivore starts cold synchronously; here slow
links would make that the dearest part of the search, and by the momentum rule it is the same run.

Trials start from one state and the winner's end is kept, so that a search costs its losers only. What is spent on
searching is held below a share of the time that the run is expected to take (10 %). A setting that diverged rules out
all above it. Every decision is logged with its reason. Pure: the runner has the clock.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from surfer_lab.errors import OptionError
from surfer_lab.planner.convergence.candidates import candidates, is_ruled_out
from surfer_lab.planner.convergence.cluster_times import ClusterTimes
from surfer_lab.planner.convergence.decisions import Decision, DecisionKind
from surfer_lab.planner.convergence.hardware_efficiency import group_counts, group_times
from surfer_lab.planner.convergence.measured_times import cluster_times
from surfer_lab.planner.convergence.plan_so_far import carried_setting, plan_so_far
from surfer_lab.planner.convergence.run_record import (
    PhaseInterrupted,
    PhaseRecord,
    PhaseRequest,
    PhaseRunner,
    PhaseStatus,
    RunState,
)
from surfer_lab.planner.convergence.setting import Setting, groups_text
from surfer_lab.planner.convergence.statistical_efficiency import StatisticalModel
from surfer_lab.planner.convergence.time_to_loss import TrainingPlan, plan_training
from surfer_lab.planner.convergence.tuned_run import Goal, Phase, PhaseRole, SearchOptions, TunedRun

__all__ = ["Optimizer"]

_DIVERGED: Final = 4.0  # times the first loss
_TRAINS_WELL: Final = 0.5  # of the first loss, after a trial
_HARDLY_MOVED: Final = 0.93  # of the first loss
_MOST_STRETCHED: Final = 8.0
_MOST_DIVERGED: Final = 20  # settings, trials included
_CLEARLY_BETTER: Final = 0.9  # of the other's loss
_LONGER: Final = 2.0  # than the last epoch, while the loss falls
_SLOW: Final = 0.4  # a smaller fall of the logarithm, in an epoch about as long as all before it
_TELLING: Final = 12  # updates, of a phase whose times count
_PROBES: Final = 3  # one group, some, many
_MOST_TIMED: Final = 20  # phases
_FASTER: Final = 1.10  # more groups must give more than 10 % faster iterations


@dataclass(eq=False)
class Optimizer:
    """One run. `logged` is called with every decision, `told` with a running phase's status, `changed` after each."""

    runner: PhaseRunner
    goal: Goal
    options: SearchOptions = field(default_factory=SearchOptions)
    logged: Callable[[Decision], None] | None = None
    told: Callable[[str, Setting, PhaseStatus], None] | None = None
    changed: Callable[[TunedRun], None] | None = None

    def __post_init__(self) -> None:
        self._decisions: list[Decision] = []
        self._phases: list[Phase] = []
        self._diverged: list[Setting] = []
        self._state: RunState | None = None
        self._safe_state: RunState | None = None  # before the newest trial that was kept
        self._has_backed_off = False
        self._is_falling = True  # the loss, in the newest phase that was kept
        self._fall = self._pace = math.inf  # of its logarithm, there; the same a second
        self._best: Setting | None = None
        self._first_loss = math.nan
        self._lowest_loss = math.inf  # at the end of a phase that was kept
        self._spent_s = self._tuning_s = self._left_s = 0.0
        self._expected_s: float | None = None  # to the target, were there no limit; None where nobody can tell
        self._times: ClusterTimes | None = None
        self._plan: TrainingPlan | None = None
        self._is_reached = False
        self._stretch = 1.0  # of trials, where short ones say little
        self._epoch_s = self.options.least_epoch_s  # the longest epoch: short until the loss is seen to fall
        self._slow: tuple[Setting, float, float] | None = None  # setting, pace, seconds of an epoch that hardly helped

    def run(self, resumed: tuple[RunState, dict[str, Any]] | None = None) -> TunedRun:
        """Tune and train until the target or the time limit; an interrupt gives the best so far."""
        is_interrupted = False
        try:
            if resumed is not None:
                self._resume(*resumed)
            else:
                self._measure()
                groups = self._start_groups()
                self._search(groups, self._cold_start(groups))
            while not self._is_reached and self._spent_s < self.goal.max_seconds:
                self._train_epoch()
                if not self._is_reached and self._slow is None and self._may_search():
                    self._search(self._chosen.groups)
        except PhaseInterrupted as interrupt:
            is_interrupted = True
            self._take_best_trial()
            if self._phases and self._phases[-1].role == PhaseRole.EPOCH and not interrupt.record.is_diverged:
                self._state = interrupt.record.state
            self._log(DecisionKind.ENDED, "interrupted: the best so far is kept")
        if self._is_reached:
            self._log(DecisionKind.ENDED, f"loss {self.goal.target_loss:g} reached, {self._overhead()} of it searching")
        elif not is_interrupted:
            self._log(DecisionKind.ENDED, f"{self.goal.max_seconds:.0f} s are over without the target loss")
        return self._so_far(is_interrupted=is_interrupted)

    def _so_far(self, *, is_interrupted: bool = False) -> TunedRun:
        return TunedRun(
            setting=self._best,
            state=self._state,
            is_reached=self._is_reached,
            is_interrupted=is_interrupted,
            seconds=self._spent_s,
            tuning_s=self._tuning_s,
            phases=tuple(self._phases),
            decisions=tuple(self._decisions),
            times=self._times,
            plan=self._plan_so_far(),
        )

    def _plan_so_far(self) -> TrainingPlan | None:
        """The plan by what was found; before a setting was chosen, the one that proposed the groups."""
        if self._times is None or self._best is None:
            return self._plan
        # the probes knew a few rounds; what was kept knows many
        records = [one.record for one in self._phases if one.role == PhaseRole.PROBE or one.record.count >= _TELLING]
        probes, rest = records[:_PROBES], records[_PROBES:]
        times = cluster_times([*probes, *rest[-_MOST_TIMED:]], self.runner.worker_count)
        return plan_so_far(
            replace(times, batch_size=self.goal.batch_size),
            self._best,
            updates=0 if self._state is None else self._state.updates,
            left_s=0.0 if self._is_reached else self._expected_s,
            counts=self._counts(),
            usd_per_hour=self.goal.usd_per_hour,
        )

    def _counts(self) -> list[int]:
        most = self.options.max_groups or self.runner.worker_count
        return [count for count in group_counts(self.runner.worker_count) if count <= most]

    @property
    def _chosen(self) -> Setting:
        if self._best is None:
            raise OptionError("no setting trained", remedy="smaller learning rates: cold_rates")
        return self._best

    def _take_best_trial(self) -> None:
        """Interrupted before anything was chosen: the trial with the lowest loss, where one ended."""
        trials = [phase.record for phase in self._phases if phase.role == PhaseRole.TRIAL]
        best = min(trials, key=_score, default=None)
        if self._state is None and best is not None and math.isfinite(_score(best)):
            self._best, self._state = best.request.setting, best.state

    # the parts of a run, in their order

    def _measure(self) -> None:
        """A few updates with one group, with half as many groups as workers, and with as many: then times are known.

        They are made with the smallest rate and are not kept; and with a part of the batch, as a worker's time is an
        overhead and so much a sample, and both are seen where shares differ.
        """
        workers = self.runner.worker_count
        batch_size = max(workers, self.goal.batch_size // 4)
        records: list[PhaseRecord] = []
        for groups in dict.fromkeys((1, max(1, workers // 2), workers)):
            setting = Setting(groups=groups, momentum=0.0, learning_rate=min(self.options.cold_rates))
            updates = max(self.options.probe_rounds * groups, self.options.probe_rounds + 1)
            request = replace(self._request(setting, max_updates=updates), batch_size=batch_size, target_loss=None)
            records.append(self._run(PhaseRole.PROBE, request))
        self._times = replace(cluster_times(records, workers), batch_size=self.goal.batch_size)
        self.runner.samples_per_s, self.runner.overhead_s = self._times.samples_per_s, self._times.overhead_s
        rates = self._times.samples_per_s
        self._log(
            DecisionKind.MEASURED,
            f"workers do {_rates_text(rates.min(), rates.max())} samples/s; all-reduce of {workers} "
            f"{1e3 * self._times.all_reduce_s(workers):.3g} ms, exchange {1e3 * self._times.exchange_s:.3g} ms, server "
            f"{1e3 * self._times.server_s:.3g} ms; batches are divided by throughput",
        )

    def _start_groups(self) -> int:
        """The largest number of groups that still gives more than 10 % faster iterations than the next smaller."""
        if self._times is None:
            return 1
        statistics = StatisticalModel(total_momentum=self.options.momentum)
        self._plan = plan_training(
            self._times, statistics, learning_rate=self.options.cold_rates[0], counts=self._counts()
        )
        groups = 1
        for row in self._plan.rows[1:]:
            if self._plan.row(groups).times.seconds > _FASTER * row.times.seconds:
                groups = row.setting.groups
        times = self._plan.row(groups).times
        if groups == 1:
            said = f"none of more makes iterations more than 10 % faster than the {1e3 * times.seconds:.3g} ms of 1"
        else:
            first = self._plan.rows[0].times.seconds
            said = (
                f"the most that still make iterations more than 10 % faster ({1e3 * first:.3g} ms with 1, "
                f"{1e3 * times.seconds:.3g} ms with {groups})"
            )
        self._log(DecisionKind.PROPOSED, f"{groups_text(groups)}: {said}, limited by {times.limit.value}")
        return groups

    def _cold_start(self, groups: int) -> PhaseRecord:
        """Decades from the second largest: up while it does not diverge and helps, else down while that helps.

        The rates are those of a synchronous run with momentum 0.9; with more groups the momentum rule translates them.
        Slow links so cost the cold start no more than the rest.
        """
        rates = sorted(self.options.cold_rates, reverse=True)
        seconds = self._trial_seconds(groups)
        start = best = at = min(1, len(rates) - 1)
        direction = -1 if at > 0 else 1
        found: dict[int, PhaseRecord] = {}
        scores: dict[int, float] = {}
        while 0 <= at < len(rates):
            setting = self._translated(groups, self.options.momentum, rates[at])
            if is_ruled_out(setting, self._diverged) is None:
                record = self._trial(setting, DecisionKind.COLD_START, max_seconds=seconds)
                while at == start and self._says_little(record) and self._stretch < _MOST_STRETCHED:
                    self._stretch *= 2.0
                    seconds = self._trial_seconds(groups)
                    self._log(DecisionKind.MEASURED, f"the loss hardly moved: trials of {seconds:.2f} s instead")
                    record = self._trial(setting, DecisionKind.COLD_START, max_seconds=seconds)
                found[at], scores[at] = record, _score(record)
                if self._is_reached:
                    best = at
                    break
            improved = at in scores and (at == best or scores[at] < scores[best])
            best = at if improved else best
            if direction < 0 and not improved:
                if scores[start] < _TRAINS_WELL * self._first_loss:
                    break  # and a tenth of the rate would be slower
                direction, at = 1, max(found, default=0)
            elif not improved and math.isfinite(scores.get(best, math.inf)):
                break
            if direction > 0 and best < start:
                break  # a larger rate was better: smaller ones are not asked
            at += direction
        if not math.isfinite(scores.get(best, math.inf)):
            raise OptionError(
                f"training diverges at every learning rate down to {rates[-1]:g}", remedy="smaller ones: cold_rates"
            )
        self._best = found[best].request.setting
        self._estimate(found[best])
        return found[best]

    def _says_little(self, record: PhaseRecord) -> bool:
        """Whether a trial ended where it began, or so near that noise decides: a plateau, or too few updates."""
        return not record.is_diverged and not self._is_reached and _score(record) > _HARDLY_MOVED * self._first_loss

    @staticmethod
    def _translated(groups: int, total_momentum: float, synchronous_rate: float) -> Setting:
        """The momentum rule's setting for so many groups, from a synchronous one."""
        statistics = StatisticalModel(total_momentum=total_momentum)
        return Setting(
            groups=groups,
            momentum=round(statistics.momentum(groups), 3),
            learning_rate=float(f"{statistics.learning_rate(groups, synchronous_rate):.3g}"),
        )

    def _search(self, groups: int, first: PhaseRecord | None = None) -> None:
        """Trials of equal seconds from one state; `first` is one that was made already.

        While no momentum is left to take away, half as many groups are tried, and taken where that trains better.
        """
        begun_s = self._spent_s
        seconds = self._trial_seconds(groups)
        best = first if self._is_reached else self._best_of(groups, seconds, first)
        while best is not None and not self._is_reached:
            setting = best.request.setting
            if setting.momentum > 0.0 or setting.groups == 1:
                break
            fewer = setting.groups // 2
            self._log(DecisionKind.HALVED, f"momentum {setting.momentum:g} is best with {setting.groups}: try {fewer}")
            rival = self._best_of(fewer, seconds, None, most=2)
            if rival is None or _score(rival) >= _CLEARLY_BETTER * _score(best):  # it has made half as many updates
                self._log(DecisionKind.HALVED, f"not done: {groups_text(fewer)} would train no better in the same time")
                break
            best = rival
        if best is not None:
            self._keep(best)
            self._log(
                DecisionKind.CHOSEN,
                f"after {self._spent_s - begun_s:.1f} s of trials; searching is {self._overhead()} of the time so far",
                setting=self._chosen,
            )

    def _best_of(
        self, groups: int, seconds: float, first: PhaseRecord | None, *, most: int | None = None
    ) -> PhaseRecord | None:
        """The best trial with so many groups, or `first`; None where all diverged or were ruled out."""
        best = first
        every = candidates(carried_setting(self._chosen, groups), last_rate=self._chosen.learning_rate)
        if first is not None:
            every.remove(first.request.setting)
        for number, setting in enumerate(every[:most]):
            above = is_ruled_out(setting, self._diverged)
            if above is not None:
                self._log(DecisionKind.SKIPPED, f"above {above.words}, which diverged", setting=setting)
                continue
            is_due = first is not None and number < self.options.least_trials
            if best is not None and not is_due and not self._may_search(seconds):
                self._log(DecisionKind.CAPPED, f"{len(every) - number} more settings would cost more than they may")
                break
            record = self._trial(setting, DecisionKind.TRIAL, max_seconds=seconds)
            if math.isfinite(_score(record)) and (best is None or _score(record) < _score(best)):
                best = record
            if self._is_reached:
                return record
        return best

    def _trial_seconds(self, groups: int) -> float:
        if self._times is None:
            return self.options.least_epoch_s / 10.0
        mine = group_times(self._times, groups)
        return self._stretch * max(self.options.trial_updates * mine.seconds, 2.0 * mine.round_s)

    def _train_epoch(self) -> None:
        """Go on with the chosen setting, long enough that the search stays a small part."""
        setting = self._chosen
        least = self._tuning_s / self.options.overhead_fraction - self._spent_s
        most = 0.5 * self._left_s if self._is_falling else 0.0  # where the loss stands still, another search is near
        if self._has_backed_off:  # until it trains again
            least = most = 0.0
        wanted = min(max(self.options.least_epoch_s, least, most), self._epoch_s)
        seconds = min(self.goal.max_seconds - self._spent_s, wanted)
        record = self._run(PhaseRole.EPOCH, self._request(setting, max_seconds=seconds), keeps=True)
        if record.is_diverged or not record.count:
            self._back_off(setting, record, "diverged")
            return
        if not record.is_reached and self._is_lost(record):
            self._back_off(setting, record, "the loss stands where training began, and was lower before")
            return
        self._state, self._safe_state, self._has_backed_off = record.state, record.state, False
        self._estimate(record)
        self._log(
            DecisionKind.TRAINED, f"{record.count} updates in {record.seconds:.1f} s", setting=setting,
            loss=record.last_loss(),
        )  # fmt: skip
        self._judge_pace(setting, record)

    def _judge_pace(self, setting: Setting, record: PhaseRecord) -> None:
        """Epochs grow while the loss falls. Where it hardly did throughout one, a third of the rate is tried in a short
        one: too large a rate swings around the minimum without diverging, and a noisy gradient has a floor that falls
        with the rate. Where that is no faster, it was a long way and not the rate.
        """
        if self._is_reached:
            return
        if self._slow is not None:
            before, pace, seconds = self._slow
            self._slow = None
            if self._pace <= pace:
                self._best, self._epoch_s = before, _LONGER * seconds
                self._log(DecisionKind.BACKED_OFF, "a third of the rate trains no faster: back to all of it",
                          setting=before)  # fmt: skip
                return
        elif self._fall < _SLOW and record.count >= 2 * self.goal.window:
            self._slow = (setting, self._pace, record.seconds)
            self._best = replace(setting, learning_rate=setting.learning_rate / 3.0)
            self._epoch_s = self.options.least_epoch_s
            self._log(DecisionKind.BACKED_OFF, "the loss hardly fell: a third of the rate is tried", setting=setting)
            return
        self._epoch_s = _LONGER * max(record.seconds, self.options.least_epoch_s)

    def _is_lost(self, record: PhaseRecord) -> bool:
        """Whether what had been learned is gone, as where all units died: no rate brings such a state back."""
        low = _HARDLY_MOVED * self._first_loss
        return self._lowest_loss < low < min(_score(record), record.last_loss())

    def _back_off(self, setting: Setting, record: PhaseRecord, reason: str) -> None:
        """To the epoch's begin with a third of the rate; where that did not help, to the state before it."""
        self._diverged.append(setting)
        if len(self._diverged) > _MOST_DIVERGED:
            raise OptionError(
                f"training diverged {len(self._diverged)} times, last with {setting.words}",
                remedy="fewer groups (max_groups), or smaller learning rates (cold_rates)",
            )
        self._best, self._slow = replace(setting, learning_rate=setting.learning_rate / 3.0), None
        if self._has_backed_off:  # it is the state that is bad, not the rate alone
            self._state = self._safe_state
        elif self._state is not None:
            self._state = replace(self._state, velocity=0.0 * self._state.velocity)
        self._has_backed_off = True
        self._tuning_s += record.wall_s
        self._log(DecisionKind.BACKED_OFF, f"{reason}: back to the epoch's begin, with a third of the rate",
                  setting=setting)  # fmt: skip

    # what they are made of

    def _may_search(self, seconds: float = 0.0) -> bool:
        whole = self._spent_s + self._left_s
        return self._tuning_s + seconds <= self.options.overhead_fraction * whole

    def _overhead(self) -> str:
        return f"{100.0 * self._tuning_s / max(1e-9, self._spent_s):.0f} %"

    def _request(
        self, setting: Setting, *, max_updates: int | None = None, max_seconds: float | None = None
    ) -> PhaseRequest:
        return PhaseRequest(
            setting=setting,
            batch_size=self.goal.batch_size,
            max_updates=max_updates,
            max_seconds=max_seconds,
            target_loss=self.goal.target_loss,
            window=self.goal.window,
            diverged_above=_DIVERGED * self._first_loss if math.isfinite(self._first_loss) else math.inf,
            seed=self.goal.seed,
        )

    def _run(self, role: str, request: PhaseRequest, *, keeps: bool = False) -> PhaseRecord:
        told = self.told
        setting = request.setting
        begun_s = self._spent_s

        def passed(status: PhaseStatus) -> None:
            if told is not None:
                told(role, setting, status)

        try:
            record = self.runner.run(
                request, self._state, told=passed if told is not None else None, keeps=keeps, facts=self._facts()
            )
        except PhaseInterrupted as interrupt:
            self._phases.append(Phase(role=role, begun_s=begun_s, record=interrupt.record))
            self._spent_s += interrupt.record.wall_s
            raise
        self._phases.append(Phase(role=role, begun_s=begun_s, record=record))
        self._spent_s += record.wall_s
        if role != PhaseRole.EPOCH:
            self._tuning_s += record.wall_s
        if not math.isfinite(self._first_loss) and record.count:
            self._first_loss = float(record.column("loss")[0])
        self._is_reached = self._is_reached or (record.is_reached and role != PhaseRole.PROBE)
        if record.is_reached and role != PhaseRole.PROBE:
            self._state, self._best = record.state, setting
        if self.changed is not None:
            self.changed(self._so_far())
        return record

    def _trial(
        self, setting: Setting, kind: DecisionKind, *, max_updates: int | None = None, max_seconds: float | None = None
    ) -> PhaseRecord:
        record = self._run(PhaseRole.TRIAL, self._request(setting, max_updates=max_updates, max_seconds=max_seconds))
        if record.is_diverged:
            self._diverged.append(setting)
            self._log(kind, f"diverged after {record.count} updates", setting=setting)
        else:
            self._log(kind, f"loss {_score(record):.4g} after {record.count} updates in {record.seconds:.2f} s",
                      setting=setting, loss=_score(record))  # fmt: skip
        return record

    def _keep(self, record: PhaseRecord) -> None:
        """Go on from a trial's end: its time was no overhead after all."""
        self._best, self._slow = record.request.setting, None
        self._tuning_s = max(0.0, self._tuning_s - record.seconds)
        if not self._is_reached:
            self._safe_state, self._state = self._state, record.state
        self._estimate(record)

    def _estimate(self, record: PhaseRecord) -> None:
        """Seconds that are left if the loss goes on falling as fast (by a factor in a time): a lower bound, mostly."""
        self._lowest_loss = min(self._lowest_loss, _score(record))
        loss = record.column("loss")
        third = max(1, record.count // 3)
        first, last = float(loss[:third].mean()), float(loss[-third:].mean())
        most = max(0.0, self.goal.max_seconds - self._spent_s)
        if not (math.isfinite(last) and last > self.goal.target_loss > 0.0):
            self._left_s, self._expected_s = min(most, self._left_s), None
            return
        fall = math.log(first / last) if 0.0 < last < first else 0.0
        between = record.seconds * (1.0 - third / max(1, record.count))
        self._is_falling, self._fall, self._pace = fall > 0.01, fall, fall / max(1e-9, between)
        self._expected_s = math.log(last / self.goal.target_loss) * between / fall if self._is_falling else None
        self._left_s = most if self._expected_s is None else min(most, self._expected_s)

    def _log(
        self, kind: DecisionKind, reason: str, *, setting: Setting | None = None, loss: float | None = None
    ) -> None:
        decision = Decision(kind=kind, at_s=self._spent_s, reason=reason, setting=setting, loss=loss)
        self._decisions.append(decision)
        if self.logged is not None:
            self.logged(decision)

    def _facts(self) -> dict[str, Any]:
        """What a checkpoint must hold beside the weights, so that the search need not be done again."""
        return {
            "setting": None if self._best is None else asdict(self._best),
            "first_loss": self._first_loss,
            "tuning_s": self._tuning_s,
            "spent_s": self._spent_s,
            "diverged": [asdict(one) for one in self._diverged],
            "decisions": [one.as_json() for one in self._decisions],
            "samples_per_s": [float(rate) for rate in self.runner.samples_per_s],
            "overhead_s": [float(one) for one in self.runner.overhead_s],
        }

    def _resume(self, state: RunState, facts: dict[str, Any]) -> None:
        if not facts.get("setting"):
            raise OptionError("the checkpoint was not written by a tuned run", remedy="start without resume")
        self._state, self._best = state, Setting(**facts["setting"])
        self._first_loss, self._tuning_s = float(facts["first_loss"] or math.nan), float(facts["tuning_s"])
        self._spent_s = max(float(facts["spent_s"]), state.seconds)
        self._diverged = [Setting(**one) for one in facts["diverged"]]
        self._decisions = [Decision.of_json(one) for one in facts["decisions"]]
        if len(facts["samples_per_s"]) == self.runner.worker_count:
            self.runner.samples_per_s = _array(facts["samples_per_s"])
            self.runner.overhead_s = _array(facts["overhead_s"])
        self._best = replace(self._best, groups=min(self._best.groups, self.runner.worker_count))
        self._log(DecisionKind.RESUMED, f"from update {state.updates:,}", setting=self._best)


def _rates_text(low: float, high: float) -> str:
    """Rates of the slowest and the fastest, as one where they read alike.

    >>> _rates_text(4887.3, 4889.0), _rates_text(12.34, 20570.0)
    ('4,890', '12.3 to 20,600')
    """
    slowest, fastest = (f"{float(f'{rate:.3g}'):,.15g}" for rate in (low, high))
    return fastest if slowest == fastest else f"{slowest} to {fastest}"


def _score(record: PhaseRecord) -> float:
    """Mean loss over the second half of the trial's time, or over its last quarter where that is higher: it may be
    about to diverge. inf where it has.
    """
    if record.is_diverged or not record.count:
        return math.inf
    parts = [record.column("loss")[record.column("at_s") > share * record.seconds] for share in (0.5, 0.75)]
    score = max((float(part.mean()) for part in parts if len(part)), default=math.inf)
    return score if math.isfinite(score) else math.inf


def _array(values: Sequence[float]) -> Any:
    import numpy as np

    return np.asarray(values, dtype=np.float64)

"""What is a person shown of a planned or tuned training run? Rows and curves, rounded and worded, ready for JSON.

The record that notebook output, report and panel draw alike: a plan (groups against time and dollars), the trials'
losses by wall time, who computes how fast, staleness, decisions, and the recommendation in a sentence.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
import numpy as np

from surfer_lab.planner.convergence.devices import Device
from surfer_lab.planner.convergence.momentum import geometric_staleness, implicit_momentum
from surfer_lab.planner.convergence.run_record import PhaseRecord, PhaseStatus
from surfer_lab.planner.convergence.setting import Setting, groups_text
from surfer_lab.planner.convergence.time_to_loss import GroupPlan, TrainingPlan
from surfer_lab.planner.convergence.tuned_run import Phase, PhaseRole, TunedRun
from surfer_lab.units import NS_PER_S
from surfer_lab.view.model import TableTwin
from surfer_lab.view.money_words import money_text
from surfer_lab.view.training_model import LossCurve, RunningPhase, TrainingState, TrainingView
from surfer_lab.view.wording import UNKNOWN, duration_text, long_time_quantity, significant, time_quantity

__all__ = ["plan_table", "planned_view", "running_phase", "shortened", "tuned_view"]

_MOST_POINTS: Final = 160  # of a curve: what a figure of a few hundred pixels can show
_MOST_POINTS_IN_ALL: Final = 800
_LEAST_POINTS: Final = 20
_MOST_TRIALS: Final = 100
_MOST_DECISIONS: Final = 200
_MOST_CURVES: Final = 24
_MOST_LAGS: Final = 40
_LONG_S: Final = 600.0  # from here on in minutes and hours
_SAID_AS_A_SHARE: Final = 1.5  # below it "1.0 times sooner" would hide what is gained


_PLAN_COLUMNS: Final = (
    "Groups", "Time per iteration", "Against 1 group", "Iterations against 1 group", "Time to the loss", "Cost",
    "Momentum to set", "Implicit", "Learning rate", "Limited by",
)  # fmt: skip
_WHERE_KNOWN: Final = ("Time to the loss", "Cost")  # left out of a plan that says neither of any number of groups


def plan_table(plan: TrainingPlan | None) -> TableTwin:
    """The plan as a table; the best row is marked in words, a column of what is not known is left out."""
    if plan is None:
        return TableTwin(columns=list(_PLAN_COLUMNS), rows=[])
    best = plan.best.setting.groups
    rows = [_plan_row(row, best) for row in plan.rows]
    shown = [
        at for at, name in enumerate(_PLAN_COLUMNS) if name not in _WHERE_KNOWN or any(r[at] != UNKNOWN for r in rows)
    ]
    return TableTwin(columns=[_PLAN_COLUMNS[at] for at in shown], rows=[[row[at] for at in shown] for row in rows])


def _plan_row(row: GroupPlan, best: int) -> list[str]:
    setting = row.setting
    low, high = row.statistical_low, row.statistical_high
    whole = UNKNOWN if row.seconds is None else _seconds(row.seconds)
    if row.seconds is not None and row.low_s is not None and row.high_s is not None:
        whole = _ranged(row.seconds, row.low_s, row.high_s)
    return [
        f"{setting.groups} (best)" if setting.groups == best else str(setting.groups),
        _ranged(row.times.seconds, row.times.low_s, row.times.high_s),
        f"{row.hardware_efficiency:.2f}x",
        f"{row.statistical_efficiency:.2f}x ({low:.2f} to {high:.2f})",
        whole,
        UNKNOWN if row.usd is None else money_text(row.usd),
        f"{setting.momentum:.2f}",
        f"{row.implicit_momentum:.2f}",
        f"{setting.learning_rate:.3g}",
        row.times.limit.value,
    ]


def _seconds(value: float) -> str:
    """A time in the unit that suits it.

    >>> _seconds(0.002), _seconds(75.0), _seconds(7500.0)
    ('2.00 ms', '75.0 s', '2 h 5 min')
    """
    return duration_text(value * NS_PER_S)


def _ranged(value: float, low: float, high: float) -> str:
    """A time with its range, in one unit.

    >>> _ranged(0.00184, 0.00168, 0.002), _ranged(7200.0, 5400.0, 9000.0)
    ('1.84 ms (1.68 to 2.00 ms)', '2 h (1 h 30 min to 2 h 30 min)')
    """
    worded = long_time_quantity if value >= _LONG_S else time_quantity
    time = worded(value * NS_PER_S, low_ns=low * NS_PER_S, high_ns=high * NS_PER_S)
    return f"{time.text} ({time.range_text})" if time.range_text else time.text


def _sooner(factor: float) -> str:
    """How much sooner, in the words that suit it.

    >>> _sooner(1.043), _sooner(2.5)
    ('4 % sooner', '2.5 times sooner')
    """
    if factor < _SAID_AS_A_SHARE:
        return f"{(1.0 - 1.0 / factor) * 100.0:.0f} % sooner"
    return f"{factor:.1f} times sooner"


def planned_view(
    plan: TrainingPlan, *, title: str, devices: Sequence[tuple[Device, int]] = (), notes: Sequence[str] = ()
) -> TrainingView:
    """A plan alone: what is predicted before anything ran."""
    best = plan.best
    said = f"{_groups(best.setting.groups)}, momentum {best.setting.momentum:.2f}"
    said += f", learning rate {best.setting.learning_rate:.3g}"
    one = plan.rows[0]
    if best is not one:
        said += f": {_sooner(one.relative_time / best.relative_time)} than synchronous"
    if best.seconds is not None:
        said += f", {_seconds(best.seconds)}"
    if best.usd is not None:
        said += f", {money_text(best.usd)}"
    return TrainingView(
        title=title,
        recommendation=f"{said}.",
        state="planned",
        plan=plan_table(plan),
        workers=_device_table(devices),
        trials=TableTwin(columns=list(_TRIAL_COLUMNS), rows=[]),
        staleness=[],
        staleness_geometric=[],
        staleness_note="",
        target_loss=None,
        curves=[],
        decisions=[],
        notes=list(notes),
    )


def _device_table(devices: Sequence[tuple[Device, int]]) -> TableTwin:
    """Devices by throughput and by what a dollar buys."""
    columns = ["Device", "Kind", "Count", "Samples/s", "$ per hour", "FLOP per dollar"]
    rows = [
        [
            device.name, device.kind.value, str(count), significant(device.samples_per_s, 4),
            UNKNOWN if device.usd_per_hour is None else f"{device.usd_per_hour:.2f}",
            UNKNOWN if device.flops_per_usd is None else f"{device.flops_per_usd:.2e}",
        ]
        for device, count in devices
    ]  # fmt: skip
    return TableTwin(columns=columns, rows=rows)


def tuned_view(run: TunedRun, *, title: str, target_loss: float, is_final: bool = True) -> TrainingView:
    """A tuned run, finished or so far."""
    chosen = _chosen_record(run)
    shown = run.phases[-_MOST_CURVES:]
    points = max(_LEAST_POINTS, min(_MOST_POINTS, _MOST_POINTS_IN_ALL // max(1, len(shown))))
    histogram = [] if chosen is None else [float(count) for count in chosen.staleness_histogram[:_MOST_LAGS]]
    return TrainingView(
        title=title,
        recommendation=_recommendation(run, target_loss, is_final=is_final),
        state=_state(run, is_final=is_final),
        plan=plan_table(run.plan),
        workers=_worker_table(run, chosen),
        trials=_trial_table(run),
        staleness=histogram,
        staleness_geometric=_geometric(histogram, run.setting),
        staleness_note="" if run.setting is None else _staleness_note(histogram, run.setting),
        target_loss=target_loss,
        curves=[
            curve for phase in shown if (curve := _curve(phase.role, phase.begun_s, phase.record, points)) is not None
        ],
        decisions=[decision.words.strip() for decision in run.decisions],
        notes=_plan_notes(run),
    )


def _plan_notes(run: TunedRun) -> list[str]:
    """What the plan's times follow from, and why it may name others than were chosen."""
    if run.plan is None:
        return []
    notes = [f"Times to the loss follow from {run.plan.basis}."] if run.plan.basis else []
    best = run.plan.best.setting.groups
    if run.setting is not None and best != run.setting.groups:
        notes.append(
            f"The plan's model takes {best} for the soonest; {run.setting.groups} was chosen by the first times "
            "measured and by trials, which also see what a model does not."
        )
    return notes


def _state(run: TunedRun, *, is_final: bool) -> TrainingState:
    if not is_final:
        return "running"
    if run.is_reached:
        return "reached"
    return "interrupted" if run.is_interrupted else "ended"


def running_phase(role: str, setting: Setting, status: PhaseStatus) -> RunningPhase:
    """The phase that is running, as far as it is known."""
    return RunningPhase(
        role=_ROLE_WORDS[role],
        setting=setting.words,
        updates=status.updates,
        seconds=round(status.seconds, 2),
        loss=float(f"{status.loss:.4g}") if math.isfinite(status.loss) else None,
    )


def shortened(view: TrainingView) -> TrainingView:
    """The view with no more decisions than a message should hold, the newest; a note says how many are left out."""
    left_out = len(view.decisions) - _MOST_DECISIONS
    if left_out <= 0:
        return view
    note = f"The first {left_out:,} decisions are left out here."
    return msgspec.structs.replace(view, decisions=view.decisions[-_MOST_DECISIONS:], notes=[*view.notes, note])


_ROLE_WORDS: Final = {PhaseRole.PROBE: "measuring", PhaseRole.TRIAL: "trial", PhaseRole.EPOCH: "training"}
_TRIAL_COLUMNS: Final = (
    "Phase", "Groups", "Momentum", "Learning rate", "Loss", "Updates", "Samples/s", "Mean staleness", "Begun after",
)  # fmt: skip


def _trial_table(run: TunedRun) -> TableTwin:
    """A row a phase, the newest of them; what it was for is said in a word."""
    first = max(0, len(run.phases) - _MOST_TRIALS)
    rows = [_trial_row(number, phase) for number, phase in enumerate(run.phases[first:], start=first + 1)]
    return TableTwin(columns=list(_TRIAL_COLUMNS), rows=rows)


def _trial_row(number: int, phase: Phase) -> list[str]:
    record = phase.record
    setting, loss = record.request.setting, record.last_loss()
    samples, staleness = record.column("samples"), record.column("staleness")
    return [
        f"{number} {_ROLE_WORDS[phase.role]}",
        str(setting.groups),
        f"{setting.momentum:g}",
        f"{setting.learning_rate:.3g}",
        "diverged" if record.is_diverged else f"{loss:.4g}" if math.isfinite(loss) else UNKNOWN,
        f"{record.count:,}",
        significant(float(samples.sum()) / record.seconds, 4) if record.seconds > 0 else UNKNOWN,
        f"{float(staleness.mean()):.2f}" if record.count else UNKNOWN,
        _seconds(phase.begun_s) if phase.begun_s > 0 else "0 s",
    ]


def _geometric(histogram: Sequence[float], setting: Setting | None) -> list[float]:
    """As many updates by lag, were work times exponential and alike."""
    if setting is None or not histogram:
        return []
    shares = geometric_staleness(setting.groups, lags=len(histogram))
    return [float(f"{share:.5g}") for share in shares * sum(histogram)]


def _recommendation(run: TunedRun, target_loss: float, *, is_final: bool) -> str:
    if run.setting is None:
        return "Nothing was chosen yet."
    setting = run.setting
    said = f"{_groups(setting.groups)}, momentum {setting.momentum:g}, learning rate {setting.learning_rate:.3g}"
    share = f"{_seconds(run.tuning_s)} of it spent measuring and on trials that were not kept"
    if run.is_reached:
        return f"{said}: loss {target_loss:g} reached in {_seconds(run.seconds)}, {share}."
    if not is_final:
        return f"{said}: the best so far, after {_seconds(run.seconds)}."
    ended = "interrupted after" if run.is_interrupted else "target not reached in"
    return f"{said}: {ended} {_seconds(run.seconds)}, {share}."


def _groups(count: int) -> str:
    return "Synchronous (1 group)" if count == 1 else groups_text(count)


def _chosen_record(run: TunedRun) -> PhaseRecord | None:
    """The newest phase with the chosen setting that has updates to count."""
    return next(
        (
            phase.record
            for phase in reversed(run.phases)
            if phase.record.request.setting == run.setting and phase.record.count
        ),
        None,
    )


def _staleness_note(histogram: Sequence[float], setting: Setting) -> str:
    if not sum(histogram):
        return ""
    mean = sum(lag * count for lag, count in enumerate(histogram)) / sum(histogram)
    return (
        f"Mean staleness {mean:.2f} updates with {groups_text(setting.groups)}; implicit momentum "
        f"{implicit_momentum(setting.groups):.2f} where work times are exponential."
    )


def _worker_table(run: TunedRun, chosen: PhaseRecord | None) -> TableTwin:
    columns = ["Worker", "Samples/s", "Share of the batch"]
    if run.times is None:
        return TableTwin(columns=columns, rows=[])
    shares: Mapping[int, int] = {} if chosen is None else {one.worker: one.samples for one in chosen.members}
    return TableTwin(
        columns=columns,
        rows=[
            [str(worker), significant(rate, 4), str(shares[worker]) if worker in shares else UNKNOWN]
            for worker, rate in enumerate(run.times.samples_per_s)
        ],
    )


def _curve(role: str, begun_s: float, record: PhaseRecord, most: int) -> LossCurve | None:
    if record.count < 2:
        return None
    loss = record.column("loss")
    window = max(1, min(record.request.window, record.count // 4))
    sums = np.cumsum(np.concatenate([[0.0], loss]))
    smooth = (sums[window:] - sums[:-window]) / window
    seconds = begun_s + record.column("at_s")[window - 1 :]
    kept = np.unique(np.linspace(0, len(smooth) - 1, min(most, len(smooth))).round().astype(int))
    points = [
        (round(float(seconds[at]), 3), float(f"{smooth[at]:.4g}")) for at in kept if math.isfinite(float(smooth[at]))
    ]
    return LossCurve(
        label=record.request.setting.words,
        role=role,
        seconds=[second for second, _ in points],
        loss=[value for _, value in points],
    )

"""What is a person shown of a planned or tuned training run? Rows and curves, rounded and worded, ready for JSON.

The record that notebook output, report and panel draw alike: a plan (groups against time and dollars), the trials'
losses by wall time, who computes how fast, staleness, decisions, and the recommendation in a sentence.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from msgspec import Struct

from surfer_lab.planner.convergence.devices import Device
from surfer_lab.planner.convergence.momentum import implicit_momentum
from surfer_lab.planner.convergence.run_record import PhaseRecord
from surfer_lab.planner.convergence.setting import Setting
from surfer_lab.planner.convergence.time_to_loss import GroupPlan, TrainingPlan
from surfer_lab.planner.convergence.tuned_run import TunedRun
from surfer_lab.view.model import TableTwin

__all__ = ["LossCurve", "TrainingView", "plan_table", "planned_view", "tuned_view"]

_MOST_POINTS: Final = 160  # of a curve: what a figure of a few hundred pixels can show
_MOST_CURVES: Final = 24
_MOST_LAGS: Final = 40
_SAID_AS_A_SHARE: Final = 1.5  # below it "1.0 times sooner" would hide what is gained


class LossCurve(Struct, frozen=True, kw_only=True):
    """Loss by wall time of one phase, smoothed over its window."""

    label: str
    role: str
    seconds: list[float]
    loss: list[float]


class TrainingView(Struct, frozen=True, kw_only=True):
    """All of it; a section without rows or points is left out where it is drawn."""

    title: str
    recommendation: str
    is_final: bool
    plan: TableTwin
    workers: TableTwin
    staleness: list[float]  # updates by lag, of the chosen setting
    staleness_note: str
    target_loss: float | None
    curves: list[LossCurve]
    decisions: list[str]
    notes: list[str]


_PLAN_COLUMNS: Final = (
    "Groups", "Time per iteration", "Against 1 group", "Iterations against 1 group", "Time to the loss", "Cost",
    "Momentum to set", "Implicit", "Learning rate", "Limited by",
)  # fmt: skip


def plan_table(plan: TrainingPlan | None) -> TableTwin:
    """The plan as a table; the best row is marked in words."""
    if plan is None:
        return TableTwin(columns=list(_PLAN_COLUMNS), rows=[])
    best = plan.best.setting.groups
    return TableTwin(columns=list(_PLAN_COLUMNS), rows=[_plan_row(row, best) for row in plan.rows])


def _plan_row(row: GroupPlan, best: int) -> list[str]:
    setting = row.setting
    low, high = row.statistical_low, row.statistical_high
    whole = "–" if row.seconds is None else _seconds(row.seconds)
    if row.low_s is not None and row.high_s is not None:
        whole = f"{whole} ({_seconds(row.low_s)} to {_seconds(row.high_s)})"
    return [
        f"{setting.groups} (best)" if setting.groups == best else str(setting.groups),
        f"{_seconds(row.times.seconds)} ({_seconds(row.times.low_s)} to {_seconds(row.times.high_s)})",
        f"{row.hardware_efficiency:.2f}x",
        f"{row.statistical_efficiency:.2f}x ({low:.2f} to {high:.2f})",
        whole,
        "–" if row.usd is None else f"${row.usd:,.2f}",
        f"{setting.momentum:.2f}",
        f"{row.implicit_momentum:.2f}",
        f"{setting.learning_rate:.3g}",
        row.times.limit.value,
    ]


def _seconds(value: float) -> str:
    """A time in the unit that suits it.

    >>> _seconds(0.0123), _seconds(75.0), _seconds(7500.0)
    ('12.3 ms', '75 s', '2.1 h')
    """
    for limit, factor, unit in ((1e-3, 1e-6, "µs"), (1.0, 1e-3, "ms"), (600.0, 1.0, "s"), (7200.0, 60.0, "min")):
        if value < limit:
            return f"{value / factor:.3g} {unit}"
    return f"{value / 3600.0:.1f} h"


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
        said += f", ${best.usd:,.2f}"
    return TrainingView(
        title=title,
        recommendation=f"{said}.",
        is_final=True,
        plan=plan_table(plan),
        workers=_device_table(devices),
        staleness=[],
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
            device.name, device.kind.value, str(count), f"{device.samples_per_s:,.4g}",
            "–" if device.usd_per_hour is None else f"{device.usd_per_hour:.2f}",
            "–" if device.flops_per_usd is None else f"{device.flops_per_usd:.2e}",
        ]
        for device, count in devices
    ]  # fmt: skip
    return TableTwin(columns=columns, rows=rows)


def tuned_view(run: TunedRun, *, title: str, target_loss: float, is_final: bool = True) -> TrainingView:
    """A tuned run, finished or so far."""
    chosen = _chosen_record(run)
    histogram = [] if chosen is None else [float(count) for count in chosen.staleness_histogram[:_MOST_LAGS]]
    return TrainingView(
        title=title,
        recommendation=_recommendation(run, target_loss),
        is_final=is_final,
        plan=plan_table(run.plan),
        workers=_worker_table(run, chosen),
        staleness=histogram,
        staleness_note="" if run.setting is None else _staleness_note(histogram, run.setting),
        target_loss=target_loss,
        curves=[
            curve
            for phase in run.phases[-_MOST_CURVES:]
            if (curve := _curve(phase.role, phase.begun_s, phase.record)) is not None
        ],
        decisions=[decision.words.strip() for decision in run.decisions],
        notes=[],
    )


def _recommendation(run: TunedRun, target_loss: float) -> str:
    if run.setting is None:
        return "Nothing was chosen yet."
    setting = run.setting
    said = f"{_groups(setting.groups)}, momentum {setting.momentum:g}, learning rate {setting.learning_rate:.3g}"
    share = f"{_seconds(run.tuning_s)} of it spent on trials that were not kept"
    if run.is_reached:
        return f"{said}: loss {target_loss:g} reached in {_seconds(run.seconds)}, {share}."
    ended = "interrupted after" if run.is_interrupted else "target not reached in"
    return f"{said}: {ended} {_seconds(run.seconds)}, {share}."


def _groups(count: int) -> str:
    return "Synchronous (1 group)" if count == 1 else f"{count} groups"


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
        f"Mean staleness {mean:.2f} updates with {setting.groups} group(s); implicit momentum "
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
            [str(worker), f"{rate:,.4g}", str(shares[worker]) if worker in shares else "–"]
            for worker, rate in enumerate(run.times.samples_per_s)
        ],
    )


def _curve(role: str, begun_s: float, record: PhaseRecord) -> LossCurve | None:
    if record.count < 2:
        return None
    loss = record.column("loss")
    window = max(1, min(record.request.window, record.count // 4))
    sums = np.cumsum(np.concatenate([[0.0], loss]))
    smooth = (sums[window:] - sums[:-window]) / window
    seconds = begun_s + record.column("at_s")[window - 1 :]
    kept = np.unique(np.linspace(0, len(smooth) - 1, min(_MOST_POINTS, len(smooth))).round().astype(int))
    points = [
        (round(float(seconds[at]), 3), float(f"{smooth[at]:.4g}")) for at in kept if math.isfinite(float(smooth[at]))
    ]
    return LossCurve(
        label=record.request.setting.words,
        role=role,
        seconds=[second for second, _ in points],
        loss=[value for _, value in points],
    )

"""Which two constants of a card make its predictions meet a few measured steps? Any models do.

    T_measured ~ T(rate / a, bandwidth / m)        a: arithmetic takes a times as long as by the rate, m: memory

Fitted by least squares of logarithms with both drawn towards 1, as far as rates and bandwidths are usually off
(`engine.ranges`): one step moves them a little, several of different kinds say which of the two is at fault. The
constants become sustained rates of this user's card, which win over the catalogue's from then on. Steps without an
origin only: at the GPU of a recording the prediction is the measurement.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine import EngineOptions, predict
from surfer_lab.engine.blending import may_be_absolute
from surfer_lab.engine.item_times import absolute_at_origin
from surfer_lab.engine.learned.machine import LONG_RUN_OF_PEAK
from surfer_lab.engine.ranges import TYPICAL_BANDWIDTH_FACTOR, TYPICAL_RATE_FACTOR, is_slot_powered
from surfer_lab.engine.work_items import work_of
from surfer_lab.errors import PredictionError
from surfer_lab.hardware.calibrations import Calibration, save_calibrations
from surfer_lab.hardware.cards import BANDWIDTH
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.gpu import Gpu, Rate, RateOrigin
from surfer_lab.trace.model import Trace, TraceOrigin

__all__ = [
    "MeasuredStep", "StepConstants", "captured_step", "fit_step_constants", "recorded_step", "save_constants",
    "with_constants",
]  # fmt: skip

F64 = NDArray[np.float64]

# how far steps are off whatever the constants (6 %), and how far rates and bandwidths are, in logarithms
_STEP_SPREAD: Final = 0.06
_PRIOR_SPREAD: Final = np.array([math.log(TYPICAL_RATE_FACTOR), math.log(TYPICAL_BANDWIDTH_FACTOR)])
_FURTHEST: Final = math.log(3.0)  # a constant beyond is no rate's fault
_ROUNDS: Final = 4
_PROBE: Final = 0.05  # logarithmic step of the numerical slope


@dataclass(frozen=True, kw_only=True)
class MeasuredStep:
    """A step, its measured time, and what is predicted for it on a card."""

    name: str
    measured_ns: float
    predicted_ns: Callable[[Gpu], float]


@dataclass(frozen=True, kw_only=True)
class StepConstants:
    """The constants, and the largest |error| of the steps before and after, as fractions."""

    arithmetic: float
    memory: float
    steps: tuple[str, ...]
    errors_before: tuple[float, ...]
    errors_after: tuple[float, ...]


def captured_step(trace: Trace, measured_ns: float, *, name: str, options: EngineOptions | None = None) -> MeasuredStep:
    """A capture without a GPU, and the time that its step was measured to take."""
    chosen = options or EngineOptions()
    if trace.origin is TraceOrigin.PROFILER:
        raise PredictionError(f"{name} was recorded on a GPU: its time is in it", remedy="name the file alone")
    return MeasuredStep(
        name=name, measured_ns=measured_ns,
        predicted_ns=lambda gpu: float(predict(trace, [gpu], options=chosen).steps.step_ns[0]),
    )  # fmt: skip


def recorded_step(trace: Trace, *, name: str, options: EngineOptions | None = None) -> MeasuredStep:
    """A profiler's trace of the card: its kernels with known shapes, their time and what is predicted without it."""
    chosen = options or EngineOptions()
    work = work_of(trace)
    known = may_be_absolute(work, is_trusted=False)
    measured_ns = float(work.measured_ns[known].sum())
    if measured_ns <= 0:
        raise PredictionError(f"{name} has no kernels with shapes", remedy="record it with record_shapes=True")
    return MeasuredStep(
        name=name, measured_ns=measured_ns,
        predicted_ns=lambda gpu: float(absolute_at_origin(work, gpu, chosen)[0][known].sum()),
    )  # fmt: skip


def with_constants(gpu: Gpu, arithmetic: float, memory: float) -> Gpu:
    """The card with its rates divided by the constants, as calibrated."""
    how = "calibrated from measured steps"
    rates = {}
    for rate_class, rate in gpu.sustained.items():
        per_s = rate.per_s
        if rate_class is RateClass.FP32 and is_slot_powered(gpu):  # a step is a long run, not a burst
            per_s = min(per_s, LONG_RUN_OF_PEAK * gpu.peak_flop_per_s[rate_class])
        rates[rate_class] = Rate(per_s=per_s / arithmetic, origin=RateOrigin.CALIBRATED, source=how)
    bandwidth = Rate(per_s=gpu.sustained_bandwidth.per_s / memory, origin=RateOrigin.CALIBRATED, source=how)
    return replace(gpu, sustained=rates, sustained_bandwidth=bandwidth)


def fit_step_constants(steps: Sequence[MeasuredStep], gpu: Gpu) -> StepConstants:
    """The two constants of a card from its measured steps, at least one."""
    if not steps:
        raise PredictionError("no measured step is given", remedy="surfer calibrate --from-steps TRACE ...")
    measured = np.log([step.measured_ns for step in steps])

    def off(logs: F64) -> F64:
        card = with_constants(gpu, *np.exp(logs).tolist())
        return np.log([max(step.predicted_ns(card), 1.0) for step in steps]) - measured

    before = np.log([max(step.predicted_ns(gpu), 1.0) for step in steps]) - measured
    logs = np.zeros(2)
    for _ in range(_ROUNDS):
        residual = off(logs)
        slopes = np.stack([(off(logs + _PROBE * unit) - residual) / _PROBE for unit in np.eye(2)], axis=1)
        rows = np.concatenate([slopes / _STEP_SPREAD, np.diag(1.0 / _PRIOR_SPREAD)])
        target = np.concatenate([-residual / _STEP_SPREAD, -logs / _PRIOR_SPREAD])
        change, *_ = np.linalg.lstsq(rows, target, rcond=None)
        logs = np.clip(logs + change, -_FURTHEST, _FURTHEST)
    after = off(logs)
    return StepConstants(
        arithmetic=float(np.exp(logs[0])), memory=float(np.exp(logs[1])), steps=tuple(step.name for step in steps),
        errors_before=tuple(np.expm1(before).tolist()), errors_after=tuple(np.expm1(after).tolist()),
    )  # fmt: skip


def save_constants(constants: StepConstants, gpu: Gpu, folder: Path | None = None) -> Path:
    """Keep them as this user's sustained rates of the card; the path of the file."""
    card = with_constants(gpu, constants.arithmetic, constants.memory)
    today = datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat()
    how = f"fitted to {len(constants.steps)} measured steps"
    rates = {one.value: rate.per_s for one, rate in card.sustained.items()}
    rates[BANDWIDTH] = card.sustained_bandwidth.per_s
    return save_calibrations(
        [
            Calibration(gpu=gpu.name, quantity=quantity, value_per_s=value, measured_on=today, how=how)
            for quantity, value in rates.items()
        ],
        folder,
    )

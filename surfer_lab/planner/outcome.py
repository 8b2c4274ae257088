"""What would one step take, cost and need on each GPU? A `Scenario` is the question, an `Outcome` its answer.

speedup = origin's step / this step            (above 1: faster than where it was recorded)
samples/s = batch / step                       USD per 1,000 steps = USD per hour x 1,000 steps in hours
epoch = data set / batch steps                 (the last, smaller batch counts as a whole one)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from surfer_lab.engine.estimate import Method, PredictionSet
from surfer_lab.errors import PredictionError
from surfer_lab.hardware.gpu import Gpu
from surfer_lab.planner.advice import StepParts, parts_of
from surfer_lab.planner.memory import Fit
from surfer_lab.planner.memory_need import MemoryNeed, memory_needs
from surfer_lab.planner.pricing import Price
from surfer_lab.planner.whole_cell import CellOutcome, cell_outcome
from surfer_lab.trace.model import Trace
from surfer_lab.units import NS_PER_HOUR, NS_PER_MS, NS_PER_S

__all__ = ["Epoch", "Outcome", "Scenario", "outcomes"]

STEPS_PRICED: Final = 1_000
_LONG_NS: Final = 999 * NS_PER_MS  # from here on three digits would need an exponent


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """The recorded step, as run, on one GPU of a kind. `price` None: none is known."""

    gpu: Gpu
    batch_size: int | None = None  # samples in the recorded step
    dataset_size: int | None = None  # samples in an epoch
    price: Price | None = None


@dataclass(frozen=True, kw_only=True)
class Epoch:
    """One pass over the data set: steps, ns, USD (None without a price)."""

    step_count: int
    duration_ns: float
    usd: float | None


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The answer for one scenario; ranges are the step's. None means that a fact it needs is not known."""

    scenario: Scenario
    is_origin: bool
    parts: StepParts
    speedup: float | None
    samples_per_s: float | None
    usd_per_1000_steps: float | None
    usd_per_1000_steps_low: float | None
    usd_per_1000_steps_high: float | None
    epoch: Epoch | None
    memory: MemoryNeed | None
    cell: CellOutcome | None
    share_by_method: Mapping[Method, float]  # of GPU time; sums to 1

    def __repr__(self) -> str:
        step, low, high = (
            f"{value / NS_PER_MS:.3g}" if value < _LONG_NS else f"{value / NS_PER_MS:,.0f}"
            for value in (self.step_ns, self.parts.low_ns, self.parts.high_ns)
        )
        cost = "" if self.usd_per_1000_steps is None else f", ${self.usd_per_1000_steps:.3g} per 1,000 steps"
        fit = "" if self.fit is Fit.UNKNOWN else f", {self.fit.value}"
        return f"<{type(self).__name__}: {self.gpu.name}, {step} ms a step ({low} to {high}){cost}{fit}>"

    @property
    def gpu(self) -> Gpu:
        """The GPU asked about."""
        return self.scenario.gpu

    @property
    def step_ns(self) -> float:
        """One step, ns."""
        return self.parts.step_ns

    @property
    def fit(self) -> Fit:
        """Whether the step fits into the card's memory."""
        return Fit.UNKNOWN if self.memory is None else self.memory.fit

    @property
    def usd_per_hour(self) -> float | None:
        """What must be paid by the hour to have one; None without a price."""
        return _usd_per_hour(self.scenario)


def outcomes(
    prediction: PredictionSet, scenarios: Sequence[Scenario], *, memory_of: Trace | None = None
) -> tuple[Outcome, ...]:
    """One outcome a scenario, in the prediction's order of GPUs. Refuses (PredictionError) scenarios of other GPUs.

    Memory is counted on `memory_of` where that is another trace than the predicted one (the step before a compiler).
    """
    if [scenario.gpu.name for scenario in scenarios] != [gpu.name for gpu in prediction.gpus]:
        raise PredictionError(
            "the scenarios are not those of the predicted GPUs", remedy="one scenario a GPU, in order"
        )
    needs = memory_needs(prediction.trace if memory_of is None else memory_of, prediction.gpus)
    origin_step_ns = float(prediction.measured.step_ns[0]) if prediction.measured is not None else None
    return tuple(
        _outcome(prediction, row, scenario, needs[row], origin_step_ns) for row, scenario in enumerate(scenarios)
    )


def _outcome(
    prediction: PredictionSet, row: int, scenario: Scenario, memory: MemoryNeed | None, origin_step_ns: float | None
) -> Outcome:
    parts = parts_of(prediction.steps, row)
    usd_per_hour = _usd_per_hour(scenario)

    def usd(duration_ns: float) -> float | None:
        return None if usd_per_hour is None else usd_per_hour * duration_ns / NS_PER_HOUR

    shares = np.asarray(prediction.steps.share_by_method[row])
    is_origin = prediction.origin is not None and prediction.origin.name == scenario.gpu.name
    return Outcome(
        scenario=scenario,
        is_origin=is_origin,
        parts=parts,
        speedup=origin_step_ns / parts.step_ns if origin_step_ns and parts.step_ns > 0 else None,
        samples_per_s=scenario.batch_size * NS_PER_S / parts.step_ns
        if scenario.batch_size and parts.step_ns > 0
        else None,
        usd_per_1000_steps=usd(parts.step_ns * STEPS_PRICED),
        usd_per_1000_steps_low=usd(parts.low_ns * STEPS_PRICED),
        usd_per_1000_steps_high=usd(parts.high_ns * STEPS_PRICED),
        epoch=_epoch(scenario, parts.step_ns, usd_per_hour),
        memory=memory,
        cell=cell_outcome(
            prediction.trace,
            step_ns=parts.step_ns,
            low_ns=parts.low_ns,
            high_ns=parts.high_ns,
            usd_per_hour=usd_per_hour,
        ),
        share_by_method={method: float(shares[method]) for method in Method if shares[method] > 0},
    )


def _usd_per_hour(scenario: Scenario) -> float | None:
    """A GPU that is rented out only several at once costs what they cost together."""
    return None if scenario.price is None else scenario.price.instance_usd_per_hour


def _epoch(scenario: Scenario, step_ns: float, usd_per_hour: float | None) -> Epoch | None:
    if scenario.batch_size is None or scenario.dataset_size is None:
        return None
    steps = math.ceil(scenario.dataset_size / scenario.batch_size)
    duration = steps * step_ns
    return Epoch(
        step_count=steps,
        duration_ns=duration,
        usd=None if usd_per_hour is None else usd_per_hour * duration / NS_PER_HOUR,
    )

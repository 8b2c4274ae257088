"""What does the product say for a run on several GPUs? Its workload captured from shapes, predicted, put on a machine.

A workload is captured once for each set of sizes; steps at other batches follow from that. Nothing measured of the run
enters: neither its step nor its throughput.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from surfer_lab.engine.compilation import CompileMode
from surfer_lab.engine.options import EngineOptions
from surfer_lab.engine.predict import predict
from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.hardware.machines import load_machines
from surfer_lab.planner.captured_step import CapturedStep
from surfer_lab.planner.scaling import (
    ScalingPoint,
    ScalingSource,
    StepProfile,
    Tuning,
    profile_of,
    scaling_point,
    strategy_of,
)
from surfer_lab.trace.model import Trace
from surfer_lab.trace.tables import MemoryFormat
from surfer_lab.training.evaluate.scaling_rows import Run
from surfer_lab.workloads import build
from surfer_lab.workloads.any_batch import capture_step
from surfer_lab.workloads.named_step import model_step

__all__ = ["Captures", "predicted_run"]

_CAPTURED_BATCH: Final = 4  # small enough for every model, and not 1, at which torch leaves copies out


@dataclass(frozen=True, kw_only=True)
class Captures:
    """Steps on one GPU by workload and sizes, made when first asked for."""

    steps: dict[tuple[object, ...], CapturedStep] = field(default_factory=dict)
    profiles: dict[tuple[object, ...], StepProfile] = field(default_factory=dict)

    def step(self, workload: str, sizes: Mapping[str, Any]) -> CapturedStep:
        """The workload's training step, at a small batch and any other."""
        key = (workload, tuple(sorted(sizes.items())))
        if key not in self.steps:

            def factory() -> object:
                return build(workload, device="cpu", **sizes)

            self.steps[key] = capture_step(model_step(factory, name=workload), _CAPTURED_BATCH)
        return self.steps[key]

    def profile(self, workload: str, sizes: Mapping[str, Any], gpu_name: str, batch: int, run: Run) -> StepProfile:
        """The step on a GPU; PredictionError where the batch cannot be known."""
        key = (workload, tuple(sorted(sizes.items())), gpu_name, batch, run.precision, run.compiled, run.channels_last)
        if key not in self.profiles:
            captured = self.step(workload, sizes)
            trace = captured.trace if captured.scaling is None else captured.scaling.at(batch)
            if run.channels_last:
                trace = _channels_last(trace)
            mode = CompileMode.DEFAULT if run.compiled else CompileMode.OFF
            gpu = load_catalog().find(gpu_name)
            times = predict(trace, [gpu], options=EngineOptions(precision=run.precision, compile=mode))
            self.profiles[key] = profile_of(times, batch_size=batch, compiled=mode)
        return self.profiles[key]


def predicted_run(
    captures: Captures, workload: str, sizes: Mapping[str, Any], run: Run, *, rank_spread: float
) -> ScalingPoint:
    """One run: its step time, throughput, communication."""
    machine = load_machines().find(run.machine)

    def at(batch: int) -> StepProfile:
        return captures.profile(workload, sizes, machine.gpu, batch, run)

    return scaling_point(
        ScalingSource(own=at(run.batch), at=at),
        machine,
        run.num_gpus,
        strategy=strategy_of(run.strategy),
        tuning=Tuning(
            accumulation=run.accumulation,
            gradient_scale=run.gradient_scale,
            bucket_mib=run.bucket_mib,
            rank_spread=rank_spread,
            dense_on_one=run.dense_on_one,
            tables=run.tables,
        ),
    )


def _channels_last(trace: Trace) -> Trace:
    """The step with its convolutions laid out channels-last, as model.to(memory_format=torch.channels_last) does."""
    is_convolution = np.array([(name or "").startswith("aten::convolution") for name in trace.ops.name])
    laid_out = np.where(is_convolution, np.int8(MemoryFormat.CHANNELS_LAST), trace.ops.memory_format)
    return replace(trace, ops=replace(trace.ops, memory_format=laid_out.astype(np.int8)))

"""What is a step's page made of? Everything that is told of one workload on each GPU asked about, predicted once.

A capture without a GPU is told in full. Of a profiler's trace the roofline wants shapes, scaling wants gradients (its
own collectives taken out), and what it recorded of several GPUs is told beside. What cannot be told has its reason in
`notes`. `between` is called between the parts, with what comes next, and may raise to stop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from surfer_lab.engine import EngineOptions, predict
from surfer_lab.engine.precision import Precision, precision_blocker
from surfer_lab.errors import PredictionError
from surfer_lab.hardware.gpu import Gpu
from surfer_lab.hardware.machines.catalog import Machines
from surfer_lab.planner.advice import Bound, Diagnosis, diagnose
from surfer_lab.planner.characterise.gains import Gains, gains_on
from surfer_lab.planner.characterise.host_need import HostNeed, HostStep, host_need, host_step
from surfer_lab.planner.characterise.roofline_position import RooflinePosition, roofline_position
from surfer_lab.planner.characterise.topologies import (
    TopologyCurve,
    link_gain,
    scaling_by_topology,
    topologies_of,
)
from surfer_lab.planner.memory_need import MemoryNeed, memory_needs
from surfer_lab.planner.scaling import ScalingSource, profile_of
from surfer_lab.planner.scaling.recorded import RankRow, RecordedCommunication, recorded_communication, recorded_ranks
from surfer_lab.trace.model import Trace
from surfer_lab.trace.tables import KernelKind

__all__ = ["COUNTS", "Change", "Characterisation", "OnGpu", "RecordedRun", "characterise", "recorded_run"]

COUNTS: Final = (1, 2, 4, 8, 16)
GAIN_COUNT: Final = 8  # GPUs at which links are compared
_PAYS: Final = 1.02  # a gain below this is none


@dataclass(frozen=True, kw_only=True)
class Change:
    """One thing to do, and how many times as fast the step (or the GPUs together) are then said to be."""

    name: str
    factor: float


@dataclass(frozen=True, kw_only=True)
class OnGpu:
    """One workload on GPUs of one kind; one GPU's figures first, then several."""

    gpu: Gpu
    position: RooflinePosition
    amp_position: RooflinePosition | None
    diagnosis: Diagnosis
    gains: Gains
    memory: MemoryNeed | None
    curves: tuple[TopologyCurve, ...]  # none where the step has no gradients
    host_step: HostStep
    hosts: tuple[HostNeed, ...]  # on the machine such GPUs are usually in

    @property
    def step_ns(self) -> float:
        """As run, on one."""
        return self.diagnosis.parts.step_ns

    @property
    def busy_fraction(self) -> float:
        """Share of the step in which the GPU computes."""
        return self.diagnosis.parts.gpu_busy_ns / self.step_ns if self.step_ns > 0 else 0.0

    def link_gain(self, gpu_count: int = GAIN_COUNT) -> float | None:
        """The fastest link against PCIe through the CPU."""
        return link_gain(self.curves, gpu_count)

    @property
    def hides_gains(self) -> bool:
        """Whether the profiler's slowed launches bound the step: what the GPU's own part gains does not show in it."""
        return self.diagnosis.host_is_inflated and self.diagnosis.bound is Bound.LAUNCH

    @property
    def changes(self) -> tuple[Change, ...]:
        """What was predicted to help, the largest gain first; nothing where the profiler's launches hide it."""
        if self.hides_gains:
            return ()
        offered = (
            ("mixed precision", self.gains.amp),
            ("torch.compile", self.gains.compiled),
            (f"NVLink in place of PCIe, on {GAIN_COUNT} GPUs", self.link_gain()),
        )
        helping = [Change(name=name, factor=factor) for name, factor in offered if factor and factor >= _PAYS]
        return tuple(sorted(helping, key=lambda change: -change.factor))


@dataclass(frozen=True, kw_only=True)
class RecordedRun:
    """What traces of a run on several GPUs say of its communication: each rank's own, and ranks beside one another."""

    names: tuple[str, ...]
    ranks: tuple[RecordedCommunication, ...]
    compared: tuple[RankRow, ...]  # none of a single rank, or of ranks whose collectives differ
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Characterisation:
    """One workload. `on` is empty where its GPU time could not be predicted: a recording of an unknown GPU."""

    name: str
    batch_size: int | None
    on: tuple[OnGpu, ...]
    recorded: RecordedRun | None = None
    notes: tuple[str, ...] = ()

    def on_gpu(self, name: str) -> OnGpu | None:
        """The figures on a GPU."""
        return next((one for one in self.on if one.gpu.name == name), None)


def characterise(
    step: Trace,
    gpus: Sequence[Gpu],
    machines: Machines,
    *,
    name: str,
    origin: Gpu | None = None,
    batch_size: int | None = None,
    counts: Sequence[int] = COUNTS,
    core_ns_per_sample: float | None = None,
    recorded: RecordedRun | None = None,
    notes: Sequence[str] = (),
    options: EngineOptions | None = None,
    between: Callable[[str], object] | None = None,
) -> Characterisation:
    """The page of one step, at its own batch."""

    def told(what: str) -> None:
        if between is not None:
            between(f"{name}: {what}")

    chosen = options or EngineOptions()
    batch = batch_size if batch_size is not None else step.batch_size
    told("one GPU")
    times = predict(step, gpus, origin=origin, options=chosen)
    told("mixed precision")
    amp_positions = _amp_positions(step, gpus, origin, chosen)
    gains = gains_on(step, gpus, origin=origin, options=chosen, between=lambda: told("gains"))
    needs = memory_needs(step, gpus)
    pages, said = [], list(notes)
    for row, gpu in enumerate(gpus):
        curves: tuple[TopologyCurve, ...] = ()
        hosts: tuple[HostNeed, ...] = ()
        on_host = host_step(times)
        try:
            source = ScalingSource(own=profile_of(times, row, batch_size=batch))
            told(f"scaling on {gpu.name}")
            curves = scaling_by_topology(source, topologies_of(gpu, machines), counts)
        except PredictionError as error:
            said.append(f"several GPUs are not predicted: {error}")
        if curves:
            usual = machines.of_gpu(gpu)
            hosts = tuple(
                host_need(on_host, point, usual, core_ns_per_sample=core_ns_per_sample) for point in curves[0].points
            )
        pages.append(
            OnGpu(
                gpu=gpu,
                position=roofline_position(times, row),
                amp_position=amp_positions.get(gpu.name),
                diagnosis=diagnose(times, row),
                gains=gains[row],
                memory=needs[row],
                curves=curves,
                host_step=on_host,
                hosts=hosts,
            )
        )
    return Characterisation(
        name=name, batch_size=batch, on=tuple(pages), recorded=recorded, notes=tuple(dict.fromkeys(said))
    )


def _amp_positions(
    step: Trace, gpus: Sequence[Gpu], origin: Gpu | None, options: EngineOptions
) -> dict[str, RooflinePosition]:
    """The step in float16 autocast, on the GPUs that have units for it."""
    able = [gpu for gpu in gpus if precision_blocker(gpu, Precision.AMP_FP16) is None]
    if not able:
        return {}
    chosen = EngineOptions(
        host_factor=options.host_factor, precision=Precision.AMP_FP16, verified_factor=options.verified_factor
    )
    times = predict(step, able, origin=origin, options=chosen)
    return {gpu.name: roofline_position(times, row) for row, gpu in enumerate(able)}


def recorded_run(traces: Sequence[Trace], names: Sequence[str]) -> RecordedRun | None:
    """What ranks' traces say of their communication; None where there is none in them."""
    talking = [
        (trace, name)
        for trace, name in zip(traces, names, strict=True)
        if (trace.kernels.kind == KernelKind.COMMUNICATION).any()
    ]
    if not talking:
        return None
    compared: tuple[RankRow, ...] = ()
    note = ""
    if len(talking) > 1:
        try:
            compared = recorded_ranks([trace for trace, _ in talking])
        except PredictionError as error:
            note = error.seen
    return RecordedRun(
        names=tuple(name for _, name in talking),
        ranks=tuple(recorded_communication(trace) for trace, _ in talking),
        compared=compared,
        note=note,
    )

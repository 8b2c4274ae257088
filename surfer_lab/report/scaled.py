"""What would a predicted step become on several GPUs of a machine? A curve, and its frame, from a Prediction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from surfer_lab.engine.options import EngineOptions
from surfer_lab.engine.predict import predict
from surfer_lab.errors import OptionError, SurferError, UnknownGpuError
from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.hardware.gpu import Gpu
from surfer_lab.hardware.machines import Machine, load_machines, machine_from_file
from surfer_lab.planner.options import PredictOptions
from surfer_lab.planner.parallelism import Strategy, strategy_of
from surfer_lab.planner.pricing import load_prices
from surfer_lab.planner.scaling import (
    FixedBatch,
    ScalingCurve,
    ScalingSource,
    StepProfile,
    Tuning,
    profile_of,
    scaling_curve,
)
from surfer_lab.units import BYTES_PER_GB, NS_PER_MS

if TYPE_CHECKING:
    import pandas

    from surfer_lab.report.prediction import Prediction

__all__ = [
    "USUAL_COUNTS", "chosen_machine", "named_machine", "scaled", "scaled_as_asked", "scaled_with_other_links",
    "scaling_frame", "scaling_source",
]  # fmt: skip

USUAL_COUNTS: Final = (1, 2, 4, 8)
_KINDS: Final = ("nvlink", "pcie")  # of links, where their generation follows from the GPU


def scaled_as_asked(prediction: Prediction, focus: Gpu) -> ScalingCurve | None:
    """The curve that the prediction's own options ask about; None where they do not. SurferError as `scaled`."""
    options = prediction.options
    if not options.is_scaled:
        return None
    return scaled(
        prediction,
        focus,
        counts=options.counts,
        machine=options.machine,
        link=options.link,
        strategy=options.strategy,
    )


def scaled_with_other_links(prediction: Prediction, focus: Gpu, asked: ScalingCurve | None) -> tuple[ScalingCurve, ...]:
    """The curve that was asked about where NVLink, and where PCIe, connects the GPUs; without those there are not."""
    if asked is None:
        return ()
    options, counts = prediction.options, [point.gpu_count for point in asked.points]
    most = max(counts)
    curves: dict[str, ScalingCurve] = {_link_name(asked, most): asked}
    for kind in _KINDS:
        try:
            curve = scaled(
                prediction, focus, counts=counts, machine=options.machine, link=kind, strategy=options.strategy
            )
        except SurferError:
            continue  # this GPU has no such link: nothing to compare with
        curves.setdefault(_link_name(curve, most), curve)
    return tuple(curves.values())[1:]


def _link_name(curve: ScalingCurve, count: int) -> str:
    link = curve.machine.link_for(count)
    return "" if link is None else link.name


def scaled(
    prediction: Prediction,
    focus: Gpu,
    *,
    counts: Sequence[int] = (),
    machine: Machine | str | Path | None = None,
    link: str | None = None,
    strategy: Strategy | str | None = None,
    fixed: FixedBatch = FixedBatch.PER_GPU,
    tuning: Tuning | None = None,
) -> ScalingCurve:
    """The step on 1, 2, 4 and 8 GPUs, or on `counts`, of a machine (by default one with the GPU shown first).

    Refused: names that are not known, a machine whose GPU was not predicted (OptionError, UnknownGpuError), a step
    without gradients or at a batch that is not known (PredictionError).
    """
    chosen = chosen_machine(machine, focus, link)
    wanted = tuple(counts) or tuple(count for count in USUAL_COUNTS if count <= chosen.most_gpus)
    options = prediction.options
    return scaling_curve(
        scaling_source(prediction, chosen.gpu),
        chosen,
        wanted,
        strategy=strategy_of(strategy) if isinstance(strategy, str) else strategy,
        tuning=tuning,
        fixed=fixed,
        prices=load_prices(load_catalog(), options.prices),
        spot=options.spot,
    )


def chosen_machine(machine: Machine | str | Path | None, gpu: Gpu, link: str | None) -> Machine:
    """The machine meant: by name, by a TOML file, or one with this GPU; with another link where one is named."""
    machines = load_machines()
    if machine is None:
        return machines.of_gpu(gpu, link)
    found = machine if isinstance(machine, Machine) else named_machine(machine)
    if link is None:
        return found
    if link.strip().lower() not in _KINDS:
        return found.with_link(machines.link(link))
    other = machines.of_gpu(load_catalog().find(found.gpu), link)
    return replace(found, name=f"{found.name}, {other.links[0].name}", links=(*other.links, *found.links))


def named_machine(machine: str | Path) -> Machine:
    """The machine meant by a name, or by the path of a TOML file."""
    machines = load_machines()
    if not str(machine).endswith(".toml") and not isinstance(machine, Path):
        return machines.find(machine)
    path = Path(machine)
    if not path.is_file():
        raise OptionError(f"there is no file {path}", remedy="--machine NAME, or a TOML file's path")
    return machine_from_file(path, machines.links)


def scaling_source(prediction: Prediction, gpu_name: str) -> ScalingSource:
    """The predicted step on one GPU, and at other batches where they are known."""
    names = [gpu.name for gpu in prediction.times.gpus]
    if gpu_name not in names:
        raise UnknownGpuError(
            f"{gpu_name}, of the machine, is not among the GPUs predicted", candidates=names[:4],
            remedy=f'--on "{gpu_name}", or leave --on out',
        )  # fmt: skip
    options = prediction.options
    gpu = prediction.times.gpus[names.index(gpu_name)]
    scaling = prediction.question.scaling

    def at(batch_size: int) -> StepProfile:
        trace = prediction.question.step if scaling is None else scaling.at(batch_size)
        times = predict(trace, [gpu], origin=prediction.times.origin, options=_engine(options))
        return profile_of(times, batch_size=batch_size, compiled=options.compile, host_factor=options.host_factor)

    own = profile_of(
        prediction.times,
        names.index(gpu_name),
        batch_size=options.batch_size or prediction.question.step.batch_size,
        compiled=options.compile,
        host_factor=options.host_factor,
    )
    return ScalingSource(own=own, at=None if scaling is None else at)


def _engine(options: PredictOptions) -> EngineOptions:
    return EngineOptions(host_factor=options.host_factor, precision=options.precision, compile=options.compile)


def scaling_frame(curve: ScalingCurve) -> pandas.DataFrame:
    """Raw numbers, a row a number of GPUs, the unit in the column's name; index: gpu_count."""
    import pandas as pd  # slow to import, and only asked for here

    rows = [
        {
            "gpu_count": point.gpu_count,
            "node_count": point.node_count,
            "strategy": point.strategy.name,
            "batch_size": point.batch_size,
            "step_ms": point.step_ns / NS_PER_MS,
            "step_low_ms": point.low_ns / NS_PER_MS,
            "step_high_ms": point.high_ns / NS_PER_MS,
            "samples_per_s": point.samples_per_s,
            "efficiency": point.efficiency,
            "communication_ms": point.communication_ns / NS_PER_MS,
            "exposed_ms": point.exposed_ns / NS_PER_MS,
            "hidden_ms": point.hidden_ns / NS_PER_MS,
            "sent_gb": point.wire_bytes / BYTES_PER_GB,
            "bus_gb_per_s": point.bus_bytes_per_s / BYTES_PER_GB,
            "memory_gb": None if point.memory_bytes is None else point.memory_bytes / BYTES_PER_GB,
            "fit": point.fit.value,
            "usd_per_hour": point.usd_per_hour,
            "usd_per_1000_steps": point.usd_per_1000_steps,
        }
        for point in curve.points
    ]
    frame = pd.DataFrame(rows).set_index("gpu_count")
    frame.attrs = {"machine": curve.machine.name, "gpu": curve.machine.gpu, "notes": list(curve.notes)}
    return frame

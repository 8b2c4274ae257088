"""In how many groups would a model that is not run train soonest on a machine? Captured from shapes, then planned."""

from __future__ import annotations

import numpy as np

from surfer_lab.errors import OptionError
from surfer_lab.planner.convergence.devices import Device, DeviceKind
from surfer_lab.planner.convergence.predicted_cluster import predicted_cluster
from surfer_lab.planner.convergence.statistical_efficiency import StatisticalModel
from surfer_lab.planner.convergence.time_to_loss import plan_training
from surfer_lab.planner.options import predict_options
from surfer_lab.report.scaled import named_machine
from surfer_lab.trace.tables import TensorRole
from surfer_lab.units import NS_PER_S
from surfer_lab.view.training_model import TrainingView
from surfer_lab.view.training_view import planned_view
from surfer_lab.workloads.prediction import predict_factory

__all__ = ["planned_training"]


def planned_training(
    factory: str,
    machine: str,
    *,
    count: int | None = None,
    batch_size: int = 256,
    momentum: float = 0.9,
    learning_rate: float = 0.01,
    iterations: int | None = None,
    usd_per_gpu_hour: float | None = None,
    cpu_samples_per_s: float | None = None,
    cpu_usd_per_hour: float | None = None,
) -> TrainingView:
    """The plan on `count` GPUs of the machine (one node's by default), each computing its share of a batch.

    The step is predicted at one GPU's share with all in one group and with each by itself: the two give rate and
    overhead. Prices are the user's, else the listed ones of one GPU.
    """
    where = named_machine(machine)
    gpus = count or where.gpus_per_node
    if batch_size < gpus:
        raise OptionError(f"a batch of {batch_size} for {gpus} GPUs", remedy="a sample for each GPU at least")
    least, most = max(1, batch_size // gpus), batch_size
    sizes = ",".join(map(str, dict.fromkeys((least, most))))
    options = predict_options({"on": where.gpu, "batch_size": str(least), "batch_sizes": sizes})
    prediction = predict_factory(factory, options)
    grid = prediction.grid(gpus=[where.gpu], batch_sizes=list(dict.fromkeys((least, most))))
    outcome = prediction.on(where.gpu)
    usd = usd_per_gpu_hour
    if usd is None and outcome.scenario.price is not None:
        usd = outcome.scenario.price.usd_per_gpu_hour
    tensors = prediction.trace.tensors
    own = (tensors.role == TensorRole.PARAMETER) & (tensors.allocated_by < 0)
    gradient_bytes = int(tensors.size_bytes[own].sum())
    if not np.isfinite(grid.step_ns[0, :, 0, 0]).all():
        raise OptionError(
            f"{where.gpu} has no predicted step at batch {batch_size:,}", remedy="a batch that fits, or another machine"
        )
    seconds = [float(value) / NS_PER_S for value in grid.step_ns[0, :, 0, 0]]
    rate, overhead = _rate(least, most, seconds)
    flop = float(np.nansum(prediction.times.items.flop)) / least
    device = Device(
        name=where.gpu, samples_per_s=rate, overhead_s=overhead, usd_per_hour=usd, flop_per_sample=flop
    )  # fmt: skip
    beside = []
    if cpu_samples_per_s is not None:
        beside.append(
            Device(
                name="CPU", samples_per_s=cpu_samples_per_s, kind=DeviceKind.CPU, usd_per_hour=cpu_usd_per_hour,
                flop_per_sample=flop,
            )
        )  # fmt: skip
    cluster = predicted_cluster(
        device, where, gpus, batch_size=batch_size, gradient_bytes=gradient_bytes, beside=beside
    )  # fmt: skip
    price = None if usd is None else usd * gpus + (cpu_usd_per_hour or 0.0)
    plan = plan_training(
        cluster,
        StatisticalModel(total_momentum=momentum),
        learning_rate=learning_rate,
        iterations_at_one=None if iterations is None else float(iterations),
        usd_per_hour=price,
    )
    notes = [
        f"Predicted, nothing ran: {where.name}, {gpus} GPUs, batch {batch_size:,}, {gradient_bytes / 1e6:,.1f} MB of "
        "gradients an update, one parameter server reached over the link between the GPUs.",
        "Iterations against one group are those of a quadratic whose best momentum is the one given; a short run with "
        "surfer tune measures them.",
    ]
    return planned_view(
        plan,
        title=f"Plan: {factory} on {where.name}",
        devices=[(device, gpus), *((one, 1) for one in beside)],
        notes=notes,
    )


def _rate(least: int, most: int, seconds: list[float]) -> tuple[float, float]:
    """(samples a second, overhead) through the two predicted steps; the overhead is not negative."""
    if most == least or seconds[-1] <= seconds[0]:
        return most / seconds[-1], 0.0
    by_sample = (seconds[-1] - seconds[0]) / (most - least)
    overhead = max(0.0, seconds[0] - least * by_sample)
    return (most / (seconds[-1] - overhead), overhead)

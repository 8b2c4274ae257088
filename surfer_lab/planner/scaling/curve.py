"""What does a step take, cost and need on 1, 2, 4, ... GPUs of a machine? One row a number of GPUs.

Weak scaling keeps each GPU's batch, strong scaling the whole batch. Efficiency is throughput over n times that of one
GPU. A range has both ends of the compute's range and of the link's: what a link reaches is known to a factor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from surfer_lab.errors import OptionError, PredictionError
from surfer_lab.hardware.machines import Machine
from surfer_lab.planner.memory import Fit
from surfer_lab.planner.parallelism import Spread, Strategy
from surfer_lab.planner.pricing import PriceList
from surfer_lab.planner.scaling.collectives import Group, group_of
from surfer_lab.planner.scaling.data_parallel import data_parallel, with_sharded_tables
from surfer_lab.planner.scaling.events import Schedule
from surfer_lab.planner.scaling.fully_sharded import fully_sharded
from surfer_lab.planner.scaling.pipeline import pipeline
from surfer_lab.planner.scaling.profile import StepProfile
from surfer_lab.planner.scaling.tensor_parallel import tensor_parallel
from surfer_lab.planner.scaling.tuning import Tuning
from surfer_lab.planner.sharding import sharded_bytes
from surfer_lab.trace.tables import TensorRole
from surfer_lab.units import NS_PER_HOUR, NS_PER_S

__all__ = ["FixedBatch", "ScalingCurve", "ScalingPoint", "ScalingSource", "scaling_curve", "scaling_point"]

STEPS_PRICED: Final = 1_000
# how far the reached share of a link may be off, either way: measured ones vary by a few percent between nodes and
# versions; assumed ones are assumed
_MEASURED_LINK_FACTOR: Final = 1.1
_ASSUMED_LINK_FACTOR: Final = 1.35
_TIGHT_FRACTION: Final = 0.92
# tensor parallelism leaves 10 of 34 bytes of a block's activations whole (Korthikanti et al., arXiv 2205.05198, eq. 2)
_WHOLE_ACTIVATIONS: Final = 10.0 / 34.0
_MICRO_BATCHES_A_STAGE: Final = 4


class FixedBatch(Enum):
    """What stays as GPUs are added."""

    PER_GPU = "per GPU"  # weak scaling
    GLOBAL = "global"  # strong scaling


@dataclass(frozen=True, kw_only=True)
class ScalingSource:
    """The step on one GPU, and at other batch sizes where `at` is there."""

    own: StepProfile
    at: Callable[[int], StepProfile] | None = None

    def sized(self, batch_size: float) -> StepProfile:
        """The step at a batch; PredictionError where it is known at one only, or it is no whole number."""
        own = self.own.batch_size
        if own is not None and batch_size == own:
            return self.own
        if batch_size < 1 or batch_size != int(batch_size):
            raise PredictionError(
                f"{batch_size:g} samples on a GPU", remedy="a global batch that the number of GPUs divides"
            )
        if self.at is None:
            raise PredictionError(
                f"the step is known at its own batch{f' of {own:,}' if own else ''} only, not at {int(batch_size):,}",
                remedy="surfer predict-model, or %%predict --no-run, capture a step at any batch size",
            )
        return self.at(int(batch_size))


@dataclass(frozen=True, kw_only=True)
class ScalingPoint:
    """One number of GPUs. Times are of one step, ns; bytes are of one GPU. None: not known."""

    gpu_count: int
    node_count: int
    strategy: Strategy
    batch_size: int | None  # of all GPUs together
    step_ns: float
    low_ns: float
    high_ns: float
    samples_per_s: float | None
    efficiency: float  # 1 = n times one GPU's throughput
    communication_ns: float
    exposed_ns: float
    wire_bytes: float  # sent by one GPU
    memory_bytes: int | None
    fit: Fit
    usd_per_hour: float | None
    schedule: Schedule

    @property
    def hidden_ns(self) -> float:
        """Communication behind compute."""
        return max(0.0, self.communication_ns - self.exposed_ns)

    @property
    def speedup(self) -> float:
        """Throughput over one GPU's."""
        return self.efficiency * self.gpu_count

    @property
    def bus_bytes_per_s(self) -> float:
        """What one GPU sends, over the step."""
        return self.wire_bytes / self.step_ns * NS_PER_S if self.step_ns > 0 else 0.0

    @property
    def usd_per_1000_steps(self) -> float | None:
        """Cost of all GPUs; None without a price."""
        return None if self.usd_per_hour is None else self.usd_per_hour * self.step_ns * STEPS_PRICED / NS_PER_HOUR

    @property
    def usd_per_million_samples(self) -> float | None:
        """Cost by samples: comparable between counts. None without a price or a batch."""
        if self.usd_per_hour is None or not self.samples_per_s:
            return None
        return self.usd_per_hour / self.samples_per_s / 3600.0 * 1e6


@dataclass(frozen=True, kw_only=True)
class ScalingCurve:
    """Rows by number of GPUs, with what could not be answered and why: `notes` say it, `refused` are the errors."""

    machine: Machine
    strategy: Strategy
    fixed: FixedBatch
    points: tuple[ScalingPoint, ...]
    notes: tuple[str, ...] = ()
    refused: tuple[OptionError | PredictionError, ...] = ()


def scaling_curve(
    source: ScalingSource,
    machine: Machine,
    counts: Sequence[int],
    *,
    strategy: Strategy | None = None,
    tuning: Tuning | None = None,
    fixed: FixedBatch = FixedBatch.PER_GPU,
    prices: PriceList | None = None,
    spot: bool = False,
) -> ScalingCurve:
    """One row a number of GPUs, in order. A number that cannot be is a note; none left: the first reason is raised."""
    chosen, settings = strategy or Strategy(), tuning or Tuning()
    points: list[ScalingPoint] = []
    refused: list[OptionError | PredictionError] = []
    for count in sorted(set(counts)):
        try:
            points.append(
                scaling_point(
                    source, machine, count, strategy=chosen, tuning=settings, fixed=fixed, prices=prices, spot=spot
                )
            )
        except (OptionError, PredictionError) as error:
            refused.append(error)
    if not points:
        raise refused[0] if refused else OptionError("no number of GPUs is given", remedy="--counts 1,2,4,8")
    notes = [f"not predicted: {error.seen}" for error in refused]
    links = {link.name: link for link in (*machine.links, machine.network) if link is not None}
    notes += [
        f"{name}: the share of its rate that collectives reach is assumed"
        for name, link in links.items()
        if not link.fraction_is_measured and (link is not machine.network or points[-1].node_count > 1)
    ]
    return ScalingCurve(
        machine=machine,
        strategy=chosen,
        fixed=fixed,
        points=tuple(points),
        notes=tuple(notes),
        refused=tuple(refused),
    )


def scaling_point(
    source: ScalingSource,
    machine: Machine,
    count: int,
    *,
    strategy: Strategy | None = None,
    tuning: Tuning | None = None,
    fixed: FixedBatch = FixedBatch.PER_GPU,
    prices: PriceList | None = None,
    spot: bool = False,
) -> ScalingPoint:
    """One number of GPUs. OptionError, PredictionError: the machine, the model or the batch does not allow it."""
    chosen, settings = strategy or Strategy(), tuning or Tuning()
    nodes = machine.node_count(count)
    shape = _Shape.of(source, machine, count, chosen, settings, fixed)
    likely = shape.simulated(1.0, machine)
    factor = _MEASURED_LINK_FACTOR if shape.links_are_measured else _ASSUMED_LINK_FACTOR
    profile = shape.profile
    low = (
        shape.simulated(profile.low_ns / profile.step_ns, _faster(machine, factor)).end if profile.step_ns > 0 else 0.0
    )
    high = shape.simulated(profile.high_ns / profile.step_ns, _faster(machine, 1 / factor)).end
    one_batch = source.own.batch_size
    alone = source.own.step_ns if settings.accumulation == 1 else _accumulated(source.own, settings.accumulation)
    efficiency = shape.samples_in_own_batches * alone / (count * likely.end) if likely.end > 0 else 1.0
    batch = None if one_batch is None else round(shape.samples_in_own_batches * one_batch) * settings.accumulation
    memory = shape.memory_bytes(settings)
    return ScalingPoint(
        gpu_count=count,
        node_count=nodes,
        strategy=shape.strategy,
        batch_size=batch,
        step_ns=likely.end,
        low_ns=min(low, likely.end),
        high_ns=max(high, likely.end),
        samples_per_s=None if batch is None else batch * NS_PER_S / likely.end,
        efficiency=efficiency,
        communication_ns=likely.communication_ns,
        exposed_ns=likely.exposed_ns,
        wire_bytes=likely.wire_bytes / shape.ranks_simulated,
        memory_bytes=memory,
        fit=_fit(memory, profile),
        usd_per_hour=_usd_per_hour(prices, profile, machine, count, spot=spot),
        schedule=likely,
    )


@dataclass(frozen=True, kw_only=True)
class _Shape:
    """How a number of GPUs is divided, and the step each of them runs."""

    profile: StepProfile
    strategy: Strategy
    machine: Machine
    tuning: Tuning
    degree: int  # GPUs that share a copy
    replica_count: int
    samples_in_own_batches: float  # of all GPUs, in batches of the source's own

    @classmethod
    def of(
        cls,
        source: ScalingSource,
        machine: Machine,
        count: int,
        strategy: Strategy,
        tuning: Tuning,
        fixed: FixedBatch,
    ) -> _Shape:
        own = source.own.batch_size
        whole = float(count) if fixed is FixedBatch.PER_GPU else 1.0
        degree = _degree(strategy, machine, count, source.own)
        replicas = count // degree
        batch = whole / replicas  # of a copy, in own batches
        micro = 1
        if strategy.spread is Spread.PIPELINE:
            micro = (1 if degree == 1 else strategy.micro_batches) or _micro_batches(
                batch, own, degree, strategy.chunks
            )
            tuning = replace(tuning, micro_batches=micro, chunks=strategy.chunks)
        share = batch / micro
        if own is None and share != 1.0:
            raise PredictionError("the batch of the step is not known", remedy="name it: --batch-size 32")
        profile = source.own if share == 1.0 else source.sized(share * (own or 0))
        return cls(
            profile=profile,
            strategy=replace(
                strategy,
                degree=degree if strategy.spread in (Spread.TENSOR, Spread.PIPELINE) else None,
                micro_batches=micro if strategy.spread is Spread.PIPELINE else None,
            ),
            machine=machine,
            tuning=tuning,
            degree=degree,
            replica_count=replicas,
            samples_in_own_batches=whole,
        )

    def groups(self, machine: Machine) -> tuple[Group, Group]:
        """Those that share a copy, and the replicas of one of them."""
        if self.strategy.spread in (Spread.TENSOR, Spread.PIPELINE):
            return group_of(machine, self.degree), group_of(machine, self.replica_count, stride=self.degree)
        count = self.degree * self.replica_count
        return group_of(machine, count), group_of(machine, 1)

    @property
    def links_are_measured(self) -> bool:
        """All that are used."""
        return all(group.is_measured for group in self.groups(self.machine))

    @property
    def ranks_simulated(self) -> int:
        """Ranks whose bytes a schedule holds together."""
        return (
            self.degree * self.replica_count
            if self.strategy.spread not in _SHARING
            else self.degree * (self.replica_count if self.replica_count > 1 else 1)
        )

    def simulated(self, factor: float, machine: Machine) -> Schedule:
        """The step with compute multiplied, on a machine of the same form."""
        profile = self.profile if factor == 1.0 else self.profile.scaled(factor)
        group, replicas = self.groups(machine)
        spread = self.strategy.spread
        if spread is Spread.DDP:
            return data_parallel(profile.gradients(), group, self.tuning)
        if spread is Spread.TABLES:
            return with_sharded_tables(
                profile.gradients(self.tuning.dense_on_one, self.tuning.tables), group, self.tuning
            )
        if spread is Spread.TENSOR:
            return tensor_parallel(profile, group, replicas, self.tuning)
        if spread is Spread.PIPELINE:
            return pipeline(profile, group, replicas, self.tuning)
        return fully_sharded(profile, group, self.tuning, gathers_twice=spread is Spread.FSDP)

    def memory_bytes(self, tuning: Tuning) -> int | None:
        """Bytes on each GPU; None where the step says nothing of memory."""
        profile, count = self.profile, self.degree * self.replica_count
        needed = profile.needed_bytes
        if needed is None or count == 1:
            return needed
        spread = self.strategy.spread
        if spread in (Spread.FSDP, Spread.ZERO2):
            sharded = sharded_bytes(profile.trace, profile.gpu, count)
            kept = profile.parameter_bytes if spread is Spread.ZERO2 else 0
            return None if sharded is None else sharded + round(kept * (1.0 - 1.0 / count))
        states = _state_bytes(profile)
        beside = max(0, needed - states)
        if spread is Spread.TENSOR:
            return round(states / self.degree + beside * (_WHOLE_ACTIVATIONS + (1 - _WHOLE_ACTIVATIONS) / self.degree))
        if spread is Spread.PIPELINE:
            return round(states / self.degree + beside * min(self.tuning.micro_batches, self.degree) / self.degree)
        sent = int(profile.gradient_bytes.sum() * tuning.gradient_scale)
        if spread is Spread.TABLES:
            tables = int(profile.gradient_bytes[profile.gradient_of_table].sum())
            held = round(tables * states / max(1, int(profile.gradient_bytes.sum())))
            return needed - round(held * (1.0 - 1.0 / count)) + sent - tables
        return needed + sent  # DDP's buckets beside the gradients


_SHARING: Final = (Spread.TENSOR, Spread.PIPELINE)


def _degree(strategy: Strategy, machine: Machine, count: int, profile: StepProfile) -> int:
    if strategy.spread not in _SHARING:
        return 1
    most = machine.gpus_per_node
    if strategy.spread is Spread.PIPELINE:
        most = min(most, max(1, (len(profile.blocks) - 2) // strategy.chunks))
    degree = strategy.degree or max(one for one in range(1, min(count, most) + 1) if count % one == 0)
    degree = min(degree, count)
    if count % degree:
        raise OptionError(
            f"{count} GPUs in groups of {degree} ({strategy.name})", remedy=f"a multiple of {degree} GPUs"
        )
    return degree


def _micro_batches(batch: float, own: int | None, stages: int, chunks: int) -> int:
    """Four a stage, or as many as the batch divides into; a multiple of the stages if interleaved."""
    if stages == 1:
        return 1
    samples = round(batch * (own or 1))
    step = stages if chunks > 1 else 1
    wanted = max(1, _MICRO_BATCHES_A_STAGE * stages)
    fitting = [one for one in range(step, wanted + 1, step) if samples % one == 0]
    return max(fitting, default=step)


def _faster(machine: Machine, factor: float) -> Machine:
    return replace(
        machine,
        links=tuple(link.scaled(bandwidth=factor, latency=1 / factor) for link in machine.links),
        network=None if machine.network is None else machine.network.scaled(bandwidth=factor, latency=1 / factor),
    )


def _accumulated(profile: StepProfile, micro_steps: int) -> float:
    return profile.step_ns + (micro_steps - 1) * profile.backward_end_ns


def _state_bytes(profile: StepProfile) -> int:
    """Parameters, gradients and optimizer state, as captured; three copies of the parameters where nothing tells."""
    tensors = profile.trace.tensors
    if not len(tensors):
        return 4 * profile.parameter_bytes
    own = (tensors.role == TensorRole.PARAMETER) | (tensors.role == TensorRole.OPTIMIZER_STATE)
    return int(tensors.size_bytes[own].sum()) + int(profile.gradient_bytes.sum())


def _fit(memory_bytes: int | None, profile: StepProfile) -> Fit:
    if memory_bytes is None:
        return Fit.UNKNOWN
    if memory_bytes > profile.gpu.memory_bytes:
        return Fit.DOES_NOT_FIT
    return Fit.TIGHT if memory_bytes > _TIGHT_FRACTION * profile.gpu.memory_bytes else Fit.FITS


def _usd_per_hour(
    prices: PriceList | None, profile: StepProfile, machine: Machine, count: int, *, spot: bool
) -> float | None:
    if prices is None:
        return None
    price = prices.price(profile.gpu, spot=spot, count=min(count, machine.gpus_per_node))
    if price is None:
        return None
    paid = math.ceil(count / price.instance_multiple) * price.instance_multiple
    return price.usd_per_gpu_hour * paid

"""Does the simulation of data parallelism hold on a real run? DDP over gloo, two processes of this machine's CPU.

What is predicted with: the link from an all-reduce sweep; how much an all-reduce keeps compute still, from a product
that runs beside one; one rank's own step without any communication (both ranks at once, as they share the machine),
with the times at which its gradients became ready. What is predicted: the step of DistributedDataParallel at three
bucket sizes, for two models. Every measurement is taken in turn with all others, round by round, and medians are
compared, so that what else runs on the machine falls on all of them alike.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any, Final

import numpy as np

from surfer_lab.hardware.machines import AllReduceSample, Machine, fitted_link
from surfer_lab.planner.scaling import GradientTimeline, Tuning, data_parallel, group_of
from surfer_lab.training.evaluate.cases import Case, Cell, Evaluation, Table
from surfer_lab.training.links import one_all_reduce, run_ranks
from surfer_lab.units import BYTES_PER_MIB, NS_PER_MS, NS_PER_S

__all__ = ["evaluate_gloo"]

METHOD: Final = "one rank's step, simulated with the calibrated link"
RANKS: Final = 2
ROUNDS: Final = 15
_WARM_UP_ROUNDS: Final = 3
BUCKETS_MIB: Final = (1.0, 5.0, 25.0)
SIZES: Final = tuple(BYTES_PER_MIB * size // 4 for size in (1, 4, 20, 60, 120))  # 256 KiB to 30 MiB
MODELS: Final[dict[str, tuple[str, int, dict[str, Any]]]] = {  # name: workload, batch of a rank, sizes
    "CaffeNet, half as wide": ("caffenet", 1, {"width_fraction": 0.5, "classes": 100}),
    "GPT-2, 4 layers of 512": (
        "gpt2", 1, {"layers": 4, "width": 512, "heads": 8, "vocabulary": 4096, "sequence": 8},
    ),
}  # fmt: skip
_COPY_BYTES: Final = 25 * BYTES_PER_MIB
_BESIDE_BYTES: Final = 16 * BYTES_PER_MIB
_PRODUCT: Final = 512
_MOST_CONTENTION: Final = 0.98
_FLOAT_BYTES: Final = 4


def evaluate_gloo(*, progress: Callable[[str, int, int], None] | None = None, rounds: int = ROUNDS) -> Evaluation:
    """Measured beside predicted, a case a model and bucket size. GpuError where processes cannot talk."""
    if progress is not None:
        progress("two processes", 0, 1)
    found = run_ranks(measured_rounds, RANKS, backend="gloo", words={"rounds": rounds})
    cases = _cases(found)
    if progress is not None:
        progress("done", 1, 1)
    errors = [abs(case.error) for case in cases]
    shares = [float(case.columns["communication_share"] or 0.0) for case in cases]
    rows: list[tuple[Cell, ...]] = [
        (
            case.model, float(case.columns["bucket_mib"] or 0), case.measured_ms, case.predicted_ms,
            round(100 * case.error, 1), round(100 * share, 0), case.columns["alone_ms"],
        )
        for case, share in zip(cases, shares, strict=True)
    ]  # fmt: skip
    table = Table(
        title="gloo: DDP over two processes, ms of a step",
        columns=("model", "bucket MiB", "measured", "predicted", "error %", "communication %", "without any"),
        rows=tuple(rows),
        notes=(
            f"mean |error| {100 * float(np.mean(errors)):.1f} %, worst {100 * max(errors):.1f} %",
            f"communication is 30 % of the step or more in {sum(share >= 0.3 for share in shares)} of {len(cases)}",
            "communication: the step's all-reduces, each alone, over the measured step",
        ),
    )
    return Evaluation(name="gloo", cases=tuple(cases), tables=(table,), facts=_facts(found))


def _facts(found: dict[str, Any]) -> dict[str, Cell]:
    link = _link(found)
    return {
        "link, GB/s": round(link.bus_bytes_per_s(RANKS) / 1e9, 3),
        "link, us a hop": round(link.hop_latency_ns / 1e3, 1),
        "kept still by an all-reduce": round(_contention(found), 3),
        "rounds": found["rounds"],
    }


def _link(found: dict[str, Any]) -> Any:
    samples = [
        AllReduceSample(rank_count=RANKS, size_bytes=int(size), duration_s=median(times))
        for size, times in found["all_reduce_s"]
    ]
    return fitted_link("gloo", samples, source="measured here")


def _contention(found: dict[str, Any]) -> float:
    """C of: product beside an all-reduce = product alone + c x all-reduce; median over rounds."""
    each = [
        (beside - alone) / sent
        for alone, beside, sent in zip(
            found["product_s"], found["product_beside_s"], found["beside_all_reduce_s"], strict=True
        )
    ]
    return float(np.clip(median(each), 0.0, _MOST_CONTENTION))


def _cases(found: dict[str, Any]) -> list[Case]:
    link = _link(found)
    machine = Machine(name="this machine", gpu="CPU", gpus_per_node=RANKS, links=(link,), source="measured here")
    group = group_of(machine, RANKS)
    copy_bytes_per_s = 2.0 * _COPY_BYTES / median(found["copy_s"])
    cases = []
    for name, (workload, batch, _) in MODELS.items():
        one = found["models"][name]
        timeline = _timeline(one, copy_bytes_per_s)
        for bucket in BUCKETS_MIB:
            measured = median(one["ddp_s"][str(bucket)])
            tuning = Tuning(bucket_mib=bucket, rank_spread=0.0, contention_fraction=_contention(found))
            schedule = data_parallel(timeline, group, tuning)
            cases.append(
                Case(
                    model=name, mode="train", batch=batch, num_gpus=RANKS, method=METHOD,
                    predicted_ms=schedule.end / NS_PER_MS, measured_ms=1e3 * measured,
                    columns={
                        "kind": "ddp_gloo", "workload": workload, "bucket_mib": bucket,
                        "communication_share": schedule.communication_ns / (measured * NS_PER_S),
                        "alone_ms": round(1e3 * median(one["alone_s"]), 1), "machine": "this machine, gloo",
                        "num_gpus": RANKS, "predicted": schedule.end / NS_PER_MS, "measured": 1e3 * measured,
                        "source": "measured here",
                    },
                )
            )  # fmt: skip
    return cases


def _timeline(one: dict[str, Any], copy_bytes_per_s: float) -> GradientTimeline:
    """One rank's step, medians over rounds, gradients in the order in which they were ready."""
    ready = np.median(np.array(one["ready_s"]), axis=0) * NS_PER_S
    order = np.argsort(ready, kind="stable")
    end = median(one["alone_s"]) * NS_PER_S
    return GradientTimeline(
        gradient_bytes=np.array(one["gradient_bytes"], dtype=np.int64)[order],
        gradient_ready_ns=ready[order],
        backward_end_ns=float(ready.max()),
        optimizer_ns=max(0.0, end - float(ready.max())),
        copy_bytes_per_s=copy_bytes_per_s,
        sm_count=1,
    )


def measured_rounds(rank: int, ranks: int, backend: str, *, rounds: int) -> dict[str, Any]:
    """In each process: all measurements in turn, `rounds` times."""
    import torch

    torch.manual_seed(0)
    models = {name: _Measured(workload, batch, sizes) for name, (workload, batch, sizes) in MODELS.items()}
    factor = torch.rand(_PRODUCT, _PRODUCT)
    memory = torch.zeros(_COPY_BYTES // _FLOAT_BYTES)
    kept: dict[str, Any] = {
        "rounds": rounds, "all_reduce_s": [[size, []] for size in SIZES], "copy_s": [], "product_s": [],
        "product_beside_s": [], "beside_all_reduce_s": [],
    }  # fmt: skip
    repeats = _repeats(factor, rank)
    for number in range(_WARM_UP_ROUNDS + rounds):
        counts = number >= _WARM_UP_ROUNDS
        for size, times in kept["all_reduce_s"]:
            _compute(factor, repeats)
            seconds = one_all_reduce(backend, rank, size)
            if counts:
                times.append(seconds)
        alone, beside, sent = _products(factor, repeats)
        copied = _timed(memory.clone)
        if counts:
            kept["product_s"].append(alone)
            kept["product_beside_s"].append(beside)
            kept["beside_all_reduce_s"].append(sent)
            kept["copy_s"].append(copied)
        for model in models.values():
            model.round(counts)
    kept["models"] = {name: model.kept() for name, model in models.items()}
    return kept


def _compute(factor: Any, repeats: int) -> None:
    """Some work before a measurement, as a step has it: a busy machine serves a process that has just slept first."""
    for _ in range(repeats):
        factor @ factor


def _repeats(factor: Any, rank: int) -> int:
    """Products that take longer than the all-reduce beside them, the same number in every rank."""
    import torch
    import torch.distributed as dist

    sent = one_all_reduce("gloo", rank, _BESIDE_BYTES)
    each = _timed(lambda: factor @ factor)
    count = torch.tensor(int(3 * sent / each) + 1)
    dist.all_reduce(count, op=dist.ReduceOp.MAX)
    return int(count)


def _products(factor: Any, repeats: int) -> tuple[float, float, float]:
    """Seconds of the products alone, of the same beside an all-reduce, and of that all-reduce alone."""
    import torch
    import torch.distributed as dist

    def products() -> None:
        _compute(factor, repeats)

    tensor = torch.zeros(_BESIDE_BYTES // _FLOAT_BYTES)
    dist.barrier()
    alone = _timed(products)
    dist.barrier()
    begun = time.perf_counter()
    work = dist.all_reduce(tensor, async_op=True)
    products()
    if work is not None:
        work.wait()
    beside = time.perf_counter() - begun
    dist.barrier()
    return alone, beside, _timed(lambda: dist.all_reduce(tensor))


def _timed(call: Callable[[], object]) -> float:
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


class _Measured:
    """One model: a copy that never communicates, with hooks on its gradients, and one DDP copy a bucket size."""

    def __init__(self, workload: str, batch: int, sizes: dict[str, Any]) -> None:
        from torch.nn.parallel import DistributedDataParallel

        from surfer_lab.workloads import build

        self._alone = build(workload, **sizes)
        self._batch = self._alone.example_inputs(batch)
        self._ready: list[float] = []
        self._parameters = [one for one in self._alone.model.parameters() if one.requires_grad]
        self._order: dict[int, float] = {}
        for number, parameter in enumerate(self._parameters):
            parameter.register_post_accumulate_grad_hook(  # type: ignore[no-untyped-call] # torch's has no types
                lambda _, number=number: self._note(number)
            )
        self._parallel: dict[float, tuple[Any, Any]] = {}
        for bucket in BUCKETS_MIB:
            copy = build(workload, **sizes)
            self._parallel[bucket] = (copy, DistributedDataParallel(copy.model, bucket_cap_mb=bucket))
        self._alone_s: list[float] = []
        self._ready_s: list[list[float]] = []
        self._ddp_s: dict[str, list[float]] = {str(bucket): [] for bucket in BUCKETS_MIB}
        self._begun = 0.0

    def _note(self, number: int) -> None:
        self._order[number] = time.perf_counter() - self._begun

    def round(self, counts: bool) -> None:
        """One step without communication and one of each bucket size."""
        import torch.distributed as dist

        dist.barrier()
        self._order.clear()
        self._begun = time.perf_counter()
        _step_through(self._alone, self._alone.model, self._batch)
        alone = time.perf_counter() - self._begun
        if counts:
            self._alone_s.append(alone)
            self._ready_s.append([self._order[number] for number in range(len(self._parameters))])
        for bucket, (copy, parallel) in self._parallel.items():
            dist.barrier()
            begun = time.perf_counter()
            _step_through(copy, parallel, self._batch)
            if counts:
                self._ddp_s[str(bucket)].append(time.perf_counter() - begun)

    def kept(self) -> dict[str, Any]:
        """JSON-ready; times of this rank."""
        return {
            "alone_s": self._alone_s,
            "ready_s": self._ready_s,
            "ddp_s": self._ddp_s,
            "gradient_bytes": [one.numel() * one.element_size() for one in self._parameters],
        }


def _step_through(work: Any, model: Callable[..., Any], batch: dict[str, Any]) -> None:
    """The workload's training step, its forward pass through `model`: DDP attends to gradients only after its own."""
    import torch.nn.functional as F

    (optimizer,) = work.optimizers.values()
    optimizer.zero_grad(set_to_none=True)
    if "image" in batch:
        loss = F.cross_entropy(model(batch["image"]), batch["label"])
    else:
        token = batch["token"]
        loss = F.cross_entropy(model(token)[:, :-1].flatten(0, 1), token[:, 1:].flatten())
    loss.backward()  # type: ignore[no-untyped-call] # likewise
    optimizer.step()

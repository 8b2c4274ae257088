"""When does a step end whose blocks are split over t GPUs (Megatron-style tensor parallelism)?

Two all-reduces of the residual stream a block in the forward pass and two in the backward pass (Shoeybi et al.,
arXiv 1909.08053), and one each for the split embedding and the split output layer; compute waits for each of them.
Products and what lies between them are divided (`divided` says how well), what runs on the residual stream is done by
every rank. Replicas
of such a group are data-parallel: each block's gradients, a t-th of them, are all-reduced as it is done.
"""

from __future__ import annotations

from collections.abc import Sequence

from surfer_lab.errors import OptionError
from surfer_lab.planner.scaling.collectives import Collective, Group, collective_ns, wire_bytes
from surfer_lab.planner.scaling.events import COMMUNICATION, COMPUTE, Piece, Schedule, simulate
from surfer_lab.planner.scaling.profile import BlockTimes, StepProfile
from surfer_lab.planner.scaling.tuning import Tuning

__all__ = ["check_splits", "tensor_parallel"]

_REPLICAS = 2  # their stream


def check_splits(profile: StepProfile) -> None:
    """OptionError where the model has no blocks with a residual stream between them."""
    inner = profile.blocks[1:-1]
    if (
        not profile.has_attention
        or len(inner) < 2
        or not any(block.input_bytes and block.split_forward_ns for block in inner)
    ):
        raise OptionError(
            "tensor parallelism wants a model of blocks with attention or large products in them",
            remedy="--strategy ddp or fsdp",
        )


def tensor_parallel(profile: StepProfile, group: Group, replicas: Group, tuning: Tuning) -> Schedule:
    """One step of a group; with replicas of size 1, of that group alone."""
    check_splits(profile)
    ranks = group.size
    slow = tuning.slowdown(ranks * replicas.size)
    blocks = profile.divided_blocks(ranks)
    residual = max(block.input_bytes for block in blocks[1:-1])
    pieces: list[Piece] = []
    waiting: list[int] = []

    def compute(name: str, work_ns: float, after: Sequence[int] = ()) -> int:
        pieces.append(Piece(name=name, stream=COMPUTE, work_ns=max(0.0, work_ns) * slow, after=(*after, *waiting)))
        waiting.clear()
        return len(pieces) - 1

    def reduce(name: str, after: int) -> None:
        pieces.append(
            Piece(
                name=name, stream=COMMUNICATION, work_ns=collective_ns(Collective.ALL_REDUCE, residual, group),
                after=(after,), is_communication=True, wire_bytes=wire_bytes(Collective.ALL_REDUCE, residual, ranks),
            )
        )  # fmt: skip
        waiting.append(len(pieces) - 1)

    sent: list[int] = []

    def share(block: BlockTimes, after: int) -> None:
        size = int(block.parameter_bytes * tuning.gradient_scale / ranks)
        if replicas.size == 1 or not size:
            return
        pieces.append(
            Piece(
                name=f"gradients {block.name}", stream=_REPLICAS,
                work_ns=collective_ns(Collective.ALL_REDUCE, size, replicas), after=(after,), is_communication=True,
                wire_bytes=ranks * wire_bytes(Collective.ALL_REDUCE, size, replicas.size),
            )
        )  # fmt: skip
        sent.append(len(pieces) - 1)

    for _ in range(tuning.accumulation):
        reduce("embedding", compute("forward before", blocks[0].forward_ns))
        for block in blocks[1:-1]:
            half = block.forward_ns / 2
            for part in ("attention", "feed-forward"):
                reduce(f"forward {block.name} {part}", compute(f"forward {block.name} {part}", half))
        compute("forward after", blocks[-1].forward_ns)
        done = compute("backward after", blocks[-1].backward_ns)
        reduce("output layer", done)
        share(blocks[-1], done)
        for block in reversed(blocks[1:-1]):
            half = block.backward_ns / 2
            for part in ("feed-forward", "attention"):
                done = compute(f"backward {block.name} {part}", half)
                reduce(f"backward {block.name} {part}", done)
            share(block, done)
        done = compute("backward before", blocks[0].backward_ns)
        share(blocks[0], done)
    compute("optimizer", sum(block.optimizer_ns for block in blocks) / ranks, sent)
    return simulate(pieces, contention=tuning.contention(profile.gpu.sm_count, group if ranks > 1 else replicas))

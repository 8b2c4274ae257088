"""When does a step end whose parameters are sharded (PyTorch FSDP, ZeRO stages 2 and 3)?

Unit by unit (the numbered blocks, and one for what is outside them): parameters are gathered before a unit's forward
and, in stage 3, again before its backward; its gradients are reduce-scattered after. Gathers are issued ahead, two
units at most (limit_all_gathers, BACKWARD_PRE); all collectives share one stream in their order.
"""

from __future__ import annotations

from collections.abc import Sequence

from surfer_lab.planner.scaling.collectives import Collective, Group, collective_ns, wire_bytes
from surfer_lab.planner.scaling.events import COMMUNICATION, COMPUTE, Piece, Schedule, simulate
from surfer_lab.planner.scaling.profile import BlockTimes, StepProfile
from surfer_lab.planner.scaling.tuning import Tuning

__all__ = ["fully_sharded"]


def fully_sharded(
    profile: StepProfile, group: Group, tuning: Tuning, *, gathers_twice: bool, parameter_scale: float = 1.0
) -> Schedule:
    """One step; `parameter_scale`: bytes gathered for each byte of a parameter as captured (0.5: sent as 16 bit)."""
    slow = tuning.slowdown(group.size)
    root, blocks = _units(profile.blocks)
    pieces: list[Piece] = []

    def compute(name: str, work_ns: float, after: Sequence[int] = ()) -> int:
        pieces.append(Piece(name=name, stream=COMPUTE, work_ns=max(0.0, work_ns) * slow, after=tuple(after)))
        return len(pieces) - 1

    def send(kind: Collective, name: str, size_bytes: float, after: Sequence[int] = ()) -> int:
        size = int(size_bytes)
        pieces.append(
            Piece(
                name=f"{kind.value} {name}", stream=COMMUNICATION, work_ns=collective_ns(kind, size, group),
                after=tuple(after), is_communication=True, wire_bytes=wire_bytes(kind, size, group.size),
            )
        )  # fmt: skip
        return len(pieces) - 1

    def gather(unit: BlockTimes, after: Sequence[int]) -> int:
        return send(Collective.ALL_GATHER, unit.name, unit.parameter_bytes * parameter_scale, after)

    def scatter(unit: BlockTimes, after: Sequence[int]) -> int:
        return send(Collective.REDUCE_SCATTER, unit.name, unit.parameter_bytes * tuning.gradient_scale, after)

    last: list[int] = []
    for step in range(tuning.accumulation):
        there = [gather(root, last[-1:])]
        ran = [compute("before", root.forward_ns * _BEFORE, there)]
        gathered = [gather(unit, ran[-1:]) for unit in blocks[:2]]
        for number, unit in enumerate(blocks):
            ran.append(compute(f"forward {unit.name}", unit.forward_ns, (gathered[number],)))
            if number + 2 < len(blocks):
                gathered.append(gather(blocks[number + 2], ran[-1:]))
        ran.append(compute("loss", root.forward_ns * (1.0 - _BEFORE)))
        pending: dict[int, int] = {}
        order = list(range(len(blocks)))[::-1]
        if gathers_twice:
            for number in order[:2]:
                pending[number] = gather(blocks[number], ran[-1:])
        ran.append(compute("backward after", root.backward_ns * (1.0 - _BEFORE)))
        sends = step == tuning.accumulation - 1 or gathers_twice
        for place, number in enumerate(order):
            unit = blocks[number]
            ran.append(
                compute(f"backward {unit.name}", unit.backward_ns, [pending[number]] if number in pending else ())
            )
            if sends:
                last.append(scatter(unit, ran[-1:]))
            if gathers_twice and place + 2 < len(order):
                pending[order[place + 2]] = gather(blocks[order[place + 2]], ran[-1:])
        ran.append(compute("backward before", root.backward_ns * _BEFORE))
        if sends:
            last.append(scatter(root, ran[-1:]))
    optimizer = sum(unit.optimizer_ns for unit in (root, *blocks)) / group.size
    compute("optimizer", optimizer / slow, last)
    return simulate(pieces, contention=tuning.contention(profile.gpu.sm_count, group))


_BEFORE = 0.5  # of the root's time, what lies before the blocks, where nothing tells


def _units(blocks: Sequence[BlockTimes]) -> tuple[BlockTimes, tuple[BlockTimes, ...]]:
    before, after = blocks[0], blocks[-1]
    root = BlockTimes(
        name="root",
        forward_ns=before.forward_ns + after.forward_ns,
        backward_ns=before.backward_ns + after.backward_ns,
        optimizer_ns=before.optimizer_ns + after.optimizer_ns,
        split_forward_ns=0.0,
        split_backward_ns=0.0,
        parameter_bytes=before.parameter_bytes + after.parameter_bytes,
        input_bytes=0,
    )
    return root, tuple(blocks[1:-1])

"""When does a step end whose blocks lie on p GPUs, one after the other, for m micro-batches (1F1B, interleaved)?

One forward, one backward: a stage runs p - s - 1 forwards ahead, then a backward after each forward (Narayanan et al.,
arXiv 2104.04473); with v parts of the model on each stage (interleaved) the pipeline fills v times faster and sends v
times as much. Idle share of a 1F1B of equal stages: (p - 1) / (m + p - 1). Blocks are dealt out so that stages take
about the same time. The profile is one micro-batch's step; a stage's optimizer runs once, after its replicas'
gradients are all-reduced.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from surfer_lab.errors import OptionError
from surfer_lab.planner.scaling.collectives import Collective, Group, collective_ns, wire_bytes
from surfer_lab.planner.scaling.events import Piece, Schedule, simulate
from surfer_lab.planner.scaling.profile import BlockTimes, StepProfile
from surfer_lab.planner.scaling.tuning import Tuning

__all__ = ["Stage", "pipeline", "stages_of"]


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A stretch of the model: ns of one micro-batch, its parameters, and what it hands on."""

    forward_ns: float
    backward_ns: float
    optimizer_ns: float
    parameter_bytes: int
    output_bytes: int


def stages_of(blocks: Sequence[BlockTimes], count: int) -> tuple[Stage, ...]:
    """The model cut into so many stretches of about equal time; OptionError where it has fewer blocks."""
    inner = blocks[1:-1]
    if count > len(inner):
        raise OptionError(
            f"{count} pipeline stages of a model with {len(inner)} blocks", remedy=f"--strategy pp:{len(inner)}"
        )
    bounds = _even_cuts([block.forward_ns + block.backward_ns for block in blocks], count)
    handed = max((block.input_bytes for block in inner), default=0)
    stages = []
    for number in range(count):
        part = [*inner[bounds[number] : bounds[number + 1]]]
        part = [*(blocks[:1] if number == 0 else []), *part, *(blocks[-1:] if number == count - 1 else [])]
        stages.append(
            Stage(
                forward_ns=sum(block.forward_ns for block in part),
                backward_ns=sum(block.backward_ns for block in part),
                optimizer_ns=sum(block.optimizer_ns for block in part),
                parameter_bytes=sum(block.parameter_bytes for block in part),
                output_bytes=handed if number < count - 1 else 0,
            )
        )
    return tuple(stages)


def _even_cuts(cost: Sequence[float], count: int) -> list[int]:
    """Ends of the inner blocks' stretches, from 0, so that the longest takes least; what is before and after counts."""
    inner = len(cost) - 2
    before = [0.0]
    for one in cost[1:-1]:
        before.append(before[-1] + one)

    def length(first: int, last: int) -> float:
        return before[last] - before[first] + (cost[0] if first == 0 else 0.0) + (cost[-1] if last == inner else 0.0)

    best = [length(0, last) for last in range(inner + 1)]
    cuts: list[list[int]] = [[0] for _ in range(inner + 1)]
    for parts in range(2, count + 1):
        longest, chosen = [float("inf")] * (inner + 1), [[0]] * (inner + 1)
        for last in range(parts, inner + 1):
            for cut in range(parts - 1, last):
                worst = max(best[cut], length(cut, last))
                if worst < longest[last]:
                    longest[last], chosen[last] = worst, [*cuts[cut], cut]
        best, cuts = longest, chosen
    return [*cuts[inner], inner]


def pipeline(profile: StepProfile, group: Group, replicas: Group, tuning: Tuning) -> Schedule:
    """One step of a pipeline over the group's ranks; rank r of the schedule is stage r."""
    ranks, parts, micro = group.size, tuning.chunks if group.size > 1 else 1, tuning.micro_batches
    if parts > 1 and micro % ranks:
        raise OptionError(
            f"an interleaved pipeline of {ranks} stages with {micro} micro-batches",
            remedy=f"a multiple of {ranks} micro-batches",
        )
    stages = stages_of(profile.blocks, ranks * parts)
    slow = tuning.slowdown(ranks * replicas.size)
    orders = [_order(rank, ranks, micro, parts) for rank in range(ranks)]
    return simulate(_Pieces(stages, orders, group, replicas, tuning, slow).all())


def _order(rank: int, ranks: int, micro: int, parts: int) -> list[tuple[bool, int, int]]:
    """What a rank runs, in order: (is backward, part of the model on it, micro-batch)."""
    total = micro * parts
    ahead = ranks - rank - 1 if parts == 1 else (ranks - rank - 1) * 2 + (parts - 1) * ranks
    ahead = min(ahead, total)

    def at(number: int, *, backward: bool) -> tuple[bool, int, int]:
        if parts == 1:
            return backward, 0, number
        round_size = ranks * parts
        part = number % round_size // ranks
        return backward, parts - 1 - part if backward else part, number // round_size * ranks + number % ranks

    order = [at(number, backward=False) for number in range(ahead)]
    for number in range(total - ahead):
        order += [at(ahead + number, backward=False), at(number, backward=True)]
    return order + [at(number, backward=True) for number in range(total - ahead, total)]


class _Pieces:
    """Pieces in an order in which each waits only for earlier ones: ranks take turns as far as they can go."""

    def __init__(
        self,
        stages: Sequence[Stage],
        orders: Sequence[Sequence[tuple[bool, int, int]]],
        group: Group,
        replicas: Group,
        tuning: Tuning,
        slow: float,
    ) -> None:
        self.stages, self.orders, self.group, self.replicas = stages, orders, group, replicas
        self.tuning, self.slow = tuning, slow
        self.pieces: list[Piece] = []
        self.arrived: dict[tuple[bool, int, int], int] = {}  # (is backward, stage, micro-batch): what it waits for

    def all(self) -> list[Piece]:
        """Every piece of the step."""
        ranks = len(self.orders)
        done = [0] * ranks
        moved = True
        while moved:
            moved = False
            for rank in range(ranks):
                while done[rank] < len(self.orders[rank]) and self._put(rank, *self.orders[rank][done[rank]]):
                    done[rank] += 1
                    moved = True
        for rank in range(ranks):
            self._update(rank)
        return self.pieces

    def _put(self, rank: int, backward: bool, part: int, micro: int) -> bool:
        ranks, last = len(self.orders), len(self.stages) - 1
        number = part * ranks + rank
        starts = number == (last if backward else 0)
        waits = self.arrived.get((backward, number, micro))
        if waits is None and not starts:
            return False
        stage = self.stages[number]
        work = (stage.backward_ns if backward else stage.forward_ns) * self.slow
        name = f"{'backward' if backward else 'forward'} {micro + 1}"
        self.pieces.append(
            Piece(name=name, stream=rank, work_ns=work, after=() if waits is None else (waits,), rank=rank)
        )
        done = len(self.pieces) - 1
        following = number - 1 if backward else number + 1
        if 0 <= following <= last:
            self._hand_on(rank, backward, following, micro, done)
        return True

    def _hand_on(self, rank: int, backward: bool, following: int, micro: int, done: int) -> None:
        size = self.stages[following if backward else following - 1].output_bytes
        ranks = len(self.orders)
        if ranks == 1:
            self.arrived[backward, following, micro] = done
            return
        self.pieces.append(
            Piece(
                name=f"send {micro + 1}", stream=ranks * (2 if backward else 1) + rank,
                work_ns=collective_ns(Collective.SEND, size, self.group), after=(done,), is_communication=True,
                wire_bytes=wire_bytes(Collective.SEND, size, 2), rank=rank,
            )
        )  # fmt: skip
        self.arrived[backward, following, micro] = len(self.pieces) - 1

    def _update(self, rank: int) -> None:
        ranks = len(self.orders)
        own = [stage for number, stage in enumerate(self.stages) if number % ranks == rank]
        size = int(sum(stage.parameter_bytes for stage in own) * self.tuning.gradient_scale)
        after: tuple[int, ...] = ()
        if self.replicas.size > 1:
            last = max(at for at, piece in enumerate(self.pieces) if piece.stream == rank)
            self.pieces.append(
                Piece(
                    name="gradients", stream=ranks * 3 + rank,
                    work_ns=collective_ns(Collective.ALL_REDUCE, size, self.replicas), after=(last,),
                    is_communication=True, rank=rank,
                    wire_bytes=wire_bytes(Collective.ALL_REDUCE, size, self.replicas.size),
                )
            )  # fmt: skip
            after = (len(self.pieces) - 1,)
        work = sum(stage.optimizer_ns for stage in own) * self.slow
        self.pieces.append(Piece(name="optimizer", stream=rank, work_ns=work, after=after, rank=rank))

"""Which ops of a step would a compiler run as one kernel? TorchInductor's rule in outline, over the captured graph.

Pointwise work, norms and reductions join a group that makes what they read (or reads what they read), when both work
on the same number of elements and nothing outside the group lies between them; one reduction shape a group. Library
calls (convolutions, products, attention) stay as they are and are fences only for what depends on them. What nothing
reads from memory (zeros, ones) is put into its readers.

Between: every op has a depth, one more than the deepest group it depends on. An op may join a group when all else that
it reads was made at smaller depth than the group's: so groups never wait for each other in a circle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from surfer_lab.engine.lowering import Family, Fusion, KernelWork, Source, lower_op, traits
from surfer_lab.trace.rewrite import OpRow, StorageRow
from surfer_lab.trace.rewrite.draft import is_list, numel
from surfer_lab.trace.tables import Phase

__all__ = ["Group", "Member", "groups_of"]

_NORMS_IN_TWO_PASSES: Final = frozenset(
    (Family.BATCH_NORM, Family.BATCH_NORM_BACKWARD, Family.GROUP_NORM, Family.GROUP_NORM_BACKWARD)
)
_COMPILED_PHASES: Final = (Phase.FORWARD, Phase.BACKWARD)


@dataclass(slots=True, eq=False)
class Member:
    """One op with what it does, and what it needs: producers are numbers of rows."""

    row: OpRow
    number: int
    works: tuple[KernelWork, ...]
    fusion: Fusion
    size: int  # elements it works on
    reduced: int  # elements that a reduction leaves; 0: none
    producers: tuple[int, ...]


@dataclass(slots=True, eq=False)
class Group:
    """Ops that run as one kernel; a group of one is the op as it was."""

    members: list[Member]
    depth: int
    size: int
    reduced: int = 0
    is_open: bool = True
    reads: set[int] = field(default_factory=set)  # storages that come from outside
    needs: set[int] = field(default_factory=set)  # numbers of rows outside

    @property
    def is_fused(self) -> bool:
        return len(self.members) > 1

    @property
    def is_reduction(self) -> bool:
        return any(member.fusion is Fusion.REDUCTION for member in self.members)

    @property
    def launch_count(self) -> int:
        """Norms over batch and space find their statistics in one pass and apply them in another."""
        families = {work.family for member in self.members for work in member.works}
        return 2 if families & _NORMS_IN_TWO_PASSES else 1


def groups_of(rows: Sequence[OpRow], storages: Sequence[StorageRow]) -> list[Group]:
    """All rows in groups, in an order in which they can run."""
    members = _members(rows)
    inlined = _inlined(members, storages)
    group_of: dict[int, Group] = {}
    readers_of: dict[int, list[Group]] = {}  # storage -> open groups that read it from outside
    groups: list[Group] = []
    for member in members:
        if member.number in inlined:
            continue
        makers = [group_of[number] for number in member.producers if number in group_of]
        group = _joinable(member, makers, readers_of) if member.fusion is not Fusion.NONE else None
        if group is None:
            depth = 1 + max((maker.depth for maker in makers), default=-1)
            group = Group([], depth, member.size, is_open=member.fusion is not Fusion.NONE)
            groups.append(group)
        group.members.append(member)
        group.reduced = group.reduced or member.reduced
        group.size = max(group.size, member.size)
        group_of[member.number] = group
        for number in member.producers:
            if number in group_of and group_of[number] is not group:
                group.needs.add(number)
        made = {use.storage for other in group.members for use in other.row.writes}
        for use in member.row.reads:
            if use.storage not in made:
                group.reads.add(use.storage)
                if group.is_open:
                    known = readers_of.setdefault(use.storage, [])
                    if group not in known:
                        known.append(group)
    return _in_order(groups, group_of)


def _members(rows: Sequence[OpRow]) -> list[Member]:
    last_writer: dict[int, int] = {}
    members = []
    for number, row in enumerate(rows):
        works = lower_op(
            row.name, row.input_shapes, row.input_dtypes, row.output_shapes, output_dtypes=row.output_dtypes,
            arguments=row.arguments, memory_format=row.memory_format,
        )  # fmt: skip
        fusion = _fusion(row, works)
        inputs = max((_elements(entry) for entry in row.input_shapes), default=0)
        outputs = max((_elements(entry) for entry in row.output_shapes), default=0)
        is_reduction = fusion is Fusion.REDUCTION
        size = max(inputs, outputs) if is_reduction else outputs or inputs
        reduced = min(outputs, size) if is_reduction and outputs < inputs else 0
        producers = {last_writer[use.storage] for use in row.reads if use.storage in last_writer}
        members.append(Member(row, number, works, fusion, size, reduced, tuple(sorted(producers))))
        for use in row.writes:
            last_writer[use.storage] = number
    return members


def _fusion(row: OpRow, works: tuple[KernelWork, ...]) -> Fusion:
    if not works or row.phase not in _COMPILED_PHASES or any(work.source is not Source.SHAPES for work in works):
        return Fusion.NONE
    kinds = {traits(work.family).fusion for work in works}
    if Fusion.NONE in kinds:
        return Fusion.NONE
    return Fusion.REDUCTION if Fusion.REDUCTION in kinds else Fusion.POINTWISE


def _elements(entry: object) -> int:
    if not isinstance(entry, tuple):
        return 0
    if is_list(entry):
        return sum(numel(part) for part in entry)
    return numel(entry)


def _inlined(members: Sequence[Member], storages: Sequence[StorageRow]) -> set[int]:
    """Fills whose every reader can be fused: constants in the readers' kernels."""
    readers: dict[int, list[Member]] = {}
    for member in members:
        for use in member.row.reads:
            readers.setdefault(use.storage, []).append(member)
    found = set()
    for member in members:
        made = [use.storage for use in member.row.writes]
        if member.row.reads or member.fusion is not Fusion.POINTWISE or not made:
            continue
        if {work.family for work in member.works} != {Family.FILL}:
            continue
        is_kept = any(storages[storage].is_kept for storage in made)
        uses = [reader for storage in made for reader in readers.get(storage, ())]
        if uses and not is_kept and all(reader.fusion is not Fusion.NONE for reader in uses):
            found.add(member.number)
    return found


def _joinable(member: Member, makers: Sequence[Group], readers_of: dict[int, list[Group]]) -> Group | None:
    """The group to join: one that makes what the op reads, the latest; else one that reads the same."""
    beside = [group for use in member.row.reads for group in readers_of.get(use.storage, ())]
    seen: set[int] = set()
    for group in (*sorted(makers, key=lambda one: -one.depth), *reversed(beside)):
        if id(group) in seen or not group.is_open:
            continue
        seen.add(id(group))
        if group.members[0].row.phase is not member.row.phase or not _fits(member, group):
            continue
        if all(maker is group or maker.depth < group.depth for maker in makers):
            return group
    return None


def _fits(member: Member, group: Group) -> bool:
    if member.reduced:
        return member.size == group.size and group.reduced in (0, member.reduced)
    return member.size == group.size or (group.reduced > 0 and member.size == group.reduced)


def _in_order(groups: list[Group], group_of: dict[int, Group]) -> list[Group]:
    """Each group after all that it needs, otherwise as early as its first op stood."""
    done: set[int] = set()
    order: list[Group] = []
    for first in sorted(groups, key=lambda group: group.members[0].number):
        waiting = [first]
        while waiting:
            group = waiting[-1]
            if id(group) in done:
                waiting.pop()
                continue
            missing = [group_of[number] for number in sorted(group.needs) if id(group_of[number]) not in done]
            if missing:
                waiting.extend(reversed(missing))
                continue
            done.add(id(group))
            order.append(group)
            waiting.pop()
    return order

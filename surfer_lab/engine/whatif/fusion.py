"""Which ops of a step would a compiler run as one kernel? TorchInductor's rule in outline, over the captured graph.

Pointwise work, norms and reductions join a group that makes what they read (or reads what they read), when both work
on the same number of elements and nothing outside the group lies between them; one reduction shape a group. Sums over
rows (gradients of biases) read what was written and stay by themselves, as seen in TorchInductor's schedules. Library
calls (convolutions, products, attention) stay as they are and are fences only for what depends on them. What nothing
reads from memory (zeros, ones) is put into its readers.

Between: every group has a depth, one more than the deepest it depends on. An op joins the deepest groups that make what
it reads (groups of one depth do not depend on each other, and become one), never a shallower one: so groups do not wait
for each other in a circle.

Against the schedules of torch 2.13's TorchInductor on a CPU (`tools/compare_fusion.py`), kernels forward, backward: a
perceptron 2, 5 by the rule and 2, 5 there; a transformer block 4, 8 and 4, 9 (a layer norm's gradients are two, which
`launch_count` has); a convolutional net 4, 3 and 10, 6, where the CPU's convolutions want their operands rearranged and
every batch norm's counter is a kernel.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from surfer_lab.engine.lowering import Family, Fusion, KernelWork, Source, lower_op, traits
from surfer_lab.trace.rewrite import OpRow, StorageRow
from surfer_lab.trace.rewrite.draft import is_list, numel
from surfer_lab.trace.tables import Phase

__all__ = ["Group", "Member", "groups_of"]

_IN_TWO_PASSES: Final = frozenset(
    (
        Family.BATCH_NORM, Family.BATCH_NORM_BACKWARD, Family.GROUP_NORM, Family.GROUP_NORM_BACKWARD,
        Family.LAYER_NORM_BACKWARD,
    )
)  # fmt: skip
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
    is_outer: bool  # it sums over the rows, leaving a row: the gradient of a bias
    producers: tuple[int, ...]


@dataclass(slots=True, eq=False)
class Group:
    """Ops that run as one kernel; a group of one is the op as it was."""

    members: list[Member]
    depth: int
    size: int
    reduced: int = 0
    is_open: bool = True
    is_outer: bool = False

    @property
    def is_fused(self) -> bool:
        return len(self.members) > 1

    @property
    def is_reduction(self) -> bool:
        return any(member.fusion is Fusion.REDUCTION for member in self.members)

    @property
    def launch_count(self) -> int:
        """Norms over batch and space find their statistics in one pass and apply them in another; the gradients of a
        layer norm's weights are sums over rows, its input's over columns.
        """
        families = {work.family for member in self.members for work in member.works if not _only_applies(work)}
        return 2 if families & _IN_TWO_PASSES else 1


def groups_of(rows: Sequence[OpRow], storages: Sequence[StorageRow]) -> list[Group]:
    """All rows in groups, in an order in which they can run."""
    members = _members(rows)
    inlined = _inlined(members, storages)
    grouping = _Grouping()
    for member in members:
        if member.number not in inlined:
            grouping.add(member)
    return grouping.in_order()


class _Grouping:
    """Groups so far."""

    def __init__(self) -> None:
        self.groups: list[Group] = []
        self.group_of: dict[int, Group] = {}  # by number of the row
        self.readers: dict[int, list[int]] = {}  # storage -> numbers of fusible rows that read it

    def add(self, member: Member) -> None:
        """Put an op into the group it joins, or one of its own."""
        makers = _distinct(self.group_of[number] for number in member.producers if number in self.group_of)
        group = self._joined(member, makers) if member.fusion is not Fusion.NONE else None
        if group is None:
            depth = 1 + max((maker.depth for maker in makers), default=-1)
            is_open = member.fusion is not Fusion.NONE
            group = Group([], depth, member.size, is_open=is_open, is_outer=member.is_outer)
            self.groups.append(group)
        group.members.append(member)
        group.reduced = group.reduced or member.reduced
        group.size = max(group.size, member.size)
        self.group_of[member.number] = group
        if group.is_open:
            for use in member.row.reads:
                self.readers.setdefault(use.storage, []).append(member.number)

    def _joined(self, member: Member, makers: Sequence[Group]) -> Group | None:
        """The group to join: the deepest makers, made one, if they fit; else one beside, that reads the same."""
        depth = max((maker.depth for maker in makers), default=-1)
        deepest = [maker for maker in makers if maker.depth == depth]
        if deepest and all(_fits(member, maker) for maker in deepest) and _agree(deepest):
            return self._merged(deepest)
        beside = [self.group_of[number] for use in member.row.reads for number in self.readers.get(use.storage, ())]
        for group in reversed(_distinct(beside)):
            if group.depth > depth and _fits(member, group):
                return group
        return None

    def _merged(self, groups: Sequence[Group]) -> Group:
        """Groups of one depth do not depend on each other: they can run as one."""
        first = groups[0]
        for other in groups[1:]:
            first.members.extend(other.members)
            first.reduced = first.reduced or other.reduced
            first.size = max(first.size, other.size)
            for member in other.members:
                self.group_of[member.number] = first
            self.groups.remove(other)
        return first

    def in_order(self) -> list[Group]:
        """Each group after all that it needs, otherwise as early as its first op stood."""
        done: set[int] = set()
        order: list[Group] = []
        for group in self.groups:
            group.members.sort(key=lambda member: member.number)
        for first in sorted(self.groups, key=lambda group: group.members[0].number):
            waiting = [first]
            while waiting:
                group = waiting[-1]
                missing = [need for need in self._needs(group) if id(need) not in done]
                if id(group) not in done and missing:
                    waiting.extend(missing)
                    continue
                waiting.pop()
                if id(group) not in done:
                    done.add(id(group))
                    order.append(group)
        return order

    def _needs(self, group: Group) -> list[Group]:
        numbers = sorted({number for member in group.members for number in member.producers}, reverse=True)
        needed = (self.group_of[number] for number in numbers if number in self.group_of)
        return [need for need in _distinct(needed) if need is not group]


def _distinct(groups: Iterable[Group]) -> list[Group]:
    return list({id(group): group for group in groups}.values())


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
        is_outer = reduced > 0 and _leaves_a_row(row, works, reduced)
        members.append(Member(row, number, works, fusion, size, reduced, is_outer, tuple(sorted(producers))))
        for use in row.writes:
            last_writer[use.storage] = number
    return members


def _fusion(row: OpRow, works: tuple[KernelWork, ...]) -> Fusion:
    if not works or row.phase not in _COMPILED_PHASES or any(work.source is not Source.SHAPES for work in works):
        return Fusion.NONE
    kinds = {Fusion.POINTWISE if _only_applies(work) else traits(work.family).fusion for work in works}
    if Fusion.NONE in kinds:
        return Fusion.NONE
    return Fusion.REDUCTION if Fusion.REDUCTION in kinds else Fusion.POINTWISE


def _only_applies(work: KernelWork) -> bool:
    """A batch norm with statistics given scales and shifts what it reads once; finding them, it reads twice."""
    return work.family is Family.BATCH_NORM and work.read_bytes <= work.write_bytes


def _leaves_a_row(row: OpRow, works: tuple[KernelWork, ...], reduced: int) -> bool:
    """A plain reduction over leading dimensions: what is left is as long as the last one."""
    if any(work.family is not Family.REDUCTION for work in works):
        return False
    first = next((entry for entry in row.input_shapes if isinstance(entry, tuple) and len(entry) > 1), None)
    return first is not None and first[-1] == reduced


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


def _fits(member: Member, group: Group) -> bool:
    if not group.is_open or group.members[0].row.phase is not member.row.phase:
        return False
    if member.is_outer or group.is_outer:
        if member.is_outer and group.is_outer:
            return member.size == group.size and group.reduced == member.reduced
        return group.is_outer and member.size == group.reduced
    if member.reduced:
        return member.size == group.size and group.reduced in (0, member.reduced)
    return member.size == group.size or (group.reduced > 0 and member.size == group.reduced)


def _agree(groups: Sequence[Group]) -> bool:
    """Do they work on one size, with at most one kind of reduction?"""
    return len({group.size for group in groups}) == 1 and len({group.reduced for group in groups} - {0}) <= 1

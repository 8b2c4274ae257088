"""Lower recorded kernels: what each had to do, from the op that launched it where shapes are there, and from its name.

An op often launches several kernels. The main one by name gets the op's FLOPs and bytes, several mains share them by
measured time; a helper beside it (a transpose, an offset table) has no FLOPs, and bytes only where the table of ops
foresees it. A gradient op does the work of two passes: names that tell the pass decide, the rest follow from PyTorch's
order, the input's gradient before the weight's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.lowering.families import FAMILY_TRAITS, Family
from surfer_lab.engine.lowering.identity import KernelIdentity, Library
from surfer_lab.engine.lowering.kernel_identity import classify_kernel
from surfer_lab.engine.lowering.op_lowering import columns_of, group_codes, works_of_rows
from surfer_lab.engine.lowering.op_table import RULES, OpStanding, plain_name, standing_of
from surfer_lab.engine.lowering.ops.convolution import WINOGRAD_FLOP_FRACTION, ConvolutionArguments
from surfer_lab.engine.lowering.recorded_outputs import output_finder
from surfer_lab.engine.lowering.work import UNKNOWN, KernelWork, Lowered, Role, Source
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.trace.tables import KernelKind, KernelTable, OpTable

__all__ = ["lower_kernels"]

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]

# F(4x4, 3x3): 36 multiplications instead of 144; cuDNN's kernels around a plain product are named "nonfused ... 4x4"
_NONFUSED_WINOGRAD_FRACTION: Final = 36 / 144
_NONFUSED: Final = re.compile(r"winograd_nonfused|winograd\w*(Data|Output|Delta)4x4")
_WEIGHT_HINT: Final = re.compile(r"[wW]grad|stridedB_splitK|[bB]ackward_?[fF]ilter|WrW|wrw|bwd_weight|BwdWeight")
_DATA_HINT: Final = re.compile(r"[dD]grad|stridedB(?!_splitK)|[bB]ackward_?[dD]ata|bwd_data|BwdData|winogradForward")


class _Pass(NamedTuple):
    """An op that does one pass of a gradient op around it, whose shapes are the complete ones."""

    parents: tuple[str, ...]
    is_weight: bool


_ONE_PASS: Final[dict[str, _Pass]] = {
    f"{library}_{kind}_backward_{part}": _Pass((f"{library}_{kind}_backward",), part == "weight")
    for library in ("cudnn", "miopen", "mkldnn")
    for kind in ("convolution", "convolution_transpose", "depthwise_convolution")
    for part in ("input", "weight")
}
_ANY: Final = 0
_DATA: Final = 1
_WEIGHT: Final = 2

_DATA_FAMILIES: Final = frozenset(family for family in Family if family.name.startswith("DGRAD"))
_WEIGHT_FAMILIES: Final = frozenset(family for family in Family if family.name.startswith("WGRAD"))


@dataclass(frozen=True)
class _Role:
    """One kernel's part in its op: `work` indexes the op's works (-1: none), `template` what to write down."""

    work: int
    template: KernelWork
    is_memory_bound: bool


def _named(identity: KernelIdentity, *, reason: str = "", family: Family | None = None) -> KernelWork:
    """What the name alone gives; a name in no table is a fallback."""
    known = family or identity.family
    return KernelWork(
        family=known or Family.OTHER,
        flop=0.0 if identity.role is Role.HELPER else UNKNOWN,
        read_bytes=UNKNOWN,
        write_bytes=UNKNOWN,
        rate_class=identity.rate_class or RateClass.FP32,
        tf32=identity.tf32,
        flop_fraction=WINOGRAD_FLOP_FRACTION if identity.winograd and identity.role is Role.MAIN else 1.0,
        role=identity.role,
        source=Source.NAME if known else Source.FALLBACK,
        reason=reason or ("" if known else "the kernel's name is in no table"),
    )


def _fraction(work: KernelWork, identity: KernelIdentity, *, nonfused: bool) -> float:
    """Of the direct algorithm's FLOPs, what the kernel really does: its name tells where there is a choice."""
    if work.flop_fraction == 1.0 and not (nonfused or identity.winograd):
        return 1.0
    if identity.winograd:
        return WINOGRAD_FLOP_FRACTION
    if nonfused:
        return _NONFUSED_WINOGRAD_FRACTION
    return work.flop_fraction if identity.family is None or "attention" in work.family.value else 1.0


def _directions(identities: Sequence[KernelIdentity], mains: Sequence[bool], forced: Sequence[int]) -> list[int]:
    """The pass of each kernel of a gradient op: forced by an op inside, told by its name, or by the order."""
    told = [
        force or (_WEIGHT if _WEIGHT_HINT.search(kernel.name) else _DATA if _DATA_HINT.search(kernel.name) else _ANY)
        for kernel, force in zip(identities, forced, strict=True)
    ]
    places = [place for place, main in enumerate(mains) if main]
    told_weight = any(told[place] == _WEIGHT for place in places)
    if places and not told_weight and (len(places) > 1 or told[places[0]] == _ANY):
        # no main kernel says so: the last one is the weight's, and the only one too (an image needs no gradient)
        told[places[-1]] = _WEIGHT
    result, seen_weight = [], False
    for way in told:
        seen_weight = seen_weight or way == _WEIGHT
        result.append(way or (_WEIGHT if seen_weight else _DATA))
    return result


def _share_out(
    works: tuple[KernelWork, ...], identities: Sequence[KernelIdentity], forced: Sequence[int]
) -> list[_Role]:
    """Which kernel of an op does which of the op's works."""
    main_works = [place for place, work in enumerate(works) if work.role is Role.MAIN]
    arithmetic = any(FAMILY_TRAITS[works[place].family].arithmetic for place in main_works)

    def could_be_main(kernel: KernelIdentity) -> bool:
        if kernel.role is Role.HELPER:
            return False
        if kernel.family is None:
            return True
        if arithmetic:
            traits = FAMILY_TRAITS[kernel.family]
            return traits.arithmetic or "depthwise" in kernel.family.value
        return kernel.library is not Library.RUNTIME

    mains = [could_be_main(kernel) for kernel in identities]
    if not any(mains):
        mains = [kernel.role is Role.MAIN for kernel in identities]
    if not any(mains):
        mains = [True] * len(identities)
    ways = _directions(identities, mains, forced) if _is_gradient(works, main_works) else [_ANY] * len(identities)
    nonfused = [any(_NONFUSED.search(other.name) for other, w in zip(identities, ways, strict=True) if w == way)
                for way in ways]  # fmt: skip
    roles = []
    for kernel, is_main, way, is_nonfused in zip(identities, mains, ways, nonfused, strict=True):
        place = _work_for(works, main_works, way) if is_main else _helper_work(works, kernel)
        if place < 0:
            template = _named(kernel)
            bound = kernel.memory_bound
        else:
            work = works[place]
            plain = kernel.rate_class if is_main and FAMILY_TRAITS[work.family].arithmetic else None
            template = replace(
                work,
                rate_class=plain or work.rate_class,
                flop_fraction=_fraction(work, kernel, nonfused=is_nonfused),
                launch_count=1,
                role=Role.MAIN if is_main else Role.HELPER,
                source=work.source if work.flop == work.flop else Source.NAME,
            )
            bound = FAMILY_TRAITS[work.family].memory_bound or (kernel.memory_bound and kernel.family is not None)
        roles.append(_Role(place, template, bound))
    return roles


def _is_gradient(works: tuple[KernelWork, ...], main_works: Sequence[int]) -> bool:
    families = {works[place].family for place in main_works}
    return bool(families & _WEIGHT_FAMILIES) and len(main_works) > 1


def _work_for(works: tuple[KernelWork, ...], main_works: Sequence[int], way: int) -> int:
    wanted = [place for place in main_works if (works[place].family in _WEIGHT_FAMILIES) == (way == _WEIGHT)]
    candidates = wanted if way != _ANY and wanted else main_works
    return candidates[0] if candidates else -1


def _helper_work(works: tuple[KernelWork, ...], kernel: KernelIdentity) -> int:
    return next(
        (place for place, work in enumerate(works) if work.role is Role.HELPER and work.family is kernel.family), -1
    )


def _unshaped(name: str, works: tuple[KernelWork, ...]) -> tuple[KernelWork, ...]:
    """Without shapes an op's name still tells the family: a plain product inside a convolution is the convolution."""
    if not works or works[0].source is not Source.NONE:
        return works
    rule = RULES.get(plain_name(name))
    if not isinstance(rule, ConvolutionArguments):
        return ()
    families = (Family.DGRAD, Family.WGRAD) if rule.gradient >= 0 else (Family.CONV,)
    return tuple(
        replace(works[0], family=family, source=Source.NAME, reason="the op recorded no shapes") for family in families
    )


def _explaining_rows(ops: OpTable, rows: I64) -> tuple[I64, NDArray[np.int8]]:
    """For each op that launched kernels: the op whose shapes explain them (-1: none), and the pass it is limited to."""
    values = ops.name.values
    explains = np.zeros(len(values) + 1, dtype=bool)
    stops = np.zeros(len(values) + 1, dtype=bool)
    for code, name in enumerate(values):
        standing = standing_of(name)
        in_table = standing is OpStanding.ATOMIC or (standing is OpStanding.COMPOSITE and plain_name(name) in RULES)
        explains[code] = in_table
        stops[code] = in_table or standing is OpStanding.UNKNOWN_OP
    passes = {code: _ONE_PASS[plain] for code, name in enumerate(values) if (plain := plain_name(name)) in _ONE_PASS}
    found = np.full(len(rows), -1, dtype=np.int64)
    way = np.zeros(len(rows), dtype=np.int8)
    codes, parents = ops.name.codes, ops.parent
    for place, row in enumerate(rows.tolist()):
        at, one_pass = row, passes.get(int(codes[row]))
        if one_pass is not None:
            way[place] = _WEIGHT if one_pass.is_weight else _DATA
            at = int(parents[row])
        while at >= 0 and not stops[codes[at]]:
            at = int(parents[at])
        if at >= 0 and explains[codes[at]]:
            found[place] = at
    return found, way


def _sizes(kernels: KernelTable) -> tuple[I64, NDArray[np.int32]]:
    blocks = np.prod(kernels.grid.astype(np.int64), axis=1)
    threads = np.prod(kernels.block.astype(np.int64), axis=1).astype(np.int32)
    return blocks, threads


def lower_kernels(kernels: KernelTable, ops: OpTable) -> Lowered:
    """Work of each recorded kernel, in the table's order. Sources: shapes, name, or fallback (a kernel and no more)."""
    count = len(kernels)
    # copies, memsets and collectives say their own size; a collective without one is still no op's main kernel
    sized = (kernels.kind == KernelKind.COMMUNICATION) | (
        (kernels.kind != KernelKind.COMPUTE) & (kernels.size_bytes >= 0)
    )
    work_row, forced = _work_rows(kernels, ops, ~sized)
    parts = _Parts(kernels)
    parts.take_alone(np.flatnonzero(work_row < 0))
    explained = np.flatnonzero(work_row >= 0)
    explained = explained[np.argsort(work_row[explained], kind="stable")]
    parts.take_explained(explained, work_row[explained], forced, ops)

    lowered = columns_of(
        [role.template for role in parts.roles],
        parts.role_of,
        kernels.op.astype(np.int32),
        np.arange(count, dtype=np.int32),
    )
    share = _shares(parts.share_group, kernels.duration_ns)
    blocks, threads = _sizes(kernels)
    bound = np.array([role.is_memory_bound for role in parts.roles], dtype=bool)
    read, write = lowered.read_bytes * share, lowered.write_bytes * share
    _fill_sizes(kernels, sized, read, write)
    return replace(
        lowered,
        flop=np.where(sized, 0.0, lowered.flop * share),
        read_bytes=read,
        write_bytes=write,
        blocks=np.where(blocks > 0, blocks, lowered.blocks),
        threads=np.where(threads > 0, threads, lowered.threads).astype(np.int32),
        memory_bound=bound[parts.role_of] if count else np.zeros(0, dtype=bool),
    )


def _work_rows(kernels: KernelTable, ops: OpTable, wanted: NDArray[np.bool_]) -> tuple[I64, NDArray[np.int8]]:
    """For each kernel: the row of the op that explains it (-1: none), and the pass it is limited to."""
    work_row = np.full(len(kernels), -1, dtype=np.int64)
    forced = np.zeros(len(kernels), dtype=np.int8)
    launched = (kernels.op >= 0) & wanted
    launching, place = np.unique(kernels.op[launched], return_inverse=True)
    explaining, ways = _explaining_rows(ops, launching.astype(np.int64))
    work_row[launched] = explaining[place.reshape(-1)]
    forced[launched] = ways[place.reshape(-1)]
    return work_row, forced


class _Parts:
    """Collects each kernel's part in its op. What is equal is worked out once: a name, or names under a signature."""

    def __init__(self, kernels: KernelTable) -> None:
        self.roles: list[_Role] = []
        self.role_of = np.zeros(len(kernels), dtype=np.int64)
        self.share_group = np.arange(len(kernels), dtype=np.int64)  # kernels that share one work have one number
        self._names = kernels.name.codes.astype(np.int64)
        self._identities = [classify_kernel(name) for name in kernels.name.values]

    def _identity(self, code: int) -> KernelIdentity:
        return self._identities[code] if code >= 0 else classify_kernel("")

    def _add(self, role: _Role) -> int:
        self.roles.append(role)
        return len(self.roles) - 1

    def take_alone(self, rows: I64) -> None:
        """Kernels that no op explains: by name."""
        names, name_of = np.unique(self._names[rows], return_inverse=True)
        kernels = [self._identity(code) for code in names.tolist()]
        numbers = [self._add(_Role(-1, _named(kernel), kernel.memory_bound)) for kernel in kernels]
        self.role_of[rows] = np.array(numbers, dtype=np.int64)[name_of.reshape(-1)]

    def take_explained(self, rows: I64, work_row: I64, forced: NDArray[np.int8], ops: OpTable) -> None:
        """Kernels sorted by the op that explains them."""
        if len(rows) == 0:
            return
        op_rows = np.unique(work_row)
        works, signatures = works_of_rows(ops, op_rows, output_of=output_finder(ops))
        first_row = dict(zip(signatures[::-1].tolist(), op_rows[::-1].tolist(), strict=True))
        works = [_unshaped(ops.name[first_row[place]] or "", found) for place, found in enumerate(works)]
        signature = signatures[np.searchsorted(op_rows, work_row)]
        starts = np.flatnonzero(np.diff(work_row, prepend=-1))
        sizes = np.diff(np.append(starts, len(rows)))
        self._take_single(rows[starts[sizes == 1]], signature[starts[sizes == 1]], forced, works)
        several = sizes > 1
        patterns: dict[tuple[int, tuple[int, ...], tuple[int, ...]], list[int]] = {}
        for start, size in zip(starts[several].tolist(), sizes[several].tolist(), strict=True):
            members = rows[start : start + size]
            names, ways = tuple(self._names[members].tolist()), tuple(forced[members].tolist())
            pattern = (int(signature[start]), names, ways)
            if pattern not in patterns:
                roles = _share_out(works[pattern[0]], [self._identity(code) for code in names], ways)
                patterns[pattern] = [self._add(role) for role in roles]
            self._take_group(members, patterns[pattern])

    def _take_single(
        self, rows: I64, signature: I64, forced: NDArray[np.int8], works: Sequence[tuple[KernelWork, ...]]
    ) -> None:
        if len(rows) == 0:
            return
        groups, first = group_codes([signature, self._names[rows], forced[rows].astype(np.int64)])
        numbers = []
        for at in first.tolist():
            kernel = self._identity(int(self._names[rows[at]]))
            (role,) = _share_out(works[signature[at]], [kernel], [int(forced[rows[at]])])
            numbers.append(self._add(role))
        self.role_of[rows] = np.array(numbers, dtype=np.int64)[groups]

    def _take_group(self, members: I64, numbers: Sequence[int]) -> None:
        self.role_of[members] = numbers
        leaders: dict[int, int] = {}
        for member, number in zip(members.tolist(), numbers, strict=True):
            work = self.roles[number].work
            if work >= 0:
                self.share_group[member] = leaders.setdefault(work, member)


def _shares(group: I64, duration_ns: I64) -> F64:
    """A kernel's part of its work: by measured time; equal parts where all are recorded as zero long."""
    total = np.bincount(group, weights=duration_ns, minlength=len(group))
    members = np.bincount(group, minlength=len(group))
    whole = total[group]
    return np.where(whole > 0, duration_ns / np.where(whole > 0, whole, 1.0), 1.0 / np.maximum(members[group], 1))


def _fill_sizes(kernels: KernelTable, sized: NDArray[np.bool_], read: F64, write: F64) -> None:
    """Copies, memsets and collectives say themselves how much they move."""
    kind, size = kernels.kind, kernels.size_bytes.astype(np.float64)
    known = sized & (kernels.size_bytes >= 0)
    direction = kernels.name.map(_copy_direction, absent=_BOTH, dtype=np.int8)
    copy = known & (kind == KernelKind.MEMCPY)
    read[copy] = np.where(direction[copy] != _TO_DEVICE, size[copy], 0.0)
    write[copy] = np.where(direction[copy] != _FROM_DEVICE, size[copy], 0.0)
    memset = known & (kind == KernelKind.MEMSET)
    read[memset], write[memset] = 0.0, size[memset]
    message = known & (kind == KernelKind.COMMUNICATION)
    read[message], write[message] = size[message], 0.0


_BOTH: Final = 0
_TO_DEVICE: Final = 1
_FROM_DEVICE: Final = 2


def _copy_direction(name: str) -> int:
    if re.search(r"HtoD|HostToDevice", name):
        return _TO_DEVICE
    return _FROM_DEVICE if re.search(r"DtoH|DeviceToHost", name) else _BOTH

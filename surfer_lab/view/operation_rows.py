"""Which operations are shown, and how? The costliest ten with their numbers on every GPU, and shares by grouping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.planner.operations import OperationGroups
from surfer_lab.units import NS_PER_MS
from surfer_lab.view.model import GroupRow, OperationRow
from surfer_lab.view.packed import three_digits
from surfer_lab.view.stored_model import StoredOperation
from surfer_lab.view.wording import PHASE_WORDS, name_text, percent_text, rounded, time_quantity, time_unit

__all__ = ["OperationTimes", "group_rows", "operation_rows", "shown_groups", "worded_operations"]

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

OPERATIONS_SHOWN: Final = 10
GROUPS_SHOWN: Final = 8


@dataclass(frozen=True, kw_only=True, eq=False)
class OperationTimes:
    """Times of three digits, ms, and what they rest on; (gpus, rows) each."""

    on_ms: F64
    low_ms: F64
    high_ms: F64
    limit: I64
    method: I64


def operation_rows(groups: OperationGroups, order: Sequence[int], lead: int) -> list[OperationRow]:
    """The costliest groups, and one row for all the rest, so that the shares sum to 1."""
    members = shown_groups(groups)
    names = [groups.name[one[0]] for one in members[:OPERATIONS_SHOWN]]
    names += [f"all other operations ({len(one):,} kinds)" for one in members[OPERATIONS_SHOWN:]]
    if not members:
        return []
    on_ms, low_ms, high_ms = (
        three_digits(np.array([table[:, one].sum(axis=1)[order] for one in members]).T / NS_PER_MS)
        for table in (groups.duration_ns, groups.low_ns, groups.high_ns)
    )
    times = OperationTimes(
        on_ms=on_ms,
        low_ms=low_ms,
        high_ms=high_ms,
        limit=_of_heaviest(groups, groups.limited_by, members, order),
        method=_of_heaviest(groups, groups.method, members, order),
    )
    facts = [_facts(groups, one, lead, name) for one, name in zip(members, names, strict=True)]
    return worded_operations(facts, times)


def shown_groups(groups: OperationGroups) -> list[list[int]]:
    """The groups of each row: the costliest by themselves, all the rest in one."""
    alone = [[group] for group in range(min(OPERATIONS_SHOWN, len(groups)))]
    rest = list(range(len(alone), len(groups)))
    return [*alone, rest] if rest else alone


def worded_operations(facts: Sequence[StoredOperation], times: OperationTimes) -> list[OperationRow]:
    """The rows from their facts and their times on every GPU."""
    total = times.on_ms.sum(axis=1)
    share = times.on_ms / np.where(total > 0, total, 1.0)[:, None]
    return [_worded(one, times, share[:, place], place) for place, one in enumerate(facts)]


def _worded(facts: StoredOperation, times: OperationTimes, share: F64, place: int) -> OperationRow:
    on_ms, low_ms, high_ms = (table[:, place] for table in (times.on_ms, times.low_ms, times.high_ms))
    unit = time_unit((on_ms * NS_PER_MS).tolist())
    on = [
        time_quantity(t * NS_PER_MS, low_ns=a * NS_PER_MS, high_ns=b * NS_PER_MS, unit=unit)
        for t, a, b in zip(on_ms.tolist(), low_ms.tolist(), high_ms.tolist(), strict=True)
    ]
    return OperationRow(
        name=facts.name,
        phase=facts.phase,
        launches=facts.launches,
        launches_text=f"{facts.launches:,.0f}" if facts.launches >= 0.5 else "<1",
        here=time_quantity(None if facts.here_ms is None else facts.here_ms * NS_PER_MS),
        share=facts.share,
        share_text=percent_text(facts.share),
        on_ms=[rounded(value, 3) for value in on_ms.tolist()],
        on_low_ms=[rounded(value, 3) for value in low_ms.tolist()],
        on_high_ms=[rounded(value, 3) for value in high_ms.tolist()],
        on_text=[quantity.text for quantity in on],
        on_range=[quantity.range_text for quantity in on],
        on_share_text=[percent_text(value) for value in share.tolist()],
        on_limit=times.limit[:, place].tolist(),
        on_method=times.method[:, place].tolist(),
        source=facts.source,
        module=facts.module,
        note=facts.note,
    )


def _of_heaviest(
    groups: OperationGroups, table: NDArray[np.int8], members: Sequence[Sequence[int]], order: Sequence[int]
) -> I64:
    """(gpus, rows): the entry of the member that takes longest on each GPU."""
    columns = []
    for one in members:
        heaviest = np.asarray(one)[groups.duration_ns[:, one].argmax(axis=1)]
        columns.append(table[np.arange(len(table)), heaviest][order])
    return np.array(columns, dtype=np.int64).T


def _facts(groups: OperationGroups, members: Sequence[int], lead_gpu: int, name: str) -> StoredOperation:
    only = members[0] if len(members) == 1 else None
    here_ns = float(groups.origin_ns[members].sum())
    lead = groups.origin_ns if np.isfinite(here_ns) else groups.duration_ns[lead_gpu]
    total = float(lead.sum())
    source = ""
    if only is not None and groups.source[only]:
        more = groups.source_count[only] - 1
        source = name_text(groups.source[only] or "") + (f" (+{more} more)" if more > 0 else "")
    return StoredOperation(
        name=name_text(name),
        phase=PHASE_WORDS[groups.phase[only]] if only is not None else "",
        launches=rounded(float(groups.launches_per_step[members].sum())),
        here_ms=rounded(here_ns / NS_PER_MS) if np.isfinite(here_ns) else None,
        share=rounded(float(lead[members].sum()) / total, 4) if total > 0 else 0.0,
        source=source,
        module=name_text(groups.module[only] or "") if only is not None else "",
        note=_unscaled_note(groups, members),
    )


def _unscaled_note(groups: OperationGroups, members: Sequence[int]) -> str:
    reasons = dict.fromkeys(groups.unscaled_reason[member] for member in members if groups.unscaled_reason[member])
    return "not scaled: " + "; ".join(name_text(str(reason)) for reason in list(reasons)[:2]) if reasons else ""


def group_rows(groups: OperationGroups, gpu_index: int) -> list[GroupRow]:
    """Shares of the GPU time: as recorded, else on the GPU shown first."""
    measured = bool(np.isfinite(groups.origin_ns).all()) and float(groups.origin_ns.sum()) > 0
    values = groups.origin_ns / groups.origin_ns.sum() if measured else groups.share[gpu_index]
    rows = [
        GroupRow(
            label=name_text(groups.name[group]),
            share=rounded(float(values[group]), 4),
            text=percent_text(float(values[group])),
        )
        for group in np.argsort(-values, kind="stable").tolist()
        if values[group] > 0
    ]
    head, rest = rows[:GROUPS_SHOWN], rows[GROUPS_SHOWN:]
    if rest:
        share = sum(row.share for row in rest)
        head.append(GroupRow(label=f"{len(rest)} others", share=rounded(share, 4), text=percent_text(share)))
    return head

"""Which operations are shown, and how? The costliest ten with their numbers on every GPU, and shares by grouping."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from surfer_lab.planner.operations import OperationGroups
from surfer_lab.units import NS_PER_MS
from surfer_lab.view.model import GroupRow, OperationRow
from surfer_lab.view.wording import PHASE_WORDS, name_text, percent_text, rounded, time_quantity, time_unit

__all__ = ["group_rows", "operation_rows"]

OPERATIONS_SHOWN: Final = 10
GROUPS_SHOWN: Final = 8


def operation_rows(groups: OperationGroups, order: Sequence[int], lead: int) -> list[OperationRow]:
    """The costliest groups, and one row for all the rest, so that the shares sum to 1."""
    shown = range(min(OPERATIONS_SHOWN, len(groups)))
    rows = [_operation_row(groups, [group], order, lead, groups.name[group]) for group in shown]
    rest = list(range(len(shown), len(groups)))
    if rest:
        rows.append(_operation_row(groups, rest, order, lead, f"all other operations ({len(rest):,} kinds)"))
    return rows


def _operation_row(
    groups: OperationGroups, members: Sequence[int], order: Sequence[int], lead_gpu: int, name: str
) -> OperationRow:
    only = members[0] if len(members) == 1 else None
    here_ns = float(groups.origin_ns[members].sum())
    lead = groups.origin_ns if np.isfinite(here_ns) else groups.duration_ns[lead_gpu]
    total = float(lead.sum())
    share = float(lead[members].sum()) / total if total > 0 else 0.0
    duration, low, high = (
        table[:, members].sum(axis=1)[order] for table in (groups.duration_ns, groups.low_ns, groups.high_ns)
    )
    unit = time_unit(duration.tolist())
    on = [
        time_quantity(float(t), low_ns=float(a), high_ns=float(b), unit=unit)
        for t, a, b in zip(duration, low, high, strict=True)
    ]
    heaviest = groups.duration_ns[:, members].argmax(axis=1)
    launches = float(groups.launches_per_step[members].sum())
    source = ""
    if only is not None and groups.source[only]:
        more = groups.source_count[only] - 1
        source = name_text(groups.source[only] or "") + (f" (+{more} more)" if more > 0 else "")
    return OperationRow(
        name=name_text(name),
        phase=PHASE_WORDS[groups.phase[only]] if only is not None else "",
        launches_text=f"{launches:,.0f}" if launches >= 0.5 else "<1",
        here=time_quantity(here_ns if np.isfinite(here_ns) else None),
        share=rounded(share, 4),
        share_text=percent_text(share),
        on_ms=[rounded(float(value) / NS_PER_MS, 4) for value in duration],
        on_text=[quantity.text for quantity in on],
        on_range=[quantity.range_text for quantity in on],
        on_share_text=[percent_text(float(value)) for value in groups.share[:, members].sum(axis=1)[order]],
        on_limit=[int(groups.limited_by[index, members[heaviest[index]]]) for index in order],
        on_method=[int(groups.method[index, members[heaviest[index]]]) for index in order],
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

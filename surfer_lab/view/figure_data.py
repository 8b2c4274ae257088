"""What does each figure show of a view on one GPU at one setting? Columns for its sources, and the table twin.

Colours are roles of `bokeh_figures.colors`; whoever draws puts a theme's in their place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from surfer_lab.units import NS_PER_MS
from surfer_lab.view.figures import parts_of_ms, step_here_ns
from surfer_lab.view.model import GpuRow, PartitionFigure, Verdict
from surfer_lab.view.money_words import money_text
from surfer_lab.view.packed import unpack
from surfer_lab.view.selection import Choosing, Chosen, Setting, in_ms
from surfer_lab.view.wording import (
    UNKNOWN,
    TimeUnit,
    bytes_quantity,
    duration_text,
    percent_text,
    rate_quantity,
    significant,
    time_quantity,
    unit_named,
)

__all__ = ["FIGURE_TITLES", "FigureData", "figure_data"]

Columns = dict[str, list[Any]]

_MOST_BARS: Final = 16
_AXES_PX: Final = 70
_LINE_PX: Final = 22
_HUES: Final = ("accent", "accent_soft", "third", "second", "good")
_PART_ROLES: Final = ("accent", "warn", "bad", "third", "second")
_ROOFS: Final = ("fp32", "tf32", "fp16", "bf16")
_LANE_ROLES: Final = {"host": "accent_soft", "input": "warn", "gpu": "accent", "idle": "idle"}

FIGURE_TITLES: Final[Mapping[str, str]] = {
    "step_range": "Step time by GPU",
    "cost_time": "Cost against time",
    "batch_curve": "Batch size",
    "parts": "Where a step's time goes",
    "operations": "Operations",
    "modules": "Modules",
    "roofline": "Rate against intensity",
    "timeline": "One step",
    "scaling": "On several GPUs",
}


@dataclass(frozen=True, kw_only=True)
class FigureData:
    """For a template of `bokeh_figures`: `sources` by name, factors, labels; `columns` and `rows` are its table."""

    sources: Mapping[str, Columns]
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    factors: Sequence[str] | None = None
    x_label: str | None = None
    y_label: str | None = None
    height: int | None = None
    note: str = field(default="")


def figure_data(name: str, choosing: Choosing, gpu: int, setting: Setting | None = None) -> FigureData | None:
    """The figure of that name for the GPU of that row; None where the view has nothing for it."""
    return _BUILDERS[name](choosing, gpu, setting)


def _unit(choosing: Choosing) -> TimeUnit:
    rows = choosing.view.rows
    return unit_named(rows[0].step.unit if rows else "ms")


def _scaled(ms: float, unit: TimeUnit) -> float:
    return ms * NS_PER_MS / unit.ns


def _time(ms: float, unit: TimeUnit) -> str:
    return time_quantity(ms * NS_PER_MS, unit=unit).text


def _all_chosen(choosing: Choosing, setting: Setting | None) -> list[tuple[GpuRow, Chosen]]:
    """The GPUs with a step at this setting, fastest first."""
    found = [(row, choosing.at(place, setting)) for place, row in enumerate(choosing.view.rows)]
    known = [one for one in found if math.isfinite(one[1].step_ms)]
    return sorted(known, key=lambda one: one[1].step_ms)


def _step_range(choosing: Choosing, gpu: int, setting: Setting | None) -> FigureData:
    unit, view = _unit(choosing), choosing.view
    wanted = {*view.shortlist, *([view.rows[gpu].gpu] if view.rows else [])}
    shown = [one for one in _all_chosen(choosing, setting) if one[0].gpu in wanted][:_MOST_BARS]
    here_ns = step_here_ns(view.here)

    def words(chosen: Chosen) -> tuple[str, str]:
        quantity = time_quantity(
            chosen.step_ms * NS_PER_MS, low_ns=chosen.low_ms * NS_PER_MS, high_ns=chosen.high_ms * NS_PER_MS, unit=unit
        )
        return quantity.text, quantity.range_text

    texts = [words(chosen) for _, chosen in shown]
    names = [row.gpu for row, _ in shown]
    return FigureData(
        sources={
            "bars": {
                "gpu": names,
                "value": [_scaled(chosen.step_ms, unit) for _, chosen in shown],
                "low": [_scaled(chosen.low_ms, unit) for _, chosen in shown],
                "high": [_scaled(chosen.high_ms, unit) for _, chosen in shown],
                "text": [", ".join(filter(None, (name, *text))) for name, text in zip(names, texts, strict=True)],
                "color": [
                    "second" if row.gpu == view.rows[gpu].gpu else "third" if row.is_origin else "accent"
                    for row, _ in shown
                ],
            },
            "here": {"value": [] if here_ns is None else [here_ns / unit.ns]},
        },
        factors=names[::-1],
        x_label=f"step, {unit.name}",
        height=_AXES_PX + _LINE_PX * len(shown),
        columns=["GPU", "Step", "Range"],
        rows=[[name, *text] for name, text in zip(names, texts, strict=True)],
    )


def _cost_time(choosing: Choosing, gpu: int, setting: Setting | None) -> FigureData | None:
    unit, view = _unit(choosing), choosing.view
    priced = [
        (row, chosen, cost)
        for row, chosen in _all_chosen(choosing, setting)
        if (cost := chosen.usd_per_1000_steps) is not None and cost > 0
    ]
    if len(priced) < 2:
        return None
    front, least = [], math.inf
    for row, chosen, cost in priced:
        if chosen.verdict is not Verdict.DOES_NOT_FIT and cost < least:
            front.append((row, chosen, cost))
            least = cost
    on_front = {row.gpu for row, _, _ in front}
    looked_at = view.rows[gpu].gpu
    return FigureData(
        sources={
            "points": {
                "x": [_scaled(chosen.step_ms, unit) for _, chosen, _ in priced],
                "y": [cost for _, _, cost in priced],
                "gpu": [row.gpu for row, _, _ in priced],
                "text": [
                    f"{row.gpu}: {_time(chosen.step_ms, unit)}, {money_text(cost)} per 1,000 steps"
                    for row, chosen, cost in priced
                ],
                "marker": [
                    "diamond" if row.gpu == looked_at else "square" if row.is_origin else "circle"
                    for row, _, _ in priced
                ],
                "color": [
                    "second" if row.gpu == looked_at else "accent" if row.gpu in on_front or row.is_origin else "muted"
                    for row, _, _ in priced
                ],
                "size": [14 if row.gpu == looked_at else 10 if row.gpu in on_front else 6 for row, _, _ in priced],
            },
            "front": {
                "x": [_scaled(chosen.step_ms, unit) for _, chosen, _ in front],
                "y": [cost for _, _, cost in front],
            },
        },
        x_label=f"step, {unit.name}",
        columns=["GPU", "Step", "USD per 1,000 steps", "Best trade-off"],
        rows=[
            [row.gpu, _time(chosen.step_ms, unit), money_text(cost), "yes" if row.gpu in on_front else ""]
            for row, chosen, cost in priced
        ],
    )


def _batch_curve(choosing: Choosing, gpu: int, setting: Setting | None) -> FigureData | None:
    sizes = choosing.batch_sizes
    if len(sizes) < 2:
        return None
    unit, at = _unit(choosing), setting or choosing.own
    points = [
        chosen
        for place in range(len(sizes))
        if math.isfinite(
            (chosen := choosing.at(gpu, Setting(batch=place, precision=at.precision, compiled=at.compiled))).step_ms
        )
    ]
    largest = max((one.batch_size or 0 for one in points if one.verdict is Verdict.FITS), default=0)
    rows = [
        [
            f"{one.batch_size:,}",
            _time(one.step_ms, unit),
            f"{_time(one.low_ms, unit).removesuffix(f' {unit.name}')} to {_time(one.high_ms, unit)}",
            rate_quantity(one.samples_per_s).text.removesuffix(" samples/s"),
            bytes_quantity(one.memory_gb * 1e9).text,
            one.verdict.value,
        ]
        for one in points
    ]
    return FigureData(
        sources={
            "points": {
                "batch": [one.batch_size for one in points],
                "step": [_scaled(one.step_ms, unit) for one in points],
                "low": [_scaled(one.low_ms, unit) for one in points],
                "high": [_scaled(one.high_ms, unit) for one in points],
                "rate": [one.samples_per_s for one in points],
                "memory": [one.memory_gb for one in points],
                "text": [
                    f"batch {row[0]}: {row[1]} ({row[2]}), {row[3]} samples/s, {row[4]}, {row[5]}" for row in rows
                ],
            },
            "limits": {"batch": [largest] if largest else []},
            "capacity": {"memory": [choosing.view.rows[gpu].memory.value or math.nan]},
            "chosen": {"batch": [sizes[at.batch]] if at.batch < len(sizes) else []},
        },
        x_label="batch size",
        y_label=f"step, {unit.name}",
        columns=["Batch", "Step", "Range", "Samples/s", "Memory", "Fits"],
        rows=rows,
    )


def _parts(choosing: Choosing, gpu: int, _setting: Setting | None) -> FigureData | None:
    view = choosing.view
    figure = next((one for one in view.figures if isinstance(one, PartitionFigure)), None)
    if figure is None:
        return None
    unit = _unit(choosing)
    bars = [(bar.label, bar.parts) for bar in figure.bars]
    looked_at = view.rows[gpu] if view.rows else None
    if looked_at is not None and not any(label.startswith(f"{looked_at.gpu},") for label, _ in bars):
        bars.append((looked_at.gpu, parts_of_ms(looked_at.parts_ms)))
    columns: Columns = {name: [] for name in ("place", "left", "right", "part", "text", "color")}
    for label, parts in bars:
        begin = 0.0
        for role, part in zip(_PART_ROLES, parts, strict=True):
            end = begin + part.value_ms
            added = (label, _scaled(begin, unit), _scaled(end, unit), part.label, f"{part.label}: {part.text}", role)
            for name, value in zip(columns, added, strict=True):
                columns[name].append(value)
            begin = end
    return FigureData(
        sources={"parts": columns},
        factors=[label for label, _ in bars][::-1],
        x_label=f"step, {unit.name}",
        height=_AXES_PX + 30 * len(bars),
        columns=["On", *view.part_labels],
        rows=[[label, *(part.text for part in parts)] for label, parts in bars],
    )


def _operations(choosing: Choosing, gpu: int, _setting: Setting | None) -> FigureData | None:
    view = choosing.view
    if not view.operations:
        return None
    names = [f"{row.name}, {row.phase}" if row.phase else row.name for row in view.operations]
    here = [in_ms(row.here, row.here.value) for row in view.operations]
    there = [row.on_ms[gpu] for row in view.operations]
    gpu_name = view.rows[gpu].gpu
    rows = [
        [name, row.here.text, row.on_text[gpu], row.on_range[gpu], view.limit_labels[row.on_limit[gpu]]]
        for name, row in zip(names, view.operations, strict=True)
    ]
    return FigureData(
        sources={
            "bars": {
                "name": names,
                "here": here,
                "there": there,
                "text": [
                    f"{row[0]}: {f'{row[1]} here, ' if row[1] != UNKNOWN else ''}{row[2]} on {gpu_name}" for row in rows
                ],
            }
        },
        factors=names[::-1],
        x_label="ms a step",
        height=_AXES_PX + 28 * len(names),
        columns=["Operation", "Here", f"On {gpu_name}", "Range", "Limited by"],
        rows=rows,
    )


def _modules(choosing: Choosing, gpu: int, _setting: Setting | None) -> FigureData | None:
    tree = choosing.view.modules
    if tree is None:
        return None
    parent = unpack(tree.parent)
    share, left, right = unpack(tree.share), unpack(tree.left), unpack(tree.right)
    on_ms = unpack(tree.times_ms).reshape(-1, len(tree.name))[gpu]
    here_ms = unpack(tree.here_ms) if tree.here_ms is not None else np.full(len(tree.name), np.nan)
    depth = [0] * len(tree.name)
    path = list(tree.name)
    for node in range(1, len(tree.name)):
        above = int(parent[node])
        depth[node] = depth[above] + 1
        path[node] = f"{path[above]}.{tree.name[node]}" if above else tree.name[node]
    gpu_name = choosing.view.rows[gpu].gpu
    rows = [
        [path[node], percent_text(float(share[node])), _ms_text(here_ms[node]), _ms_text(on_ms[node])]
        for node in range(len(path))
    ]
    return FigureData(
        sources={
            "nodes": {
                "left": left.tolist(),
                "right": right.tolist(),
                "top": [-float(one) for one in depth],
                "bottom": [-float(one) - 1 for one in depth],
                "label": [
                    name if right[node] - left[node] > 0.014 * len(name) else "" for node, name in enumerate(tree.name)
                ],
                "text": [f"{row[0]}: {row[1]} of the GPU time, {row[3]} on {gpu_name}" for row in rows],
                "color": ["idle" if not depth[node] else _HUES[node % len(_HUES)] for node in range(len(path))],
            }
        },
        height=30 + 34 * (max(depth) + 1),
        columns=["Module", "Share", "Here", f"On {gpu_name}"],
        rows=rows,
        note=tree.note,
    )


def _ms_text(ms: float) -> str:
    return duration_text(ms * NS_PER_MS) if math.isfinite(ms) else UNKNOWN


def _roofline(choosing: Choosing, gpu: int, _setting: Setting | None) -> FigureData | None:
    view, roofline = choosing.view, choosing.view.roofline
    if roofline is None:
        return None
    gflop, gbyte, kind = unpack(roofline.gflop), unpack(roofline.gbyte), unpack(roofline.rate_class)
    roofs = unpack(roofline.tflop_per_s).reshape(-1, len(roofline.classes))[gpu]
    gb_per_s = float(unpack(roofline.gb_per_s)[gpu])
    points = [
        (row, gflop[place] / gbyte[place], gflop[place] / row.on_ms[gpu], int(kind[place]))
        for place, row in enumerate(view.operations)
        if gflop[place] > 0 and gbyte[place] > 0 and row.on_ms[gpu] > 0 and np.isfinite(kind[place])
    ]
    if not points:
        return None
    longest = max(row.on_ms[gpu] for row, *_ in points)
    used = [code for code, kind_of in enumerate(roofline.classes) if kind_of in _ROOFS and np.isfinite(roofs[code])]
    low, high = min(one[1] for one in points) / 3, max(one[1] for one in points) * 3
    rows = [
        [
            f"{row.name}, {row.phase}" if row.phase else row.name,
            significant(x),
            f"{significant(y)} TFLOP/s",
            roofline.classes[code],
            view.limit_labels[row.on_limit[gpu]],
        ]
        for row, x, y, code in points
    ]
    xs, ys = [], []
    for code in used:
        bend = float(roofs[code]) * 1000 / gb_per_s
        at = sorted({low, min(max(bend, low), high), high})
        xs.append(at)
        ys.append([min(float(roofs[code]), x * gb_per_s / 1000) for x in at])
    return FigureData(
        sources={
            "points": {
                "x": [float(one[1]) for one in points],
                "y": [float(one[2]) for one in points],
                "name": [row[0] for row in rows],
                "text": [f"{row[0]}: {row[2]} at {row[1]} FLOP/byte ({row[3]})" for row in rows],
                "size": [5 + 17 * math.sqrt(row.on_ms[gpu] / longest) for row, *_ in points],
                "color": [_HUES[one[3] % len(_HUES)] for one in points],
            },
            "roofs": {"xs": xs, "ys": ys, "name": [f"{roofline.classes[code]}, sustained" for code in used]},
        },
        columns=["Operation", "FLOP/byte", "Reached", "Arithmetic", "Limited by"],
        rows=rows,
        note=roofline.note,
    )


def _timeline(choosing: Choosing, _gpu: int, _setting: Setting | None) -> FigureData | None:
    shown = choosing.view.timeline
    if shown is None:
        return None
    lane, begin, length = unpack(shown.lane).astype(int), unpack(shown.begin_ms), unpack(shown.length_ms)
    name, count = unpack(shown.name).astype(int), unpack(shown.count).astype(int)
    labels = [shown.lanes[place].label for place in lane.tolist()]
    names = [shown.names[place] for place in name.tolist()]
    rows = [
        [label, text if events == 1 else f"{text} and {events - 1:,} more", _ms_text(start), _ms_text(took)]
        for label, text, events, start, took in zip(
            labels, names, count.tolist(), begin.tolist(), length.tolist(), strict=True
        )
    ]
    return FigureData(
        sources={
            "spans": {
                "left": begin.tolist(),
                "right": (begin + length).tolist(),
                "lane": labels,
                "label": names,
                "text": [f"{row[1]}: {row[3]}, from {row[2]}" for row in rows],
                "color": [_LANE_ROLES[shown.lanes[place].key] for place in lane.tolist()],
            }
        },
        factors=[one.label for one in shown.lanes][::-1],
        x_label="ms",
        height=_AXES_PX + 34 * len(shown.lanes),
        columns=["Lane", "What", "From", "Takes"],
        rows=rows,
        note=shown.note,
    )


def _scaling(choosing: Choosing, _gpu: int, _setting: Setting | None) -> FigureData | None:
    shown = choosing.view.scaling
    if shown is None:
        return None
    unit = _unit(choosing)
    names = [str(row.gpus) for row in shown.rows]
    return FigureData(
        sources={
            "bars": {
                "gpus": names,
                "compute": [_scaled(row.compute_ms, unit) for row in shown.rows],
                "step": [_scaled(row.step_ms, unit) for row in shown.rows],
                "low": [_scaled(row.low_ms, unit) for row in shown.rows],
                "high": [_scaled(row.high_ms, unit) for row in shown.rows],
                "speedup": [row.gpus * row.efficiency for row in shown.rows],
                "ideal": [row.gpus for row in shown.rows],
                "text": [
                    f"{words[0]} GPUs: {words[1]} ({words[2]}), {words[5]} of it exposed communication, "
                    f"efficiency {words[4]}"
                    for words in shown.table
                ],
            },
            "chosen": {"gpus": []},
        },
        factors=names,
        x_label=f"GPUs, {shown.link}" if shown.link else "GPUs",
        y_label=f"step, {unit.name}",
        columns=shown.columns,
        rows=shown.table,
        note=". ".join(shown.notes),
    )


_BUILDERS: Final[Mapping[str, Callable[[Choosing, int, Setting | None], FigureData | None]]] = {
    "step_range": _step_range,
    "cost_time": _cost_time,
    "batch_curve": _batch_curve,
    "parts": _parts,
    "operations": _operations,
    "modules": _modules,
    "roofline": _roofline,
    "timeline": _timeline,
    "scaling": _scaling,
}

"""Which figures go with a prediction, as numbers and words; each with the table that says the same.

Hosts draw them (SVG in reports and cells); nothing here knows how.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from surfer_lab.planner.advice import StepParts
from surfer_lab.units import NS_PER_MS
from surfer_lab.view.model import (
    Choice,
    CurveFigure,
    Figure,
    GpuRow,
    Here,
    Part,
    PartitionBar,
    PartitionFigure,
    RangeBar,
    RangeFigure,
    ScatterFigure,
    ScatterPoint,
    TableTwin,
    Verdict,
)
from surfer_lab.view.wording import (
    PART_WORDS,
    TimeUnit,
    duration_text,
    percent_text,
    rounded,
    time_quantity,
    unit_named,
)

__all__ = [
    "cost_figure", "figures_of", "on_front", "partition_figure", "parts_list", "parts_of_ms", "range_figure",
    "step_here_ns",
]  # fmt: skip

_PART_FIELDS: Final = {
    "gpu_busy": "gpu_busy_ns",
    "launch_bound": "launch_bound_ns",
    "input_wait": "input_wait_ns",
    "synchronization": "synchronization_ns",
    "communication": "communication_ns",
}


def parts_list(parts: StepParts) -> list[Part]:
    """The five parts of a step, in their fixed order, zero ones included."""
    return parts_of_ms([float(getattr(parts, field)) / NS_PER_MS for field in _PART_FIELDS.values()])


def parts_of_ms(values_ms: Sequence[float]) -> list[Part]:
    """The five parts from their times, in their fixed order."""
    values = [rounded(value) for value in values_ms]
    total = sum(values) or 1.0
    return [
        Part(
            key=key,
            label=PART_WORDS[key],
            value_ms=value,
            share=rounded(value / total),
            text=f"{duration_text(value * NS_PER_MS)} ({percent_text(value / total)})",
        )
        for key, value in zip(_PART_FIELDS, values, strict=True)
    ]


def figures_of(
    rows: Sequence[GpuRow],
    shortlist: Sequence[str],
    here: Here | None,
    choices: Sequence[Choice],
    curve: CurveFigure | None,
    unit: TimeUnit,
) -> list[Figure]:
    """All figures that a view's rows, in order of step time, give; the batch curve where there is one."""
    figures: list[Figure] = [
        partition_figure(_partition_bars(rows, here, choices)),
        range_figure([row for row in rows if row.gpu in set(shortlist)], here, unit),
    ]
    cost = cost_figure(rows, unit)
    return [*figures, *([cost] if cost is not None else []), *([curve] if curve is not None else [])]


def _partition_bars(
    rows: Sequence[GpuRow], here: Here | None, choices: Sequence[Choice]
) -> list[tuple[str, Sequence[Part]]]:
    """The step as recorded, on the fastest GPU and on the cheapest."""
    bars: list[tuple[str, Sequence[Part]]] = []
    if here is not None and here.parts:
        bars.append((f"{here.device}, recorded", here.parts))
    roles: dict[str, list[str]] = {}
    for choice in choices:
        if choice.gpu:
            roles.setdefault(choice.gpu, []).append(choice.label[:1].lower() + choice.label[1:])
    by_name = {row.gpu: row for row in rows}
    return bars + [
        (f"{name}, {' and '.join(said)}", parts_of_ms(by_name[name].parts_ms)) for name, said in roles.items()
    ]


def range_figure(rows: Sequence[GpuRow], here: Here | None, unit: TimeUnit) -> RangeFigure:
    """Step time with its range for these GPUs, in their order; the recorded step as a reference."""
    bars = [
        RangeBar(
            label=row.gpu,
            value=row.step.value or 0.0,
            low=row.step.low if row.step.low is not None else row.step.value or 0.0,
            high=row.step.high if row.step.high is not None else row.step.value or 0.0,
            text=row.step.text,
            note=row.step.range_text,
            is_origin=row.is_origin,
        )
        for row in rows
    ]
    here_ns = step_here_ns(here)
    return RangeFigure(
        title="Step time by GPU",
        description=f"Predicted time of one step in {unit.name} on {len(bars)} GPUs, each with its range.",
        unit=unit.name,
        bars=bars,
        reference=rounded(here_ns / unit.ns) if here_ns is not None else None,
        reference_label=f"recorded: {time_quantity(here_ns, unit=unit).text}" if here_ns is not None else "",
        table=TableTwin(columns=["GPU", "Step", "Range"], rows=[[bar.label, bar.text, bar.note] for bar in bars]),
    )


def step_here_ns(here: Here | None) -> float | None:
    """The step as recorded on a GPU, ns; None where none was."""
    if here is None or not here.is_gpu or here.step.value is None:
        return None
    return here.step.value * unit_named(here.step.unit).ns


def partition_figure(bars: Sequence[tuple[str, Sequence[Part]]]) -> PartitionFigure:
    """Where a step's wall time goes, one bar a place."""
    drawn = [
        PartitionBar(
            label=label,
            total_text=duration_text(sum(part.value_ms for part in parts) * NS_PER_MS),
            parts=list(parts),
        )
        for label, parts in bars
    ]
    return PartitionFigure(
        title="Where a step's time goes",
        description="Wall time of one step, split into GPU work and what the GPU waits for.",
        bars=drawn,
        table=TableTwin(
            columns=["On", "Step", *PART_WORDS.values()],
            rows=[[bar.label, bar.total_text, *(part.text for part in bar.parts)] for bar in drawn],
        ),
    )


def cost_figure(rows: Sequence[GpuRow], unit: TimeUnit) -> ScatterFigure | None:
    """Cost of 1,000 steps against step time for GPUs with a price; None where fewer than two have one."""
    priced = [row for row in rows if row.usd_per_1000_steps.value is not None]
    if len(priced) < 2:
        return None
    front = on_front(priced)
    points = [
        ScatterPoint(
            label=row.gpu,
            x=row.step.value or 0.0,
            y=row.usd_per_1000_steps.value or 0.0,
            text=f"{row.gpu}: {row.step.text}, {row.usd_per_1000_steps.text} per 1,000 steps",
            on_front=row.gpu in front,
            is_origin=row.is_origin,
        )
        for row in priced
    ]
    return ScatterFigure(
        title="Cost against time",
        description="USD per 1,000 steps against step time; on the front are GPUs that no other beats in both.",
        x_label=f"step, {unit.name}",
        y_label="USD per 1,000 steps",
        points=points,
        table=TableTwin(
            columns=["GPU", "Step", "USD per 1,000 steps", "Best trade-off"],
            rows=[
                [point.label, row.step.text, row.usd_per_1000_steps.text, "yes" if point.on_front else ""]
                for point, row in zip(points, priced, strict=True)
            ],
        ),
    )


def on_front(rows: Sequence[GpuRow]) -> frozenset[str]:
    """GPUs with a price on which the step may fit, and that none of the others beats in both time and cost."""
    usable = [
        (row.step.value or 0.0, row.usd_per_1000_steps.value, row.gpu)
        for row in rows
        if row.usd_per_1000_steps.value is not None and row.verdict is not Verdict.DOES_NOT_FIT
    ]
    front: set[str] = set()
    least = float("inf")
    for _, cost, gpu in sorted(usable, key=lambda one: one[:2]):
        if cost is not None and cost < least:
            front.add(gpu)
            least = cost
    return frozenset(front)

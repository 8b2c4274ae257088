"""Which figures go with a prediction, as numbers and words; each with the table that says the same.

Hosts draw them (SVG in reports and cells); nothing here knows how.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from surfer_lab.planner.advice import StepParts
from surfer_lab.planner.outcome import Outcome
from surfer_lab.planner.ranking import pareto
from surfer_lab.units import NS_PER_MS
from surfer_lab.view.model import (
    Here,
    Part,
    PartitionBar,
    PartitionFigure,
    RangeBar,
    RangeFigure,
    ScatterFigure,
    ScatterPoint,
    TableTwin,
)
from surfer_lab.view.money_words import money_text
from surfer_lab.view.wording import (
    PART_WORDS,
    TimeUnit,
    duration_text,
    percent_text,
    rounded,
    time_quantity,
)

__all__ = ["cost_figure", "partition_figure", "parts_list", "range_figure"]

_PART_FIELDS: Final = {
    "gpu_busy": "gpu_busy_ns",
    "launch_bound": "launch_bound_ns",
    "input_wait": "input_wait_ns",
    "synchronization": "synchronization_ns",
    "communication": "communication_ns",
}


def parts_list(parts: StepParts) -> list[Part]:
    """The five parts of a step, in their fixed order, zero ones included."""
    total = parts.step_ns if parts.step_ns > 0 else 1.0
    values = {key: float(getattr(parts, field)) for key, field in _PART_FIELDS.items()}
    return [
        Part(
            key=key,
            label=PART_WORDS[key],
            value_ms=rounded(value / NS_PER_MS),
            share=rounded(value / total),
            text=f"{duration_text(value)} ({percent_text(value / total)})",
        )
        for key, value in values.items()
    ]


def range_figure(outcomes: Sequence[Outcome], here: Here | None, here_ns: float | None, unit: TimeUnit) -> RangeFigure:
    """Step time with its range for these GPUs, shortest first; the recorded step as a reference."""
    bars = []
    for outcome in sorted(outcomes, key=lambda outcome: outcome.step_ns):
        parts = outcome.parts
        step = time_quantity(parts.step_ns, low_ns=parts.low_ns, high_ns=parts.high_ns, unit=unit)
        bars.append(
            RangeBar(
                label=outcome.gpu.name,
                value=step.value or 0.0,
                low=step.low if step.low is not None else step.value or 0.0,
                high=step.high if step.high is not None else step.value or 0.0,
                text=step.text,
                note=step.range_text,
                is_origin=outcome.is_origin,
            )
        )
    is_gpu = here is not None and here.is_gpu
    return RangeFigure(
        title="Step time by GPU",
        description=f"Predicted time of one step in {unit.name} on {len(bars)} GPUs, each with its range.",
        unit=unit.name,
        bars=bars,
        reference=rounded(here_ns / unit.ns) if is_gpu and here_ns is not None else None,
        reference_label=f"recorded: {time_quantity(here_ns, unit=unit).text}" if is_gpu else "",
        table=TableTwin(columns=["GPU", "Step", "Range"], rows=[[bar.label, bar.text, bar.note] for bar in bars]),
    )


def partition_figure(bars: Sequence[tuple[str, StepParts]]) -> PartitionFigure:
    """Where a step's wall time goes, one bar a place."""
    drawn = [
        PartitionBar(label=label, total_text=duration_text(parts.step_ns), parts=parts_list(parts))
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


def cost_figure(outcomes: Sequence[Outcome], unit: TimeUnit) -> ScatterFigure | None:
    """Cost of 1,000 steps against step time for GPUs with a price; None where fewer than two have one."""
    priced = [outcome for outcome in outcomes if outcome.usd_per_1000_steps is not None]
    if len(priced) < 2:
        return None
    front = {outcome.gpu.name for outcome in pareto(outcomes)}
    points = []
    for outcome in priced:
        cost = outcome.usd_per_1000_steps or 0.0
        step = time_quantity(outcome.step_ns, unit=unit)
        points.append(
            ScatterPoint(
                label=outcome.gpu.name,
                x=step.value or 0.0,
                y=rounded(cost),
                text=f"{outcome.gpu.name}: {step.text}, {money_text(cost)} per 1,000 steps",
                on_front=outcome.gpu.name in front,
                is_origin=outcome.is_origin,
            )
        )
    return ScatterFigure(
        title="Cost against time",
        description="USD per 1,000 steps against step time; on the front are GPUs that no other beats in both.",
        x_label=f"step, {unit.name}",
        y_label="USD per 1,000 steps",
        points=points,
        table=TableTwin(
            columns=["GPU", "Step", "USD per 1,000 steps", "Best trade-off"],
            rows=[
                [
                    point.label,
                    time_quantity(outcome.step_ns, unit=unit).text,
                    money_text(point.y),
                    "yes" if point.on_front else "",
                ]
                for point, outcome in zip(points, priced, strict=True)
            ],
        ),
    )

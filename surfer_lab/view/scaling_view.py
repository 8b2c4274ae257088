"""How is a step on several GPUs worded? A curve of the planner as rows, a table of words, and what to know."""

from __future__ import annotations

from typing import Final

from surfer_lab.planner.memory import Fit
from surfer_lab.planner.parallelism import Spread
from surfer_lab.planner.scaling.curve import ScalingCurve, ScalingPoint
from surfer_lab.planner.scaling.recorded import recorded_communication
from surfer_lab.trace.model import Trace
from surfer_lab.trace.tables import KernelKind
from surfer_lab.units import BYTES_PER_GB, NS_PER_MS
from surfer_lab.view.money_words import money_quantity
from surfer_lab.view.scaling_model import ScalingPiece, ScalingRow, ScalingView
from surfer_lab.view.wording import (
    VERDICT_OF,
    TimeUnit,
    bytes_quantity,
    duration_text,
    name_text,
    percent_text,
    rate_quantity,
    rounded,
    time_quantity,
    time_unit,
)

__all__ = ["communication_warnings", "scaling_view"]

_COLUMNS: Final = (
    "GPUs", "Step", "Range", "Samples/s", "Efficiency", "Exposed communication", "Hidden", "Memory each",
    "Cost, 1,000 steps",
)  # fmt: skip
_STRATEGY_WORDS: Final = {
    Spread.DDP: "data parallel (DDP)", Spread.FSDP: "fully sharded (FSDP)", Spread.ZERO2: "sharded, ZeRO stage 2",
    Spread.TENSOR: "tensor parallel", Spread.PIPELINE: "pipeline",
    Spread.TABLES: "tables spread, the rest data parallel",
}  # fmt: skip
_MOST_PIECES: Final = 300  # of a timeline that is shown: more can be told apart by nobody
_NOTES: Final = (
    "efficiency is throughput over n times that of one GPU",
    "exposed: a collective runs and nothing computes; hidden: behind compute",
)


def scaling_view(curve: ScalingCurve, *, with_timeline: bool = True) -> ScalingView:
    """The curve as it is shown."""
    unit = time_unit([point.step_ns for point in curve.points])
    count = max(point.gpu_count for point in curve.points)
    link = curve.machine.link_for(count)
    parts = [link.name] if link is not None else []
    if curve.machine.network is not None and any(point.node_count > 1 for point in curve.points):
        parts.append(curve.machine.network.name)
    words = _STRATEGY_WORDS[curve.strategy.spread]
    return ScalingView(
        title=name_text(f"On several GPUs: {curve.machine.name}, {words}"),
        gpu=name_text(curve.machine.gpu),
        machine=name_text(curve.machine.name),
        link=name_text(", ".join(parts)),
        strategy=curve.strategy.name,
        rows=[_row(point) for point in curve.points],
        columns=list(_COLUMNS),
        table=[_words(point, unit) for point in curve.points],
        timeline=_timeline(curve.points[-1]) if with_timeline and curve.points[-1].gpu_count > 1 else [],
        notes=[
            f"{curve.fixed.value} batch fixed", *_NOTES,
            *(name_text(note, longest=300) for note in curve.notes),
        ],
    )  # fmt: skip


def communication_warnings(trace: Trace) -> list[str]:
    """What to know of a run on several GPUs: how much of its step was communication. None for one GPU's."""
    if not (trace.kernels.kind == KernelKind.COMMUNICATION).any():
        return []
    found = recorded_communication(trace)
    ranks = max((row.group_size or 0 for row in found.rows), default=0)
    among = f" among {ranks} GPUs" if ranks > 1 else ""
    return [
        f"the recorded run talked to other GPUs{among}: {duration_text(found.communication_ns)} of a step of "
        f"{duration_text(found.step_ns)} in collectives, {duration_text(found.exposed_ns)} of it exposed; collectives "
        "are kept as recorded and compute alone is predicted"
    ]


def _timeline(point: ScalingPoint) -> list[ScalingPiece]:
    """The first rank's pieces that take time, in order of their start."""
    schedule = point.schedule
    pieces = [
        ScalingPiece(
            name=name_text(piece.name),
            lane="communication" if piece.is_communication else "compute",
            start_ms=rounded(float(schedule.start_ns[at]) / NS_PER_MS),
            end_ms=rounded(float(schedule.end_ns[at]) / NS_PER_MS),
        )
        for at, piece in enumerate(schedule.pieces)
        if piece.rank == 0 and schedule.end_ns[at] > schedule.start_ns[at]
    ]
    return sorted(pieces, key=lambda piece: piece.start_ms) if len(pieces) <= _MOST_PIECES else []


def _row(point: ScalingPoint) -> ScalingRow:
    def ms(duration_ns: float) -> float:
        return rounded(duration_ns / NS_PER_MS)

    usd = point.usd_per_1000_steps
    return ScalingRow(
        gpus=point.gpu_count,
        nodes=point.node_count,
        step_ms=ms(point.step_ns),
        low_ms=ms(point.low_ns),
        high_ms=ms(point.high_ns),
        efficiency=rounded(point.efficiency),
        compute_ms=ms(point.step_ns - point.exposed_ns),
        exposed_ms=ms(point.exposed_ns),
        hidden_ms=ms(point.hidden_ns),
        sent_gb=rounded(point.wire_bytes / BYTES_PER_GB),
        samples_per_s=None if point.samples_per_s is None else rounded(point.samples_per_s),
        memory_gb=None if point.memory_bytes is None else rounded(point.memory_bytes / BYTES_PER_GB),
        usd_per_1000_steps=None if usd is None else rounded(usd),
        verdict=VERDICT_OF[point.fit].value,
    )


def _words(point: ScalingPoint, unit: TimeUnit) -> list[str]:
    step = time_quantity(point.step_ns, low_ns=point.low_ns, high_ns=point.high_ns, unit=unit)
    memory = bytes_quantity(point.memory_bytes).text
    if point.fit is not Fit.UNKNOWN:
        memory = f"{memory}, {VERDICT_OF[point.fit].value}"
    return [
        str(point.gpu_count),
        step.text,
        step.range_text,
        rate_quantity(point.samples_per_s).text.removesuffix(" samples/s"),
        percent_text(point.efficiency),
        time_quantity(point.exposed_ns, unit=unit).text,
        time_quantity(point.hidden_ns, unit=unit).text,
        memory,
        money_quantity(point.usd_per_1000_steps).text,
    ]

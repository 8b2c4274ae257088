"""How are the what-ifs of a prediction shown? Batch curve, alternatives, memory's parts, coverage: worded and rounded.

`WhatIfs` is what a host worked out for the GPU that is shown first; each part may be missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from surfer_lab.engine.compilation import CompileMode
from surfer_lab.engine.precision import Precision
from surfer_lab.planner.byte_range import ByteRange
from surfer_lab.planner.coverage import Coverage
from surfer_lab.planner.graph_memory import MemoryEstimate
from surfer_lab.planner.scaling.curve import ScalingCurve
from surfer_lab.planner.sharding import ShardedNeed
from surfer_lab.planner.what_ifs import Alternative, BatchCurve, BatchPoint, Blocked
from surfer_lab.units import BYTES_PER_GB, NS_PER_MS, NS_PER_S
from surfer_lab.view.model import (
    AlternativeRow,
    BlockedRow,
    CoverageShares,
    CurveFigure,
    CurvePoint,
    MemoryPartRow,
    MemoryView,
    Quantity,
    Role,
    Sentence,
    TableTwin,
    Verdict,
)
from surfer_lab.view.wording import (
    COMPILE_WORDS,
    PHASE_WORDS,
    PRECISION_WORDS,
    VERDICT_OF,
    TimeUnit,
    bytes_quantity,
    faster_quantity,
    name_text,
    percent_text,
    rate_quantity,
    rounded,
    time_quantity,
    time_unit,
)

__all__ = [
    "NO_WHAT_IFS", "CurveNumbers", "WhatIfs", "alternative_rows", "batch_sentence", "blocked_rows", "coverage_view",
    "curve_figure", "curve_figure_of", "memory_view", "sharded_sentence", "step_words",
]  # fmt: skip

# the largest there are, the common 80 GB of data centres, and 48 GB of workstations
_CARD_CLASSES_GB: Final = (float("inf"), 85.0, 50.0)
_ALIKE_FRACTION: Final = 0.02


@dataclass(frozen=True, kw_only=True)
class WhatIfs:
    """Beside the prediction itself; the largest batches by GPU."""

    precision: Precision = Precision.AS_RUN
    compiled: CompileMode = CompileMode.OFF
    curve: BatchCurve | None = None
    alternatives: tuple[Alternative, ...] = ()
    memory: MemoryEstimate | None = None
    measured_above_start_bytes: int | None = None
    largest_batches: Mapping[str, int] = field(default_factory=dict)
    sharded: tuple[ShardedNeed, ...] = ()
    scaling: ScalingCurve | None = None
    scaling_links: tuple[ScalingCurve, ...] = ()  # the same with other links
    blocked: tuple[Blocked, ...] = ()
    notes: tuple[str, ...] = ()


NO_WHAT_IFS: Final = WhatIfs()


def step_words(what_ifs: WhatIfs) -> str:
    """How the step is asked about, to stand behind its title: ", AMP bf16, compiled"; "" as run."""
    words = []
    if what_ifs.precision is not Precision.AS_RUN:
        words.append(PRECISION_WORDS[what_ifs.precision])
    if what_ifs.compiled is not CompileMode.OFF:
        words.append(COMPILE_WORDS[what_ifs.compiled])
    return "".join(f", {word}" for word in words)


@dataclass(frozen=True, kw_only=True)
class CurveNumbers:
    """The step at one batch size, `step_ms` with its ends."""

    batch_size: int
    step_ms: tuple[float, float, float]
    memory_gb: float | None
    verdict: Verdict
    mark: str


def curve_figure(curve: BatchCurve) -> CurveFigure:
    """Throughput by batch size, with the knee and the largest batch that fits."""

    def marks(point: BatchPoint) -> str:
        said = []
        if point.batch_size == curve.knee:
            said.append("knee")
        if point.batch_size == curve.largest_fitting:
            said.append("largest that fits")
        return ", ".join(said)

    return curve_figure_of(
        curve.gpu.name,
        [
            CurveNumbers(
                batch_size=point.batch_size,
                step_ms=(
                    rounded(point.step_ns / NS_PER_MS),
                    rounded(point.low_ns / NS_PER_MS),
                    rounded(point.high_ns / NS_PER_MS),
                ),
                memory_gb=None if point.memory_bytes is None else rounded(point.memory_bytes / BYTES_PER_GB),
                verdict=VERDICT_OF[point.fit],
                mark=marks(point),
            )
            for point in curve.points
        ],
        curve.largest_fitting,
    )


def curve_figure_of(gpu: str, numbers: Sequence[CurveNumbers], largest_fitting: int) -> CurveFigure:
    """The figure of these points."""
    unit = time_unit([point.step_ms[0] * NS_PER_MS for point in numbers])
    points = [_curve_point(point, unit) for point in numbers]
    return CurveFigure(
        title=f"Batch size on {gpu}",
        description=(
            f"Samples a second by batch size on {gpu}; the knee is the smallest batch with nine tenths of "
            "the best throughput shown."
        ),
        gpu=gpu,
        x_label="batch size",
        y_label="samples/s",
        points=points,
        largest_fitting=largest_fitting,
        table=TableTwin(
            columns=["Batch", "Step", "Range", "Samples/s", "Memory", "Fits", ""],
            rows=[
                [
                    f"{point.batch_size:,}",
                    point.step.text,
                    point.step.range_text,
                    point.samples_per_s.text.removesuffix(" samples/s"),
                    point.memory.text,
                    point.verdict.value,
                    point.mark,
                ]
                for point in points
            ],
        ),
    )


def _curve_point(numbers: CurveNumbers, unit: TimeUnit) -> CurvePoint:
    step_ns, low_ns, high_ns = (value * NS_PER_MS for value in numbers.step_ms)
    samples_ns = numbers.batch_size * NS_PER_S
    return CurvePoint(
        batch_size=numbers.batch_size,
        step=time_quantity(step_ns, low_ns=low_ns, high_ns=high_ns, unit=unit),
        samples_per_s=rate_quantity(samples_ns / step_ns, low=samples_ns / high_ns, high=samples_ns / low_ns),
        memory=bytes_quantity(None if numbers.memory_gb is None else numbers.memory_gb * BYTES_PER_GB),
        verdict=numbers.verdict,
        mark=numbers.mark,
    )


def batch_sentence(curve: BatchCurve) -> Sentence:
    """The largest batch that fits, and where more gains little."""
    name, largest = curve.gpu.name, curve.largest_fitting
    capacity = bytes_quantity(curve.gpu.memory_bytes).text
    text = f"up to {largest:,} fit on {name} ({capacity})" if largest else f"not one sample fits on {name} ({capacity})"
    if curve.knee is not None and curve.knee < largest:
        at_knee = next(point for point in curve.points if point.batch_size == curve.knee)
        best = max(curve.points, key=lambda point: point.samples_per_s)
        text += (
            f"; from {curve.knee:,} on ({rate_quantity(at_knee.samples_per_s).text}) a larger one gains less than "
            f"a tenth (at {best.batch_size:,}: {rate_quantity(best.samples_per_s).text})"
        )
    return Sentence(role=Role.BATCH, label="Batch size", text=f"{text}.")


def alternative_rows(what_ifs: WhatIfs) -> list[AlternativeRow]:
    """One row a precision and compile mode; a GPU that lacks a dtype has one row for it."""
    found = what_ifs.alternatives
    base = next(
        (one.step_ns for one in found if one.precision is Precision.AS_RUN and one.compile is CompileMode.OFF), None
    )
    unit = time_unit([one.step_ns for one in found if one.step_ns is not None])
    rows = []
    for one in found:
        is_shown = one.precision is what_ifs.precision and one.compile is what_ifs.compiled
        if one.step_ns is None and one.compile is not CompileMode.OFF:
            continue
        if one.compile is CompileMode.REDUCE_OVERHEAD and not is_shown and _gains_little(one, found):
            continue
        label = PRECISION_WORDS[one.precision]
        if one.compile is not CompileMode.OFF:
            label += f", {COMPILE_WORDS[one.compile]}"
        rows.append(
            AlternativeRow(
                precision=one.precision.value,
                compile=one.compile.value,
                label=label,
                step=time_quantity(one.step_ns, low_ns=one.low_ns, high_ns=one.high_ns, unit=unit),
                faster=faster_quantity(base / one.step_ns if base is not None and one.step_ns else None),
                memory=bytes_quantity(one.memory_bytes),
                verdict=VERDICT_OF[one.fit],
                is_shown=is_shown,
                blocker=one.blocker or ("" if one.step_ns is not None else "no answer"),
            )
        )
    return rows


def _gains_little(graphs: Alternative, found: Sequence[Alternative]) -> bool:
    """Whether CUDA graphs add nothing to what compiling alone gives: the step does not wait for launches."""
    compiled = next(
        (one for one in found if one.precision is graphs.precision and one.compile is CompileMode.DEFAULT), None
    )
    if compiled is None or compiled.step_ns is None or graphs.step_ns is None:
        return False
    return abs(graphs.step_ns / compiled.step_ns - 1) < _ALIKE_FRACTION


def memory_view(estimate: MemoryEstimate, gpu_name: str, measured: str = "", *, is_plain: bool = False) -> MemoryView:
    """The parts that hold anything, largest first, and the sums. `is_plain`: a compiled step, counted as plain."""
    rows = sorted((row for row in estimate.rows if row.bytes.high > 0), key=lambda row: -row.bytes.likely)
    phase = PHASE_WORDS[estimate.peak_phase]
    when = "before the first operation" if estimate.peak_op < 0 else f"{phase} phase"
    if is_plain:
        when += ", taken to be as without the compiler"
    return MemoryView(
        gpu=gpu_name,
        parts=[MemoryPartRow(label=row.part.value, amount=_bytes(row.bytes), source=row.source) for row in rows],
        allocated=_bytes(estimate.allocated),
        reserved=_bytes(estimate.reserved),
        device=_bytes(estimate.device),
        when=when,
        measured=measured,
    )


def _bytes(amount: ByteRange) -> Quantity:
    return bytes_quantity(amount.likely, low=amount.low, high=amount.high)


def sharded_sentence(needs: Sequence[ShardedNeed]) -> Sentence | None:
    """Which GPUs could hold the step together: the fewest of all, of 80 GB cards, of 48 GB cards."""
    chosen: list[ShardedNeed] = []
    alike = [need for need in needs if not need.recomputes] or needs
    fewest_first = sorted(alike, key=lambda need: (need.gpu_count, -(need.gpu.release_year or 0), need.gpu.name))
    for most_gb in _CARD_CLASSES_GB:
        found = next((need for need in fewest_first if need.gpu.memory_bytes <= most_gb * BYTES_PER_GB), None)
        if found is not None and found not in chosen:
            chosen.append(found)
    if not chosen:
        return None
    named = ", ".join(
        f"{'or ' if place else ''}{need.gpu_count:,} x {need.gpu.name} "
        f"({bytes_quantity(need.bytes_each).text.removesuffix(' GB')} of {bytes_quantity(need.gpu.memory_bytes).text} "
        "each)"
        for place, need in enumerate(chosen)
    )
    recomputed = ", activations recomputed block by block (checkpointing)" if chosen[0].recomputes else ""
    text = (
        f"it needs {named}: parameters, gradients and optimizer state sharded over them (FSDP, ZeRO stage 3), this "
        f"batch on each{recomputed}."
    )
    return Sentence(role=Role.SHARDED, label="On several GPUs", text=text)


def blocked_rows(blocked: Sequence[Blocked]) -> list[BlockedRow]:
    """One a GPU, by name."""
    return sorted(
        (BlockedRow(gpu=name_text(one.gpu.name), why=one.why.removeprefix(f"{one.gpu.name} has ")) for one in blocked),
        key=lambda row: row.gpu,
    )


def coverage_view(coverage: Coverage, gpu_name: str) -> CoverageShares:
    """The shares and the line that says them."""
    text = (
        f"Coverage on {gpu_name}: {percent_text(coverage.family_of_items)} of {coverage.item_count:,} operations and "
        f"{percent_text(coverage.family_of_time)} of the GPU time by their family; by generic fallback "
        f"{percent_text(coverage.fallback_of_items)} and {percent_text(coverage.fallback_of_time)}; not scaled "
        f"{percent_text(coverage.unscaled_of_items)} and {percent_text(coverage.unscaled_of_time)}."
    )
    return CoverageShares(
        gpu=gpu_name,
        item_count=coverage.item_count,
        family_of_items=rounded(coverage.family_of_items, 4),
        fallback_of_items=rounded(coverage.fallback_of_items, 4),
        unscaled_of_items=rounded(coverage.unscaled_of_items, 4),
        family_of_time=rounded(coverage.family_of_time, 4),
        fallback_of_time=rounded(coverage.fallback_of_time, 4),
        unscaled_of_time=rounded(coverage.unscaled_of_time, 4),
        text=text,
    )

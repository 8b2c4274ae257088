"""How is a characterised workload worded? Its page: facts, roofline, scaling, gains, host, what was recorded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.kernel_benchmarks import SOURCE, kernels_of
from surfer_lab.planner.characterise.characterisation import GAIN_COUNT, Characterisation, OnGpu
from surfer_lab.planner.characterise.roofline_position import WorkPart
from surfer_lab.planner.characterise.topologies import TopologyCurve, Wiring
from surfer_lab.planner.memory import Fit
from surfer_lab.units import BYTES_PER_GB, NS_PER_MS
from surfer_lab.view.advice_words import advice_sentence
from surfer_lab.view.character_host import host_table
from surfer_lab.view.character_model import (
    CharacterPage,
    CharacterSentence,
    CharacterTable,
    EfficiencyFigure,
    EfficiencyLine,
    PlacedPoint,
    RoofLine,
    RooflineFigure,
)
from surfer_lab.view.character_recorded import recorded_sentences, recorded_tables
from surfer_lab.view.model import TableTwin
from surfer_lab.view.wording import (
    BOUND_WORDS,
    UNKNOWN,
    VERDICT_OF,
    bytes_quantity,
    duration_text,
    name_text,
    percent_text,
    rounded,
    significant,
)

__all__ = ["character_page"]

TERA: Final = 1e12
_CLASS_WORDS: Final = {
    RateClass.FP32: "FP32", RateClass.TF32: "TF32", RateClass.FP16: "FP16", RateClass.BF16: "bfloat16",
    RateClass.FP64: "FP64", RateClass.FP8: "FP8", RateClass.INT8: "INT8",
}  # fmt: skip
_LEAST_SHARE: Final = 0.005  # of the GPU time: smaller parts are in no figure
_MOST_CHANGES: Final = 3


def character_page(page: Characterisation) -> CharacterPage:
    """Everything that is told of one workload."""
    batch = f", batch {page.batch_size:,}" if page.batch_size else ""
    shown = next((one for one in page.on if kernels_of(one.gpu.name)), page.on[0] if page.on else None)
    tables = [_roofline_table(page.on), *(_scaling_table(one) for one in page.on if one.curves)] if page.on else []
    if page.on:
        tables += [_gain_table(page.on), *(host_table(one) for one in page.on if one.hosts)]
    if page.recorded is not None:
        tables += recorded_tables(page.recorded)
    return CharacterPage(
        name=name_text(page.name),
        title=f"{name_text(page.name)}{batch}",
        sentences=[*_sentences(page), *recorded_sentences(page.recorded)],
        roofline=None if shown is None else _roofline_figure(shown),
        scaling=[_efficiency_figure(one) for one in page.on if one.curves],
        tables=tables,
        notes=[name_text(note, longest=300) for note in page.notes],
    )


def _sentences(page: Characterisation) -> Iterable[CharacterSentence]:
    """Step, limit and what would help on each GPU."""
    for one in page.on:
        parts = one.diagnosis.parts
        fits = "" if one.memory is None else f", {bytes_quantity(one.memory.likely_bytes).text} of memory"
        if one.memory is not None and one.memory.fit is not Fit.UNKNOWN:
            fits += f" ({VERDICT_OF[one.memory.fit].value})"
        bound = BOUND_WORDS[one.diagnosis.bound]
        yield CharacterSentence(
            label=one.gpu.name,
            text=f"{duration_text(parts.step_ns)} a step ({duration_text(parts.low_ns)} to "
            f"{duration_text(parts.high_ns)}), {bound}, the GPU busy {percent_text(one.busy_fraction)} of it{fits}.",
        )
        if page.on[0] is one and (advice := advice_sentence(one.diagnosis)) is not None:
            yield CharacterSentence(label=advice.label, text=f"On {one.gpu.name}: {advice.text}")
        yield CharacterSentence(label="What pays", text=f"On {one.gpu.name}: {_changes(one)}")


def _changes(one: OnGpu) -> str:
    changes = one.changes
    if one.hides_gains:
        return "not told: launches slowed by the profiler bound the recorded step."
    if not changes:
        return "none of mixed precision, a compiler or NVLink gains more than 2 %."
    first, *others = changes[:_MOST_CHANGES]
    more = "; ".join(f"{change.name} {times(change.factor)}" for change in others)
    return f"{first.name}, {times(first.factor)} as fast" + (f" (then {more})." if more else ".")


def times(factor: float | None) -> str:
    """A factor as it is said."""
    return UNKNOWN if factor is None else f"{factor:.2f} times"


def _gain(factor: float | None) -> str:
    return UNKNOWN if factor is None else f"{factor:.2f}x"


def _roofline_table(on: Sequence[OnGpu]) -> CharacterTable:
    """Parts by rows, GPUs by columns; one intensity, as run."""
    first = on[0].position
    names = list(dict.fromkeys(part.name for one in on for part in one.position.parts))
    columns = ["Part", "FLOPs by byte"]
    for one in on:
        columns += [f"{one.gpu.name}: share", "TFLOP/s", "GB/s"]
    rows = [_work_row("whole step", [one.position.whole for one in on], first.whole)]
    for name in names:
        parts = [next((part for part in one.position.parts if part.name == name), None) for one in on]
        rows.append(_work_row(name, parts, next(part for part in parts if part is not None)))
    amp = [one.amp_position.whole if one.amp_position is not None else None for one in on]
    if any(part is not None and part.intensity is not None for part in amp):
        rows.append(_work_row("whole step, AMP fp16", amp, next(part for part in amp if part is not None)))
    notes = ["FLOPs and bytes are those of shapes; times are predicted, as run unless it says AMP."]
    least = min(one.position.whole.known_fraction for one in on)
    if least < 1 - _LEAST_SHARE:
        notes.append(f"Work is known for {percent_text(least)} of the GPU time: the rest was recorded without shapes.")
    return CharacterTable(
        key="roofline", title="Where it lies under the roofline", table=TableTwin(columns=columns, rows=rows),
        notes=notes,
    )  # fmt: skip


def _work_row(name: str, parts: Sequence[WorkPart | None], first: WorkPart) -> list[str]:
    intensity = first.intensity
    cells = [name, UNKNOWN if intensity is None else significant(intensity)]
    for part in parts:
        if part is None:
            cells += [UNKNOWN] * 3
            continue
        rate, traffic = part.flop_per_s, part.bytes_per_s
        cells += [
            percent_text(part.share_fraction),
            UNKNOWN if rate is None else significant(rate / TERA),
            UNKNOWN if traffic is None else significant(traffic / BYTES_PER_GB),
        ]
    return cells


def _roofline_figure(one: OnGpu) -> RooflineFigure | None:
    position = one.position
    points = [
        _placed(part.name, "part", part)
        for part in position.parts
        if part.flop_per_s and part.intensity and part.share_fraction >= _LEAST_SHARE
    ]
    if position.whole.flop_per_s and position.whole.intensity:
        points.append(_placed("whole step", "whole", position.whole))
    amp = one.amp_position
    if amp is not None and amp.whole.flop_per_s and amp.whole.intensity:
        points.append(_placed("whole step, AMP fp16", "amp", amp.whole))
    if not points:
        return None
    kernels = kernels_of(one.gpu.name)
    for is_fp16 in (False, True):
        points += [
            PlacedPoint(
                label=f"DeepBench {kernel.kind} {kernel.shape}, {'FP16' if is_fp16 else 'FP32'}",
                kind="kernel_fp16" if is_fp16 else "kernel_fp32",
                flop_per_byte=rounded(kernel.intensity(is_fp16=is_fp16), 4),
                tflop_per_s=rounded(kernel.flop_per_s(is_fp16=is_fp16) / TERA, 4),
            )
            for kernel in kernels
        ]
    beside = f", beside {len(kernels)} kernels of DeepBench as measured on it ({SOURCE})" if kernels else ""
    return RooflineFigure(
        title=f"Under the roofline of {one.gpu.name}",
        description=f"Achieved TFLOP/s over FLOPs by byte moved, the step and its parts as predicted{beside}; lines: "
        "what the card is rated at.",
        gpu=one.gpu.name,
        roofs=[
            RoofLine(
                label=_CLASS_WORDS[rate],
                peak_tflop_per_s=rounded(one.gpu.peak_flop_per_s[rate] / TERA),
                gb_per_s=rounded(one.gpu.bandwidth_bytes_per_s / BYTES_PER_GB),
            )
            for rate in (RateClass.FP32, RateClass.TF32, RateClass.FP16)
            if rate in one.gpu.peak_flop_per_s
        ],
        points=points,
    )


def _placed(label: str, kind: str, part: WorkPart) -> PlacedPoint:
    return PlacedPoint(
        label=label,
        kind=kind,
        flop_per_byte=rounded(part.intensity or 0.0, 4),
        tflop_per_s=rounded((part.flop_per_s or 0.0) / TERA, 4),
        share=rounded(part.share_fraction, 4),
    )


def _efficiency_figure(one: OnGpu) -> EfficiencyFigure:
    return EfficiencyFigure(
        title=f"Scaling on {one.gpu.name}, by what connects them",
        description="Efficiency: throughput over n times that of one GPU, each GPU keeping its batch (DDP).",
        gpu=one.gpu.name,
        lines=[
            EfficiencyLine(
                label=curve_name(curve),
                gpus=[point.gpu_count for point in curve.points],
                efficiency=[rounded(point.efficiency, 4) for point in curve.points],
                step_ms=[rounded(point.step_ns / NS_PER_MS) for point in curve.points],
                exposed_ms=[rounded(point.exposed_ns / NS_PER_MS) for point in curve.points],
                bus_gb_per_s=[rounded(point.bus_bytes_per_s / BYTES_PER_GB, 4) for point in curve.points],
            )
            for curve in one.curves
            if curve.points
        ],
    )


def _scaling_table(one: OnGpu) -> CharacterTable:
    counts = sorted({point.gpu_count for curve in one.curves for point in curve.points})
    told = [count for count in counts if count > 1 and count in (GAIN_COUNT, counts[-1])]
    columns = ["Connected by", *(f"{count} GPU{'s' * (count > 1)}" for count in counts)]
    columns += [f"GB/s sent, {count}" for count in told] + [f"exposed, {count}" for count in told]
    rows = []
    for curve in one.curves:
        by_count = {point.gpu_count: point for point in curve.points}
        row = [curve_name(curve)]
        row += [f"{by_count[count].speedup:.2f}x" if count in by_count else UNKNOWN for count in counts]
        row += [
            significant(by_count[count].bus_bytes_per_s / BYTES_PER_GB) if count in by_count else UNKNOWN
            for count in told
        ]
        row += [
            percent_text(by_count[count].exposed_ns / by_count[count].step_ns) if count in by_count else UNKNOWN
            for count in told
        ]
        rows.append(row)
    notes = [
        "Throughput against one GPU, each GPU keeping its batch; data parallel (DDP) in buckets of 25 MiB.",
        "GB/s sent: by one GPU, on average over the step. Exposed: share of the step in which only collectives run.",
    ]
    links = {
        link.name: link
        for curve in one.curves
        for link in (*curve.topology.machine.links, curve.topology.machine.network)
        if link is not None
    }
    assumed = [name for name, link in links.items() if not link.fraction_is_measured]
    if assumed:
        notes.append(f"The share of its rate that a link reaches is assumed for {', '.join(assumed)}.")
    return CharacterTable(
        key="scaling", title=f"Several GPUs: {one.gpu.name}", table=TableTwin(columns=columns, rows=rows), notes=notes
    )


def curve_name(curve: TopologyCurve) -> str:
    """What connects the GPUs, by the link's name."""
    alone = ", a GPU a node" if curve.topology.wiring is Wiring.NETWORK else ""
    return f"{name_text(curve.topology.link_name)}{alone}"


def _gain_table(on: Sequence[OnGpu]) -> CharacterTable:
    columns = [
        "GPU", "Step as run", "Mixed precision", "From TF32", "Compiled", "Both", "NVLink over PCIe, 4 GPUs",
        f"{GAIN_COUNT} GPUs",
    ]  # fmt: skip
    rows = [
        [
            one.gpu.name, duration_text(one.gains.step_ns), _gain(one.gains.amp),
            _gain(one.gains.amp_from_tf32) if RateClass.TF32 in one.gpu.peak_flop_per_s else UNKNOWN,
            _gain(one.gains.compiled), _gain(one.gains.amp_compiled), _gain(one.link_gain(4)), _gain(one.link_gain()),
        ]
        for one in on
    ]  # fmt: skip
    notes = [
        "Throughput against the step as run (against TF32 throughout where it says so); bfloat16 autocast where there "
        "are units for it, else float16.",
        "NVLink over PCIe: the same GPU on its fastest link against PCIe through the CPU.",
    ]
    if hidden := [one.gpu.name for one in on if one.hides_gains]:
        notes.append(f"Launches slowed by the profiler bound the step on {', '.join(hidden)}: gains there mean little.")
    return CharacterTable(
        key="gains", title="What mixed precision, a compiler and the link gain",
        table=TableTwin(columns=columns, rows=rows), notes=notes,
    )  # fmt: skip

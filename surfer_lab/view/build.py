"""How does a prediction become what a person sees? `view_of` words and rounds it into a `ViewModel`.

Pure: no clock, no file, no print. Its hosts pass what only they know (the command, the package version).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

import numpy as np

from surfer_lab.engine.estimate import Limit, Method, PredictionSet
from surfer_lab.engine.whatif.fused_ops import is_compiled
from surfer_lab.planner.advice import Diagnosis, bound_on, diagnose, host_time_is_inflated
from surfer_lab.planner.coverage import coverage_of
from surfer_lab.planner.graph_memory import measured_above_start_bytes
from surfer_lab.planner.memory import peak_of
from surfer_lab.planner.module_times import module_times
from surfer_lab.planner.operations import by_family, by_operation, by_phase
from surfer_lab.planner.outcome import Outcome
from surfer_lab.planner.pricing import Price
from surfer_lab.planner.ranking import cheapest, equally_fast, fastest, shortlist
from surfer_lab.trace.model import Trace, TraceOrigin
from surfer_lab.units import BYTES_PER_GB, NS_PER_MS, NS_PER_S
from surfer_lab.view.accuracy_words import accuracy_lines
from surfer_lab.view.detail_model import Provenance
from surfer_lab.view.detail_views import module_tree, roofline_view
from surfer_lab.view.figures import figures_of, parts_list
from surfer_lab.view.gpu_rows import GpuNumbers, PriceFacts, gpu_row
from surfer_lab.view.model import (
    VIEW_SCHEMA_VERSION,
    Choice,
    Here,
    Role,
    Sentence,
    ViewModel,
)
from surfer_lab.view.money_words import money_quantity, price_text, prices_text
from surfer_lab.view.operation_rows import group_rows, operation_rows, shown_groups
from surfer_lab.view.scaling_view import communication_warnings, scaling_view
from surfer_lab.view.sentences import (
    bound_words,
    device_name,
    how_measured,
    many_are_equal,
    plain_step_ns,
    sentences,
    title,
)
from surfer_lab.view.timeline_view import timeline_view
from surfer_lab.view.what_ifs import (
    NO_WHAT_IFS,
    WhatIfs,
    alternative_rows,
    batch_sentence,
    blocked_rows,
    coverage_view,
    curve_figure,
    memory_view,
    sharded_sentence,
    step_words,
)
from surfer_lab.view.wording import (
    LIMIT_WORDS,
    METHOD_WORDS,
    PART_WORDS,
    VERDICT_OF,
    bytes_quantity,
    duration_text,
    faster_quantity,
    name_text,
    rounded,
    time_quantity,
    time_unit,
)

__all__ = ["focus_of", "view_of"]

ALTERNATIVES_NOTE: Final = (
    "compiled steps are taken to need the memory of plain ones; CUDA graphs (reduce-overhead) are named where they "
    "gain 2 % or more."
)
_LONGEST_COMMAND: Final = 2_000  # names every GPU of the catalogue, with room for prices
RANGE_NOTE: Final = (
    "A range is where the time is expected with 80 % confidence, from the errors of each method on cases that it had "
    "not seen; it is wider where less is known of a GPU or of the work."
)


def view_of(
    prediction: PredictionSet,
    outcomes: Sequence[Outcome],
    *,
    name: str,
    shows_all: bool = False,
    focus: str | None = None,
    command: str = "",
    version: str = "",
    what_ifs: WhatIfs = NO_WHAT_IFS,
    spot_prices: Mapping[str, Price] = MappingProxyType({}),
    provenance: Provenance | None = None,
) -> ViewModel:
    """The view of these outcomes (one a predicted GPU, same order). `focus` names the GPU that is shown first.

    `what_ifs` are those of that GPU; `spot_prices`, by GPU, stand beside the outcomes' own.
    """
    outcomes = [_with_shown_name(outcome) for outcome in outcomes]
    order = np.argsort([outcome.step_ns for outcome in outcomes], kind="stable").tolist()
    ordered = [outcomes[index] for index in order]
    chosen = list(ordered) if shows_all else shortlist(ordered)
    focused = name_text(focus if focus is not None else focus_of(ordered).gpu.name) if ordered else ""
    if focused not in {outcome.gpu.name for outcome in chosen}:  # where the step fits nowhere, it is on no short list
        chosen = [outcome for outcome in ordered if outcome in chosen or outcome.gpu.name == focused]
    focus_index = next((index for index, outcome in enumerate(outcomes) if outcome.gpu.name == focused), 0)
    diagnosis = _diagnosis(prediction, outcomes, focus_index)
    coverage = coverage_of(prediction, focus_index)
    unit = time_unit([outcome.step_ns for outcome in chosen])
    here = _here(prediction)
    operations = by_operation(prediction, lead=focus_index)
    shows_busy = host_time_is_inflated(prediction.trace)
    batch_size = next((outcome.scenario.batch_size for outcome in outcomes), None)
    dataset_size = next((outcome.scenario.dataset_size for outcome in outcomes), None)
    rows = [
        gpu_row(
            _numbers(prediction, outcomes[index], index, what_ifs, spot_prices.get(outcomes[index].gpu.name)),
            unit=unit,
            batch_size=batch_size,
            dataset_size=dataset_size,
        )
        for index in order
    ]
    choices = _choices(ordered, here, shows_busy=shows_busy)
    shown = [outcome.gpu.name for outcome in chosen]
    curve = curve_figure(what_ifs.curve) if what_ifs.curve is not None else None
    return ViewModel(
        schema_version=VIEW_SCHEMA_VERSION,
        name=name_text(name),
        title=title(prediction.trace, batch_size) + step_words(what_ifs),
        sentences=[*sentences(prediction, ordered, diagnosis, on=focused), *_what_if_sentences(what_ifs)],
        here=here,
        choices=choices,
        rows=rows,
        shortlist=shown,
        shows_all=shows_all,
        focus=focused,
        shows_busy=shows_busy,
        operations=operation_rows(operations, order, focus_index),
        families=group_rows(by_family(prediction, lead=focus_index), focus_index),
        phases=group_rows(by_phase(prediction, lead=focus_index), focus_index),
        figures=figures_of(rows, shown, here, choices, curve, unit),
        part_labels=list(PART_WORDS.values()),
        limit_labels=[LIMIT_WORDS[limit] for limit in Limit],
        method_labels=[METHOD_WORDS[method] for method in Method],
        warnings=_warnings(prediction),
        assumptions=[name_text(_sentence(text), longest=400) for text in (*prediction.assumptions, *what_ifs.notes)],
        range_note=RANGE_NOTE,
        price_note=prices_text([outcome.scenario.price for outcome in outcomes]),
        environment={name_text(key): name_text(value) for key, value in prediction.trace.environment.items()},
        command=name_text(command, longest=_LONGEST_COMMAND),
        version=version,
        alternatives=alternative_rows(what_ifs),
        alternatives_note=f"On {focused}; {ALTERNATIVES_NOTE}" if what_ifs.alternatives else "",
        memory=memory_view(
            what_ifs.memory, focused, _measured_peak(prediction.trace), is_plain=is_compiled(prediction.trace)
        )
        if what_ifs.memory is not None
        else None,
        blocked=blocked_rows(what_ifs.blocked),
        coverage=coverage_view(coverage, focused) if coverage is not None else None,
        batch_size=batch_size,
        dataset_size=dataset_size,
        provenance=provenance,
        accuracy=accuracy_lines(from_another_gpu=prediction.measured is not None),
        modules=module_tree(module_times(prediction, lead=focus_index), order, focus_index) if ordered else None,
        roofline=roofline_view(operations, shown_groups(operations), [outcome.gpu for outcome in ordered]),
        timeline=timeline_view(prediction, focus_index) if ordered else None,
        scaling=scaling_view(what_ifs.scaling) if what_ifs.scaling is not None else None,
        scaling_links=[scaling_view(curve, with_timeline=False) for curve in what_ifs.scaling_links],
    )


def focus_of(outcomes: Sequence[Outcome]) -> Outcome:
    """The GPU that is shown first where none is named: the fastest, else the first."""
    best = fastest(outcomes)
    return best if best is not None else min(outcomes, key=lambda outcome: outcome.step_ns)


def _what_if_sentences(what_ifs: WhatIfs) -> list[Sentence]:
    found = [
        sharded_sentence(what_ifs.sharded) if what_ifs.sharded else None,
        batch_sentence(what_ifs.curve) if what_ifs.curve is not None else None,
    ]
    return [sentence for sentence in found if sentence is not None]


def _measured_peak(trace: Trace) -> str:
    """What a recording measured of its memory, to stand beside what is predicted."""
    above = measured_above_start_bytes(trace)
    peak = peak_of(trace)
    if peak is not None and peak.is_measured:
        held = f", {bytes_quantity(peak.reserved_bytes).text} reserved" if peak.reserved_bytes else ""
        return f"measured: {bytes_quantity(peak.allocated_bytes).text} allocated{held}"
    return f"measured: {bytes_quantity(above).text} above where the recording began" if above else ""


def _with_shown_name(outcome: Outcome) -> Outcome:
    """The outcome with its GPU's name as it may be shown: a card can be named by a trace."""
    name = name_text(outcome.gpu.name)
    if name == outcome.gpu.name:
        return outcome
    return replace(outcome, scenario=replace(outcome.scenario, gpu=replace(outcome.gpu, name=name)))


def _diagnosis(prediction: PredictionSet, outcomes: Sequence[Outcome], focus_index: int) -> Diagnosis:
    """Of the step as measured, where it was; else of the step on the GPU shown first."""
    if prediction.measured is None:
        return diagnose(prediction, focus_index)
    origin_index = next((index for index, outcome in enumerate(outcomes) if outcome.is_origin), focus_index)
    return diagnose(prediction, origin_index, measured=True)


def _here(prediction: PredictionSet) -> Here | None:
    trace, measured = prediction.trace, prediction.measured
    if measured is None:
        if trace.origin is not TraceOrigin.CPU_RUN:
            return None
        return Here(
            device=device_name(prediction),
            step=time_quantity(plain_step_ns(trace)),
            busy=None,
            how=how_measured(trace),
            is_gpu=False,
            parts=[],
        )
    diagnosis = diagnose(prediction, 0, measured=True)
    step_ns = diagnosis.parts.step_ns
    unit = time_unit([step_ns])
    return Here(
        device=device_name(prediction),
        step=time_quantity(step_ns, unit=unit),
        busy=time_quantity(diagnosis.parts.gpu_busy_ns, unit=unit),
        how=how_measured(trace),
        is_gpu=True,
        parts=parts_list(diagnosis.parts),
    )


def _choices(ordered: Sequence[Outcome], here: Here | None, *, shows_busy: bool) -> list[Choice]:
    choices = []
    if here is not None:
        lines = [here.device, here.how]
        if here.busy is not None:
            lines.insert(1, f"GPU busy {here.busy.text}")
        choices.append(Choice(role=Role.HERE, label="Here", gpu="", headline=here.step.text, lines=lines))
    for role, label, outcome in (
        (Role.FASTEST, "Among equally fast" if many_are_equal(ordered) else "Fastest", fastest(ordered)),
        (Role.CHEAPEST, "Cheapest", cheapest(ordered)),
    ):
        if outcome is not None:
            choices.append(_choice(role, label, outcome, ordered, shows_busy=shows_busy))
    return choices


def _choice(role: Role, label: str, outcome: Outcome, ordered: Sequence[Outcome], *, shows_busy: bool) -> Choice:
    parts = outcome.parts
    step = time_quantity(parts.step_ns, low_ns=parts.low_ns, high_ns=parts.high_ns)
    cost = money_quantity(outcome.usd_per_1000_steps)
    money = [f"{cost.text} per 1,000 steps"] if cost.value is not None else ["no price known"]
    time = [f"{step.text} a step" + (f", {step.range_text}" if step.range_text else "")]
    if outcome.speedup is not None:
        time.append(faster_quantity(outcome.speedup).text)
    if shows_busy:
        time.append(f"GPU busy {duration_text(parts.gpu_busy_ns)}")
    ties = len(equally_fast(ordered))
    if role is Role.FASTEST and ties > 1:
        time.append(f"{ties} GPUs within 2 %")
    headline = step.text if role is Role.FASTEST else cost.text
    lines = [step.range_text, *time[1:], *money] if role is Role.FASTEST else ["per 1,000 steps", *time]
    return Choice(
        role=role, label=label, gpu=outcome.gpu.name, headline=headline, lines=[line for line in lines if line]
    )


def _numbers(
    prediction: PredictionSet, outcome: Outcome, index: int, what_ifs: WhatIfs, spot: Price | None
) -> GpuNumbers:
    gpu, parts, need, cell = outcome.gpu, outcome.parts, outcome.memory, outcome.cell
    bound = bound_words(bound_on(prediction, index), host_is_inflated=host_time_is_inflated(prediction.trace))
    needed = (need.likely_bytes, need.low_bytes, need.high_bytes) if need is not None else None
    return GpuNumbers(
        gpu=gpu.name,
        vendor=gpu.vendor.value,
        architecture=gpu.architecture,
        release_year=gpu.release_year,
        memory_gb=rounded(gpu.memory_bytes / BYTES_PER_GB),
        verdict=VERDICT_OF[outcome.fit],
        step_ms=_ends((parts.step_ns, parts.low_ns, parts.high_ns), NS_PER_MS),
        busy_ms=rounded(parts.gpu_busy_ns / NS_PER_MS),
        parts_ms=tuple(part.value_ms for part in parts_list(parts)),
        bound=bound,
        method_share={METHOD_WORDS[method]: rounded(share, 4) for method, share in outcome.share_by_method.items()},
        is_origin=outcome.is_origin,
        faster=None if outcome.speedup is None else rounded(outcome.speedup),
        price=_price_facts(outcome.scenario.price),
        spot=_price_facts(spot) if spot is not None else None,
        needed_gb=_ends(needed, BYTES_PER_GB) if needed is not None else None,
        needed_is_measured=need is not None and need.is_measured,
        largest_batch=what_ifs.largest_batches.get(gpu.name),
        cell_s=_ends((cell.wall_ns, cell.low_ns, cell.high_ns), NS_PER_S) if cell is not None else None,
    )


def _ends(values: tuple[float, float, float], unit: float) -> tuple[float, float, float]:
    value, low, high = (rounded(one / unit) for one in values)
    return value, low, high


def _price_facts(price: Price | None) -> PriceFacts:
    if price is None:
        return PriceFacts(usd_per_hour=None, note="no price known")
    return PriceFacts(
        usd_per_hour=rounded(price.instance_usd_per_hour),
        sold_by=price.instance_multiple,
        note=price_text(price),
        as_of=price.as_of,
        source=name_text(price.source, longest=120),
    )


def _warnings(prediction: PredictionSet) -> list[str]:
    from_trace = [f"{warning.seen}: {warning.consequence}" for warning in prediction.trace.warnings]
    talked = communication_warnings(prediction.trace)
    told = dict.fromkeys([*from_trace, *prediction.warnings, *talked])
    return [name_text(_sentence(text), longest=400) for text in told]


def _sentence(text: str) -> str:
    """With a capital and a full stop, as it stands by itself; code keeps its case."""
    return f"{text[:1].upper()}{text[1:]}".rstrip(".") + "."

"""Which sentences answer "how long, how much, and what would help"? Worded here and nowhere else.

Every number carries its unit; a prediction its range; money its price. A launch-bound trace whose host times carry the
profiler's slow-down is called so, with the GPU-busy bound beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from surfer_lab.engine.estimate import PredictionSet
from surfer_lab.engine.whatif.fused_ops import is_compiled
from surfer_lab.planner.advice import Bound, Diagnosis
from surfer_lab.planner.graph_memory import measured_above_start_bytes
from surfer_lab.planner.memory import Fit
from surfer_lab.planner.memory_need import MemoryNeed
from surfer_lab.planner.outcome import Outcome
from surfer_lab.planner.ranking import cheapest, equally_fast
from surfer_lab.planner.recorded_memory import counted_above_start_bytes
from surfer_lab.planner.whole_cell import rest_of_cell_ns
from surfer_lab.trace.model import Trace, TraceOrigin
from surfer_lab.trace.tables import Phase, StepSource
from surfer_lab.view.advice_words import advice_sentence
from surfer_lab.view.gpu_rows import memory_words
from surfer_lab.view.model import Role, Sentence
from surfer_lab.view.money_words import money_text
from surfer_lab.view.wording import (
    BOUND_WORDS,
    bytes_quantity,
    duration_text,
    faster_quantity,
    name_text,
    percent_text,
    time_quantity,
)

__all__ = [
    "bound_words",
    "device_name",
    "how_measured",
    "many_are_equal",
    "plain_step_ns",
    "sentences",
    "title",
]

# share of the GPUs within 2 % of the fastest above which none is called the fastest
_ALIKE_FRACTION: Final = 0.25
_WAIT_WORDS: Final = {
    Bound.LAUNCH: "for the host to launch kernels",
    Bound.INPUT: "for input data",
    Bound.SYNCHRONIZATION: "while the host synchronises with it",
    Bound.COMMUNICATION: "for communication",
}


def title(trace: Trace, batch_size: int | None) -> str:
    """What is predicted: "Training step, batch 32"; "Recorded span" where no step was found in the trace."""
    phases = trace.ops.phase
    trains = bool(((phases == Phase.BACKWARD) | (phases == Phase.OPTIMIZER)).any())
    forward = bool((phases == Phase.FORWARD).any())
    what = "Training step" if trains else "Forward pass" if forward else "Step"
    if trace.step_source is StepSource.SPAN:
        what = "Recorded span"
    return f"{what}, batch {batch_size:,}" if batch_size else what


def device_name(prediction: PredictionSet) -> str:
    """The recorded GPU as the recording and, where it differs, as the catalogue names it; "CPU" without one."""
    trace, origin = prediction.trace, prediction.origin
    if trace.origin is not TraceOrigin.PROFILER:
        return "CPU"
    recorded = trace.device.name if trace.device is not None else None
    if origin is None:
        return name_text(recorded or "a GPU that the trace does not name")
    if recorded is None or recorded.casefold() in {
        origin.name.casefold(),
        *(alias.casefold() for alias in origin.aliases),
    }:
        return name_text(origin.name)
    return f"{name_text(recorded)} (as {name_text(origin.name)})"


def plain_step_ns(trace: Trace) -> float:
    """The recorded step where nothing slowed it, else as recorded, ns."""
    if trace.cell is not None and trace.cell.unprofiled_step_ns is not None:
        return float(trace.cell.unprofiled_step_ns)
    return float(trace.step_ns)


def how_measured(trace: Trace) -> str:
    """Where the step time comes from: "median of 6 steps, by ProfilerStep marks"."""
    if trace.cell is not None and trace.cell.unprofiled_step_ns is not None:
        plain = max(1, trace.cell.step_count - trace.cell.profiled_step_count)
        return f"median of {plain:,} {'step' if plain == 1 else 'steps'} outside the profiler"
    complete = int(trace.steps.complete.sum())
    if complete == 0:
        return trace.step_source.value
    return f"median of {complete:,} {'step' if complete == 1 else 'steps'}, by {trace.step_source.value}"


def bound_words(bound: Bound, *, host_is_inflated: bool) -> str:
    """What bounds a step, with the caution that a launch-bound profiled trace needs."""
    words = BOUND_WORDS[bound]
    return f"{words} under its profiler" if bound is Bound.LAUNCH and host_is_inflated else words


def sentences(
    prediction: PredictionSet, outcomes: Sequence[Outcome], diagnosis: Diagnosis, *, on: str
) -> list[Sentence]:
    """All sentences in the order in which they are read. `on` names the GPU that the diagnosis is about."""
    batch_size = next((outcome.scenario.batch_size for outcome in outcomes), None)
    found = [
        _step(prediction, title(prediction.trace, batch_size), diagnosis, outcomes),
        _cell(prediction, outcomes),
        _bound(prediction, diagnosis, on),
        _fastest(prediction, outcomes, is_inflated=diagnosis.host_is_inflated),
        _cheapest(outcomes),
        _memory(outcomes, is_compiled=is_compiled(prediction.trace)) or _memory_above_start(prediction.trace),
        advice_sentence(diagnosis),
    ]
    return [sentence for sentence in found if sentence is not None]


def _answer(outcomes: Sequence[Outcome]) -> str:
    """What a step that nobody measured takes: on the fastest GPU, where one stands out."""
    tied = equally_fast(outcomes)
    if not tied or many_are_equal(outcomes):
        return "times on GPUs are predicted from its operations"
    there = f"{_time_there(tied[0])} on {tied[0].gpu.name}"
    if len(outcomes) == 1:
        return f"predicted from its operations, {there}"
    return f"predicted from its operations, {there}, the fastest of {len(outcomes)} GPUs"


def _step(prediction: PredictionSet, subject: str, diagnosis: Diagnosis, outcomes: Sequence[Outcome]) -> Sentence:
    trace = prediction.trace
    if prediction.measured is None:
        here = duration_text(plain_step_ns(trace))
        took = f"it takes {here} on that CPU, and " if trace.origin is TraceOrigin.CPU_RUN else ""
        how = (
            "captured from shapes, nothing was run"
            if trace.origin is TraceOrigin.SYMBOLIC
            else "recorded without a GPU"
        )
        text = f"{subject}, {how}: {took}{_answer(outcomes)}."
        return Sentence(role=Role.STEP, label="Here", text=text)
    parts = diagnosis.parts
    device = device_name(prediction)
    share = percent_text(parts.gpu_busy_ns / parts.step_ns)
    busy = f"the GPU is busy for {duration_text(parts.gpu_busy_ns)} of it ({share})"
    if diagnosis.host_is_inflated:
        text = f"{subject}: {duration_text(parts.step_ns)} on {device} as recorded under the profiler; {busy}."
    else:
        text = f"{subject}: {duration_text(parts.step_ns)} on your {device} (measured, {how_measured(trace)}); {busy}."
    return Sentence(role=Role.STEP, label="Here", text=text)


def _bound(prediction: PredictionSet, diagnosis: Diagnosis, on: str) -> Sentence:
    parts, bound = diagnosis.parts, diagnosis.bound
    words = bound_words(bound, host_is_inflated=diagnosis.host_is_inflated)
    lead = words[:1].upper() + words[1:]
    if prediction.measured is None:
        lead = f"{lead} on {on}"
    if bound in _WAIT_WORDS:
        wait = f"{duration_text(diagnosis.bound_ns)} ({percent_text(diagnosis.bound_ns / parts.step_ns)})"
        text = f"{lead}: the GPU waits {wait} of the step {_WAIT_WORDS[bound]}"
        if bound is Bound.LAUNCH and diagnosis.host_is_inflated:
            floor, top = (time_quantity(value).text for value in (parts.gpu_busy_ns, parts.step_ns))
            text += (
                f". The profiler slows the host: without it the step lies between {floor} (GPU busy alone) and {top}."
            )
        else:
            text += "; a faster GPU gains little here."
    elif bound is Bound.GPU:
        text = f"{lead}: {percent_text(parts.gpu_busy_ns / parts.step_ns)} of the step is GPU work."
    else:
        busy = percent_text(parts.gpu_busy_ns / parts.step_ns)
        text = f"{lead}: {busy} of the step is GPU work, most of it limited by {_limit_words(bound)}."
    return Sentence(role=Role.BOUND, label="What bounds it", text=text)


def _limit_words(bound: Bound) -> str:
    return {
        Bound.COMPUTE: "arithmetic",
        Bound.MEMORY: "memory bandwidth",
        Bound.LATENCY: "kernels too small to fill the GPU",
    }.get(bound, "the GPU")


def _time_there(outcome: Outcome) -> str:
    quantity = time_quantity(outcome.step_ns, low_ns=outcome.parts.low_ns, high_ns=outcome.parts.high_ns)
    return f"{quantity.text} ({quantity.range_text})" if quantity.range_text else quantity.text


def _fastest(prediction: PredictionSet, outcomes: Sequence[Outcome], *, is_inflated: bool) -> Sentence | None:
    tied = equally_fast(outcomes)
    if not tied:
        return None
    if many_are_equal(outcomes):
        return Sentence(role=Role.FASTEST, label="Fastest", text=_all_alike(prediction, outcomes, tied, is_inflated))
    best = tied[0]
    text = f"{best.gpu.name}, {_time_there(best)} a step"
    if best.speedup is not None:
        speedup = faster_quantity(best.speedup).text
        text += f", {speedup} than here" if abs(best.speedup - 1) >= 0.01 else ", as fast as here"
    if len(tied) > 1:
        named = ", the cheapest of them named" if best.usd_per_1000_steps is not None else ""
        text += f". {len(tied)} GPUs are within 2 % of it{named}"
    return Sentence(role=Role.FASTEST, label="Fastest", text=text + ".")


def many_are_equal(outcomes: Sequence[Outcome]) -> bool:
    """Whether so many GPUs are equally fast that naming one as the fastest would mislead."""
    return len(outcomes) > 2 and len(equally_fast(outcomes)) > max(2, _ALIKE_FRACTION * len(outcomes))


def _all_alike(
    prediction: PredictionSet, outcomes: Sequence[Outcome], tied: Sequence[Outcome], is_inflated: bool
) -> str:
    """The step waits, and not for the GPU; which one has least to do is told by its work alone."""
    step = duration_text(min(outcome.step_ns for outcome in tied))
    as_recorded = " as recorded" if is_inflated else ""
    text = (
        f"no GPU stands out while the step waits: {len(tied)} of {len(outcomes)} are within 2 % of {step}{as_recorded}"
    )
    if not is_inflated or prediction.measured is None:
        return f"{text}."
    here_ns = float(prediction.measured.gpu_busy_ns[0])
    least = min(outcomes, key=lambda outcome: outcome.parts.gpu_busy_ns)
    busy_ns = least.parts.gpu_busy_ns
    ratio = f", {faster_quantity(here_ns / busy_ns).text}" if busy_ns > 0 else ""
    return (
        f"{text}. By GPU work alone ({duration_text(here_ns)} here): {least.gpu.name}, {duration_text(busy_ns)}{ratio}."
    )


def _cheapest(outcomes: Sequence[Outcome]) -> Sentence | None:
    best = cheapest(outcomes)
    if best is None or best.usd_per_1000_steps is None or best.usd_per_hour is None:
        return None
    cost, price = money_text(best.usd_per_1000_steps), money_text(best.usd_per_hour)
    text = f"{best.gpu.name}, {cost} per 1,000 steps at {price} an hour"
    return Sentence(role=Role.CHEAPEST, label="Cheapest", text=f"{text}, {_time_there(best)} a step.")


def _need_words(need: MemoryNeed) -> str:
    needed = bytes_quantity(need.likely_bytes, low=need.low_bytes, high=need.high_bytes)
    return memory_words(needed, is_measured=need.is_measured)


def _memory(outcomes: Sequence[Outcome], *, is_compiled: bool) -> Sentence | None:
    need = outcomes[0].memory if outcomes else None
    if need is None:
        return None
    fitting = sum(outcome.fit is not Fit.DOES_NOT_FIT for outcome in outcomes)
    tight = sum(outcome.fit is Fit.TIGHT for outcome in outcomes)
    text = f"{_need_words(need)}; fits on {fitting:,} of {len(outcomes):,} GPUs"
    if not fitting:
        text = f"{_need_words(need)}; fits on none of {len(outcomes):,} GPUs"
    if tight:
        text += f", tight on {tight:,} of them"
    if is_compiled and not need.is_measured:
        text += ", taken to be what the step needs without the compiler"
    return Sentence(role=Role.MEMORY, label="Memory", text=text + ".")


def _memory_above_start(trace: Trace) -> Sentence | None:
    """What a recording's memory events show of a step, beside what its shapes would have told."""
    measured = measured_above_start_bytes(trace)
    if measured is None:
        return None
    text = f"{bytes_quantity(measured).text} above where the recording began (measured)"
    counted = counted_above_start_bytes(trace)
    if counted is not None:
        text += f"; {bytes_quantity(counted).text} counted from the shapes of its backward pass"
    return Sentence(role=Role.MEMORY, label="Memory", text=text + ".")


def _cell(prediction: PredictionSet, outcomes: Sequence[Outcome]) -> Sentence | None:
    cell = prediction.trace.cell
    there = [outcome for outcome in (*equally_fast(outcomes)[:1], cheapest(outcomes)) if outcome is not None]
    if cell is None or not there or there[0].cell is None:
        return None
    place = "here" if prediction.measured is not None else "on the CPU"
    text = f"it took {duration_text(cell.wall_ns)} {place}"
    for outcome in {outcome.gpu.name: outcome for outcome in there}.values():
        if outcome.cell is None:
            continue
        cost = f" and cost {money_text(outcome.cell.usd)}" if outcome.cell.usd is not None else ""
        text += f"; on {outcome.gpu.name} it would have taken {duration_text(outcome.cell.wall_ns)}{cost}"
    rest_ns = rest_of_cell_ns(prediction.trace, cell)
    stays = ""
    if rest_ns >= 0.05 * there[0].cell.wall_ns:
        stays = f"; {duration_text(rest_ns)} of it is not in its steps and taken to stay"
    return Sentence(role=Role.CELL, label="This cell", text=f"{text} ({cell.step_count:,} steps{stays}).")

"""What is missing or doubtful in what was read, and what does that switch off? Each doubt is one TraceWarning.

The order is that of a reader's interest: what is lost, what that means for the steps, what is unknown of the kernels,
what to mind before sharing the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from surfer_lab.trace.model import RecordedDevice, TraceWarning
from surfer_lab.trace.tables import HostCallKind, HostCallTable, KernelKind, KernelTable, OpTable, StepSource

__all__ = ["ReadingFacts", "doubts"]

_WORTH_SAYING: Final = 0.01  # share of kernels


@dataclass(frozen=True, kw_only=True)
class ReadingFacts:
    """What the importer counted while reading."""

    event_count: int
    lost_count: int
    partial_count: int
    repeated_count: int
    unknown_count: int
    unknown_categories: tuple[str, ...]
    ends_early: bool
    other_process_count: int
    private_kinds: tuple[str, ...]


def doubts(
    facts: ReadingFacts,
    kernels: KernelTable,
    host_calls: HostCallTable,
    ops: OpTable,
    step_source: StepSource,
    device: RecordedDevice | None,
) -> tuple[TraceWarning, ...]:
    """All doubts about one recording."""
    found = [
        *_about_reading(facts),
        *_about_steps(step_source),
        *_about_kernels(kernels, host_calls, ops),
        *_about_origin(facts, device),
    ]
    return tuple(TraceWarning(seen=seen, consequence=consequence) for seen, consequence in found)


def _about_reading(facts: ReadingFacts) -> Iterator[tuple[str, str]]:
    if facts.ends_early:
        yield (
            f"the file is cut off: it ends in the middle, after {facts.event_count:,} events",
            "what was to follow is missing, often the GPU's work of the last steps: totals are too low",
        )
    if facts.lost_count:
        yield (
            f"{facts.lost_count:,} of {facts.event_count:,} events are damaged and were left out",
            "their time and their links are missing; kernels of a lost launch stand in the group without one",
        )
    if facts.partial_count:
        yield (
            f"{facts.partial_count:,} events have unreadable details (args)",
            "they keep their time, but have no launch, shapes or stream of their own",
        )
    if facts.repeated_count:
        yield f"{facts.repeated_count:,} kernels stand in the file twice", "the second of each was left out"
    if facts.unknown_count:
        kinds = ", ".join(facts.unknown_categories[:5]) or "no category"
        yield (
            f"{facts.unknown_count:,} events are of kinds that are not known here ({kinds})",
            "they were left out; if a newer torch wrote them, a newer Surfer Lab may read them",
        )
    if facts.other_process_count:
        yield (
            f"the file holds GPU work of {facts.other_process_count + 1} processes",
            "the one with the most GPU time is read, the others are left out: open a rank's own file to see it",
        )


def _about_steps(step_source: StepSource) -> Iterator[tuple[str, str]]:
    if step_source is StepSource.SPAN:
        yield (
            "no ProfilerStep marks and fewer than two optimizer steps were recorded",
            "the step time is the whole recorded span: call the profiler's step() after each iteration to get it",
        )


def _about_kernels(kernels: KernelTable, host_calls: HostCallTable, ops: OpTable) -> Iterator[tuple[str, str]]:
    total_ns = int(kernels.duration_ns.sum()) or 1
    without = kernels.host_call < 0
    if without.any():
        share = kernels.duration_ns[without].sum() / total_ns
        yield (
            f"{int(without.sum()):,} GPU activities ({share * 100:.0f} % of GPU time) have no launch in the file",
            "they are their own group: they stay where they were recorded and have no op",
        )
    of_graph = np.zeros(len(kernels), dtype=np.bool_)
    of_graph[~without] = host_calls.kind[kernels.host_call[~without]] == HostCallKind.GRAPH_LAUNCH
    if of_graph.any():
        share = kernels.duration_ns[of_graph].sum() / total_ns
        yield (
            f"{int(of_graph.sum()):,} GPU activities ({share * 100:.0f} % of GPU time) ran inside CUDA graphs",
            "they have no op and no shapes: they are predicted by their names",
        )
    compute = kernels.kind == KernelKind.COMPUTE
    if not (ops.input_shapes.codes >= 0).any():
        yield (
            "input shapes were not recorded",
            "kernels are predicted by name and launch shape, with a wider range: record with record_shapes=True",
        )
    if compute.any() and not (kernels.grid[compute, 0] > 0).any():
        yield "launch shapes (grid, block) were not recorded", "waves of thread blocks are not known for any kernel"
    if compute.any():
        instant = np.count_nonzero(kernels.duration_ns[compute] == 0) / np.count_nonzero(compute)
        if instant > _WORTH_SAYING:
            yield (
                f"times are whole microseconds: {instant * 100:.0f} % of the kernels seem to last 0",
                "sums of short kernels run low by up to 1 µs each",
            )


def _about_origin(facts: ReadingFacts, device: RecordedDevice | None) -> Iterator[tuple[str, str]]:
    if device is None:
        yield "the file does not name the GPU", "name the GPU it was recorded on (--from) to get predictions from it"
    if facts.private_kinds:
        yield (
            f"the file itself holds private things: {', '.join(facts.private_kinds)}",
            "none of it is kept here or shown in reports; remove it before you share the file",
        )

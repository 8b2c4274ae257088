"""What did communication take in a recorded run on several GPUs? From one rank's trace, or from several ranks'.

A collective's kernel runs from when its rank is ready until the slowest rank has sent: it holds the wait for the
others. Of one rank, what similar collectives (same kind, size and group) take beyond the quickest of them is counted as
waiting; of several ranks, what a rank takes beyond the rank that came last. Exposed is what no other work on the GPU
covers. Sizes are there since torch 2.2's profiler; without them times only. Refused (PredictionError): no collectives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.errors import PredictionError
from surfer_lab.trace.model import Trace
from surfer_lab.trace.tables import KernelKind
from surfer_lab.units import NS_PER_S

__all__ = ["CollectiveRow", "RankRow", "RecordedCommunication", "recorded_communication", "recorded_ranks"]

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

_RING_SENDS: Final = {"allreduce": 2.0, "allgather": 1.0, "reducescatter": 1.0}


@dataclass(frozen=True, kw_only=True)
class CollectiveRow:
    """Collectives of one kind, of all steps recorded. None: sizes or groups were not recorded."""

    name: str  # "allreduce"; "" where the kernel does not say
    count: int
    total_ns: float
    quickest_ns: float
    waiting_ns: float  # beyond the quickest of the same size
    size_bytes: int | None  # of all together
    group_size: int | None
    bus_bytes_per_s: float | None  # 2 (n-1)/n S / t of the quickest, where both are known


@dataclass(frozen=True, kw_only=True)
class RecordedCommunication:
    """One rank's figures, of one step on average."""

    step_count: int
    step_ns: float
    communication_ns: float  # union of the collectives' intervals
    exposed_ns: float
    compute_ns: float  # union of all else
    rows: tuple[CollectiveRow, ...]

    @property
    def hidden_fraction(self) -> float:
        """Share of the communication behind compute."""
        return 1.0 - self.exposed_ns / self.communication_ns if self.communication_ns > 0 else 0.0

    @property
    def waiting_ns(self) -> float:
        """What collectives took beyond the quickest alike, a step."""
        return sum(row.waiting_ns for row in self.rows) / self.step_count

    @property
    def exposed_fraction(self) -> float:
        """Share of the step in which only collectives run."""
        return self.exposed_ns / self.step_ns if self.step_ns > 0 else 0.0


@dataclass(frozen=True, kw_only=True)
class RankRow:
    """One rank beside the others. `waiting_ns`: in collectives, for ranks that came later, of all steps recorded."""

    rank: int
    communication_ns: float
    waiting_ns: float
    compared_count: int  # collectives that all ranks have in the same place
    is_straggler: bool  # waits least: the others wait for it


def recorded_communication(trace: Trace) -> RecordedCommunication:
    """Communication of the steps of one rank's trace."""
    kernels = trace.kernels
    collective = kernels.kind == KernelKind.COMMUNICATION
    if not collective.any():
        raise PredictionError(
            "the trace has no collectives: it is of a run on one GPU", remedy="--counts for a what-if"
        )
    start = kernels.start_ns.astype(np.float64)
    end = start + kernels.duration_ns
    first, last, steps = _window(trace, start, end)
    inside = (end > first) & (start < last)
    talks = _union(start[collective & inside], end[collective & inside], first, last)
    works = _union(start[~collective & inside], end[~collective & inside], first, last)
    either = _union(start[inside], end[inside], first, last)
    communication, compute, busy = _length(talks), _length(works), _length(either)
    return RecordedCommunication(
        step_count=steps,
        step_ns=(last - first) / steps,
        communication_ns=communication / steps,
        exposed_ns=(busy - compute) / steps,
        compute_ns=compute / steps,
        rows=tuple(_rows(trace, np.flatnonzero(collective & inside))),
    )


def recorded_ranks(traces: Sequence[Trace]) -> tuple[RankRow, ...]:
    """Ranks of one run, in order: which waits for which. PredictionError: their collectives are not the same."""
    found = [np.flatnonzero(trace.kernels.kind == KernelKind.COMMUNICATION) for trace in traces]
    names = [
        [trace.kernels.collective[row] for row in rows.tolist()] for trace, rows in zip(traces, found, strict=True)
    ]
    count = min((len(rows) for rows in found), default=0)
    if len(traces) < 2 or not count or any(one[:count] != names[0][:count] for one in names):
        raise PredictionError(
            f"{len(traces)} traces whose collectives are not the same, one after the other",
            remedy="traces of the ranks of one run, of the same steps",
        )
    durations = np.array(
        [trace.kernels.duration_ns[rows[:count]] for trace, rows in zip(traces, found, strict=True)], dtype=np.float64
    )
    waiting = (durations - durations.min(axis=0)).sum(axis=1)
    return tuple(
        RankRow(
            rank=rank,
            communication_ns=float(durations[rank].sum()),
            waiting_ns=float(waiting[rank]),
            compared_count=count,
            is_straggler=rank == int(np.argmin(waiting)),
        )
        for rank in range(len(traces))
    )


def _window(trace: Trace, start: F64, end: F64) -> tuple[float, float, int]:
    """From the first complete step's start to the last one's end; the kernels' span where there are no steps."""
    steps = trace.steps
    if len(steps):
        chosen = steps.complete if steps.complete.any() else np.ones(len(steps), dtype=bool)
        return float(steps.start_ns[chosen].min()), float(steps.end_ns[chosen].max()), int(chosen.sum())
    return float(start.min()), float(end.max()), 1


def _union(start: F64, end: F64, first: float, last: float) -> F64:
    """Intervals merged and clipped, (merged, 2)."""
    begins, ends = np.clip(start, first, last), np.clip(end, first, last)
    order = np.argsort(begins, kind="stable")
    begins, ends = begins[order], ends[order]
    if not len(begins):
        return np.zeros((0, 2))
    reached = np.maximum.accumulate(ends)
    opens = np.concatenate([[True], begins[1:] > reached[:-1]])
    places = np.flatnonzero(opens)
    closes = np.concatenate([reached[places[1:] - 1], reached[-1:]])
    return np.stack((begins[places], closes), axis=1)


def _length(intervals: F64) -> float:
    return float((intervals[:, 1] - intervals[:, 0]).sum())


def _rows(trace: Trace, chosen: I64) -> list[CollectiveRow]:
    kernels = trace.kernels
    kinds: dict[str, list[int]] = {}
    for row in chosen.tolist():
        kinds.setdefault(kernels.collective[row] or "", []).append(row)
    made = []
    for name, rows in kinds.items():
        duration = kernels.duration_ns[rows].astype(np.float64)
        size, group = kernels.size_bytes[rows], kernels.group_size[rows]
        alike: dict[tuple[int, int], list[float]] = {}
        for one, many, took in zip(size.tolist(), group.tolist(), duration.tolist(), strict=True):
            alike.setdefault((one, many), []).append(took)
        waiting = sum(took - min(times) for (one, _), times in alike.items() if one >= 0 for took in times)
        made.append(
            CollectiveRow(
                name=name,
                count=len(rows),
                total_ns=float(duration.sum()),
                quickest_ns=float(duration.min()),
                waiting_ns=float(waiting),
                size_bytes=int(size[size > 0].sum()) if (size > 0).any() else None,
                group_size=int(group.max()) if (group > 0).any() else None,
                bus_bytes_per_s=_bus(name, alike),
            )
        )
    return sorted(made, key=lambda row: -row.total_ns)


def _bus(name: str, alike: dict[tuple[int, int], list[float]]) -> float | None:
    """The bus bandwidth of the largest size, of its quickest."""
    known = [key for key in alike if key[0] > 0 and key[1] > 1]
    if not known or name not in _RING_SENDS:
        return None
    size, ranks = max(known)
    quickest = min(alike[size, ranks])
    return _RING_SENDS[name] * (ranks - 1) / ranks * size / quickest * NS_PER_S if quickest > 0 else None

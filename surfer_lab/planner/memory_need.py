"""How much memory does the recorded step need on each GPU, and does it fit?

The measured peak where the recording has one (the same on every card); else counted from the captured tensors, with
what a card's libraries and driver add; else not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from surfer_lab.hardware.gpu import Gpu
from surfer_lab.planner.graph_memory import fit_on, memory_on, step_memory
from surfer_lab.planner.memory import Fit, fit_of, peak_of
from surfer_lab.trace.model import Trace

__all__ = ["MemoryNeed", "memory_needs"]


@dataclass(frozen=True, kw_only=True)
class MemoryNeed:
    """Bytes on one card: at least, most likely, at most. Measured: what was allocated, up to what was held."""

    low_bytes: int
    likely_bytes: int
    high_bytes: int
    is_measured: bool
    fit: Fit


def memory_needs(trace: Trace, gpus: Sequence[Gpu]) -> list[MemoryNeed | None]:
    """One a GPU, in order; None where the trace says nothing of memory."""
    peak = peak_of(trace)
    if peak is not None and peak.is_measured:
        return [
            MemoryNeed(
                low_bytes=peak.allocated_bytes,
                likely_bytes=peak.allocated_bytes,
                high_bytes=max(peak.allocated_bytes, peak.reserved_bytes or 0),
                is_measured=True,
                fit=fit_of(peak, gpu),
            )
            for gpu in gpus
        ]
    if not len(trace.tensors):
        return [None for _ in gpus]
    step = step_memory(trace)
    needs: list[MemoryNeed | None] = []
    for gpu in gpus:
        estimate = memory_on(step, gpu)
        device = estimate.device
        needs.append(
            MemoryNeed(
                low_bytes=device.low,
                likely_bytes=device.likely,
                high_bytes=device.high,
                is_measured=False,
                fit=fit_on(estimate, gpu),
            )
        )
    return needs

"""Does the recorded step fit into a card's memory?

Relies on the peak that the recording measured (allocator events or torch's own counters); where there is none, the
answer is UNKNOWN and says so. What a captured graph would need is not worked out here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from surfer_lab.hardware.gpu import Gpu
from surfer_lab.trace.model import Trace, TraceOrigin

__all__ = ["Fit", "PeakMemory", "fit_of", "peak_of"]

# share of the card that the CUDA context, the driver and fragmentation may take beyond the allocator's peak; a step
# within it may run out of memory: a stated caution, not a measurement
_TIGHT_FRACTION: Final = 0.92


class Fit(Enum):
    FITS = "fits"
    TIGHT = "tight"
    DOES_NOT_FIT = "does not fit"
    UNKNOWN = "not known"


@dataclass(frozen=True, kw_only=True)
class PeakMemory:
    """Peak device memory of the step. `reserved_bytes` is what the allocator held, None where not recorded."""

    allocated_bytes: int
    reserved_bytes: int | None
    is_measured: bool  # on a GPU; else counted from the tensors of a run without one


def peak_of(trace: Trace) -> PeakMemory | None:
    """The peak that the trace carries, or None."""
    if not trace.peak_allocated_bytes or trace.peak_allocated_bytes < 0:
        return None
    reserved = trace.peak_reserved_bytes
    return PeakMemory(
        allocated_bytes=trace.peak_allocated_bytes,
        reserved_bytes=reserved if reserved and reserved >= trace.peak_allocated_bytes else None,
        is_measured=trace.origin is TraceOrigin.PROFILER,
    )


def fit_of(peak: PeakMemory | None, gpu: Gpu) -> Fit:
    """FITS with room to spare, TIGHT within the last few percent (or above them only by what the allocator caches)."""
    if peak is None:
        return Fit.UNKNOWN
    if peak.allocated_bytes > gpu.memory_bytes:
        return Fit.DOES_NOT_FIT
    if max(peak.allocated_bytes, peak.reserved_bytes or 0) > _TIGHT_FRACTION * gpu.memory_bytes:
        return Fit.TIGHT
    return Fit.FITS

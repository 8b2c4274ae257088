"""How much of a card is gone before the first tensor, and how much of it can be used at all?

The context holds the driver's structures and the kernels loaded so far. Published measurements, by generation and with
their source; what nobody published takes the general row. torch of before 1.13 (CUDA before 11.7) loaded all kernels at
once and took 0.7 to 1.8 GiB: not what is assumed here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from surfer_lab.hardware.gpu import Gpu, Vendor
from surfer_lab.planner.byte_range import ByteRange
from surfer_lab.units import BYTES_PER_GIB, BYTES_PER_MIB

__all__ = ["ContextSize", "context_on", "usable_bytes"]

# Cards that spend part of their memory on error correction show less than is printed (T4: 15.84 of 16 GB), others show
# more (A100 80 GB: 84.99 GB); the printed size less 1.5 % is there on all.
_USABLE_FRACTION: Final = 0.985


@dataclass(frozen=True, kw_only=True)
class ContextSize:
    """Bytes of a context and where they were measured."""

    bytes: ByteRange
    source: str


_A100: Final = ContextSize(
    bytes=ByteRange(round(0.47 * BYTES_PER_GIB), round(0.6 * BYTES_PER_GIB), round(0.92 * BYTES_PER_GIB)),
    source="stas00/ml-engineering, training/performance: A100, torch 2.1.1: 0.47 GB with one kernel loaded, "
    "0.92 GB with all",
)
_GENERAL: Final = ContextSize(
    bytes=ByteRange(256 * BYTES_PER_MIB, 450 * BYTES_PER_MIB, round(0.92 * BYTES_PER_GIB)),
    source="pytorch issues 107667 and 109888: 300 to 400 MB with kernels loaded on demand; invoke-ai issue 9413: "
    "256 MiB on an RTX 3090 with torch 2.7; at most what an A100 takes with all kernels",
)
_LARGER_THAN_A100: Final = ContextSize(
    bytes=ByteRange(round(0.47 * BYTES_PER_GIB), round(0.7 * BYTES_PER_GIB), round(1.3 * BYTES_PER_GIB)),
    source="no measurement at hand: an A100's, with more for more SMs",
)
_BY_COMPUTE_CAPABILITY: Final = {"8.0": _A100, "9.0": _LARGER_THAN_A100, "10.0": _LARGER_THAN_A100}
_AMD: Final = ContextSize(
    bytes=ByteRange(256 * BYTES_PER_MIB, 600 * BYTES_PER_MIB, round(1.5 * BYTES_PER_GIB)),
    source="no measurement at hand: NVIDIA's general row, widened",
)


def context_on(gpu: Gpu) -> ContextSize:
    """What the process takes besides torch's allocator."""
    if gpu.vendor is Vendor.AMD:
        return _AMD
    return _BY_COMPUTE_CAPABILITY.get(gpu.compute_capability, _GENERAL)


def usable_bytes(gpu: Gpu) -> int:
    """What a process may fill of the printed memory."""
    return int(gpu.memory_bytes * _USABLE_FRACTION)

"""The only conversion factors of the package, and how numbers with units are named.

A name ends in its unit: `_ns _bytes _hz _per_s _usd _count _fraction`. Times inside are nanoseconds (measured: int,
predicted: float), memory is bytes. GB is 10^9 bytes (what vendors print on cards and links), GiB is 2^30
(what allocators report); they never share a name.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "BITS_PER_BYTE",
    "BYTES_PER_GB",
    "BYTES_PER_GIB",
    "BYTES_PER_MB",
    "BYTES_PER_MIB",
    "FLOPS_PER_TFLOPS",
    "HZ_PER_MHZ",
    "NS_PER_HOUR",
    "NS_PER_MS",
    "NS_PER_S",
    "NS_PER_US",
]

NS_PER_US: Final = 1_000
NS_PER_MS: Final = 1_000_000
NS_PER_S: Final = 1_000_000_000
NS_PER_HOUR: Final = 3_600 * NS_PER_S

BITS_PER_BYTE: Final = 8
BYTES_PER_MB: Final = 1_000_000
BYTES_PER_GB: Final = 1_000_000_000
BYTES_PER_MIB: Final = 1 << 20
BYTES_PER_GIB: Final = 1 << 30

HZ_PER_MHZ: Final = 1_000_000
FLOPS_PER_TFLOPS: Final = 1_000_000_000_000

"""How much can one SM (NVIDIA) or CU (AMD) hold at once, by compute capability or gfx target?

Numbers only. NVIDIA: CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability", and CUDA's
occupancy rules (registers are given to warps in units of 256, each warp from one of the SM's 4 register partitions, 2
on 6.0; shared memory in units of 128 bytes, 256 before 8.0; from 8.0 on 1 KiB a block is the system's own). AMD:
LLVM's AMDGPU target (waves a SIMD, VGPR file and granule, LDS granule, 16 barriers a CU) and the CDNA ISA guides. A CU
has four SIMDs and waves of 64 lanes; a "register" here is one lane's 32 bits, as on NVIDIA: a CDNA2 CU has 4x512x64.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from surfer_lab.errors import GpuError
from surfer_lab.hardware.gpu import SmLimits

__all__ = ["LIMITS_BY_CAPABILITY", "limits_of"]

KIB: Final = 1024
CUDA_GUIDE: Final = "CUDA C++ Programming Guide, technical specifications per compute capability"
AMD_GUIDE: Final = "LLVM AMDGPU target and AMD CDNA ISA guides"

MAX_THREADS_PER_BLOCK: Final = 1024  # both vendors, all targets here


def _nvidia(
    warps: int, blocks: int, shared_kib: int, block_shared_kib: int, *, partitions: int = 4, from_ampere: bool = True
) -> SmLimits:
    return SmLimits(
        max_threads=32 * warps,
        max_blocks=blocks,
        max_warps=warps,
        warp_size=32,
        registers=64 * KIB,
        register_unit=256,
        shared_memory_bytes=shared_kib * KIB,
        shared_memory_unit_bytes=128 if from_ampere else 256,
        reserved_shared_memory_bytes_per_block=KIB if from_ampere else 0,
        source=CUDA_GUIDE,
        register_partitions=partitions,
        max_shared_memory_bytes_per_block=block_shared_kib * KIB,
    )


def _amd(waves_per_simd: int, vgprs_per_simd: int, vgpr_unit: int, lds_kib: int, lds_unit_bytes: int) -> SmLimits:
    waves = 4 * waves_per_simd
    return SmLimits(
        max_threads=64 * waves,
        max_blocks=16,
        max_warps=waves,
        warp_size=64,
        registers=4 * vgprs_per_simd * 64,
        register_unit=vgpr_unit * 64,
        shared_memory_bytes=lds_kib * KIB,
        shared_memory_unit_bytes=lds_unit_bytes,
        reserved_shared_memory_bytes_per_block=0,
        source=AMD_GUIDE,
        register_partitions=4,
        max_shared_memory_bytes_per_block=lds_kib * KIB,
        max_single_warp_blocks=waves,
    )


_GA100: Final = _nvidia(64, 32, 164, 163)
_GA10X: Final = _nvidia(48, 16, 100, 99)
_HOPPER: Final = _nvidia(64, 32, 228, 227)
_CONSUMER_BLACKWELL: Final = _nvidia(48, 24, 100, 99)
_CDNA2: Final = _amd(8, 512, 8, 64, 512)

LIMITS_BY_CAPABILITY: Final[Mapping[str, SmLimits]] = {
    "6.0": _nvidia(64, 32, 64, 48, partitions=2, from_ampere=False),
    "6.1": _nvidia(64, 32, 96, 48, from_ampere=False),
    "7.0": _nvidia(64, 32, 96, 96, from_ampere=False),
    "7.2": _nvidia(64, 32, 96, 96, from_ampere=False),
    "7.5": _nvidia(32, 16, 64, 64, from_ampere=False),
    "8.0": _GA100,
    "8.6": _GA10X,
    "8.7": _nvidia(48, 16, 164, 163),
    "8.9": _nvidia(48, 24, 100, 99),
    "9.0": _HOPPER,
    "10.0": _HOPPER,
    "10.3": _HOPPER,
    "11.0": _nvidia(48, 24, 228, 227),
    "12.0": _CONSUMER_BLACKWELL,
    "12.1": _CONSUMER_BLACKWELL,
    "gfx908": _amd(10, 256, 4, 64, 512),
    "gfx90a": _CDNA2,
    "gfx942": _CDNA2,
    "gfx950": _amd(8, 512, 8, 160, 1280),
}


def limits_of(capability: str) -> SmLimits:
    """The limits of a compute capability ("8.0") or gfx target ("gfx90a", with or without its feature suffix).

    >>> limits_of("8.0").max_threads, limits_of("gfx90a:sramecc+:xnack-").warp_size
    (2048, 64)
    """
    key = capability.split(":")[0].strip()
    found = LIMITS_BY_CAPABILITY.get(key)
    if found is None:
        target = "gfx target" if re.match("gfx", key) else "compute capability"
        raise GpuError(
            f"compute_capability is {capability!r}: no occupancy limits are known for this {target}",
            remedy=f"one of {', '.join(LIMITS_BY_CAPABILITY)}",
        )
    return found

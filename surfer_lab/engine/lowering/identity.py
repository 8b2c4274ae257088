"""What a kernel's name says about it: family, library, tile, arithmetic, and whether memory bounds it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from surfer_lab.engine.lowering.families import Family
from surfer_lab.engine.lowering.work import Role, Tf32Switch
from surfer_lab.hardware.dtypes import RateClass

__all__ = ["KernelIdentity", "Library", "Tile"]


class Library(Enum):
    """Who wrote the kernel."""

    PYTORCH = "PyTorch"
    CUBLAS = "cuBLAS"
    CUDNN = "cuDNN"
    CUTLASS = "CUTLASS"
    FLASH_ATTENTION = "FlashAttention"
    TRITON = "Triton"
    ROCBLAS = "rocBLAS"
    HIPBLASLT = "hipBLASLt"
    MIOPEN = "MIOpen"
    COMPOSABLE_KERNEL = "Composable Kernel"
    NCCL = "NCCL"
    CUB = "CUB"
    CUFFT = "cuFFT"
    APEX = "Apex"
    FBGEMM = "FBGEMM"
    RUNTIME = "CUDA runtime"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True)
class Tile:
    """Output tile of one thread block (m, n) and the depth of a stage k (0: not in the name)."""

    m: int
    n: int
    k: int = 0


@dataclass(frozen=True, kw_only=True)
class KernelIdentity:
    """What the name alone says. `family` None: the name is not in the tables."""

    name: str
    family: Family | None
    library: Library
    rate_class: RateClass | None  # None: the name does not say
    tf32: Tf32Switch
    tile: Tile | None
    memory_bound: bool  # False where unknown
    role: Role
    winograd: bool = False

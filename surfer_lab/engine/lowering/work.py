"""What a kernel has to do: FLOPs, bytes, launch shape and family; of one kernel, and as columns of many.

FLOP counts one multiply-add as two. Bytes are what must cross device memory if each pass of the algorithm reads its
operands once and writes its results once (a batch norm has two passes, a matrix product one); caches and re-reads are
the business of the utilisation that the engine divides by. `nan` means unknown and stays unknown.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.lowering.families import Family
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.trace.columns import Interned

__all__ = ["UNKNOWN", "Gemm", "KernelWork", "Lowered", "Role", "Source", "Tf32Switch", "rate_class_on"]

UNKNOWN: Final = math.nan

F64 = NDArray[np.float64]


class Source(Enum):
    """Where a row's numbers come from."""

    SHAPES = "shapes"  # the table of ops, evaluated on recorded shapes
    NAME = "name"  # the kernel's name (and grid): family known, FLOPs and bytes may be nan
    FALLBACK = "fallback"  # not in the tables: generic, counted as such
    NONE = "none"  # nothing can be said; `reason` says why


class Role(IntEnum):
    MAIN = 0
    HELPER = 1  # a transpose, an offset table, a split-K reduction beside the main kernel


class Tf32Switch(IntEnum):
    """Which flag of torch decides whether float32 arithmetic here runs as TF32 where the hardware has it."""

    NONE = 0  # never
    CONVOLUTION = 1  # torch.backends.cudnn.allow_tf32, on by default
    MATMUL = 2  # torch.backends.cuda.matmul.allow_tf32, off by default


class Gemm(NamedTuple):
    """The matrix product behind a kernel: `batch` times (m, k) x (k, n). Convolutions: the implicit one, per group."""

    batch: int
    m: int
    n: int
    k: int


@dataclass(frozen=True, kw_only=True)
class KernelWork:
    """What one kernel (or `launch_count` alike, summed) of an op does on a GPU."""

    family: Family
    flop: float
    read_bytes: float
    write_bytes: float
    rate_class: RateClass  # by dtype; whether FP32 runs as TF32 is for `rate_class_on` to say
    tf32: Tf32Switch = Tf32Switch.NONE
    blocks: int = 0  # thread blocks of the grid; 0: unknown
    threads: int = 0  # a block
    launch_count: int = 1
    gemm: Gemm | None = None
    flop_fraction: float = 1.0  # FLOPs of the cheapest usual algorithm over `flop`: 1/2.25 where Winograd applies
    role: Role = Role.MAIN
    amd_bytes: float = 1.0  # what AMD's library moves in its place, over these bytes, which are NVIDIA's
    source: Source = Source.SHAPES
    reason: str = ""  # why unknown, or what was assumed

    @property
    def bytes(self) -> float:
        return self.read_bytes + self.write_bytes


@dataclass(frozen=True, kw_only=True, eq=False)
class Lowered:
    """Work as columns, (rows,) each: a row is a kernel of a trace, or the kernels an op of a capture would launch."""

    op: NDArray[np.int32]  # row of the trace's ops, -1: none
    kernel: NDArray[np.int32]  # row of the trace's kernels, -1: a capture without a GPU
    family: Interned[str]  # Family value; None only where source is "none"
    flop: F64  # nan: unknown
    read_bytes: F64  # nan: unknown
    write_bytes: F64  # nan: unknown
    blocks: NDArray[np.int64]  # recorded grid where there is one; 0: unknown
    threads: NDArray[np.int32]  # a block; 0: unknown
    launch_count: NDArray[np.int32]
    rate_class: Interned[str]  # RateClass value
    tf32: NDArray[np.int8]  # Tf32Switch
    gemm: NDArray[np.int64]  # (rows, 4): batch, m, n, k; zeros: not a product
    flop_fraction: F64  # of a recorded kernel: what it really did, where its name tells (Winograd, a causal mask)
    memory_bound: NDArray[np.bool_]  # by the family's traits or the kernel's name
    role: NDArray[np.int8]  # Role
    amd_bytes: F64  # factor on the bytes where AMD's library does it
    source: Interned[str]  # Source value
    reason: Interned[str]

    def __len__(self) -> int:
        return len(self.op)

    @property
    def bytes(self) -> F64:
        """Moved to and from device memory; nan: unknown."""
        return self.read_bytes + self.write_bytes


def rate_class_on(
    rate_class: RateClass,
    tf32: Tf32Switch,
    *,
    has_tf32: bool,
    convolution_tf32: bool = True,
    matmul_tf32: bool = False,
) -> RateClass:
    """The class a kernel computes in on a GPU: the same program with the same flags, not the same arithmetic.

    The defaults are torch's: cuDNN convolutions may use TF32, matrix products may not.

    >>> rate_class_on(RateClass.FP32, Tf32Switch.CONVOLUTION, has_tf32=True)
    <RateClass.TF32: 'tf32'>
    """
    allowed = {Tf32Switch.NONE: False, Tf32Switch.CONVOLUTION: convolution_tf32, Tf32Switch.MATMUL: matmul_tf32}
    return RateClass.TF32 if rate_class is RateClass.FP32 and has_tf32 and allowed[tf32] else rate_class

"""Which single kernels were measured on which card, in FP32 and on its tensor cores? DeepBench's, as a table of facts.

Opens deepbench.csv beside the GPUs' data: derived by tools/write_deepbench.py from baidu-research/DeepBench at
da81ba7820739e2e506dc27f382d15be5479f98f (Apache-2.0, Copyright Baidu and contributors), results/train/*.xlsx, forward
times, changed: flattened, both precisions beside one another, work added.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from surfer_lab.hardware.cards import DATA_FOLDER
from surfer_lab.units import NS_PER_MS, NS_PER_S

__all__ = ["FILE", "SOURCE", "BenchmarkKernel", "kernels_of", "load_kernels"]

FILE: Final = "deepbench.csv"
SOURCE: Final = "baidu-research/DeepBench, results/train (Apache-2.0)"
_FP32_BYTES: Final = 4
_FP16_BYTES: Final = 2


@dataclass(frozen=True, kw_only=True)
class BenchmarkKernel:
    """One kernel on one card: FLOPs, elements moved at least once, and its forward time in both precisions."""

    gpu: str
    kind: str  # "product", "convolution", "recurrent"
    shape: str
    flop: float
    elements: float
    fp32_ns: float
    fp16_ns: float

    def intensity(self, *, is_fp16: bool = False) -> float:
        """FLOPs by byte moved."""
        return self.flop / (self.elements * (_FP16_BYTES if is_fp16 else _FP32_BYTES))

    def flop_per_s(self, *, is_fp16: bool = False) -> float:
        """Achieved."""
        return self.flop / (self.fp16_ns if is_fp16 else self.fp32_ns) * NS_PER_S

    def bytes_per_s(self, *, is_fp16: bool = False) -> float:
        """Achieved, of the bytes that must be moved."""
        return self.flop_per_s(is_fp16=is_fp16) / self.intensity(is_fp16=is_fp16)

    @property
    def tensor_core_gain(self) -> float:
        """FP32 time over FP16 time."""
        return self.fp32_ns / self.fp16_ns


@cache
def load_kernels() -> tuple[BenchmarkKernel, ...]:
    """All of them.

    >>> sorted({kernel.gpu for kernel in load_kernels()})
    ['T4', 'V100 SXM2 16GB']
    """
    with (DATA_FOLDER / FILE).open(encoding="utf-8", newline="") as lines:
        return tuple(
            BenchmarkKernel(
                gpu=row["gpu"],
                kind=row["kind"],
                shape=row["shape"],
                flop=float(row["flop"]),
                elements=float(row["elements"]),
                fp32_ns=float(row["fp32_ms"]) * NS_PER_MS,
                fp16_ns=float(row["fp16_ms"]) * NS_PER_MS,
            )
            for row in csv.DictReader(lines)
        )


def kernels_of(gpu_name: str) -> Sequence[BenchmarkKernel]:
    """Those measured on a card; none for most."""
    return tuple(kernel for kernel in load_kernels() if kernel.gpu == gpu_name)

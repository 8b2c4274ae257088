"""Which ways of torch.compile may a step be asked about?"""

from __future__ import annotations

from enum import Enum

__all__ = ["CompileMode"]


class CompileMode(Enum):
    """The values are the words of the vocabulary (`--compile`)."""

    OFF = "off"
    DEFAULT = "default"  # TorchInductor: fused kernels, one launch each
    REDUCE_OVERHEAD = "reduce-overhead"  # the same kernels, launched as CUDA graphs

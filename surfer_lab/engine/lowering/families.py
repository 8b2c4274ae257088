"""Which families of GPU work the engine tells apart, and what holds for all kernels of a family.

A family is the grain of efficiency: kernels of one family reach about the same fraction of the roofline on one GPU
(ENGINE.md: families instead of one constant were the second largest gain in accuracy). The traits here are data for
the engine: does the library pick another kernel on another GPU, is the work bound by memory whatever the size, may a
compiler fuse it with its neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

__all__ = ["FAMILY_TRAITS", "Family", "FamilyTraits", "Fusion", "traits"]


class Family(Enum):
    """Values are what tables and screens print."""

    CONV_1X1 = "conv 1x1"
    CONV_KXK = "conv kxk"
    CONV_STEM = "conv stem"  # at most four input channels: the image
    CONV_PATCH = "conv patch"  # stride = kernel: patches that do not overlap
    CONV_GROUPED = "conv grouped"
    CONV_DEPTHWISE = "conv depthwise"
    DGRAD_1X1 = "data gradient 1x1"
    DGRAD_KXK = "data gradient kxk"
    DGRAD_STEM = "data gradient stem"
    DGRAD_PATCH = "data gradient patch"
    DGRAD_GROUPED = "data gradient grouped"
    DGRAD_DEPTHWISE = "data gradient depthwise"
    WGRAD_1X1 = "weight gradient 1x1"
    WGRAD_KXK = "weight gradient kxk"
    WGRAD_STEM = "weight gradient stem"
    WGRAD_PATCH = "weight gradient patch"
    WGRAD_GROUPED = "weight gradient grouped"
    WGRAD_DEPTHWISE = "weight gradient depthwise"
    CONV = "conv"  # known to be one, kind unknown (from a kernel's name)
    DGRAD = "data gradient"
    WGRAD = "weight gradient"
    MM = "mm"
    BMM = "bmm"
    ATTENTION = "attention"
    ATTENTION_BACKWARD = "attention backward"
    BATCH_NORM = "batch norm"
    BATCH_NORM_BACKWARD = "batch norm backward"
    LAYER_NORM = "layer norm"
    LAYER_NORM_BACKWARD = "layer norm backward"
    GROUP_NORM = "group norm"
    GROUP_NORM_BACKWARD = "group norm backward"
    POOL = "pool"
    POOL_BACKWARD = "pool backward"
    REDUCTION = "reduction"
    SCAN = "scan"
    SOFTMAX = "softmax"
    SOFTMAX_BACKWARD = "softmax backward"
    LOSS = "loss"
    CAST = "cast"
    COPY = "copy"
    LAYOUT = "layout"  # transposes and strided copies
    CAT = "cat"
    INTERPOLATE = "interpolation"
    INTERPOLATE_BACKWARD = "interpolation backward"
    GATHER = "gather"  # indexing and embedding, forward
    SCATTER = "scatter"  # index_put, scatter_add, embedding backward: atomics or sorting
    UNARY = "unary"
    BINARY = "binary"
    DROPOUT = "dropout"
    RANDOM = "random"
    FILL = "fill"
    SORT = "sort"
    OPTIMIZER = "optimizer"
    RNN = "rnn"
    RNN_BACKWARD = "rnn backward"
    FFT = "fft"
    LINALG = "linear algebra"
    FUSED_POINTWISE = "fused pointwise"
    FUSED_REDUCTION = "fused reduction"
    COMMUNICATION = "communication"
    MEMCPY = "memcpy"
    OTHER = "other"  # a generic estimate, counted as FALLBACK


class Fusion(Enum):
    """What a compiler (TorchInductor's rules, in outline) may do with work of a family."""

    NONE = "none"  # a library call or a collective: a fence
    POINTWISE = "pointwise"
    REDUCTION = "reduction"  # fuses with the pointwise work around it


@dataclass(frozen=True, kw_only=True)
class FamilyTraits:
    """`kernel_varying`: the library picks another kernel on another GPU, so wave scaling does not hold.

    `memory_bound`: bytes decide at every usual size. `arithmetic`: uses matrix units where the dtype allows.
    """

    kernel_varying: bool = False
    memory_bound: bool = True
    arithmetic: bool = False
    fusion: Fusion = Fusion.NONE


_ARITHMETIC: Final = FamilyTraits(kernel_varying=True, memory_bound=False, arithmetic=True)
_DEPTHWISE: Final = FamilyTraits(kernel_varying=True, memory_bound=True)
_NORM: Final = FamilyTraits(kernel_varying=True, fusion=Fusion.REDUCTION)
_POINTWISE: Final = FamilyTraits(fusion=Fusion.POINTWISE)
_REDUCTION: Final = FamilyTraits(fusion=Fusion.REDUCTION)
_MOVING: Final = FamilyTraits()

FAMILY_TRAITS: Final[dict[Family, FamilyTraits]] = {
    Family.CONV_DEPTHWISE: _DEPTHWISE,
    Family.DGRAD_DEPTHWISE: _DEPTHWISE,
    Family.WGRAD_DEPTHWISE: _DEPTHWISE,
    **dict.fromkeys(
        (
            Family.CONV_1X1, Family.CONV_KXK, Family.CONV_STEM, Family.CONV_PATCH, Family.CONV_GROUPED,
            Family.DGRAD_1X1, Family.DGRAD_KXK, Family.DGRAD_STEM, Family.DGRAD_PATCH, Family.DGRAD_GROUPED,
            Family.WGRAD_1X1, Family.WGRAD_KXK, Family.WGRAD_STEM, Family.WGRAD_PATCH, Family.WGRAD_GROUPED,
            Family.CONV, Family.DGRAD, Family.WGRAD, Family.MM, Family.BMM, Family.ATTENTION,
            Family.ATTENTION_BACKWARD, Family.RNN, Family.RNN_BACKWARD,
        ),
        _ARITHMETIC,
    ),
    **dict.fromkeys(
        (
            Family.BATCH_NORM, Family.BATCH_NORM_BACKWARD, Family.LAYER_NORM, Family.LAYER_NORM_BACKWARD,
            Family.GROUP_NORM, Family.GROUP_NORM_BACKWARD,
        ),
        _NORM,
    ),
    **dict.fromkeys(
        (
            Family.UNARY, Family.BINARY, Family.CAST, Family.COPY, Family.LAYOUT, Family.FILL, Family.RANDOM,
            Family.DROPOUT, Family.GATHER, Family.CAT, Family.FUSED_POINTWISE, Family.INTERPOLATE,
        ),
        _POINTWISE,
    ),
    **dict.fromkeys(
        (
            Family.REDUCTION, Family.SOFTMAX, Family.SOFTMAX_BACKWARD, Family.LOSS, Family.FUSED_REDUCTION,
        ),
        _REDUCTION,
    ),
    **dict.fromkeys(
        (
            Family.POOL, Family.POOL_BACKWARD, Family.SCAN, Family.INTERPOLATE_BACKWARD, Family.SCATTER,
            Family.OPTIMIZER, Family.COMMUNICATION, Family.MEMCPY,
        ),
        _MOVING,
    ),
    Family.SORT: FamilyTraits(),
    Family.FFT: FamilyTraits(kernel_varying=True),
    Family.LINALG: FamilyTraits(kernel_varying=True, memory_bound=False),
    Family.OTHER: FamilyTraits(memory_bound=False),
}  # fmt: skip


def traits(family: Family | str) -> FamilyTraits:
    """Traits of a family or of its printed name.

    >>> traits("mm").kernel_varying, traits(Family.UNARY).memory_bound
    (True, True)
    """
    return FAMILY_TRAITS[family if isinstance(family, Family) else Family(family)]

"""What do the facts of items mean on GPUs? Two times, of arithmetic and of bytes, and features without units.

Features that name no GPU are worked out once an item; only waves and intensity are worked out for each pair of item and
GPU. No peak rates, clocks or names: a network would learn by heart what few GPUs are in the data. Nor sizes against the
SMs or the cache: with them, steps of a GPU held out came less near.
Sizes count up to where they fill any GPU: a batch twice as large then takes twice as long.

`shortest_ms` is the time below which no item is predicted: of the arithmetic at the greater of peak and sustained rate
(k x k convolutions: FLOPs over 2.25, Winograd's F(2x2, 3x3)), and of the bytes that the L2 cache cannot hold, once as
read and once as written, at the greater of both bandwidths. Casts and fused work have only the first: their bytes are
counted from above (autocast keeps casts of weights, a compiler recomputes what is cheap).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.learned.facts import FAMILIES, Fact
from surfer_lab.engine.lowering import Family, traits
from surfer_lab.engine.rates import CLASS_INDEX, RATE_CLASSES, rates_of
from surfer_lab.engine.roofline import cached_bandwidth
from surfer_lab.engine.wave_scaling import BYTES_PER_S_PER_THREAD
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.gpu import Gpu

__all__ = ["GROUP_OF_FAMILY", "IS_ARITHMETIC", "Group", "ItemTerms", "item_features", "item_terms"]

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
I8 = NDArray[np.int8]
B = NDArray[np.bool_]


class Group(IntEnum):
    """Families that share what their features mean."""

    MOVING = 0  # norms, reductions, pointwise work, copies
    CONVOLUTION = 1
    GROUPED = 2
    DEPTHWISE = 3
    PRODUCT = 4  # matrix products and attention


_PRODUCTS: Final = (Family.MM, Family.BMM, Family.ATTENTION, Family.ATTENTION_BACKWARD)
_FP32: Final = CLASS_INDEX[RateClass.FP32]
_FP16: Final = CLASS_INDEX[RateClass.FP16]
_TILES: Final = ((128, 128), (128, 64), (64, 128), (64, 64))
_MS_A_SECOND: Final = 1e3
_SHORTEST_MS: Final = 1e-9  # logarithms of nothing


def _group(family: Family) -> Group:
    name = family.value
    if family in _PRODUCTS:
        return Group.PRODUCT
    if "depthwise" in name:
        return Group.DEPTHWISE
    if "grouped" in name:
        return Group.GROUPED
    return Group.CONVOLUTION if "conv" in name or "gradient" in name else Group.MOVING


# by family code, the last for items without a family
GROUP_OF_FAMILY: Final = np.array([*(_group(family) for family in FAMILIES), Group.MOVING], dtype=np.int64)
IS_ARITHMETIC: Final = np.array([*(traits(family).arithmetic for family in FAMILIES), False], dtype=bool)
_IS_WEIGHT_GRADIENT: Final = np.array([*("weight gradient" in one.value for one in FAMILIES), False], dtype=bool)
_WINOGRAD: Final = 2.25
_CACHES_TO_FORGET: Final = 32.0  # what moves so many times a cache's size finds nothing in it; not fitted
_IS_KXK: Final = np.array(
    [*(one in (Family.CONV_KXK, Family.DGRAD_KXK, Family.WGRAD_KXK) for one in FAMILIES), False], dtype=bool
)
_IS_COUNTED_FROM_ABOVE: Final = np.array(
    [*(one in (Family.CAST, Family.FUSED_POINTWISE, Family.FUSED_REDUCTION) for one in FAMILIES), False], dtype=bool
)


@dataclass(frozen=True, kw_only=True, eq=False)
class ItemTerms:
    """`of_item` (items, A); the others are of pairs, (gpus, items) and (gpus, items, B)."""

    of_item: F32
    of_pair: F32
    compute_ms: F32  # at the sustained rate of the class that does the arithmetic
    memory_ms: F32  # at the bandwidth that the grid can draw, faster where the cache holds the tensors
    shortest_ms: F32


def item_features(facts: F64) -> F32:
    """Features that name no GPU, (items, A)."""
    family = facts[:, Fact.FAMILY].astype(np.int64)
    has_product = facts[:, Fact.BATCH] > 0
    batch, m, n, k = (np.maximum(facts[:, Fact.BATCH + at], 1.0) for at in range(4))
    moved, read, launches = facts[:, Fact.MOVED_BYTES], facts[:, Fact.READ_BYTES], facts[:, Fact.LAUNCHES]
    backward = _IS_WEIGHT_GRADIENT[family]
    width = np.where(backward, m, n)  # channels of a group
    taps = np.where(backward, n, k)
    depthwise = GROUP_OF_FAMILY[family] == Group.DEPTHWISE
    grouped = has_product & (batch > 1)
    layout, base = facts[:, Fact.MEMORY_FORMAT], facts[:, Fact.RATE_CLASS]
    products = [
        *(np.log(m * n / (np.ceil(m / tall) * tall * np.ceil(n / wide) * wide)) for tall, wide in _TILES),
        np.log(n / (np.ceil(n / 32) * 32)), np.log(k / (np.ceil(k / 32) * 32)),
        np.clip(np.log(m), 0, 10) / 2, np.clip(np.log(n), 0, 9), np.clip(np.log(k), 0, 9), np.clip(np.log(batch), 0, 9),
        k % 8 == 0, n % 8 == 0, k % 64 == 0, n % 64 == 0, batch % 8 == 0, batch % 32 == 0,
    ]  # fmt: skip
    columns = [
        *(np.where(has_product, column, 0.0) for column in products),
        grouped & (width <= 8), grouped & (width <= 32), grouped & (width > 64), grouped & (np.log2(width) % 1 == 0),
        np.where(depthwise, np.log(taps), 0.0),
        np.clip(np.log(np.maximum(read, 1.0) / np.maximum(moved - read, 1.0)), -4, 4),
        np.log(launches), np.clip(np.log(moved / launches / 1e6 + _SHORTEST_MS), -4, 5),
        layout == 1, layout == 2, layout == 3, base == _FP32, base == _FP16,
    ]  # fmt: skip
    return np.stack([np.asarray(column, dtype=np.float32) for column in columns], axis=1)


def item_terms(facts: F64, classes: I8, gpus: Sequence[Gpu]) -> ItemTerms:
    """Terms of items (items, facts) on GPUs; `classes` (gpus, items) are the rate classes that do the arithmetic."""
    rates = rates_of(gpus)
    family = facts[:, Fact.FAMILY].astype(np.int64)
    arithmetic = IS_ARITHMETIC[family]
    own = np.take_along_axis(rates.flop_per_s, classes.astype(np.int64), axis=1)
    rate = np.where(arithmetic, own, rates.flop_per_s[:, [_FP32]])
    flop, moved, launches = facts[:, Fact.FLOP], facts[:, Fact.MOVED_BYTES], facts[:, Fact.LAUNCHES]
    compute = np.maximum(flop / rate * _MS_A_SECOND, _SHORTEST_MS).astype(np.float32)
    whole = np.maximum(moved / rates.bytes_per_s[:, None] * _MS_A_SECOND, 1e-7).astype(np.float32)
    threads = facts[:, Fact.THREADS]
    l2 = np.array([gpu.l2_bytes or 0 for gpu in gpus], dtype=np.float64)
    cached = cached_bandwidth(rates.bytes_per_s, l2, moved / launches, arithmetic)
    drawn = np.where((threads > 0) & ~arithmetic, threads / launches * BYTES_PER_S_PER_THREAD, np.inf)
    slowed = (rates.bytes_per_s[:, None] / np.minimum(cached, drawn)).astype(np.float32)
    columns = [np.clip(np.log(compute) - np.log(whole), -4, 4), *_waves(facts, rates.sm_count[:, None])]
    return ItemTerms(
        of_item=item_features(facts),
        of_pair=np.stack(columns, axis=2).astype(np.float32),
        compute_ms=compute,
        memory_ms=whole * slowed,
        shortest_ms=_shortest_ms(facts, classes, gpus),
    )


def _shortest_ms(facts: F64, classes: I8, gpus: Sequence[Gpu]) -> F32:
    family = facts[:, Fact.FAMILY].astype(np.int64)
    rates = np.array([[_fastest(gpu, one) for one in RATE_CLASSES] for gpu in gpus])
    rate = np.take_along_axis(rates, classes.astype(np.int64), axis=1)
    flop = facts[:, Fact.FLOP] * facts[:, Fact.FLOP_FRACTION] / np.where(_IS_KXK[family], _WINOGRAD, 1.0)
    compute = np.where(IS_ARITHMETIC[family], flop, 0.0) / rate
    bandwidth = np.array([max(gpu.bandwidth_bytes_per_s, gpu.sustained_bandwidth.per_s) for gpu in gpus])[:, None]
    moved = facts[:, Fact.MOVED_BYTES]
    cache = np.array([gpu.l2_bytes or 0 for gpu in gpus], dtype=np.float64)[:, None] * facts[:, Fact.LAUNCHES]
    kept = np.clip(1.0 - moved / np.maximum(_CACHES_TO_FORGET * cache, 1.0), 0.0, 1.0)
    held = 2.0 * cache * kept
    beyond = np.where(_IS_COUNTED_FROM_ABOVE[family], 0.0, np.maximum(moved - held, 0.0))
    shortest: F32 = (np.maximum(compute, beyond / bandwidth) * _MS_A_SECOND).astype(np.float32)
    return shortest


def _fastest(gpu: Gpu, rate_class: RateClass) -> float:
    sustained = gpu.sustained.get(rate_class)
    return max(gpu.peak_flop_per_s.get(rate_class, 0.0), sustained.per_s if sustained is not None else 0.0) or np.inf


def _waves(facts: F64, sm_count: F64) -> list[F32]:
    """Share of the last wave that is used, by tile, and the logarithm of the waves of square tiles."""
    has_product = facts[:, Fact.BATCH] > 0
    batch, m, n = (np.maximum(facts[:, Fact.BATCH + at], 1.0) for at in range(3))
    count = sm_count.astype(np.float32)
    found: list[F32] = []
    for tall, wide in _TILES:
        waves = (np.ceil(m / tall) * np.ceil(n / wide) * batch).astype(np.float32) / count
        found.append(np.where(has_product, np.log(waves / np.ceil(waves)), np.float32(0)))
        if tall == wide:
            found.append(np.where(has_product, np.clip(np.log(waves), -5, 3), np.float32(0)))
    return found

"""What would measured kernels take in another precision? Their time, times new roofline over the one as they ran.

    T(d) = T_as_run(d) * f(new work, d) / f(work as run, d)          f: the roofline of `roofline`, on GPU d

Products follow autocast's lists by their family; norms, softmax, losses and sums stay float32; what lies between moves
halves where the last op with a rule before it (in launch order) gave a half. Casts are counted on the product that they
feed: its smaller operand, taken to be the weight, and its larger one where that comes from a float32 op. Kernels whose
shapes are not known are taken to have done what their measured time allows at their family's usual rates.

A profiler's trace tells no data flow, so all this is approximate: changed items are ROOFLINE with a wider range.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.estimate import Method
from surfer_lab.engine.item_times import ItemTimes, item_times
from surfer_lab.engine.lowering import Family, Tf32Switch
from surfer_lab.engine.options import EngineOptions
from surfer_lab.engine.precision import Precision
from surfer_lab.engine.rates import CLASS_INDEX, rates_of
from surfer_lab.engine.tf32 import tf32_flags
from surfer_lab.engine.wave_scaling import KERNEL_FLOOR_NS
from surfer_lab.engine.work_items import Work
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.gpu import Gpu
from surfer_lab.trace.model import Trace
from surfer_lab.trace.tables import Phase
from surfer_lab.units import NS_PER_S

__all__ = ["in_precision"]

F64 = NDArray[np.float64]
B = NDArray[np.bool_]

# memory's share of the time of kernels whose shapes are not known: as `item_times` has it
_UNKNOWN_PRODUCT_SHARE: Final = 0.15
_UNKNOWN_SHARE: Final = 0.5
# how far the ratio of two rooflines may be off: with shapes and without. No pairs of runs of one step in two precisions
# are at hand to measure it; DeepBench's pairs of products scatter by 1.3 about their family's gain.
_RATIO_FACTOR: Final = 1.3
_RATIO_FACTOR_BY_NAME: Final = 1.6
_CAST_BYTES: Final = 6.0  # an element read as float32 and written as a half, or back

_FP32: Final = CLASS_INDEX[RateClass.FP32]
_TF32: Final = CLASS_INDEX[RateClass.TF32]
_HALF_CLASSES: Final = (CLASS_INDEX[RateClass.FP16], CLASS_INDEX[RateClass.BF16])
_CLASS_OF_DTYPE: Final = {"float16": CLASS_INDEX[RateClass.FP16], "bfloat16": CLASS_INDEX[RateClass.BF16]}

# families that autocast keeps in float32
_SINGLE: Final = frozenset(
    (
        Family.LAYER_NORM, Family.LAYER_NORM_BACKWARD, Family.GROUP_NORM, Family.GROUP_NORM_BACKWARD, Family.SOFTMAX,
        Family.SOFTMAX_BACKWARD, Family.LOSS, Family.SCAN, Family.INTERPOLATE, Family.INTERPOLATE_BACKWARD,
    )
)  # fmt: skip
# families that precision does not touch
_APART: Final = frozenset((Family.OPTIMIZER, Family.MEMCPY, Family.COMMUNICATION, Family.SORT, Family.RANDOM))


@dataclass(frozen=True, kw_only=True, eq=False)
class _Change:
    """The work as it would be, (items,)."""

    work: Work
    changed: B
    vanishes: B  # casts that are not needed


def in_precision(
    times: ItemTimes,
    trace: Trace,
    work: Work,
    origin: Gpu,
    gpus: Sequence[Gpu],
    options: EngineOptions,
    precision: Precision,
) -> ItemTimes:
    """`times` (as run) carried to another precision; `options` are those they were worked out with."""
    known = _with_assumed_work(work, origin)
    change = _change(trace, known, precision)
    as_run = tf32_flags(origin, options)
    before = _roofline(_as_recorded(known) if as_run.as_recorded else known, gpus, options)
    allowed = precision is Precision.TF32
    flags = options if precision.half else replace(options, convolution_tf32=allowed, matmul_tf32=allowed)
    if precision.half and as_run.as_recorded:
        after = _roofline(_as_recorded(change.work), gpus, flags)
    else:
        after = _roofline(change.work, gpus, flags)
    changed = change.changed
    if precision.half is None:
        changed = changed | ((before != after).any(axis=0) & work.arithmetic)  # TF32 comes or goes
    ratio = np.where(changed, np.divide(after, before, out=np.ones_like(after), where=before > 0), 1.0)
    ratio[:, change.vanishes] = 0.0
    touched = (changed | change.vanishes) & ~work.unscaled & ~work.is_communication & ~work.is_copy
    ratio[:, ~touched] = 1.0
    own = np.where(work.by_name | work.by_fallback, np.log(_RATIO_FACTOR_BY_NAME), np.log(_RATIO_FACTOR))
    duration = times.duration_ns * ratio
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.log(np.where(times.duration_ns > 0, times.high_ns / times.duration_ns, 1.0))
    factor = np.exp(np.where(touched & (ratio != 1.0), np.hypot(spread, own), spread))
    method = np.where(touched & (ratio != 1.0), np.int8(Method.ROOFLINE), times.method)
    return replace(
        times, duration_ns=duration, low_ns=duration / factor, high_ns=duration * factor, method=method.astype(np.int8)
    )


def _roofline(work: Work, gpus: Sequence[Gpu], options: EngineOptions) -> F64:
    return item_times(replace(work, measured_ns=np.full(len(work), np.nan)), None, gpus, options).duration_ns


def _as_recorded(work: Work) -> Work:
    """Float32 work with its recorded choice of TF32 fixed, whatever the flags say."""
    ran = work.ran_tf32 & (work.base_class == _FP32)
    return replace(
        work, base_class=np.where(ran, np.int8(_TF32), work.base_class), tf32=np.full_like(work.tf32, Tf32Switch.NONE)
    )


def _with_assumed_work(work: Work, origin: Gpu) -> Work:
    """FLOPs and bytes of kernels that have none: what their time allows on the origin."""
    rates = rates_of([origin])
    ran = np.where(work.ran_tf32, np.int8(_TF32), work.base_class)
    above = np.maximum(np.nan_to_num(work.measured_ns) - KERNEL_FLOOR_NS, 0.0) / NS_PER_S
    share = np.where(work.memory_bound, 1.0, np.where(work.arithmetic, _UNKNOWN_PRODUCT_SHARE, _UNKNOWN_SHARE))
    fraction = np.where(np.isin(ran, (_FP32, CLASS_INDEX[RateClass.FP64])), work.compute_fraction, work.matrix_fraction)
    rate = rates.flop_per_s[0, ran] * np.where(work.arithmetic, fraction, 1.0)
    flop, moved = work.items.flop, work.items.bytes
    items = replace(
        work.items,
        flop=np.where(np.isfinite(flop), flop, (1.0 - share) * above * rate),
        bytes=np.where(np.isfinite(moved), moved, share * above * rates.bytes_per_s[0] * work.memory_fraction),
    )
    return replace(work, items=items)


def _change(trace: Trace, work: Work, precision: Precision) -> _Change:
    count = len(work)
    half = precision.half
    families = np.array([work.family[code] is not None for code in work.family_code], dtype=bool)
    single = _member(work, _SINGLE)
    apart = _member(work, _APART) | ~families | work.is_copy | work.is_communication | work.unscaled
    is_cast = _member(work, frozenset((Family.CAST,)))
    ran_half = np.isin(work.base_class, _HALF_CLASSES) & work.arithmetic
    was_half = bool(ran_half.sum() * 2 > max(1, int(work.arithmetic.sum())))
    follows = _follows_half(work, single)
    to_half, to_single = half is not None and not was_half, half is None and was_half
    base, bytes_factor, added = work.base_class.copy(), np.ones(count), np.zeros(count)
    if half is not None:
        floats = np.isin(base, (_FP32, *_HALF_CLASSES)) & work.arithmetic
        base[floats] = _CLASS_OF_DTYPE[half]
    else:
        base[ran_half] = _FP32
    if to_half and precision.is_autocast:
        bytes_factor[work.arithmetic | (follows & ~single & ~apart)] = 0.5
        weights, others = _operands(trace, work)
        added = np.where(work.arithmetic, _CAST_BYTES * (weights + np.where(follows, 0.0, others)), 0.0)
    elif to_half:
        bytes_factor[~apart | _member(work, frozenset((Family.OPTIMIZER,)))] = 0.5
    elif to_single:
        bytes_factor[ran_half | (follows & ~single & ~apart)] = 2.0
    vanishes = is_cast & (to_single or (half is not None and not precision.is_autocast and was_half))
    moved = work.items.bytes * bytes_factor + added
    launches = work.items.launch_count + (added > 0).astype(work.items.launch_count.dtype)
    changed = (bytes_factor != 1.0) | (added > 0) | (base != work.base_class)
    return _Change(
        work=replace(work, base_class=base, items=replace(work.items, bytes=moved, launch_count=launches)),
        changed=changed,
        vanishes=vanishes,
    )


def _member(work: Work, families: frozenset[Family]) -> B:
    table = np.array([family in families for family in work.family], dtype=bool)
    chosen: B = table[work.family_code]
    return chosen


def _follows_half(work: Work, single: B) -> B:
    """Whether the last item with a rule of its own, in launch order and up to this one, gives a half under autocast."""
    ruled = work.arithmetic | single
    last = np.maximum.accumulate(np.where(ruled, np.arange(len(work)), -1))
    before = np.concatenate([[-1], last[:-1]]) if len(work) else last
    at = np.where(ruled & ~work.arithmetic, last, before)
    return (at >= 0) & work.arithmetic[np.maximum(at, 0)]


def _operands(trace: Trace, work: Work) -> tuple[F64, F64]:
    """Elements of the weight and of the other operand of each product's op, 0 where not known or not trained."""
    ops = trace.ops
    sizes = np.array([_two_operands(shapes) for shapes in ops.input_shapes.values] or [(0.0, 0.0)])
    op = work.items.op
    known = (op >= 0) & work.arithmetic
    codes = np.where(known, ops.input_shapes.codes[np.maximum(op, 0)], -1) if len(ops) else np.full(len(work), -1)
    found = np.where(codes[:, None] >= 0, sizes[np.maximum(codes, 0)], 0.0)
    weighs = known & np.isin(ops.phase[np.maximum(op, 0)], (Phase.FORWARD, Phase.BACKWARD)) if len(ops) else known
    return np.where(weighs, found[:, 0], 0.0), np.where(weighs, found[:, 1], 0.0)


def _two_operands(shapes: object) -> tuple[float, float]:
    """Elements of the smaller and the larger of the two largest operands."""
    if not isinstance(shapes, tuple):
        return 0.0, 0.0
    tensors = [entry for entry in shapes if isinstance(entry, tuple) and all(isinstance(size, int) for size in entry)]
    sizes = sorted((float(np.prod(entry, dtype=np.float64)) for entry in tensors if len(entry) > 1), reverse=True)[:2]
    return (sizes[1], sizes[0]) if len(sizes) == 2 else (0.0, 0.0)

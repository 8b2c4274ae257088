"""How long does every item take on every GPU, how was that obtained, and what bounds it there?

One pass over (gpus, items) arrays, in blocks of items that bound the memory. Which rule an item gets:

| item | rule | method |
|---|---|---|
| measured, shapes known | wave scaling | WAVE |
| measured, a product with shapes, another die | that or the learned ratio, blended with the absolute one | BLEND |
| measured on an origin that is not trusted, shapes known | as not measured | ROOFLINE, LEARNED |
| measured, only its name known | wave scaling; memory share by family, 1 only where memory is known to bound | NAMED |
| measured, nothing known | wave scaling, half of it by bandwidth | FALLBACK |
| not measured | roofline | ROOFLINE |
| not measured, an FP32 product | learned predictor, where it won on dies held out | LEARNED |
| copy over the host link | by PCIe generation; by way of pageable memory, as measured: the host bounds it | HOST |
| collective, copy to another GPU | as measured | COMMUNICATION |
| nothing can be said | as measured | UNSCALED |
| on the GPU it was recorded on | as measured | MEASURED |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.blending import RATIO_FAMILIES, absolute_share, blended_ns, may_be_absolute
from surfer_lab.engine.estimate import Limit, Method
from surfer_lab.engine.learned.items import learned_ratio
from surfer_lab.engine.learned_products import learned_products
from surfer_lab.engine.literal_scaling import literal_gamma, scale_exact_waves, scale_many_waves
from surfer_lab.engine.options import EngineOptions, ScalingMethod
from surfer_lab.engine.ranges import CONVOLUTIONS, Kind, Spreads, StepUnits, is_slot_powered, seen_dies, spreads
from surfer_lab.engine.rates import (
    CLASS_INDEX,
    GpuRates,
    class_on,
    effective_rate,
    on_matrix_units,
    rates_of,
    used_class,
)
from surfer_lab.engine.roofline import cached_bandwidth, roofline
from surfer_lab.engine.tf32 import tf32_flags
from surfer_lab.engine.wave_scaling import COPY_FLOOR_NS, KERNEL_FLOOR_NS, Scaled, memory_share, scale_waves
from surfer_lab.engine.work_items import Transfer, Work
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.gpu import Gpu, Vendor
from surfer_lab.hardware.occupancy import wave_blocks
from surfer_lab.units import NS_PER_S

__all__ = ["ItemTimes", "absolute_at_origin", "item_times"]

I8 = NDArray[np.int8]
I64 = NDArray[np.int64]
F64 = NDArray[np.float64]
B = NDArray[np.bool_]

# Memory share of products whose shapes are not known: the median of DeepBench's 1x1 convolutions on a V100's ridge
# (0.17; 3x3: 0.03). Of a kernel of which nothing is known: half, the middle.
UNKNOWN_PRODUCT_SHARE: Final = 0.15
UNKNOWN_SHARE: Final = 0.5
# a copy from pageable memory, of which a capture does not know more: 9.6 MB in 1.44 ms in a public V100 trace
STAGED_BYTES_PER_S: Final = 6.7e9
LATENCY_SHARE: Final = 0.5  # of the time below which the floor is not called the limit
_BLOCK_ITEMS: Final = 16_384  # bounds the memory of (gpus, items) arrays in between


@dataclass(frozen=True, kw_only=True, eq=False)
class ItemTimes:
    """(gpus, items) each, ns."""

    duration_ns: F64
    low_ns: F64
    high_ns: F64
    step_factor: F64  # of an item in a step, whose items err together: less than of one alone
    method: I8
    limited_by: I8
    absolute_share: F64  # of the prediction without the origin's times in each; 1 without an origin


def item_times(
    work: Work, origin: Gpu | None, gpus: Sequence[Gpu], options: EngineOptions, *, is_trusted: bool = True
) -> ItemTimes:
    """Times of all items on all GPUs; `origin` is the GPU of the measured times, None for a capture without one.

    `is_trusted`: whether the origin looks healthy (`origin_health`).
    """
    shape = (len(gpus), len(work))
    times = ItemTimes(
        duration_ns=np.empty(shape), low_ns=np.empty(shape), high_ns=np.empty(shape),
        method=np.empty(shape, dtype=np.int8), limited_by=np.empty(shape, dtype=np.int8),
        step_factor=np.empty(shape), absolute_share=np.empty(shape),
    )  # fmt: skip
    scaler = _Scaler(origin, gpus, options, is_trusted=is_trusted)
    scaler.step_units = scaler.units_of_step(work)
    for start in range(0, len(work), _BLOCK_ITEMS):
        rows = slice(start, start + _BLOCK_ITEMS)
        part = scaler.times(work.rows(rows))
        for name in ("duration_ns", "low_ns", "high_ns", "step_factor", "method", "limited_by", "absolute_share"):
            getattr(times, name)[:, rows] = getattr(part, name)
    return times


def absolute_at_origin(work: Work, origin: Gpu, options: EngineOptions) -> tuple[F64, B]:
    """What is predicted for the origin itself without its times, ns, and whether a network says it; (items,) both."""
    times, learned = np.empty(len(work)), np.empty(len(work), dtype=bool)
    scaler = _Scaler(origin, [origin], options, is_trusted=True)
    for start in range(0, len(work), _BLOCK_ITEMS):
        rows = slice(start, start + _BLOCK_ITEMS)
        times[rows], learned[rows] = scaler.absolute_at_origin(work.rows(rows))
    return times, learned


class _Scaler:
    """What holds for all blocks of one prediction."""

    def __init__(self, origin: Gpu | None, gpus: Sequence[Gpu], options: EngineOptions, *, is_trusted: bool) -> None:
        self.origin, self.gpus, self.options = origin, tuple(gpus), options
        self.is_trusted = is_trusted
        self.same_die = np.array([origin is not None and gpu.die == origin.die for gpu in gpus], dtype=bool)
        self.rates = rates_of(gpus)
        self.origin_rates = rates_of([origin]) if origin is not None else None
        self.flags = tf32_flags(origin, options)
        self.is_amd = np.array([gpu.vendor is Vendor.AMD for gpu in gpus], dtype=bool)
        self.is_origin = np.array([gpu == origin for gpu in gpus], dtype=bool)
        self.slot_powered = np.array([is_slot_powered(gpu) for gpu in gpus], dtype=bool)
        self.step_units = np.zeros(len(self.gpus), dtype=np.int64)  # of the whole step, whose blocks come one by one
        self.link_ratio = np.array([_link_ratio(origin, gpu) for gpu in gpus], dtype=np.float64)

    def times(self, work: Work) -> ItemTimes:
        classes = self._classes(work, self.rates)
        method = self._methods(work)
        if self.origin is None or self.origin_rates is None:
            scaled, share, learned = self._not_measured(work, classes)
            method[learned] = Method.LEARNED
            absolute = np.ones(classes.shape)
        else:
            scaled, share = self._measured(work, classes, self.origin, self.origin_rates)
            absolute = np.zeros(classes.shape)
            if self.options.blended and self.options.method is ScalingMethod.SUSTAINED:
                scaled, absolute = self._blended(work, classes, scaled, method)
        duration = scaled.duration_ns.copy()
        limit = _limits(scaled, duration)
        self._exceptions(work, duration, method, limit)
        spread = self._spreads(work, classes, method, share)
        factor = np.exp(spread.item)
        return ItemTimes(
            duration_ns=duration, low_ns=duration / factor, high_ns=duration * factor, step_factor=np.exp(spread.step),
            method=method, limited_by=limit, absolute_share=np.where(self.is_origin[:, None], 0.0, absolute),
        )  # fmt: skip

    def _spreads(self, work: Work, classes: I8, method: I8, memory_share: F64) -> Spreads:
        is_convolution = np.array([one in CONVOLUTIONS for one in work.family], dtype=bool)[work.family_code]
        kind = np.where(work.arithmetic, Kind.PRODUCT, np.where(work.reducing, Kind.REDUCING, Kind.MOVING))
        return spreads(
            method, np.where(work.arithmetic & is_convolution, Kind.CONVOLUTION, kind),
            on_matrix_units(classes, work.arithmetic), step_units=self.step_units[:, None],
            level=self.options.range_level, without_die=self.options.without_die, moved=self._moved(work, classes),
            typical_rate=np.take_along_axis(self.rates.rate_is_typical, classes.astype(np.int64), axis=1),
            slot_powered=self.slot_powered[:, None], typical_bandwidth=self.rates.bandwidth_is_typical[:, None],
            memory_share=memory_share, verified_factor=self.options.verified_factor,
        )  # fmt: skip

    def units_of_step(self, work: Work) -> I64:
        """Which `StepUnits` do the step's arithmetic, (gpus,): matrix units where they do some of it."""
        rows = np.flatnonzero(work.arithmetic)
        if not len(rows):
            return np.full(len(self.gpus), StepUnits.LANES, dtype=np.int64)
        facts = np.stack([work.base_class, work.tf32, work.ran_tf32], axis=1)[rows]
        _, first = np.unique(facts, axis=0, return_index=True)
        some = work.rows(rows[first])
        used = on_matrix_units(self._classes(some, self.rates), some.arithmetic).any(axis=1)
        left_out = self.options.without_die
        seen = np.array([gpu.die in seen_dies() and gpu.die != left_out for gpu in self.gpus], dtype=bool)
        units: I64 = np.where(used, np.where(seen, StepUnits.MATRIX_SEEN, StepUnits.MATRIX), StepUnits.LANES)
        return units

    def absolute_at_origin(self, work: Work) -> tuple[F64, B]:
        """As the function of that name, of some items."""
        if self.origin_rates is None:
            return np.zeros(len(work)), np.zeros(len(work), dtype=bool)
        scaled, _, learned = self._not_measured(work, self._class_at_origin(work, self.origin_rates))
        return scaled.duration_ns[0], learned[0]

    def _blended(self, work: Work, classes: I8, scaled: Scaled, method: I8) -> tuple[Scaled, F64]:
        """The times from the origin's, blended with those without it, and these' share; names the method in place."""
        share = np.zeros(classes.shape)
        rows = np.flatnonzero(may_be_absolute(work, is_trusted=self.is_trusted))
        if not len(rows) or (self.is_trusted and self.same_die.all()):
            return scaled, share
        some, own_classes = work.rows(rows), classes[:, rows]
        absolute, _, learned = self._not_measured(some, own_classes)
        own_share = absolute_share(learned, self.same_die, some.arithmetic, is_trusted=self.is_trusted)
        if self.is_trusted:
            own_share = np.where(self._moved(some, own_classes), 0.0, own_share)
        before = scaled.duration_ns
        of_origin = self._by_learned_ratio(some, own_classes, before[:, rows])
        times = before.copy()
        times[:, rows] = blended_ns(of_origin, absolute.duration_ns, own_share)
        share[:, rows] = own_share
        alone = np.where(learned, np.int8(Method.LEARNED), np.int8(Method.ROOFLINE))
        partly = np.where(own_share > 0.0, np.int8(Method.BLEND), method[:, rows])
        method[:, rows] = np.where(own_share >= 1.0, alone, partly)
        return scaled.stretched(np.divide(times, before, out=np.ones_like(times), where=before > 0)), share

    def _by_learned_ratio(self, work: Work, classes: I8, waves_ns: F64) -> F64:
        """Wave scaling's times, and the measured ones times the learned ratio where that did better."""
        chosen = np.array([one in RATIO_FAMILIES for one in work.family], dtype=bool)[work.family_code]
        if self.origin is None or self.origin_rates is None or not chosen.any():
            return waves_ns
        at_origin = self._class_at_origin(work, self.origin_rates)[0]
        both, ratio = learned_ratio(work, classes, self.gpus, self.origin, at_origin, self.options)
        both &= chosen & ~self.same_die[:, None] & ~self._moved(work, classes)
        floor = np.minimum(work.measured_ns, KERNEL_FLOOR_NS)
        return np.where(both, floor + (work.measured_ns - floor) * ratio, waves_ns)

    def _classes(self, work: Work, rates: GpuRates) -> I8:
        flags = self.flags
        if not flags.as_recorded:
            return class_on(
                work.base_class, work.tf32, rates, convolution_tf32=flags.convolution, matmul_tf32=flags.matmul
            )
        return used_class(rates, np.broadcast_to(_class_recorded(work), (len(rates), len(work))))

    def _measured(self, work: Work, classes: I8, origin: Gpu, origin_rates: GpuRates) -> tuple[Scaled, F64]:
        if self.options.method is not ScalingMethod.SUSTAINED:
            return self._literal(work, origin)
        ran = self._class_at_origin(work, origin_rates)
        rate = effective_rate(self.rates, classes, work.arithmetic, work.matrix_gain)
        origin_rate = effective_rate(origin_rates, ran, work.arithmetic, work.matrix_gain)[0]
        gamma = memory_share(work.items.flop, work.items.bytes, origin_rate, float(origin_rates.bytes_per_s[0]))
        unknown = np.where(work.memory_bound, 1.0, np.where(work.arithmetic, UNKNOWN_PRODUCT_SHARE, UNKNOWN_SHARE))
        gamma = np.where(np.isfinite(gamma), gamma, unknown)
        origin_resident, resident = _resident_blocks(work, [origin])[0], _resident_blocks(work, self.gpus)
        scaled = scale_waves(
            work.measured_ns, gamma, floor_ns=np.where(work.is_copy, COPY_FLOOR_NS, KERNEL_FLOOR_NS),
            origin_bandwidth=origin_rates.bytes_per_s, bandwidth=self.rates.bytes_per_s, origin_rate=origin_rate,
            rate=rate, blocks=work.blocks, threads=work.threads,
            origin_wave_blocks=np.where(work.arithmetic, float(origin.sm_count), origin_resident),
            wave_blocks=np.where(work.arithmetic, self.rates.sm_count[:, None], resident),
        )  # fmt: skip
        compute = self._off_the_lanes(work, classes, ran, scaled.compute_ns, rate)
        return replace(scaled, compute_ns=compute), np.broadcast_to(gamma, rate.shape)

    def _off_the_lanes(self, work: Work, classes: I8, ran: I8, compute_ns: F64, rate: F64) -> F64:
        """Compute time of products that could leave the FP32 lanes: the library takes the faster of the two.

        On matrix units they reach no more than their family's usual fraction of the rate: a fast algorithm of the lanes
        (Winograd: 2.6 times their rate on a V100) does not come along.
        """
        lanes = self.rates.flop_per_s[:, [CLASS_INDEX[RateClass.FP32]]]
        own = np.take_along_axis(self.rates.flop_per_s, classes.astype(np.int64), axis=1)
        shortest = np.nan_to_num(work.items.flop) / (work.matrix_fraction * own) * NS_PER_S
        on_lanes = compute_ns * rate / lanes
        leaves = on_matrix_units(classes, work.arithmetic) & ~on_matrix_units(ran, work.arithmetic)
        return np.where(leaves, np.maximum(compute_ns, np.minimum(on_lanes, shortest)), compute_ns)

    def _class_at_origin(self, work: Work, origin_rates: GpuRates) -> I8:
        return used_class(origin_rates, _class_recorded(work)[None, :])

    def _moved(self, work: Work, classes: I8) -> B:
        """Whether an item's arithmetic is done on other units than at the origin, (gpus, items)."""
        there = on_matrix_units(classes, work.arithmetic)
        if self.origin_rates is None:
            return np.zeros_like(there)
        here = on_matrix_units(self._class_at_origin(work, self.origin_rates), work.arithmetic)
        moved: B = there != here
        return moved

    def _literal(self, work: Work, origin: Gpu) -> tuple[Scaled, F64]:
        gpus = self.gpus
        bandwidth = np.array([gpu.bandwidth_bytes_per_s for gpu in gpus])
        peak = np.array([gpu.peak_flop_per_s[RateClass.FP32] for gpu in gpus])
        clock = np.array([gpu.clock_hz for gpu in gpus])
        gamma = literal_gamma(work.items.flop, work.items.bytes, peak, bandwidth)
        waves = _resident_blocks(work, [origin]), _resident_blocks(work, gpus)
        bandwidths = np.array([[origin.bandwidth_bytes_per_s]]), bandwidth[:, None]
        clocks = np.array([[origin.clock_hz]]), clock[:, None]
        if self.options.method is ScalingMethod.LITERAL:
            time = scale_exact_waves(
                work.measured_ns, gamma, work.blocks, waves=waves, bandwidth=bandwidths, clock=clocks
            )
        else:
            time = scale_many_waves(work.measured_ns, gamma, waves=waves, bandwidth=bandwidths, clock=clocks)
        parts = Scaled(
            floor_ns=np.zeros_like(time), memory_ns=gamma * time, compute_ns=time - gamma * time,
            starved=np.zeros(time.shape, dtype=bool),
        )  # fmt: skip
        return parts, gamma

    def _not_measured(self, work: Work, classes: I8) -> tuple[Scaled, F64, B]:
        lanes = self.rates.flop_per_s[:, [CLASS_INDEX[RateClass.FP32]]]
        own = np.take_along_axis(self.rates.flop_per_s, classes.astype(np.int64), axis=1)
        on_units = np.maximum(work.compute_fraction * lanes, work.matrix_fraction * own)
        product = np.where(on_matrix_units(classes, work.arithmetic), on_units, work.compute_fraction * own)
        moved = self._bytes_moved(work)
        bandwidth = cached_bandwidth(
            self.rates.bytes_per_s, self.rates.l2_bytes, moved / np.maximum(1, work.items.launch_count), work.arithmetic
        )
        scaled = roofline(
            work.items.flop, moved, work.items.launch_count.astype(np.float64),
            rate=np.where(work.arithmetic, product, lanes), bandwidth=bandwidth,
            memory_fraction=work.memory_fraction,
            threads=np.where(work.arithmetic, 0.0, work.threads),  # libraries split products until they fill the GPU
        )  # fmt: skip
        learned, learned_ns = learned_products(work, classes, self.gpus, self.options)
        scaled = scaled.stretched(np.where(learned, learned_ns / scaled.duration_ns, 1.0))
        busy = scaled.memory_ns + scaled.compute_ns
        return scaled, np.divide(scaled.memory_ns, busy, out=np.ones_like(busy), where=busy > 0), learned

    def _bytes_moved(self, work: Work) -> F64:
        """By each GPU's own library, (gpus, items) or (items,)."""
        if not self.is_amd.any() or (work.amd_bytes == 1.0).all():
            return work.items.bytes
        return work.items.bytes * np.where(self.is_amd[:, None], work.amd_bytes, 1.0)

    def _methods(self, work: Work) -> I8:
        usual = Method.WAVE if self.origin is not None else Method.ROOFLINE
        named = Method.NAMED if self.origin is not None else Method.ROOFLINE
        method = np.where(work.by_fallback, Method.FALLBACK, np.where(work.by_name, named, usual)).astype(np.int8)
        return np.broadcast_to(method, (len(self.gpus), len(work))).copy()

    def _exceptions(self, work: Work, duration: F64, method: I8, limit: I8) -> None:
        """Items that no rate of the GPU decides; changes the arrays in place."""
        over_link = work.over_host_link
        apart = work.is_communication | (work.transfer == Transfer.PEER)
        if self.origin is not None:
            floor = np.minimum(work.measured_ns, COPY_FLOOR_NS)
            ratio = np.where(work.transfer == Transfer.PINNED, self.link_ratio[:, None], 1.0)
            linked = floor + (work.measured_ns - floor) * ratio
            duration[:, over_link] = linked[:, over_link]
            kept = apart | work.unscaled
            duration[:, kept] = work.measured_ns[kept]
        else:
            linked_ns = COPY_FLOOR_NS + np.nan_to_num(work.items.bytes) / STAGED_BYTES_PER_S * NS_PER_S
            duration[:, over_link] = linked_ns[over_link]
        for chosen, code, bound in (
            (over_link, Method.HOST, Limit.HOST),
            (apart, Method.COMMUNICATION, Limit.COMMUNICATION),
            (work.unscaled, Method.UNSCALED, Limit.UNKNOWN),
        ):
            method[:, chosen] = code
            limit[:, chosen] = bound
        if self.is_origin.any():
            duration[self.is_origin] = work.measured_ns
            method[self.is_origin] = Method.MEASURED


def _class_recorded(work: Work) -> I8:
    """Rate class of each item as recorded, TF32 by the kernel's name, (items,)."""
    return np.where(work.ran_tf32, np.int8(CLASS_INDEX[RateClass.TF32]), work.base_class)


def _resident_blocks(work: Work, gpus: Sequence[Gpu]) -> F64:
    """Blocks of one wave by occupancy, (gpus, items); worked out once a distinct launch."""
    launch = np.stack([work.block_threads, work.regs_per_thread, work.smem_bytes], axis=1)
    distinct, which = np.unique(launch, axis=0, return_inverse=True)
    waves = [wave_blocks(gpu, distinct[:, 0], distinct[:, 1], distinct[:, 2])[which.reshape(-1)] for gpu in gpus]
    return np.array(waves, dtype=np.float64).reshape(len(gpus), len(work))


def _limits(scaled: Scaled, duration: F64) -> I8:
    bound = np.where(scaled.memory_ns >= scaled.compute_ns, Limit.MEMORY, Limit.COMPUTE)
    late = scaled.starved | (scaled.floor_ns >= LATENCY_SHARE * duration)
    return np.where(late, Limit.LATENCY, bound).astype(np.int8)


def _link_ratio(origin: Gpu | None, gpu: Gpu) -> float:
    """Time over the host link here against the origin's: each PCIe generation doubles the rate."""
    if origin is None or origin.pcie_generation is None or gpu.pcie_generation is None:
        return 1.0
    return float(2.0 ** (origin.pcie_generation - gpu.pcie_generation))

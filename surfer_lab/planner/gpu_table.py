"""What does `surfer gpus` say of a GPU: its facts, rates and price as plain data, each figure with where it is from?

Units in the names; None where no figure could be sourced. `dataclasses.asdict` of a row is JSON-ready. Words and
columns are the edges' business.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from surfer_lab.hardware.catalog import Catalog
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.gpu import Gpu, Rate
from surfer_lab.planner.pricing import Price, PriceList
from surfer_lab.units import BYTES_PER_GB, BYTES_PER_MB, FLOPS_PER_TFLOPS, HZ_PER_MHZ

__all__ = ["GpuRow", "RateRow", "gpu_rows"]

ROW_CLASSES = (RateClass.FP32, RateClass.TF32, RateClass.FP16, RateClass.BF16, RateClass.FP8)


@dataclass(frozen=True, kw_only=True)
class RateRow:
    """One rate: what the vendor states and what is sustained. TFLOP/s, or GB/s for the memory's."""

    peak: float | None
    sustained: float | None
    origin: str | None  # "measured", "typical", "calibrated"
    source: str | None  # of the sustained figure


@dataclass(frozen=True, kw_only=True)
class GpuRow:
    """One GPU of `surfer gpus`."""

    name: str
    aliases: tuple[str, ...]
    vendor: str
    architecture: str
    die: str
    compute_capability: str
    sm_count: int
    clock_mhz: float
    memory_gb: float
    l2_mb: float | None
    tdp_w: float | None
    nvlink_gb_per_s: float | None  # one direction, all links
    pcie_generation: int | None
    release_year: int | None
    bandwidth: RateRow
    rates: Mapping[str, RateRow]  # by dtype class; a class that the GPU lacks is absent
    usd_per_gpu_hour: float | None
    usd_low: float | None
    usd_high: float | None
    price_kind: str | None
    price_as_of: str | None
    price_source: str | None
    instance_multiple: int | None
    marketplace_usd_per_gpu_hour: float | None
    source: str
    sources: Mapping[str, str]  # by field, where it is another than `source`
    notes: str
    user_defined: bool
    estimated: bool


def gpu_rows(gpus: Iterable[Gpu], catalog: Catalog, prices: PriceList, *, spot: bool = False) -> tuple[GpuRow, ...]:
    """One row a GPU, in the order given."""
    return tuple(_row(gpu, catalog, prices.price(gpu, spot=spot), prices.marketplace(gpu)) for gpu in gpus)


def _row(gpu: Gpu, catalog: Catalog, price: Price | None, marketplace: Price | None) -> GpuRow:
    return GpuRow(
        name=gpu.name,
        aliases=gpu.aliases,
        vendor=gpu.vendor.value,
        architecture=gpu.architecture,
        die=gpu.die,
        compute_capability=gpu.compute_capability,
        sm_count=gpu.sm_count,
        clock_mhz=gpu.clock_hz / HZ_PER_MHZ,
        memory_gb=gpu.memory_bytes / BYTES_PER_GB,
        l2_mb=None if gpu.l2_bytes is None else gpu.l2_bytes / BYTES_PER_MB,
        tdp_w=gpu.tdp_w,
        nvlink_gb_per_s=None if gpu.nvlink_bytes_per_s is None else gpu.nvlink_bytes_per_s / BYTES_PER_GB,
        pcie_generation=gpu.pcie_generation,
        release_year=gpu.release_year,
        bandwidth=_rate(gpu.bandwidth_bytes_per_s, gpu.sustained_bandwidth, BYTES_PER_GB),
        rates={
            one.value: _rate(gpu.peak_flop_per_s.get(one), gpu.sustained.get(one), FLOPS_PER_TFLOPS)
            for one in ROW_CLASSES
            if one in gpu.peak_flop_per_s or one in gpu.sustained
        },
        usd_per_gpu_hour=None if price is None else price.usd_per_gpu_hour,
        usd_low=None if price is None else price.low,
        usd_high=None if price is None else price.high,
        price_kind=None if price is None else price.kind.value,
        price_as_of=None if price is None else price.as_of,
        price_source=None if price is None else price.source,
        instance_multiple=None if price is None else price.instance_multiple,
        marketplace_usd_per_gpu_hour=None if marketplace is None else marketplace.usd_per_gpu_hour,
        source=gpu.source,
        sources={} if gpu.estimated else {**catalog.card(gpu).sources, "limits": gpu.limits.source},
        notes=gpu.notes,
        user_defined=gpu.user_defined,
        estimated=gpu.estimated,
    )


def _rate(peak: float | None, sustained: Rate | None, unit: int) -> RateRow:
    return RateRow(
        peak=None if peak is None else peak / unit,
        sustained=None if sustained is None else sustained.per_s / unit,
        origin=None if sustained is None else sustained.origin.value,
        source=None if sustained is None else sustained.source,
    )

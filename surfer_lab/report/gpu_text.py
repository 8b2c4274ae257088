"""What is known of the GPUs? The list of all, or one with the source of each number, as text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Final

from surfer_lab.errors import UnknownGpuError
from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.gpu import Gpu, Rate, RateOrigin
from surfer_lab.planner.pricing import PriceList, load_prices
from surfer_lab.units import BYTES_PER_GB, BYTES_PER_MB, FLOPS_PER_TFLOPS, HZ_PER_MHZ
from surfer_lab.view.money_words import money_text, price_text
from surfer_lab.view.wording import UNKNOWN, significant

__all__ = ["gpu_text", "gpus_text"]

_ORIGIN_WORDS: Final = {
    RateOrigin.CALIBRATED: "measured here",
    RateOrigin.MEASURED: "measured by others",
    RateOrigin.TYPICAL: "typical of its architecture",
}
_LABEL: Final = 18
_LIST_HEAD: Final = "year  memory  bandwidth  fp32 TFLOP/s  16-bit TFLOP/s    $/hour  architecture"
_LIST_NOTE: Final = (
    "{count} GPUs; rates are peaks as their makers state them, prices what one must pay to have one for an hour. "
    "`surfer gpus NAME` (in a notebook `%surfer gpus NAME`) shows one with its sustained rates and the source of each "
    "number. A GPU of your own: surfer_lab.add_gpu({{...}})."
)


def gpus_text(*, width: int = 100) -> str:
    """All GPUs of the catalogue, by maker and year: memory, bandwidth, peak rates, price."""
    catalog = load_catalog()
    prices = load_prices(catalog)
    gpus = sorted(catalog.all(), key=lambda gpu: (gpu.vendor.value, gpu.release_year or 0, gpu.name))
    lines = _list(gpus, prices)
    note = textwrap.wrap(_LIST_NOTE.format(count=len(gpus)), width)
    return "\n".join([*lines, "", *note, *(f"! {warning}" for warning in (*catalog.warnings, *prices.warnings))])


def _list(gpus: Sequence[Gpu], prices: PriceList) -> list[str]:
    longest = max(len(gpu.name) for gpu in gpus)
    return [f"{'GPU':<{longest}}  {_LIST_HEAD}", *(f"{gpu.name:<{longest}}  {_list_row(gpu, prices)}" for gpu in gpus)]


def _list_row(gpu: Gpu, prices: PriceList) -> str:
    price = prices.price(gpu)
    columns = (
        f"{gpu.release_year or '':>4}",
        f"{gpu.memory_bytes / BYTES_PER_GB:>3.0f} GB",
        f"{gpu.bandwidth_bytes_per_s / BYTES_PER_GB:>4.0f} GB/s",
        f"{_tflops(gpu.peak_flop_per_s.get(RateClass.FP32)):>12}",
        f"{_tflops(gpu.peak_flop_per_s.get(RateClass.FP16) or gpu.peak_flop_per_s.get(RateClass.BF16)):>14}",
        f"{UNKNOWN if price is None else money_text(price.instance_usd_per_hour):>8}",
        gpu.architecture + (" (yours)" if gpu.user_defined else ""),
    )
    return "  ".join(columns)


def _tflops(rate: float | None) -> str:
    return significant(rate / FLOPS_PER_TFLOPS) if rate else UNKNOWN


def gpu_text(name: str, *, width: int = 100) -> str:
    """One GPU, by name or alias; a list of those that a name may mean. UnknownGpuError where it means none."""
    catalog = load_catalog()
    prices = load_prices(catalog)
    try:
        gpu = catalog.find(name)
    except UnknownGpuError as error:
        wanted = name.lower().split()
        meant = [catalog.find(one) for one in error.candidates if all(word in one.lower() for word in wanted)]
        if len(meant) < 2:
            raise
        return "\n".join(_list(meant, prices))
    price = prices.price(gpu)
    bandwidth = gpu.bandwidth_bytes_per_s / BYTES_PER_GB
    facts = {
        "also called": ", ".join(gpu.aliases) or UNKNOWN,
        "architecture": f"{gpu.vendor.value} {gpu.architecture}, {gpu.compute_capability}, die {gpu.die}, "
        f"{gpu.release_year or 'year not known'}",
        "SMs": f"{gpu.sm_count}, {gpu.fp32_lanes_per_sm} fp32 lanes each, "
        f"{gpu.clock_hz / HZ_PER_MHZ:,.0f} MHz rated boost",
        "memory": f"{gpu.memory_bytes / BYTES_PER_GB:.0f} GB, {bandwidth:,.0f} GB/s rated{_l2(gpu)}",
        "power": f"{gpu.tdp_w:.0f} W" if gpu.tdp_w else UNKNOWN,
        "links": _links(gpu),
        "price": f"{money_text(price.instance_usd_per_hour)} an hour, {price_text(price)}" if price else "none known",
        "source": gpu.source,
        "notes": gpu.notes,
    }
    own = " (yours)" if gpu.user_defined else " (put together from what the device says)" if gpu.estimated else ""
    lines = [gpu.name + own]
    for label in ("also called", "architecture", "SMs", "memory", "power", "links", "price"):
        lines += _fact(label, facts[label], width)
    lines.append(f"  {'rates':<{_LABEL}}peak TFLOP/s  sustained TFLOP/s, and how it is known")
    for rate, peak in gpu.peak_flop_per_s.items():
        lines += _rate(rate.value, _tflops(peak), gpu.sustained.get(rate), FLOPS_PER_TFLOPS, width)
    lines += _rate("bandwidth, GB/s", f"{bandwidth:,.0f}", gpu.sustained_bandwidth, BYTES_PER_GB, width)
    return "\n".join([*lines, *_fact("source", facts["source"], width), *_fact("notes", facts["notes"], width)])


def _fact(label: str, text: str, width: int) -> list[str]:
    return textwrap.wrap(f"  {label:<{_LABEL}}{text}", width, subsequent_indent=" " * (_LABEL + 2)) if text else []


def _rate(label: str, peak: str, sustained: Rate | None, unit: float, width: int) -> list[str]:
    known = UNKNOWN
    if sustained is not None:
        known = f"{significant(sustained.per_s / unit):>6}, {_ORIGIN_WORDS[sustained.origin]}: {sustained.source}"
    return textwrap.wrap(f"  {label:<{_LABEL}}{peak:>12}  {known}", width, subsequent_indent=" " * (_LABEL + 16))


def _l2(gpu: Gpu) -> str:
    return f", {gpu.l2_bytes / BYTES_PER_MB:.0f} MB of L2" if gpu.l2_bytes else ""


def _links(gpu: Gpu) -> str:
    pcie = f"PCIe {gpu.pcie_generation}" if gpu.pcie_generation else "PCIe"
    if not gpu.nvlink_bytes_per_s:
        return pcie
    return f"{pcie}, links between GPUs {gpu.nvlink_bytes_per_s / BYTES_PER_GB:,.0f} GB/s each way"

"""How is the step on one GPU worded? From its numbers alone, so that a stored view words it as the fresh one did.

samples/s = batch size / step         USD per 1,000 steps = USD per hour x 1,000 steps in hours
epoch = ceil(data set / batch size) steps
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from surfer_lab.units import BYTES_PER_GB, NS_PER_HOUR, NS_PER_MS, NS_PER_S
from surfer_lab.view.model import GpuRow, Quantity, Verdict
from surfer_lab.view.money_words import hourly_text, money_quantity
from surfer_lab.view.wording import (
    TimeUnit,
    bytes_quantity,
    faster_quantity,
    long_time_quantity,
    rate_quantity,
    share_words,
    time_quantity,
)

__all__ = ["GpuNumbers", "PriceFacts", "gpu_row", "memory_words"]

_STEPS_PRICED: Final = 1_000
Ends = tuple[float, float, float]  # the value, its low and its high end


@dataclass(frozen=True, kw_only=True)
class PriceFacts:
    """An hourly price, USD, and what it rests on."""

    usd_per_hour: float | None
    sold_by: int = 1
    note: str = ""
    as_of: str = ""
    source: str = ""


_NO_PRICE: Final = PriceFacts(usd_per_hour=None, note="no price known")


@dataclass(frozen=True, kw_only=True)
class GpuNumbers:
    """What is known of the step on one GPU."""

    gpu: str
    vendor: str
    architecture: str
    release_year: int | None
    memory_gb: float
    verdict: Verdict
    step_ms: Ends
    busy_ms: float
    parts_ms: tuple[float, ...]
    bound: str
    method_share: Mapping[str, float] = field(default_factory=dict)  # by label, of the GPU time
    is_origin: bool = False
    faster: float | None = None
    price: PriceFacts = _NO_PRICE
    spot: PriceFacts | None = None
    needed_gb: Ends | None = None
    needed_is_measured: bool = False
    largest_batch: int | None = None
    cell_s: Ends | None = None


def gpu_row(numbers: GpuNumbers, *, unit: TimeUnit, batch_size: int | None, dataset_size: int | None) -> GpuRow:
    """The row of one GPU; `unit` is that of the column of step times."""
    step_ns, low_ns, high_ns = (value * NS_PER_MS for value in numbers.step_ms)
    usd_per_hour = numbers.price.usd_per_hour
    needed = _needed(numbers)
    epoch_ns = _epoch_ns(step_ns, batch_size, dataset_size)
    cell = numbers.cell_s

    def usd(duration_ns: float) -> float | None:
        return None if usd_per_hour is None else usd_per_hour * duration_ns / NS_PER_HOUR

    return GpuRow(
        gpu=numbers.gpu,
        vendor=numbers.vendor,
        architecture=numbers.architecture,
        release_year=numbers.release_year,
        is_origin=numbers.is_origin,
        memory=bytes_quantity(numbers.memory_gb * BYTES_PER_GB),
        memory_note=memory_words(needed, is_measured=numbers.needed_is_measured) if needed is not None else "",
        needed=needed,
        needed_is_measured=numbers.needed_is_measured,
        largest_batch=numbers.largest_batch,
        verdict=numbers.verdict,
        step=time_quantity(step_ns, low_ns=low_ns, high_ns=high_ns, unit=unit),
        busy=time_quantity(numbers.busy_ms * NS_PER_MS, unit=unit),
        faster=faster_quantity(numbers.faster),
        samples_per_s=_rate(batch_size, (step_ns, low_ns, high_ns)),
        usd_per_hour=_hourly(numbers.price),
        sold_by=numbers.price.sold_by,
        usd_per_1000_steps=money_quantity(
            usd(step_ns * _STEPS_PRICED), low=usd(low_ns * _STEPS_PRICED), high=usd(high_ns * _STEPS_PRICED)
        ),
        price_note=numbers.price.note,
        price_as_of=numbers.price.as_of,
        price_source=numbers.price.source,
        spot_usd_per_hour=_hourly(numbers.spot) if numbers.spot is not None else None,
        spot_sold_by=numbers.spot.sold_by if numbers.spot is not None else 1,
        spot_note=numbers.spot.note if numbers.spot is not None else "",
        spot_as_of=numbers.spot.as_of if numbers.spot is not None else "",
        spot_source=numbers.spot.source if numbers.spot is not None else "",
        epoch=long_time_quantity(epoch_ns) if epoch_ns is not None else None,
        usd_per_epoch=money_quantity(usd(epoch_ns)) if epoch_ns is not None else None,
        cell=long_time_quantity(cell[0] * NS_PER_S, low_ns=cell[1] * NS_PER_S, high_ns=cell[2] * NS_PER_S)
        if cell is not None
        else None,
        usd_per_cell=money_quantity(usd(cell[0] * NS_PER_S)) if cell is not None else None,
        bound=numbers.bound,
        parts_ms=list(numbers.parts_ms),
        methods=dict(numbers.method_share),
        methods_text=share_words(numbers.method_share),
    )


def memory_words(needed: Quantity, *, is_measured: bool) -> str:
    """What a step needs, its range and how it is known: "3.2 GB needed (3 to 3.6 GB, measured)"."""
    span = f"{needed.range_text}, " if needed.range_text else ""
    return f"{needed.text} needed ({span}{'measured' if is_measured else 'counted from its tensors'})"


def _needed(numbers: GpuNumbers) -> Quantity | None:
    if numbers.needed_gb is None:
        return None
    likely, low, high = (value * BYTES_PER_GB for value in numbers.needed_gb)
    return bytes_quantity(likely, low=low, high=high)


def _hourly(price: PriceFacts) -> Quantity:
    return money_quantity(price.usd_per_hour, text=hourly_text(price.usd_per_hour, price.sold_by))


def _rate(batch_size: int | None, step_ns: Ends) -> Quantity | None:
    if batch_size is None:
        return None
    rate, high, low = (batch_size * NS_PER_S / value if value > 0 else None for value in step_ns)
    return rate_quantity(rate, low=low, high=high)


def _epoch_ns(step_ns: float, batch_size: int | None, dataset_size: int | None) -> float | None:
    if batch_size is None or dataset_size is None:
        return None
    return math.ceil(dataset_size / batch_size) * step_ns

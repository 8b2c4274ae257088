"""How is one batch divided among unequal devices, so that all finish together?

A device is a black box: b samples take overhead + b / rate seconds. With no overhead, shares follow throughput
(Omnivore, section 3); with one, a slow starter gets less, or nothing where the others are done before it would start.
A CPU's rate depends on the batch it is given, since small batches leave its units idle: `throughput_curve` fits that
form to measured times, so that a CPU beside GPUs is one more device.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from surfer_lab.errors import OptionError

__all__ = ["Device", "DeviceKind", "batch_shares", "finish_s", "group_devices", "throughput_curve"]

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]


class DeviceKind(Enum):
    """What a device is; the value is how it is worded."""

    CPU = "CPU"
    GPU = "GPU"


@dataclass(frozen=True, kw_only=True)
class Device:
    """A device by what it does to a step. None: not known."""

    name: str
    samples_per_s: float
    overhead_s: float = 0.0  # before the first sample of every batch
    kind: DeviceKind = DeviceKind.GPU
    usd_per_hour: float | None = None
    flop_per_sample: float | None = None

    def __post_init__(self) -> None:
        if not 0.0 < self.samples_per_s < math.inf:
            raise OptionError(f"{self.name} does {self.samples_per_s!r} samples a second", remedy="a positive number")
        if not 0.0 <= self.overhead_s < math.inf:
            raise OptionError(f"{self.name} starts after {self.overhead_s!r} s", remedy="0 or more")
        if self.usd_per_hour is not None and not 0.0 <= self.usd_per_hour < math.inf:
            raise OptionError(f"{self.name} costs {self.usd_per_hour!r} an hour", remedy="USD, 0 or more")

    def samples_per_s_at(self, batch_size: int) -> float:
        """Throughput with so many samples at once."""
        return batch_size / (self.overhead_s + batch_size / self.samples_per_s)

    @property
    def flops_per_usd(self) -> float | None:
        """Operations bought by a dollar at full throughput; None where price or count is unknown."""
        if not self.usd_per_hour or self.flop_per_sample is None:
            return None
        return self.samples_per_s * self.flop_per_sample * 3600.0 / self.usd_per_hour


def finish_s(batch_size: float, samples_per_s: ArrayLike, overhead_s: ArrayLike = 0.0) -> F64:
    """When the last device is done, if the batch could be divided into any fractions: water filling.

    T solves sum of max(0, rate (T - overhead)) = batch, over the last axis: (..., devices) gives (...).
    """
    rates, overheads = np.broadcast_arrays(
        np.asarray(samples_per_s, dtype=np.float64), np.asarray(overhead_s, dtype=np.float64)
    )
    order = np.argsort(overheads, axis=-1, kind="stable")
    rate, overhead = np.take_along_axis(rates, order, -1), np.take_along_axis(overheads, order, -1)
    finish = (batch_size + np.cumsum(rate * overhead, axis=-1)) / np.cumsum(rate, axis=-1)
    # the first so many devices that are done before the next one would start
    following = np.concatenate([overhead[..., 1:], np.full((*overhead.shape[:-1], 1), np.inf)], axis=-1)
    enough = np.argmax(finish <= following, axis=-1)[..., None]
    return np.asarray(np.take_along_axis(finish, enough, -1)[..., 0])


def batch_shares(batch_size: int, samples_per_s: ArrayLike, overhead_s: ArrayLike = 0.0) -> I64:
    """Whole samples for each device; they sum to the batch over the last axis. Largest remainders get what is left.

    >>> batch_shares(64, [300.0, 100.0]).tolist()
    [48, 16]
    """
    rates, overheads = np.broadcast_arrays(
        np.asarray(samples_per_s, dtype=np.float64), np.asarray(overhead_s, dtype=np.float64)
    )
    if not rates.ndim or not rates.size or not (rates > 0).all() or not np.isfinite(rates).all():
        raise OptionError("throughputs that are not positive numbers", remedy="samples a second of each device")
    if batch_size < 1:
        raise OptionError(f"a batch of {batch_size}", remedy="1 sample or more")
    finish = finish_s(batch_size, rates, overheads)[..., None]
    exact = np.maximum(0.0, rates * (finish - overheads))
    exact *= batch_size / exact.sum(axis=-1, keepdims=True)
    whole: I64 = np.floor(exact + 1e-9).astype(np.int64)
    left = batch_size - whole.sum(axis=-1, keepdims=True)
    place = np.argsort(np.argsort(whole - exact, axis=-1, kind="stable"), axis=-1, kind="stable")
    whole += place < left
    return whole


def group_devices(samples_per_s: Sequence[float] | F64, groups: int) -> I64:
    """The group of each device, (devices,), so that groups have nearly the same number of devices and throughput.

    Fastest first, dealt out forth and back, as teams are chosen; as many in each group as can be, so that no group
    waits much longer for its all-reduce.
    """
    rates = np.asarray(samples_per_s, dtype=np.float64)
    if not 1 <= groups <= len(rates):
        raise OptionError(f"{groups} groups of {len(rates)} devices", remedy=f"1 to {len(rates)} groups")
    order = np.argsort(-rates, kind="stable")
    place = np.arange(len(rates))
    turn, seat = np.divmod(place, groups)
    chosen = np.where(turn % 2 == 0, seat, groups - 1 - seat)
    found = np.empty(len(rates), dtype=np.int64)
    found[order] = chosen
    return found


def throughput_curve(batch_sizes: Sequence[int], seconds: Sequence[float]) -> tuple[float, float]:
    """(samples a second, overhead in seconds) of measured times by batch size: seconds = overhead + batch / rate.

    Least squares of the relative errors, neither number negative. At least two batch sizes.
    """
    sizes, times = np.asarray(batch_sizes, dtype=np.float64), np.asarray(seconds, dtype=np.float64)
    if len(np.unique(sizes)) < 2 or len(sizes) != len(times) or not (times > 0).all():
        raise OptionError(f"a throughput from {len(np.unique(sizes))} batch size(s)", remedy="measure two or more")
    columns = np.stack([1.0 / times, sizes / times], axis=1)
    overhead, by_sample = np.linalg.lstsq(columns, np.ones(len(sizes)), rcond=None)[0]
    if overhead < 0.0:
        overhead, by_sample = 0.0, float((sizes / times).sum() / ((sizes / times) ** 2).sum())
    if by_sample <= 0.0:
        raise OptionError("larger batches took no longer than small ones", remedy="measure larger batch sizes as well")
    return 1.0 / float(by_sample), float(overhead)

"""What is known of a cluster's times: devices, their spread, the links inside groups and the servers.

Predicted by the engine for GPUs or measured in probes; nothing here measures.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surfer_lab.errors import OptionError

__all__ = ["ClusterTimes"]

F64 = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class ClusterTimes:
    """Times of one iteration's parts; one iteration is one update from one batch of `batch_size` by one group.

    `spread` are samples of a device's time divided by its mean, sorted or not; (1.0,) for constant times.
    """

    batch_size: int
    samples_per_s: F64  # (devices,)
    overhead_s: F64  # (devices,)
    hop_s: float = 0.0  # one of the 2 (k - 1) messages of a ring all-reduce of k devices, its latency
    reduce_s: float = 0.0  # sending all gradients once over one link: the ring sends 2 (k - 1) / k of that
    exchange_s: float = 0.0  # a group's gradients to the server and weights back, apart from being served
    server_s: float = 0.0  # the server's work on one update: one at a time
    head_s: float = 0.0  # the merged fully connected part on its server, of one batch: one at a time
    spread: tuple[float, ...] = (1.0,)
    error_fraction: float = 0.05  # of these times themselves

    def __post_init__(self) -> None:
        if self.batch_size < 1 or self.samples_per_s.shape != self.overhead_s.shape or not len(self.samples_per_s):
            raise OptionError("a cluster without devices or batch", remedy="one throughput and overhead a device")
        for name in ("hop_s", "reduce_s", "exchange_s", "server_s", "head_s", "error_fraction"):
            value = getattr(self, name)
            if not 0.0 <= value < math.inf:
                raise OptionError(f"{name} of {value!r}", remedy="0 or more")
        if not self.spread or not np.mean(self.spread) > 0:
            raise OptionError("a spread without samples", remedy="(1.0,) for constant times")

    @property
    def device_count(self) -> int:
        """Devices in all groups."""
        return len(self.samples_per_s)

    @property
    def variability(self) -> float:
        """Squared coefficient of variation of a device's time: 0 constant, 1 exponential."""
        samples = np.asarray(self.spread)
        return float(samples.var() / samples.mean() ** 2)

    def all_reduce_s(self, devices: int) -> float:
        """A ring all-reduce among so many: 2 (k-1) hops, 2 (k-1)/k of the gradients over each link."""
        if devices < 2:
            return 0.0
        return 2.0 * (devices - 1) * self.hop_s + 2.0 * (devices - 1) / devices * self.reduce_s

    def straggling(self, devices: int) -> float:
        """How many times longer the slowest of so many takes than one on average: the mean of the largest.

        Of n sorted samples x(i) it is the sum of x(i) ((i/n)^k - ((i-1)/n)^k), over their mean.
        """
        samples = np.sort(np.asarray(self.spread, dtype=np.float64))
        steps = (np.arange(len(samples) + 1) / len(samples)) ** devices
        return float((samples * np.diff(steps)).sum() / samples.mean())

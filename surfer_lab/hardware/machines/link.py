"""What connects GPUs: how fast on paper, which share of it collectives reach, and how long one hop takes.

The rate is that of one direction: for links inside a node of one GPU, for networks of one node. `bus_bytes_per_s(n)` is
what nccl-tests print as bus bandwidth among n GPUs: rated, times the achieved fraction. In a mesh fewer GPUs share
fewer links; `rated_by_count` has those.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from surfer_lab.errors import GpuError

__all__ = ["Link", "LinkKind"]


class LinkKind(Enum):
    """By what bytes travel; the value is how it is worded and asked for."""

    NVLINK = "nvlink"
    FABRIC = "fabric"  # AMD's Infinity Fabric
    PCIE = "pcie"
    NETWORK = "network"
    MEASURED = "measured"  # between this user's processes, by whatever they use


@dataclass(frozen=True, kw_only=True)
class Link:
    """One kind of connection. `group_count` is the largest number of GPUs (nodes, of a network) that it connects."""

    name: str
    kind: LinkKind
    rated_bytes_per_s: float
    achieved_fraction: float
    fraction_is_measured: bool
    hop_latency_ns: float
    start_latency_ns: float  # of a collective, whatever its size
    group_count: int
    source: str
    channel_count: int = 0  # thread blocks of a collective: each keeps one SM from computing
    rated_by_count: Mapping[int, float] = field(default_factory=dict)  # up to so many GPUs; bytes/s

    def __post_init__(self) -> None:
        facts = {
            "rated_bytes_per_s": self.rated_bytes_per_s,
            "achieved_fraction": self.achieved_fraction,
            "group_count": self.group_count,
            **{f"rated_by_count {count}": rate for count, rate in self.rated_by_count.items()},
        }
        for name, value in facts.items():
            if not 0 < value < float("inf"):
                raise GpuError(f"link {self.name}: {name} is {value!r}", remedy="a number above 0")
        for name, value in (("hop_latency_ns", self.hop_latency_ns), ("start_latency_ns", self.start_latency_ns)):
            if not 0 <= value < float("inf"):
                raise GpuError(f"link {self.name}: {name} is {value!r}", remedy="a number of 0 or more")

    def rated(self, count: int) -> float:
        """Bytes/s in one direction, as rated, among so many."""
        fitting = [rate for most, rate in sorted(self.rated_by_count.items()) if count <= most]
        return fitting[0] if fitting else self.rated_bytes_per_s

    def bus_bytes_per_s(self, count: int) -> float:
        """Bytes/s that collectives among so many are seen to reach.

        >>> from surfer_lab.hardware.machines import load_machines
        >>> round(load_machines().link("NVLink 3 switch (A100)").bus_bytes_per_s(8) / 1e9)
        235
        """
        return self.rated(count) * self.achieved_fraction

    def scaled(self, *, bandwidth: float = 1.0, latency: float = 1.0) -> Link:
        """The same link with bandwidth and latencies multiplied: for what-ifs and their tests."""
        return replace(
            self,
            rated_bytes_per_s=self.rated_bytes_per_s * bandwidth,
            rated_by_count={count: rate * bandwidth for count, rate in self.rated_by_count.items()},
            hop_latency_ns=self.hop_latency_ns * latency,
            start_latency_ns=self.start_latency_ns * latency,
        )

"""What does one collective take among so many GPUs, and how many bytes travel?

Ring all-reduce of S bytes among n over links of bus bandwidth B and latency a a hop: 2(n-1)/n S/B + 2(n-1) a; a tree
sends 2 S/B in 2 log2(n) hops, better for small S or large n. Across nodes of g GPUs each: one flat ring (its slowest
link counts), or a ring inside every node and a ring or tree among nodes of the shares (hierarchical). The fastest of
these is taken, as NCCL does. Gathers and scatters are half an all-reduce's ring.

Bytes: an all-reduce sends 2(n-1) S over all ranks, gather and scatter (n-1) S, an all-to-all (n-1) S of S bytes a rank,
a message S: whole numbers, the same by ring, tree and hierarchy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from surfer_lab.errors import OptionError
from surfer_lab.hardware.machines import Link, Machine
from surfer_lab.units import NS_PER_S

__all__ = ["Collective", "Group", "collective_ns", "group_of", "wire_bytes"]


class Collective(Enum):
    """What travels; sizes are of the whole tensor, of an all-to-all of one rank's."""

    ALL_REDUCE = "all-reduce"
    ALL_GATHER = "all-gather"
    REDUCE_SCATTER = "reduce-scatter"
    ALL_TO_ALL = "all-to-all"
    SEND = "send"  # between two


@dataclass(frozen=True, kw_only=True)
class Group:
    """Ranks that talk: `per_node` GPUs on each of `node_count` nodes. `sharing`: groups that share a node's network."""

    per_node: int
    node_count: int
    link: Link | None
    network: Link | None
    sharing: int = 1

    @property
    def size(self) -> int:
        """Ranks."""
        return self.per_node * self.node_count

    @property
    def channel_count(self) -> int:
        """SMs that a collective keeps from computing."""
        return max((link.channel_count for link in (self.link, self.network) if link is not None), default=0)

    @property
    def is_measured(self) -> bool:
        """Whether all links' reached shares were measured."""
        return all(link.fraction_is_measured for link in (self.link, self.network) if link is not None)


def group_of(machine: Machine, size: int, *, stride: int = 1) -> Group:
    """`size` ranks on a machine, `stride` apart (1: neighbours fill nodes). OptionError where they do not fit."""
    if size < 1 or stride < 1:
        raise OptionError(f"a group of {size} GPUs {stride} apart", remedy="numbers of 1 or more")
    whole = size * stride
    nodes = machine.node_count(whole) if size > 1 else 1
    per_node = max(1, min(whole, machine.gpus_per_node) // stride)
    if size == 1:
        return Group(per_node=1, node_count=1, link=None, network=None)
    if nodes == 1:
        return Group(per_node=size, node_count=1, link=machine.link_for(whole), network=None)
    groups = min(stride, machine.gpus_per_node)
    node_count = -(-size // per_node)
    link = machine.link_for(machine.gpus_per_node) if per_node > 1 else None
    return Group(per_node=per_node, node_count=node_count, link=link, network=machine.network, sharing=groups)


def wire_bytes(kind: Collective, size_bytes: int, ranks: int) -> int:
    """Bytes that all ranks together send.

    >>> wire_bytes(Collective.ALL_REDUCE, 1000, 4)
    6000
    """
    if ranks <= 1:
        return 0
    if kind is Collective.SEND:
        return size_bytes
    return (2 if kind is Collective.ALL_REDUCE else 1) * (ranks - 1) * size_bytes


def collective_ns(kind: Collective, size_bytes: float, group: Group) -> float:
    """Time of one collective, ns; 0 for a single rank."""
    if group.size <= 1:
        return 0.0
    if kind is Collective.SEND:
        return _sent(size_bytes, group)
    if kind is Collective.ALL_TO_ALL:
        return _all_to_all(size_bytes, group)
    return min(_ways(kind, size_bytes, group))


def _ways(kind: Collective, size: float, group: Group) -> Iterator[float]:
    passes = 2 if kind is Collective.ALL_REDUCE else 1
    n, g, m = group.size, group.per_node, group.node_count
    inside, network = group.link, group.network
    if network is None or m == 1:
        link = _there(inside)
        rate, start = link.bus_bytes_per_s(n), link.start_latency_ns
        yield start + passes * (n - 1) * link.hop_latency_ns + _ns(passes * (n - 1) / n * size, rate)
        if passes == 2:
            yield start + 2 * math.ceil(math.log2(n)) * link.hop_latency_ns + _ns(2 * size, rate)
        return
    between = network.bus_bytes_per_s(m) / group.sharing
    start, hop = network.start_latency_ns, network.hop_latency_ns
    if inside is None:
        yield start + passes * (m - 1) * hop + _ns(passes * (m - 1) / m * size, between)
        if passes == 2:
            yield start + 2 * math.ceil(math.log2(m)) * hop + _ns(2 * size, between)
        return
    within = inside.bus_bytes_per_s(g)
    flat = passes * ((n - m) * inside.hop_latency_ns + (m - 1) * hop)
    yield start + flat + _ns(passes * (n - 1) / n * size, min(within, between))
    node = passes * (g - 1) * inside.hop_latency_ns + _ns(passes * (g - 1) / g * size, within)
    yield start + node + passes * (m - 1) * hop + _ns(passes * (m - 1) / m * size, between)
    if passes == 2:
        yield start + node + 2 * math.ceil(math.log2(m)) * hop + _ns(2 * size, between)


def _all_to_all(size: float, group: Group) -> float:
    n, g = group.size, group.per_node
    times = [0.0]
    if group.link is not None and g > 1:
        link = group.link
        times.append(link.start_latency_ns + link.hop_latency_ns + _ns((g - 1) / n * size, link.bus_bytes_per_s(g)))
    if group.network is not None and group.node_count > 1:
        network = group.network
        leaving = g * (n - g) / n * size
        rate = network.bus_bytes_per_s(group.node_count) / group.sharing
        times.append(network.start_latency_ns + network.hop_latency_ns + _ns(leaving, rate))
    return max(times)


def _sent(size: float, group: Group) -> float:
    if group.network is not None and group.node_count > 1:
        network = group.network
        rate = network.bus_bytes_per_s(2) / group.sharing
        return network.start_latency_ns + network.hop_latency_ns + _ns(size, rate)
    link = _there(group.link)
    return link.start_latency_ns + link.hop_latency_ns + _ns(size, link.bus_bytes_per_s(2))


def _there(link: Link | None) -> Link:
    if link is None:
        raise OptionError("the machine's GPUs are not connected", remedy="name a link: --link pcie")
    return link


def _ns(size_bytes: float, bytes_per_s: float) -> float:
    return size_bytes / bytes_per_s * NS_PER_S

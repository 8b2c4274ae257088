"""How may GPUs of one kind be connected, and how does a step scale on each? The GPU is the same: the links differ.

For a card with NVLink: the mesh and the switch of its generation as far as they are known; for every card PCIe behind
one switch and through the CPU, and a node for each GPU on a network. Beyond a node the network is that of the machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from surfer_lab.errors import OptionError, PredictionError
from surfer_lab.hardware.gpu import Gpu
from surfer_lab.hardware.machines import Link, LinkKind, Machine
from surfer_lab.hardware.machines.catalog import Machines
from surfer_lab.planner.scaling import ScalingPoint, ScalingSource, Strategy, scaling_point
from surfer_lab.units import BYTES_PER_GB

__all__ = ["Topology", "TopologyCurve", "Wiring", "link_gain", "scaling_by_topology", "topologies_of"]


class Wiring(Enum):
    """The kinds; the value is what a person reads."""

    MESH = "NVLink mesh"
    SWITCH = "NVSwitch"
    BRIDGE = "NVLink bridges of two"
    FABRIC = "Infinity Fabric mesh"
    PCIE_SWITCH = "PCIe switch"
    PCIE_CPU = "PCIe through the CPU"
    NETWORK = "network, a GPU a node"


_FAST: Final = (Wiring.SWITCH, Wiring.MESH, Wiring.FABRIC, Wiring.BRIDGE)
# links by the NVLink rate of a card in one direction, GB/s
_BY_RATE: Final[dict[int, dict[Wiring, str]]] = {
    80: {Wiring.MESH: "NVLink 1 mesh (DGX-1 P100)"},
    150: {Wiring.MESH: "NVLink 2 mesh (DGX-1 V100)", Wiring.SWITCH: "NVLink 2 switch (DGX-2)"},
    200: {Wiring.SWITCH: "NVLink 4 switch (H800)"},
    300: {Wiring.SWITCH: "NVLink 3 switch (A100)"},
    450: {Wiring.SWITCH: "NVLink 4 switch (H100)"},
    900: {Wiring.SWITCH: "NVLink 5 switch (B200)"},
}
_NEWEST_PCIE: Final = 5  # of the known links
_NETWORK: Final = "Ethernet 100"
_NODE_GPUS: Final = 8
_MOST_NODES: Final = 128


@dataclass(frozen=True, kw_only=True)
class Topology:
    """A way to connect the GPUs, as a machine."""

    wiring: Wiring
    machine: Machine

    @property
    def link_name(self) -> str:
        """What connects the GPUs of a node, or the nodes where each has one."""
        link = self.machine.link_for(self.machine.gpus_per_node) or self.machine.network
        return "" if link is None else link.name


@dataclass(frozen=True, kw_only=True)
class TopologyCurve:
    """A step by number of GPUs on one topology; `refused` says what could not be, and why."""

    topology: Topology
    points: tuple[ScalingPoint, ...]
    refused: tuple[str, ...] = ()

    def at(self, gpu_count: int) -> ScalingPoint | None:
        """The point of so many GPUs."""
        return next((point for point in self.points if point.gpu_count == gpu_count), None)


def topologies_of(gpu: Gpu, machines: Machines) -> tuple[Topology, ...]:
    """The ways to connect GPUs of this kind, the fastest kinds first."""
    usual = machines.of_gpu(gpu)
    network = usual.network or machines.link("InfiniBand HDR x4")

    def node(wiring: Wiring, links: Sequence[Link], gpus: int = _NODE_GPUS) -> Topology:
        machine = replace(
            usual,
            name=f"{gpus} x {gpu.name}, {links[0].name}",
            gpus_per_node=gpus,
            links=tuple(links),
            network=network,
            most_nodes=_MOST_NODES,
        )
        return Topology(wiring=wiring, machine=machine)

    generation = min(gpu.pcie_generation or 4, _NEWEST_PCIE)
    generation = max(3, generation)
    pcie_switch, pcie_cpu = (machines.link(f"PCIe {generation} {word}") for word in ("switch", "through CPU"))
    found: list[Topology] = []
    for wiring, link in _fast_links(gpu, machines):
        if link.group_count >= _NODE_GPUS:
            found.append(node(wiring, [link], min(link.group_count, 2 * _NODE_GPUS)))
        else:
            found.append(node(wiring, [link, pcie_cpu]))
    found += [node(Wiring.PCIE_SWITCH, [pcie_switch]), node(Wiring.PCIE_CPU, [pcie_cpu])]
    ethernet = machines.link(_NETWORK)
    alone = replace(
        usual, name=f"1 x {gpu.name} a node, {ethernet.name}", gpus_per_node=1, links=(), network=ethernet,
        most_nodes=_MOST_NODES,
    )  # fmt: skip
    return (*found, Topology(wiring=Wiring.NETWORK, machine=alone))


def _fast_links(gpu: Gpu, machines: Machines) -> list[tuple[Wiring, Link]]:
    """NVLink or fabric between such cards, each kind that is known; the machine's own where it is."""
    if not gpu.nvlink_bytes_per_s:
        return []
    own = next((link for link in machines.of_gpu(gpu, LinkKind.NVLINK.value).links), None)
    if own is not None and own.kind is LinkKind.FABRIC:
        return [(Wiring.FABRIC, own)]
    if own is not None and own.group_count < _NODE_GPUS and own.kind is LinkKind.NVLINK:
        return [(Wiring.BRIDGE, own)]
    known = _BY_RATE.get(round(gpu.nvlink_bytes_per_s / BYTES_PER_GB), {})
    found = [(wiring, machines.link(name)) for wiring, name in known.items()]
    if found or own is None or own.kind is not LinkKind.NVLINK:
        return found
    return [(Wiring.MESH if "mesh" in own.name else Wiring.SWITCH, own)]


def scaling_by_topology(
    source: ScalingSource,
    topologies: Sequence[Topology],
    counts: Sequence[int],
    *,
    strategy: Strategy | None = None,
) -> tuple[TopologyCurve, ...]:
    """The step on each topology, weak scaling."""
    curves = []
    for topology in topologies:
        points, refused = [], []
        for count in sorted(set(counts)):
            try:
                points.append(scaling_point(source, topology.machine, count, strategy=strategy))
            except (OptionError, PredictionError) as error:
                refused.append(error.seen)
        curves.append(TopologyCurve(topology=topology, points=tuple(points), refused=tuple(dict.fromkeys(refused))))
    return tuple(curves)


def link_gain(curves: Sequence[TopologyCurve], gpu_count: int) -> float | None:
    """Throughput over the fastest link that there is against PCIe through the CPU; None where one of them is missing.

    The fastest is the first that has an answer of: switch, mesh, fabric, bridges.
    """
    by_wiring = {curve.topology.wiring: curve.at(gpu_count) for curve in curves}
    fast = next((point for wiring in _FAST if (point := by_wiring.get(wiring)) is not None), None)
    slow = by_wiring.get(Wiring.PCIE_CPU)
    if fast is None or slow is None or fast.step_ns <= 0:
        return None
    return slow.step_ns / fast.step_ns

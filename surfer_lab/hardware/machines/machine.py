"""What does a training job run on: nodes of so many GPUs, the links inside them, and the network between them?"""

from __future__ import annotations

from dataclasses import dataclass, replace

from surfer_lab.errors import GpuError, OptionError
from surfer_lab.hardware.machines.link import Link, LinkKind

__all__ = ["Machine"]


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Nodes of one kind. `links` are inside a node, tried in order: a bridge of two, then what connects all.

    `gpu` is a name of the catalogue; unknown facts of the host are None. `network` None: there is one node only.
    """

    name: str
    gpu: str
    gpus_per_node: int
    links: tuple[Link, ...]
    source: str
    network: Link | None = None
    most_nodes: int = 1
    cpu: str = ""
    cpu_core_count: int | None = None
    host_memory_bytes: int | None = None
    aliases: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.gpus_per_node < 1 or self.most_nodes < 1:
            raise GpuError(f"machine {self.name} has no GPU or no node", remedy="gpus_per_node = 8, most_nodes = 1")
        if self.gpus_per_node > 1 and not any(link.group_count >= self.gpus_per_node for link in self.links):
            raise GpuError(
                f"machine {self.name}: no link connects all {self.gpus_per_node} GPUs of a node",
                remedy="name a link that does, PCIe for one",
            )

    @property
    def most_gpus(self) -> int:
        """How many GPUs there can be at most."""
        return self.gpus_per_node * (self.most_nodes if self.network is not None else 1)

    def node_count(self, gpu_count: int) -> int:
        """Nodes that so many GPUs fill; OptionError where there are not so many, or the last node is not filled."""
        if gpu_count < 1 or gpu_count > self.most_gpus:
            raise OptionError(
                f"{gpu_count} GPUs of {self.name}, which has {self.most_gpus} at most",
                remedy=f"--counts of 1 to {self.most_gpus}, or a machine with more nodes",
            )
        if gpu_count <= self.gpus_per_node:
            return 1
        if gpu_count % self.gpus_per_node:
            raise OptionError(
                f"{gpu_count} GPUs fill no whole number of nodes of {self.gpus_per_node} ({self.name})",
                remedy=f"a multiple of {self.gpus_per_node} beyond one node",
            )
        return gpu_count // self.gpus_per_node

    def link_for(self, gpu_count: int) -> Link | None:
        """The link among so many GPUs of one node; None for a single GPU."""
        within = min(gpu_count, self.gpus_per_node)
        return None if within < 2 else next(link for link in self.links if link.group_count >= within)

    def network_for(self, gpu_count: int) -> Link | None:
        """The network that so many GPUs need, None within one node."""
        return self.network if self.node_count(gpu_count) > 1 else None

    def with_link(self, link: Link) -> Machine:
        """The same machine, its GPUs connected by another link (a network replaces the network)."""
        if link.kind is LinkKind.NETWORK:
            return replace(self, name=f"{self.name}, {link.name}", network=link)
        return replace(self, name=f"{self.name}, {link.name}", links=(link, *self.links))

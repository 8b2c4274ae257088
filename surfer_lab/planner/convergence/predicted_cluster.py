"""What are a cluster's times where nothing can be measured yet? From one device's predicted step and the links' facts.

A device's rate is its predicted samples a second at its share of the batch, one for all (GPUs of one kind); a CPU
beside them is one more device, of a measured rate. The all-reduce inside a group is a ring over the link that connects
it; the parameter server is reached over the network where there is one, else over the link, and takes its updates one
after the other: gradients in, weights out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from surfer_lab.errors import OptionError
from surfer_lab.hardware.machines import Machine
from surfer_lab.planner.convergence.cluster_times import ClusterTimes
from surfer_lab.planner.convergence.devices import Device
from surfer_lab.planner.scaling.collectives import Collective, collective_ns, group_of
from surfer_lab.units import NS_PER_S

__all__ = ["predicted_cluster"]

_PREDICTED_ERROR = 0.20  # of a predicted step and a link's reached share, about what evaluations find at 80 %


def predicted_cluster(
    device: Device, machine: Machine, count: int, *, batch_size: int, gradient_bytes: int, beside: Sequence[Device] = ()
) -> ClusterTimes:
    """Times of `count` equal devices of a machine, and of others `beside` them. OptionError where they do not fit."""
    if gradient_bytes < 1:
        raise OptionError(f"gradients of {gradient_bytes} bytes", remedy="the bytes of all parameters that are trained")
    devices = [*([device] * count), *beside]
    link = machine.network_for(count) or machine.link_for(count)
    hop_s = reduce_s = exchange_s = server_s = 0.0
    if count > 1:
        group = group_of(machine, count)
        whole_s = collective_ns(Collective.ALL_REDUCE, gradient_bytes, group) / NS_PER_S
        least_s = collective_ns(Collective.ALL_REDUCE, 1.0, group) / NS_PER_S
        # latency and transfer of the ring apart, so that smaller groups are known as well
        hop_s = least_s / (2.0 * (count - 1))
        reduce_s = (whole_s - least_s) * count / (2.0 * (count - 1))
    if link is not None:
        sent_s = gradient_bytes / link.bus_bytes_per_s(2)
        server_s = sent_s
        exchange_s = sent_s + 2.0 * (link.start_latency_ns + link.hop_latency_ns) / NS_PER_S
    return ClusterTimes(
        batch_size=batch_size,
        samples_per_s=np.array([one.samples_per_s for one in devices]),
        overhead_s=np.array([one.overhead_s for one in devices]),
        hop_s=hop_s,
        reduce_s=reduce_s,
        exchange_s=exchange_s,
        server_s=server_s,
        error_fraction=_PREDICTED_ERROR,
    )

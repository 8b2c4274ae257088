"""How long does an iteration take with g groups, and what limits it? HE(g) = T_g / T_1.

A group's round is compute (its slowest member's) + all-reduce + exchange with the server; groups overlap, the server
serves one at a time. Without waiting, T_g = max(server, 1 / sum over groups of 1 / round): Omnivore's
T_g = max(t_fc, (t_conv + t_fc) / g) for equal groups. Where times vary, groups meet at the server and wait: with
exponential times the mean of that is exact by mean value analysis (Reiser and Lavenberg 1980). Between the two the
estimate goes by the measured variability; the two are its range, widened by the error of the times themselves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import Final

import numpy as np

from surfer_lab.errors import OptionError
from surfer_lab.planner.convergence.cluster_times import ClusterTimes
from surfer_lab.planner.convergence.devices import batch_shares, finish_s, group_devices

__all__ = ["GroupTimes", "Limit", "group_counts", "group_times", "omnivore_seconds"]


_MANY_SAMPLES: Final = 100  # a device: its share's rounding is lost in the noise


class Limit(Enum):
    """What an iteration mostly waits for; the value is how it is worded."""

    COMPUTE = "compute"
    LINK = "links"
    SERVER = "server"


@dataclass(frozen=True, kw_only=True)
class GroupTimes:
    """One way of grouping: seconds per iteration with their range, and the parts of a group's mean round."""

    groups: int
    seconds: float
    low_s: float
    high_s: float
    compute_s: float
    all_reduce_s: float
    exchange_s: float
    server_s: float
    limit: Limit

    @property
    def round_s(self) -> float:
        """A group's own round, when it never waits for another."""
        return self.compute_s + self.all_reduce_s + self.exchange_s + self.server_s


def group_counts(devices: int) -> tuple[int, ...]:
    """Numbers of groups worth looking at: 1, 2, 4, ... and each device by itself.

    >>> group_counts(12)
    (1, 2, 4, 8, 12)
    """
    powers = [2**power for power in range(int(math.log2(devices)) + 1)]
    return tuple(dict.fromkeys([*powers, devices]))


def group_times(cluster: ClusterTimes, groups: int) -> GroupTimes:
    """Times of one iteration with so many groups. OptionError where there are fewer devices."""
    member_of = group_devices(cluster.samples_per_s, groups)
    order = np.argsort(member_of, kind="stable")
    sizes = np.bincount(member_of, minlength=groups)
    # one row a group, empty seats (a rate of next to nothing, never started) where one has a member fewer
    rates = np.full((groups, int(sizes.max())), 1e-300)
    overheads = np.full(rates.shape, 1e300)
    seat = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    rates[member_of[order], seat] = cluster.samples_per_s[order]
    overheads[member_of[order], seat] = cluster.overhead_s[order]
    if cluster.batch_size >= _MANY_SAMPLES * sizes.max():
        alone = finish_s(cluster.batch_size, rates, overheads)
    else:
        shares = batch_shares(cluster.batch_size, rates, overheads)
        alone = np.where(shares > 0, overheads + shares / rates, 0.0).max(axis=1)
    late = {int(size): cluster.straggling(int(size)) for size in np.unique(sizes)}
    link = {size: cluster.all_reduce_s(size) for size in late}
    compute = alone * np.array([late[int(size)] for size in sizes])
    reduce = np.array([link[int(size)] for size in sizes])
    server = cluster.server_s + cluster.head_s
    rounds = compute + reduce + cluster.exchange_s + server
    unhindered = 1.0 / float((1.0 / rounds).sum())
    free = max(unhindered, cluster.server_s, cluster.head_s)
    waiting = max(free, _with_waiting(groups, groups * unhindered - server, cluster.server_s, cluster.head_s))
    share = min(1.0, cluster.variability)
    seconds = free + share * (waiting - free)
    parts = {Limit.COMPUTE: compute.mean(), Limit.LINK: reduce.mean() + cluster.exchange_s}
    saturated = max(cluster.server_s, cluster.head_s) > 0.9 * seconds and groups > 1
    return GroupTimes(
        groups=groups,
        seconds=seconds,
        low_s=min(free, seconds) * (1.0 - cluster.error_fraction),
        high_s=max(waiting, seconds) * (1.0 + cluster.error_fraction),
        compute_s=float(compute.mean()),
        all_reduce_s=float(reduce.mean()),
        exchange_s=cluster.exchange_s,
        server_s=server,
        limit=Limit.SERVER if saturated else max(parts, key=lambda limit: parts[limit]),
    )


def _with_waiting(groups: int, think_s: float, *services_s: float) -> float:
    """Seconds per iteration of so many groups that think, then are served in turn: exact for exponential times."""
    services = [service for service in services_s if service > 0.0]
    if not services:
        return think_s / groups
    # plain floats: an array of one or two numbers costs more than its arithmetic, ten thousand times over
    think, slowest = max(0.0, think_s), max(services)
    queued = [0.0] * len(services)
    rate = 0.0
    for customers in range(1, groups + 1):
        residence = [service * (1.0 + waiting) for service, waiting in zip(services, queued, strict=True)]
        rate = customers / (think + sum(residence))
        queued = [rate * one for one in residence]
        if rate * slowest > 1.0 - 1e-9:  # saturated: more groups only queue
            break
    return 1.0 / rate


def omnivore_seconds(
    *, workers: int, groups: int, compute_1_s: float, network_1_s: float, fully_connected_s: float
) -> float:
    """Omnivore's own T_g, for equal workers: its baseline form, kept by name.

    k = N/g; t_conv(k) = max(compute(1)/k, k network(1)); T_g = max(t_fc, (t_conv(k) + t_fc) / g).

    >>> omnivore_seconds(workers=8, groups=2, compute_1_s=4.0, network_1_s=0.1, fully_connected_s=0.2)
    0.6
    """
    if not 1 <= groups <= workers:
        raise OptionError(f"{groups} groups of {workers} workers", remedy=f"1 to {workers} groups")
    members = workers / groups
    convolution = max(compute_1_s / members, members * network_1_s)
    return max(fully_connected_s, (convolution + fully_connected_s) / groups)

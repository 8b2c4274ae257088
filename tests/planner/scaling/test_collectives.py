"""Collectives: bytes by closed form, times that fall with bandwidth and rise with latency."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surfer_lab.hardware.machines import load_machines
from surfer_lab.planner.scaling import Collective, collective_ns, group_of, wire_bytes

MACHINES = load_machines()
KINDS = st.sampled_from(list(Collective))
SIZES = st.integers(1, 10**10)
COUNTS = st.sampled_from([2, 4, 8, 16, 64, 1024])


@given(size=SIZES, ranks=st.integers(2, 4096))
def test_bytes_are_those_of_the_closed_forms(size: int, ranks: int):
    assert wire_bytes(Collective.ALL_REDUCE, size, ranks) == 2 * (ranks - 1) * size
    assert wire_bytes(Collective.ALL_GATHER, size, ranks) == (ranks - 1) * size
    assert wire_bytes(Collective.REDUCE_SCATTER, size, ranks) == (ranks - 1) * size
    assert wire_bytes(Collective.SEND, size, 2) == size


def test_a_ring_of_eight_takes_what_the_formula_says():
    # DGX A100: B = 0.783 x 300 GB/s, hop 3.4 us, start 8.4 us; 1 GB: 2 (7/8) / 234.9 s + 14 x 3.4 us + 8.4 us
    group = group_of(MACHINES.find("DGX A100"), 8)
    expected = 2 * 7 / 8 * 1e9 / (0.783 * 300e9) * 1e9 + 14 * 3400 + 8400
    assert collective_ns(Collective.ALL_REDUCE, 1e9, group) == pytest.approx(expected)


def test_a_small_all_reduce_goes_by_the_tree():
    # 8 bytes: 2 log2(8) = 6 hops beat the ring's 14
    group = group_of(MACHINES.find("DGX A100"), 8)
    assert collective_ns(Collective.ALL_REDUCE, 8, group) == pytest.approx(6 * 3400 + 8400, rel=1e-3)


def test_between_nodes_the_network_counts():
    machine = MACHINES.find("DGX A100")
    inside = collective_ns(Collective.ALL_REDUCE, 1e9, group_of(machine, 8))
    across = collective_ns(Collective.ALL_REDUCE, 1e9, group_of(machine, 16))
    network = machine.network
    assert network is not None
    assert across > inside
    # no faster than the shares over the network alone: 2 (1/2) S / B
    assert across > 1e9 / network.bus_bytes_per_s(2) * 1e9


@given(kind=KINDS, size=SIZES, count=COUNTS, factor=st.floats(1.0, 100.0))
def test_more_bandwidth_is_never_slower_and_more_latency_never_faster(
    kind: Collective, size: int, count: int, factor: float
):
    machine = MACHINES.find("DGX A100")
    group = group_of(machine, count)
    assert group.link is not None
    wide = group_of(_scaled(machine, bandwidth=factor), count)
    late = group_of(_scaled(machine, latency=factor), count)
    plain = collective_ns(kind, size, group)
    assert collective_ns(kind, size, wide) <= plain * (1 + 1e-12)
    assert collective_ns(kind, size, late) >= plain * (1 - 1e-12)


@given(kind=KINDS, count=COUNTS, size=st.integers(1, 10**9), more=st.integers(1, 10**9))
def test_more_bytes_never_take_less_time(kind: Collective, count: int, size: int, more: int):
    group = group_of(MACHINES.find("p4d.24xlarge"), count)
    assert collective_ns(kind, size + more, group) >= collective_ns(kind, size, group)


def test_replicas_of_a_node_share_its_network():
    machine = MACHINES.find("DGX A100")
    replicas = group_of(machine, 4, stride=8)
    assert (replicas.per_node, replicas.node_count, replicas.sharing) == (1, 4, 8)
    alone = group_of(machine, 32)
    # each of eight groups has an eighth of the network, and a whole tensor to send
    assert collective_ns(Collective.ALL_REDUCE, 1e8, replicas) > collective_ns(Collective.ALL_REDUCE, 1e8, alone)


def _scaled(machine, **factors):
    from dataclasses import replace

    return replace(
        machine,
        links=tuple(link.scaled(**factors) for link in machine.links),
        network=machine.network.scaled(**factors),
    )

"""Two Ray nodes on this machine, started once: whatever runs here runs on a cluster of two."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(scope="module")
def two_nodes():
    """The address of a cluster of two nodes with room for two workers and a half each."""
    pytest.importorskip("ray")
    pytest.importorskip("torch")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray
    from ray.cluster_utils import Cluster as Nodes

    from surfer_lab.distributed.local_ray import patiently

    nodes = Nodes()
    try:
        patiently(lambda: nodes.add_node(num_cpus=3, include_dashboard=False), nodes.shutdown)
        patiently(lambda: nodes.add_node(num_cpus=3), lambda: None)
        yield nodes.address
    finally:
        ray.shutdown()
        nodes.shutdown()

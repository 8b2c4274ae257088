"""Does what backward operations name account for what the allocator measured?"""

from __future__ import annotations

from pathlib import Path

import pytest

from surfer_lab.planner.graph_memory import measured_above_start_bytes
from surfer_lab.planner.recorded_memory import counted_above_start_bytes
from surfer_lab.trace.reader import read
from surfer_lab.trace.tables import Phase
from tests.trace.graphs import Graph, perceptron

TENSOR = (4, 8, 16, 16)
BYTES = 4 * 4 * 8 * 16 * 16


@pytest.mark.parametrize("loaders", [0, 4])
def test_a_v100s_resnet_rises_as_far_as_is_counted(data_dir: Path, loaders: int) -> None:
    trace = read(data_dir / "traces" / f"kineto_v100_resnet50_num_workers_{loaders}.json.gz")
    counted, measured = counted_above_start_bytes(trace), measured_above_start_bytes(trace)
    assert counted is not None and measured is not None
    assert counted == pytest.approx(measured, rel=0.02)


def test_an_activations_result_is_what_the_convolution_reads() -> None:
    graph = Graph()
    graph.before("gradient", TENSOR)
    graph.before("kept", TENSOR)
    graph.before("weight", (8, 8, 1, 1))
    graph.op("relu", ["kept"], {"y": TENSOR})
    graph.op("convolution_backward", ["gradient", "kept", "weight"], {"dx": TENSOR}, phase=Phase.BACKWARD)
    graph.op("threshold_backward", ["dx", "kept"], {"dy": TENSOR}, phase=Phase.BACKWARD)
    # the kept tensor once; on top of it a gradient read and one made
    assert counted_above_start_bytes(graph.trace()) == 3 * BYTES


def test_nothing_is_said_of_a_step_whose_backward_pass_names_nothing() -> None:
    graph = Graph()
    graph.before("x", TENSOR)
    graph.op("relu", ["x"], {"y": TENSOR}, kept=["y"])
    assert counted_above_start_bytes(graph.trace()) is None
    assert counted_above_start_bytes(perceptron()) is not None

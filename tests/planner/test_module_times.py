"""Do the modules' times sum to the step's, whatever is left out?"""

from __future__ import annotations

import numpy as np
import pytest

from surfer_lab.planner.module_times import module_times
from surfer_lab.planner.operations import by_operation
from surfer_lab.report.example import example_trace
from surfer_lab.report.prediction import predict
from tests.planner.predictions import gpu, prediction, trace


@pytest.fixture(scope="module")
def times():
    return predict(example_trace(), on=["L4", "H100 SXM5"]).times


@pytest.mark.parametrize("most", [1, 5, 64, 10_000])
def test_the_root_holds_the_whole_step_and_a_node_at_least_its_children(times, most):
    tree = module_times(times, most=most)
    assert len(tree.path) <= most + 1
    whole = by_operation(times).duration_ns.sum(axis=1)
    assert tree.duration_ns[:, 0] == pytest.approx(whole)
    for node in range(len(tree.path)):
        children = [child for child, parent in enumerate(tree.parent) if parent == node]
        assert np.all(tree.duration_ns[:, children].sum(axis=1) <= tree.duration_ns[:, node] * (1 + 1e-9))


def test_a_parent_stands_before_its_children_and_is_their_path_without_the_end(times):
    tree = module_times(times)
    assert tree.parent[0] == -1
    for node, parent in enumerate(tree.parent[1:], start=1):
        assert parent < node
        assert tree.path[parent] == tree.path[node][:-1]


def test_a_capture_names_its_modules_and_their_lines(times):
    tree = module_times(times)
    assert tree.has_modules
    assert any("layer" in part or "stages" in part for path in tree.path for part in path)
    assert any(tree.source)


def test_without_modules_phases_and_operations_stand_in_their_place():
    tree = module_times(prediction(trace(), [(gpu("V100 SXM2 16GB"), 1.0)], origin=gpu("V100 SXM2 16GB")))
    assert not tree.has_modules
    assert {path[0] for path in tree.path if path} <= {"(forward)", "(backward)", "(optimizer)", "(other)"}
    assert tree.origin_ns[0] == pytest.approx(90e6)  # the GPU's busy time of the hand-made step

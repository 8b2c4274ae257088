"""What does launching cost by phase and mode? The table, and the order in it."""

from __future__ import annotations

import numpy as np
import pytest

from surfer_lab.engine.compilation import CompileMode
from surfer_lab.engine.host_launches import HOST_NS_PER_LAUNCH, host_sentence, launch_costs
from surfer_lab.trace.tables import Phase

STEP = np.array([Phase.FORWARD] * 3 + [Phase.BACKWARD] * 2 + [Phase.OPTIMIZER])
ONE = np.ones(len(STEP), dtype=np.int64)


def test_eager_launches_cost_by_phase() -> None:
    one, whole = launch_costs(STEP, ONE, CompileMode.OFF)
    assert one.tolist() == [10_000] * 3 + [8_000] * 2 + [7_000]
    assert whole.tolist() == one.tolist()
    assert one[0] == HOST_NS_PER_LAUNCH


def test_a_compiled_region_costs_once_where_it_is_entered() -> None:
    one, whole = launch_costs(STEP, ONE, CompileMode.DEFAULT)
    assert (whole - one).tolist() == [40_000, 0, 0, 40_000, 0, 0]
    assert one.tolist() == [5_000] * 5 + [7_000]


def test_a_graph_costs_next_to_nothing_a_kernel_and_the_optimizer_what_it_did() -> None:
    one, _ = launch_costs(STEP, ONE, CompileMode.REDUCE_OVERHEAD)
    assert one.tolist() == [100] * 5 + [7_000]


def test_several_launches_of_one_op_each_cost() -> None:
    _, whole = launch_costs(STEP, 4 * ONE, CompileMode.OFF)
    assert whole[0] == 40_000


@pytest.mark.parametrize("mode", list(CompileMode))
def test_nothing_to_launch_costs_nothing(mode: CompileMode) -> None:
    one, whole = launch_costs(STEP[:0], ONE[:0], mode)
    assert len(one) == len(whole) == 0
    assert host_sentence(mode).startswith("the host launches")

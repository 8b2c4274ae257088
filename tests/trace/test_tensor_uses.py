"""Is what ops read and write kept by saving, left out where there is nothing, and checked?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from surfer_lab.errors import TraceError
from surfer_lab.trace.equality import same
from surfer_lab.trace.storage import from_bytes, to_bytes
from surfer_lab.trace.tables import TensorUseTable
from tests.trace.graphs import perceptron


def test_uses_survive_saving() -> None:
    step = perceptron()
    assert len(step.uses)
    assert same(from_bytes(to_bytes(step)), step)


def test_a_trace_without_uses_is_written_as_before() -> None:
    step = replace(perceptron(), uses=TensorUseTable.none())
    assert b'"uses"' not in to_bytes(step)
    assert same(from_bytes(to_bytes(step)), step)


def test_a_use_of_a_tensor_that_is_not_there_is_refused() -> None:
    step = perceptron()
    uses = replace(step.uses, tensor=np.full_like(step.uses.tensor, 1_000))
    with pytest.raises(TraceError, match=r"uses\.tensor points outside tensors"):
        to_bytes(replace(step, uses=uses))


def test_uses_out_of_the_ops_order_are_refused() -> None:
    step = perceptron()
    uses = replace(step.uses, op=step.uses.op[::-1].copy())
    with pytest.raises(TraceError, match="not in the ops' order"):
        to_bytes(replace(step, uses=uses))

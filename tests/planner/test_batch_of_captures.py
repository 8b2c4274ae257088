"""Reference workloads captured at a prime batch and reshaped are what a capture at that batch is."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from surfer_lab import workloads
from surfer_lab.capture import record
from surfer_lab.planner.batch import PRIME_BATCH, BatchScaling
from surfer_lab.trace.model import Trace


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def captured(name: str, batch_size: int) -> Trace:
    with FakeTensorMode():
        work = workloads.build(name, tiny=True)
        batch = work.example_inputs(batch_size)
        with record() as recording:
            for _ in range(3):
                work.step(batch)
        return recording.trace


def same_sizes(one: Trace, other: Trace) -> bool:
    return (
        one.ops.name.same_as(other.ops.name)
        and one.ops.input_shapes.same_as(other.ops.input_shapes)
        and one.ops.output_shapes.same_as(other.ops.output_shapes)
        and one.ops.arguments.same_as(other.ops.arguments)
        and np.array_equal(one.tensors.size_bytes, other.tensors.size_bytes)
    )


@pytest.mark.parametrize("name", ["lenet", "dcgan", "gpt2", "dlrm", "ncf"])
def test_one_capture_at_a_prime_batch_is_exact_at_another(name: str) -> None:
    scaling = BatchScaling.of_prime(captured(name, PRIME_BATCH), PRIME_BATCH)
    assert same_sizes(scaling.at(6), captured(name, 6))


@pytest.mark.parametrize("name", ["lenet", "gpt2"])
def test_two_captures_are_exact_at_a_third_batch(name: str) -> None:
    scaling = BatchScaling.of_two(captured(name, 3), captured(name, 5), (3, 5))
    assert same_sizes(scaling.at(8), captured(name, 8))

"""Reference workloads captured at a prime batch and reshaped are what a capture at that batch is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from surfer_lab import workloads
from surfer_lab.capture import record
from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.planner import largest_batch
from surfer_lab.planner.batch import PRIME_BATCH, BatchScaling
from surfer_lab.planner.graph_memory import StepMemory, step_memory
from surfer_lab.planner.largest_batch import batch_memory
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


@pytest.mark.parametrize("name", ["lenet", "dcgan", "gpt2", "dlrm", "ncf", "llama_70b"])
def test_memory_never_falls_as_the_batch_grows(name: str) -> None:
    scaling = BatchScaling.of_prime(captured(name, PRIME_BATCH), PRIME_BATCH)
    card = load_catalog().find("H100 SXM5")
    sizes = [1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128, 256, 1024]
    (rows,) = batch_memory(scaling, [card], sizes)
    for smaller, larger in pairwise(row.estimate for row in rows):
        assert smaller.device.likely <= larger.device.likely
        assert smaller.device.high <= larger.device.high
        for one in (smaller, larger):
            assert sum(row.bytes.likely for row in one.rows) == one.device.likely
            assert sum(row.bytes.high for row in one.rows) == one.device.high
    (backwards,) = batch_memory(scaling, [card], sizes[::-1])
    assert backwards == rows[::-1]


def test_a_larger_batch_holds_what_a_smaller_one_happens_to_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    scaling = BatchScaling.of_prime(captured("lenet", PRIME_BATCH), PRIME_BATCH)
    card = load_catalog().find("H100 SXM5")
    (plain,) = batch_memory(scaling, [card], [1, 2])
    extra = iter((10**9, 0))

    def fragmented(trace: Trace) -> StepMemory:
        step = step_memory(trace)
        return replace(step, reserved_bytes=(step.reserved_bytes or 0) + next(extra))

    monkeypatch.setattr(largest_batch, "step_memory", fragmented)
    (rows,) = batch_memory(scaling, [card], [1, 2])
    assert rows[0].estimate.device.likely == plain[0].estimate.device.likely + 10**9
    assert rows[1].estimate.device.likely == rows[0].estimate.device.likely
    assert rows[1].estimate.allocated == plain[1].estimate.allocated


@pytest.mark.parametrize("name", ["lenet", "gpt2"])
def test_two_captures_are_exact_at_a_third_batch(name: str) -> None:
    scaling = BatchScaling.of_two(captured(name, 3), captured(name, 5), (3, 5))
    assert same_sizes(scaling.at(8), captured(name, 8))

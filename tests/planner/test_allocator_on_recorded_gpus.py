"""The same model's allocator events on an H100 and an MI300X, replayed: the recorded reserved memory, to the byte.

BERT-small in bfloat16, inference (TraceLens' traces). What lived before the recorded step is rebuilt from the model's
layers; the H100 has one buffer of cuBLAS besides, the MI300X takes hipBLASLt's from the allocator at every product.
"""

from __future__ import annotations

import dataclasses
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from surfer_lab.planner.caching_allocator import Block, CachingAllocator
from surfer_lab.planner.workspace import matmul_workspace
from surfer_lab.units import BYTES_PER_MIB
from tests.planner.predictions import gpu

WIDTH, VOCABULARY, POSITIONS, LAYERS, INNER = 512, 30_522, 512, 4, 2048
LAYER = [
    *([WIDTH * WIDTH, WIDTH] * 4), WIDTH, WIDTH, WIDTH * INNER, INNER, INNER * WIDTH, WIDTH, WIDTH, WIDTH,
]  # fmt: skip
PARAMETERS = [
    VOCABULARY * WIDTH, POSITIONS * WIDTH, 2 * WIDTH, WIDTH, WIDTH, *(LAYER * LAYERS), WIDTH * WIDTH, WIDTH,
]  # fmt: skip


def gpu_events(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path) as file:
        events = json.load(file)["traceEvents"]
    memory = sorted((event for event in events if event.get("name") == "[memory]"), key=lambda event: event["ts"])
    return [event["args"] for event in memory if event["args"]["Device Id"] >= 0]


@pytest.mark.parametrize(
    ("name", "buffer_bytes", "recorded_mib"),
    [("tracelens_h100_bert-small", 32 * BYTES_PER_MIB, 116), ("tracelens_mi300x_bert-small", 0, 214)],
)
def test_replayed_events_reserve_what_was_recorded(
    traces_dir: Path, name: str, buffer_bytes: int, recorded_mib: int
) -> None:
    events = gpu_events(traces_dir / f"{name}.json.gz")
    assert {event["Total Reserved"] for event in events} == {recorded_mib * BYTES_PER_MIB}
    allocator = CachingAllocator()
    for count in PARAMETERS:
        allocator.allocate(2 * count)
    allocator.allocate(8 * POSITIONS)  # the tokens
    for warm_up in range(3):
        live: dict[int, Block | None] = {}
        for event in events:
            if event["Bytes"] > 0:
                live[event["Addr"]] = allocator.allocate(event["Bytes"])
            elif event["Addr"] in live:
                allocator.free(live.pop(event["Addr"]))
            if warm_up == 0 and event is events[8]:
                allocator.allocate(buffer_bytes)  # at the first product of matrices
        assert not live
    assert allocator.reserved_bytes == recorded_mib * BYTES_PER_MIB


def test_what_lived_before_the_h100s_step_is_weights_and_the_matrix_librarys_buffer(traces_dir: Path) -> None:
    first = gpu_events(traces_dir / "tracelens_h100_bert-small.json.gz")[0]
    before = first["Total Allocated"] - first["Bytes"]
    hopper = dataclasses.replace(gpu("H100 SXM"), compute_capability="9.0")
    weights, buffer = 2 * sum(PARAMETERS), matmul_workspace(hopper, is_training=False).likely
    assert before == pytest.approx(weights + buffer, rel=0.005)

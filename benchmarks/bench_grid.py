"""How long do ResNet-50's what-ifs take: captured from shapes, then every GPU, nine batch sizes, five precisions?

CPU time of one thread, the second of two runs: the first one imports torch's parts.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

import torch

from benchmarks.figure import Figure
from surfer_lab.capture.symbolic import trace_symbolic
from surfer_lab.engine.whatif import CompileMode, Precision
from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.planner.batch import PRIME_BATCH, BatchScaling
from surfer_lab.planner.grid import step_grid
from surfer_lab.workloads import build

BATCH_SIZES: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256)
PRECISIONS: Final = tuple(precision for precision in Precision if precision is not Precision.AS_RUN)
TURNS: Final = 2
TARGET_S: Final = 3.0


def seconds() -> tuple[float, int]:
    """CPU seconds of capture and grid together, and the answers given."""
    gpus = load_catalog().all()
    began = time.process_time()
    workload = build("resnet50", device="meta")
    batch = workload.example_inputs(PRIME_BATCH)
    trace = trace_symbolic(lambda: workload.step(batch))
    scaling = BatchScaling.of_prime(trace, PRIME_BATCH)
    grid = step_grid(scaling, tuple(gpus), batch_sizes=BATCH_SIZES, precisions=PRECISIONS, compiles=(CompileMode.OFF,))
    return time.process_time() - began, grid.step_ns.size


def figures() -> Iterator[Figure]:
    """The whole grid, captured and answered."""
    torch.set_num_threads(1)
    taken = [seconds() for _ in range(TURNS)]
    yield Figure(
        name=f"ResNet-50 step captured and predicted, {taken[-1][1]:,} answers", measured=taken[-1][0], unit="s",
        target=TARGET_S,
    )  # fmt: skip

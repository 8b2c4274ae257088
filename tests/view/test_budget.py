"""Does what a cell leaves in a notebook stay in its bytes, for all GPUs, nine batch sizes and the longest step?

Measured as a notebook file holds it: JSON with an indent of one, each element of a list on a line of its own. What the
numbers are matters little: they are packed to a length that depends on how many there are.
"""

from __future__ import annotations

import json

import msgspec
import numpy as np
import pytest

from surfer_lab.engine.compilation import CompileMode
from surfer_lab.engine.precision import Precision
from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.planner.grid import AMP, StepGrid
from surfer_lab.report.prediction import predict
from surfer_lab.trace.tables import Phase
from surfer_lab.view.grid_view import grid_view
from surfer_lab.view.stored import stored
from tests.planner.predictions import trace

BYTES_BY_PART = {
    "rows": 16_000,
    "grid": 34_000,
    "modules": 20_000,
    "timeline": 16_000,
    "operation": 12_000,
    "roofline": 5_000,
    "prices": 10_000,
    "memory": 5_000,
    "alternatives": 4_000,
}
MOST_BYTES = 140_000
LACK = "has no 16-bit arithmetic"


def random_grid(gpus, sizes=9):
    """A grid of noise: nothing in it repeats."""
    shape = (len(gpus), sizes, 2, 2)
    noise = np.random.default_rng(0)

    def times():
        return 10 ** noise.uniform(5, 11, shape)

    step = times()
    return StepGrid(
        gpus=gpus,
        batch_sizes=tuple(2**place for place in range(sizes)),
        precisions=(Precision.AS_RUN, AMP),
        compiles=(CompileMode.OFF, CompileMode.DEFAULT),
        step_ns=step,
        low_ns=step * noise.uniform(0.5, 1, shape),
        high_ns=step * noise.uniform(1, 2, shape),
        gpu_busy_ns=step,
        launch_bound_ns=step,
        input_wait_ns=step,
        synchronization_ns=step,
        communication_ns=step,
        memory_bytes=10 ** noise.uniform(8, 11, shape[:3]),
        memory_high_bytes=10 ** noise.uniform(8, 11, shape[:3]),
        fit=noise.integers(0, 4, shape[:3]).astype(np.int8),
        blockers=tuple(
            (None, f"{gpu.name} has no 16-bit arithmetic" if gpu.release_year == 2016 else None) for gpu in gpus
        ),
        notes=(),
    )


@pytest.fixture(scope="module")
def kept():
    """10,000 kernels of 400 operations with long names, on every GPU of the catalogue, with a full grid."""
    kernels = [
        (
            f"aten::a_rather_long_name_of_an_operation_number_{place % 400}",
            None,
            list(Phase)[place % 4],
            "elementwise",
            "fp32",
            1 + place % 7,
        )
        for place in range(10_000)
    ]
    prediction = predict(trace(kernels=kernels), origin="V100 SXM2 16GB", batch_size=64, dataset_size=10**6)
    gpus = tuple(prediction.on(name).gpu for name in prediction.gpus)
    view = msgspec.structs.replace(prediction.view, grid=grid_view(random_grid(gpus), own_batch=64))
    return msgspec.to_builtins(stored(view))


def written(value):
    return len(json.dumps(value, indent=1, ensure_ascii=False))


def test_every_gpu_of_the_catalogue_is_in_it(kept):
    assert len(kept["rows"]["gpu"]) == len(load_catalog().select(("all",)))


@pytest.mark.parametrize("part", list(BYTES_BY_PART))
def test_a_part_keeps_to_its_bytes(kept, part):
    size = sum(written(value) for name, value in kept.items() if name.startswith(part))
    assert size <= BYTES_BY_PART[part], size


def test_the_whole_keeps_to_its_bytes(kept):
    assert written(kept) <= MOST_BYTES, {name: written(value) for name, value in kept.items()}


def test_a_grid_keeps_its_numbers_to_three_digits(kept):
    grid = random_grid(tuple(load_catalog().select(("all",))))
    from surfer_lab.view.packed import unpack

    sent = grid_view(grid, own_batch=1)
    assert unpack(sent.step_ms) == pytest.approx((grid.step_ns / 1e6).reshape(-1), rel=2e-4)
    low = unpack(sent.step_ms) * unpack(sent.low_ratio)
    assert low == pytest.approx((grid.low_ns / 1e6).reshape(-1), rel=4e-4)
    assert sent.own == [0, 0, 0, 0]
    assert sent.reasons == [LACK]

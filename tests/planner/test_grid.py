"""Is a cell of the grid what the engine says of that step alone? What a GPU cannot do: a reason and no number?"""

from __future__ import annotations

import numpy as np
import pytest

from surfer_lab.engine import EngineOptions, predict
from surfer_lab.engine.whatif import CompileMode, Precision
from surfer_lab.errors import PredictionError
from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.planner.batch import BatchScaling
from surfer_lab.planner.grid import AMP, batch_sizes_around, step_grid
from surfer_lab.planner.memory import Fit
from tests.planner.predictions import trace as recorded
from tests.trace.graphs import perceptron

CATALOG = load_catalog()
CARDS = [CATALOG.find(name) for name in ("V100 SXM2 16GB", "T4", "A100 SXM4 40GB")]
PRIME = 1009
BATCHES = (1, 8, 64)
CAPTURE = perceptron(batch=PRIME)
GRID = step_grid(CAPTURE, CARDS, batch_sizes=BATCHES)


def test_the_grid_has_a_number_for_every_gpu_batch_precision_and_mode() -> None:
    assert GRID.step_ns.shape == (3, 3, 2, 2)
    assert np.isfinite(GRID.step_ns).all()
    assert all(reason is None for row in GRID.blockers for reason in row)


@pytest.mark.parametrize("batch", range(len(BATCHES)))
@pytest.mark.parametrize("mode", [CompileMode.OFF, CompileMode.DEFAULT])
def test_a_cell_is_what_the_engine_says_of_that_step(batch: int, mode: CompileMode) -> None:
    alone = BatchScaling.of_prime(CAPTURE).at(BATCHES[batch])
    for gpu, precision in ((0, Precision.AMP_FP16), (2, Precision.AMP_BF16)):
        answer = predict(alone, [CARDS[gpu]], options=EngineOptions(precision=precision, compile=mode))
        cell = (gpu, batch, 1, GRID.compiles.index(mode))
        assert GRID.step_ns[cell] == pytest.approx(answer.steps.step_ns[0])
        assert GRID.launch_bound_ns[cell] == pytest.approx(answer.steps.launch_bound_ns[0])


def test_amp_is_bfloat16_where_there_are_units_for_it() -> None:
    grid = step_grid(CAPTURE, CARDS, batch_sizes=(64,), precisions=(AMP, Precision.AMP_FP16, Precision.AMP_BF16))
    assert grid.step_ns[0, 0, 0, 0] == grid.step_ns[0, 0, 1, 0]
    assert grid.step_ns[2, 0, 0, 0] == grid.step_ns[2, 0, 2, 0]


def test_what_a_gpu_cannot_do_has_a_reason_and_no_number() -> None:
    grid = step_grid(CAPTURE, CARDS, batch_sizes=(64,), precisions=(Precision.BF16,), compiles=(CompileMode.OFF,))
    assert [reason is None for (reason,) in grid.blockers] == [False, False, True]
    assert np.isnan(grid.step_ns[:2]).all()
    assert np.isfinite(grid.step_ns[2]).all()


def test_parts_of_every_cell_sum_to_its_step() -> None:
    total = (
        GRID.gpu_busy_ns + GRID.launch_bound_ns + GRID.input_wait_ns + GRID.synchronization_ns + GRID.communication_ns
    )
    assert total == pytest.approx(GRID.step_ns)
    assert (GRID.low_ns <= GRID.step_ns).all()
    assert (GRID.step_ns <= GRID.high_ns).all()


def test_memory_grows_with_the_batch_and_small_steps_fit() -> None:
    assert (np.diff(GRID.memory_bytes, axis=1) >= 0).all()
    assert GRID.fit_at(0, 0, 0) is Fit.FITS
    assert GRID.largest_fitting_batch(0, 0) == 64


def test_the_knee_is_the_smallest_batch_near_the_best_throughput() -> None:
    knee = GRID.knee_batch(0, 0, 0)
    assert knee in BATCHES
    rate = GRID.samples_per_s[0, :, 0, 0]
    assert rate[BATCHES.index(knee)] >= 0.9 * rate.max()


def test_a_recording_keeps_its_own_batch() -> None:
    card = CATALOG.find("V100 SXM2 16GB")
    grid = step_grid(recorded(batch_size=32), [card], origin=card, compiles=(CompileMode.OFF,))
    assert grid.batch_sizes == (32,)
    assert np.isfinite(grid.step_ns[0, 0, 0, 0])
    with pytest.raises(PredictionError, match="measured kernels"):
        step_grid(recorded(batch_size=31), [card], origin=card, batch_sizes=(8, 16))


def test_a_recording_without_shapes_has_no_compiled_cells_but_says_why() -> None:
    card = CATALOG.find("V100 SXM2 16GB")
    grid = step_grid(recorded(batch_size=32), [card], origin=card, precisions=(Precision.AS_RUN,))
    assert np.isfinite(grid.step_ns[0, 0, 0, 0])
    assert np.isnan(grid.step_ns[0, 0, 0, 1])
    assert any("record_shapes=True" in note for note in grid.notes)


def test_batch_sizes_double_around_the_recorded_one() -> None:
    assert batch_sizes_around(64) == (4, 8, 16, 32, 64, 128, 256, 512, 1024)
    assert batch_sizes_around(1) == (1, 2, 4, 8, 16, 32, 64, 128, 256)
    assert 48 in batch_sizes_around(48)

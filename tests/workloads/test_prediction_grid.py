"""Is the grid that is kept with a prediction that of its own what-ifs?"""

from __future__ import annotations

import numpy as np
import pytest

from surfer_lab.errors import PredictionError
from surfer_lab.planner.memory import Fit
from surfer_lab.report.example import example_trace
from surfer_lab.report.prediction import predict
from surfer_lab.view.packed import unpack
from surfer_lab.workloads.prediction import predict_model

GPUS = ["L4", "P100 PCIe 16GB", "H100 SXM5"]


@pytest.fixture(scope="module")
def prediction():
    return predict_model("surfer_lab.workloads:lenet", batch_size=64, on=GPUS)


def test_a_cell_of_the_grid_is_the_what_if_of_its_name(prediction):
    grid = prediction.grid_view
    shape = (len(prediction.gpus), len(grid.batch_sizes), len(grid.precisions), len(grid.compiles))
    step_ms = unpack(grid.step_ms).reshape(shape)
    batch, compiled = grid.batch_sizes.index(128), grid.compiles.index("default")
    asked = prediction.what_if(batch_size=128, precision="amp-bf16", compile="default")
    for place, gpu in enumerate(prediction.gpus):
        if gpu in asked.gpus:
            assert step_ms[place, batch, 1, compiled] == pytest.approx(asked.on(gpu).step_ns / 1e6, rel=1e-3)


def test_the_own_place_of_the_grid_is_the_prediction_itself(prediction):
    grid = prediction.grid_view
    shape = (len(prediction.gpus), len(grid.batch_sizes), len(grid.precisions), len(grid.compiles))
    own = unpack(grid.step_ms).reshape(shape)[(slice(None), *grid.own[:3])]
    assert own == pytest.approx([prediction.on(gpu).step_ns / 1e6 for gpu in prediction.gpus], rel=1e-3)


def test_the_largest_batch_of_each_gpu_fits_and_twice_as_many_do_not(prediction):
    largest = unpack(prediction.grid_view.largest_batch).reshape(len(prediction.gpus), -1)
    for gpu, size in zip(prediction.gpus, largest[:, 0], strict=True):
        assert prediction.what_if(batch_size=int(size)).on(gpu).fit is Fit.FITS
        assert prediction.what_if(batch_size=2 * int(size)).on(gpu).fit is not Fit.FITS


def test_a_slice_of_other_batches_is_made_where_they_are_known(prediction):
    grid = prediction.grid(gpus=["L4"], batch_sizes=[3, 5])
    assert [gpu.name for gpu in grid.gpus] == ["L4"]
    assert grid.batch_sizes == (3, 5)
    assert np.isfinite(grid.step_ns).all()


def test_a_recording_at_one_batch_size_refuses_others():
    recorded = predict(example_trace(), on=["L4"])
    assert len(recorded.grid_view.batch_sizes) == 1
    with pytest.raises(PredictionError, match=r"one batch size only.*at any batch size"):
        recorded.grid(batch_sizes=[3, 5])


def test_work_between_the_passes_can_stop_them(prediction):
    seen = []

    def stop():
        seen.append("pass")
        if len(seen) == 3:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        prediction.grid(between=stop)
    assert len(seen) == 3

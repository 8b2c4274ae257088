"""What one step takes, costs and needs: hand-worked cases. 100 ms a step: 90 ms of kernels, 10 ms of waiting."""

from __future__ import annotations

import pytest

from surfer_lab.errors import PredictionError
from surfer_lab.planner.memory import Fit
from surfer_lab.planner.outcome import Scenario, outcomes
from surfer_lab.planner.pricing import Price, PriceKind
from surfer_lab.trace.model import CellRecord
from tests.planner.predictions import MS, gpu, prediction, trace

V100 = gpu("V100", memory_gb=16)
FAST = gpu("Fast", memory_gb=80)
S = 1_000_000_000


def price(usd: float, *, multiple: int = 1) -> Price:
    return Price(
        usd_per_gpu_hour=usd, low=usd, high=usd, offer_count=1, as_of="2025-08-01", source="test",
        kind=PriceKind.ON_DEMAND, instance_multiple=multiple, providers=("provider",),
    )  # fmt: skip


def answers(recorded, *, batch_size=None, dataset_size=None, usd=3.6, multiple=1):
    predicted = prediction(recorded, [(V100, 1), (FAST, 2)], origin=V100)
    return outcomes(
        predicted,
        [
            Scenario(gpu=V100, batch_size=batch_size, dataset_size=dataset_size),
            Scenario(gpu=FAST, batch_size=batch_size, dataset_size=dataset_size, price=price(usd, multiple=multiple)),
        ],
    )


def test_the_origin_is_as_fast_as_itself_and_half_the_kernel_time_is_not_half_the_step():
    here, fast = answers(trace())
    assert here.is_origin
    assert here.speedup == 1
    assert fast.step_ns == (90 / 2 + 10) * MS
    assert fast.speedup == pytest.approx(100 / 55)
    assert not fast.is_origin


def test_a_thousand_steps_of_55_ms_at_3_60_an_hour_cost_5_5_cents():
    _, fast = answers(trace())
    assert fast.usd_per_1000_steps == pytest.approx(0.055)
    assert fast.usd_per_1000_steps_low == pytest.approx(0.9 * 0.055)
    assert fast.usd_per_1000_steps_high == pytest.approx(1.1 * 0.055)


def test_a_gpu_rented_out_only_eight_at_once_costs_what_all_eight_cost():
    _, fast = answers(trace(), multiple=8)
    assert fast.usd_per_hour == pytest.approx(8 * 3.6)
    assert fast.usd_per_1000_steps == pytest.approx(8 * 0.055)


def test_without_a_price_or_a_batch_what_hangs_on_them_is_not_known():
    here, fast = answers(trace())
    assert here.usd_per_hour is None
    assert here.usd_per_1000_steps is None
    assert fast.samples_per_s is None
    assert fast.epoch is None


def test_throughput_and_epoch_follow_from_batch_and_data_set():
    _, fast = answers(trace(), batch_size=22, dataset_size=2201)
    assert fast.samples_per_s == pytest.approx(22 / 0.055)
    assert fast.epoch is not None
    assert fast.epoch.step_count == 101  # the last batch has one sample and takes a step too
    assert fast.epoch.duration_ns == pytest.approx(101 * 55 * MS)
    assert fast.epoch.usd == pytest.approx(101 * 0.055 / 3600 * 3.6)


@pytest.mark.parametrize(
    ("peak_gb", "here", "there"),
    [
        (None, Fit.UNKNOWN, Fit.UNKNOWN),
        (10, Fit.FITS, Fit.FITS),
        (15.5, Fit.TIGHT, Fit.FITS),
        (17, Fit.DOES_NOT_FIT, Fit.FITS),
    ],
)
def test_the_measured_peak_decides_what_fits(peak_gb, here, there):
    found = answers(trace(peak_bytes=None if peak_gb is None else int(peak_gb * 1e9)))
    assert [outcome.fit for outcome in found] == [here, there]


def test_the_whole_cell_keeps_its_rest_and_changes_its_steps():
    # 60 s in all: 500 steps of 100 ms = 50 s, and 10 s of the rest; there 10 s + 500 x 55 ms = 37.5 s
    cell = CellRecord(wall_ns=60 * S, step_count=500, profiled_step_count=0, unprofiled_step_ns=100 * MS)
    here, fast = answers(trace(cell=cell))
    assert here.cell is not None
    assert fast.cell is not None
    assert here.cell.wall_ns == pytest.approx(60 * S)
    assert fast.cell.wall_ns == pytest.approx(37.5 * S)
    assert fast.cell.usd == pytest.approx(37.5 / 3600 * 3.6)


def test_profiled_steps_of_a_cell_count_with_their_own_time():
    # recorded steps take 100 ms, plain ones 50; the first is slow too: 11 x 100 + 89 x 50 = 5.55 s of 6.05 s
    cell = CellRecord(wall_ns=6050 * MS, step_count=100, profiled_step_count=10, unprofiled_step_ns=50 * MS)
    here, _ = answers(trace(cell=cell))
    assert here.cell is not None
    assert here.cell.wall_ns == pytest.approx(0.5 * S + 100 * 100 * MS)


def test_a_cell_of_one_step_has_no_whole_cell_answer():
    cell = CellRecord(wall_ns=S, step_count=1, profiled_step_count=1, unprofiled_step_ns=None)
    assert all(outcome.cell is None for outcome in answers(trace(cell=cell)))


def test_an_outcome_reads_as_one_line():
    here, fast = answers(trace(peak_bytes=10**10))
    assert repr(here) == "<Outcome: V100, 100 ms a step (90 to 110), fits>"
    assert repr(fast) == "<Outcome: Fast, 55 ms a step (49.5 to 60.5), $0.055 per 1,000 steps, fits>"


def test_scenarios_of_other_gpus_are_refused():
    with pytest.raises(PredictionError, match="scenarios"):
        outcomes(prediction(trace(), [(V100, 1)], origin=V100), [Scenario(gpu=FAST)])

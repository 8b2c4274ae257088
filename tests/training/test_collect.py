"""Does a collection span its sizes, stop at its limit, go on where it was, and read back as the measured tables do?"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pandas as pd
import pytest
import torch

from surfer_lab.engine.learned import LearnedFamily
from surfer_lab.errors import GpuError
from surfer_lab.hardware.calibrations import Calibration
from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.training.calibrate import CalibrationRun
from surfer_lab.training.collect import COLUMNS, ROWS, VECTOR_ROWS, Dims, _call, collect, plan
from surfer_lab.training.fit.micro_benchmarks import read_timings


class FakeBench:
    """A GPU on which an operation takes a tenth of a second of its own clock; vast ones it has no memory for."""

    name = "T4"
    versions: Mapping[str, str] = MappingProxyType(
        {"torch_version": "2.9", "cuda_version": "12.8", "cudnn_version": "9"}
    )

    def __init__(self) -> None:
        self.clock_s = 0.0
        self.asked: list[tuple[str, Dims]] = []

    def now_s(self) -> float:
        return self.clock_s

    def time_ms(self, op: str, dims: Dims) -> float:
        self.clock_s += 0.1
        self.asked.append((op, dims))
        if op == "softmax" and dims[0] > 20_000:
            raise RuntimeError("out of memory")
        return 1.0 + float(np.prod(np.array(dims, dtype=np.float64))) * 1e-9


def rates() -> CalibrationRun:
    today = datetime.date(2025, 1, 1).isoformat()
    measured = tuple(
        Calibration(gpu="T4", quantity=quantity, value_per_s=value, measured_on=today, how="test")
        for quantity, value in (("fp32", 4e12), ("bandwidth", 2.4e11))
    )
    return CalibrationRun(
        gpu=None, device="T4", measured=measured, before={}, skipped={}, seconds=1.0, saved_to=None
    )  # fmt: skip


def test_the_plan_is_always_the_same_without_repeats_and_spans_all_tables_early() -> None:
    rows = list(plan())
    assert rows == list(plan())
    assert Counter(name for name, _ in rows) == {name: ROWS.get(name, VECTOR_ROWS) for name in COLUMNS}
    assert {name for name, _ in rows[: len(rows) // 10]} == set(COLUMNS)
    assert all(len(dims) == len(COLUMNS[name]) and min(dims) >= 1 for name, dims in rows)


def test_a_run_that_is_cut_goes_on_and_measures_nothing_twice(tmp_path: Path) -> None:
    first, second = FakeBench(), FakeBench()
    cut = collect(tmp_path, seconds=30.0, bench=first, rates=rates)
    assert (cut.measured + cut.skipped, cut.kept_before) == (300, 0)
    assert cut.left == len(set(plan())) - 300 or cut.left > 0
    done = collect(tmp_path, seconds=1e6, bench=second, rates=pytest.fail)
    assert done.kept_before == cut.measured
    assert done.left == 0
    measured_twice = set(first.asked) & set(second.asked)
    assert all(name == "softmax" and dims[0] > 20_000 for name, dims in measured_twice)  # those that could not run
    assert done.rates == {"fp32": pytest.approx(4e12), "bandwidth": pytest.approx(2.4e11)}


def test_what_is_collected_reads_as_the_measured_tables_do(tmp_path: Path) -> None:
    collect(tmp_path, seconds=1e6, bench=FakeBench(), rates=rates)
    for family in (LearnedFamily.LINEAR, LearnedFamily.BMM, LearnedFamily.CONV):
        timings = read_timings(tmp_path, family, load_catalog())
        assert [gpu.name for gpu in timings.gpus] == ["T4"]
        assert len(timings) > 300
        assert (timings.measured_ms > timings.floor_ms).all()
    table = pd.read_parquet(tmp_path / "kernels" / "softmax.parquet")
    assert list(table.columns[:5]) == ["gpu", "op", "dtype", "b", "h"]
    assert set(table.source) == {"surfer collect"}


def test_other_gpus_rows_stay(tmp_path: Path) -> None:
    collect(tmp_path, seconds=5.0, bench=FakeBench(), rates=rates)
    other = FakeBench()
    other.name = "L4"
    collect(tmp_path, seconds=5.0, bench=other, rates=rates)
    table = pd.read_parquet(tmp_path / "kernels" / "linear.parquet")
    assert set(table.gpu) == {"T4", "L4"}


@pytest.mark.parametrize("op", COLUMNS)
def test_every_operation_runs_at_its_sizes(op: str) -> None:
    dims = {"linear": (1, 4, 8, 16), "bmm": (2, 4, 8, 16), "conv": (2, 3, 4, 3, 8, 1, 1)}.get(op, (4, 8))
    result = _call(op, dims, device="cpu")()
    shape = {"linear": (4, 16), "bmm": (2, 4, 16), "conv": (2, 4, 8, 8)}.get(op, (4, 8))
    assert tuple(result.shape) == shape


@pytest.mark.skipif(torch.cuda.is_available(), reason="what is said where there is no GPU")
def test_without_a_gpu_it_says_where_to_run(tmp_path: Path) -> None:
    with pytest.raises(GpuError, match=r"torch sees no CUDA or ROCm GPU"):
        collect(tmp_path)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA or ROCm GPU")
def test_on_a_gpu_half_a_minute_gives_rows_of_every_kind(tmp_path: Path) -> None:
    found = collect(tmp_path, seconds=30.0)
    assert found.measured > 100
    assert (tmp_path / "facts" / "sustained.csv").is_file()

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from surfer_lab.errors import GpuError
from surfer_lab.hardware import catalog
from surfer_lab.hardware.calibrations import load_calibrations
from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.hardware.configuration import FOLDER_VARIABLE
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.gpu import Gpu, RateOrigin
from surfer_lab.training.calibrate import calibrate, sustained_per_s

MS = 1e6  # ns


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "configuration"))
    monkeypatch.setattr(catalog, "_SESSION", catalog._Session())
    return tmp_path / "configuration"


class FakeMachine:
    """A GPU with a clock of its own: fast at first, then held back by its power limit."""

    name = "Tesla T4"
    classes = (RateClass.FP32, RateClass.FP16)

    def __init__(self, gpu: Gpu | None) -> None:
        self.gpu = gpu
        self.now_ns = 0.0

    def matmul(self, rate_class: RateClass) -> tuple[Callable[[], object], float]:
        self.now_ns = 0.0
        if rate_class is RateClass.FP16:
            raise RuntimeError("no kernel image is available\nfor execution")
        return (lambda: None), 4e9

    def copy(self) -> tuple[Callable[[], object], float]:
        self.now_ns = 0.0
        return (lambda: None), 2e8

    def time_ns(self, work: Callable[[], object], repeats: int) -> float:
        call_ns = 0.5 * MS if self.now_ns < 300 * MS else 1.0 * MS
        self.now_ns += call_ns * repeats
        return call_ns * repeats


def test_the_rate_is_that_of_the_settled_half() -> None:
    machine = FakeMachine(None)
    # 4 GFLOP in 1 ms once the clocks have settled; the first 0.3 s are twice as fast
    assert sustained_per_s(machine, lambda: None, 4e9, 2.0) == pytest.approx(4e12)


def test_what_was_measured_is_saved_and_used_from_then_on() -> None:
    machine = FakeMachine(load_catalog().find("T4"))
    run = calibrate(machine=machine, seconds_each=1.0)
    assert {one.quantity: one.value_per_s for one in run.measured} == {
        "fp32": pytest.approx(4e12),
        "bandwidth": pytest.approx(2e11),
    }
    assert run.skipped == {"fp16": "no kernel image is available"}
    assert run.before["fp32"].per_s == pytest.approx(4.2e12)
    assert set(load_calibrations()) == set(run.measured)
    gpu = load_catalog().find("T4")
    assert gpu.sustained[RateClass.FP32].origin is RateOrigin.CALIBRATED
    assert gpu.sustained_bandwidth.per_s == pytest.approx(2e11)


def test_nothing_is_saved_when_not_asked_to() -> None:
    assert calibrate(machine=FakeMachine(None), save=False, seconds_each=0.1).saved_to is None
    assert load_calibrations() == ()


def test_a_machine_that_can_do_nothing_is_an_error_with_its_reason() -> None:
    class Broken(FakeMachine):
        classes = (RateClass.FP16,)

        def copy(self) -> tuple[Callable[[], object], float]:
            raise RuntimeError("out of memory")

    with pytest.raises(GpuError, match="nothing could be measured on Tesla T4: no kernel image"):
        calibrate(machine=Broken(None))


def test_without_a_gpu_the_cpu_is_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(GpuError, match="--cpu"):
        calibrate()


def test_the_cpu_is_really_measured_and_leaves_torch_as_it_was(own_folder: Path) -> None:
    torch.manual_seed(7)
    state, precision = torch.get_rng_state(), torch.get_float32_matmul_precision()
    seen: list[tuple[str, float]] = []
    run = calibrate(cpu=True, seconds_each=0.1, progress=lambda what, share: seen.append((what, share)))
    rates = {one.quantity: one.value_per_s for one in run.measured}
    assert 1e8 < rates["fp32"] < 1e14  # a computer of our days
    assert 1e8 < rates["bandwidth"] < 1e13
    assert run.gpu is None and run.device.startswith("CPU (")
    assert run.saved_to == own_folder / "calibrations.json"
    assert seen == [("fp32", 0.0), ("bandwidth", 0.5), ("done", 1.0)]
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_float32_matmul_precision() == precision
    assert torch.is_grad_enabled()
    assert load_catalog().warnings == ()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA or ROCm GPU")
def test_a_gpu_is_measured_within_a_minute_near_what_is_known_of_it() -> None:
    run = calibrate(seconds_each=1.0)
    assert run.gpu is not None
    for one in run.measured:
        assert 0.5 < one.value_per_s / run.before[one.quantity].per_s < 2.0, one

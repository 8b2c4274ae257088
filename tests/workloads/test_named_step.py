"""A factory's answer becomes a step at any batch size, and what is wrong with it is told before it is predicted."""

from __future__ import annotations

import collections
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from surfer_lab.errors import OptionError
from surfer_lab.planner.captured_step import CapturedStep
from surfer_lab.workloads.any_batch import capture_step
from surfer_lab.workloads.named_step import model_step, named_step


def _captured(factory: Callable[..., Any], batch_size: int | None = None, *, inference: bool = False) -> CapturedStep:
    return capture_step(model_step(factory, name="mine", inference=inference), batch_size)


def _linear() -> nn.Module:
    return nn.Linear(10, 3)


def _frozen() -> nn.Module:
    return _linear().requires_grad_(False)


class _Work:
    """A workload as short as it can be."""

    def __init__(self) -> None:
        self.model = _linear()
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.1)

    def example_inputs(self, batch_size: int = 5) -> torch.Tensor:
        return torch.randn(batch_size, 10)

    def step(self, batch: torch.Tensor) -> None:
        self.model(batch).sum().backward()
        self.optimizer.step()
        self.optimizer.zero_grad()


class _WorkOfNoSize(_Work):
    def example_inputs(self, batch_size: int) -> torch.Tensor:  # type: ignore[override] # that is what is wrong
        return torch.randn(batch_size, 10)


class _WorkOfOneSize(_Work):
    def example_inputs(self) -> torch.Tensor:  # type: ignore[override] # that is what is wrong
        return torch.randn(4, 10)


class _Loses(nn.Module):
    """Its output is no function of what is trained."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = _linear()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x).detach()


class _Spectrum(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = _linear()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.fft.fft(self.inner(x))


def _stepper(form: str) -> Callable[..., Any]:
    model = _linear()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def train(batch_size: int) -> None:
        model(torch.randn(batch_size, 10)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    forms: dict[str, Callable[..., Any]] = {
        "default": lambda batch_size=4: train(batch_size),
        "keyword": lambda *, batch_size: train(batch_size),
        "own": lambda: train(4),
    }
    return forms[form]


@pytest.mark.parametrize(
    ("factory", "said"),
    [
        (lambda rows: None, "wants arguments (rows)"),
        (lambda batch_size, *, rows: None, "wants arguments (batch_size, rows)"),
        (lambda batch_size: None, "--batch-size 32"),
        (lambda: (_linear(), None), "NoneType where its inputs are expected"),
        (lambda: (_linear(), "text"), "str where its inputs are expected"),
        (lambda: (_linear(), _linear()), "Linear where its inputs are expected"),
        (lambda: (_linear(), torch.randn(0, 10)), "no sample (shape (0, 10))"),
        (lambda: (_linear(), torch.randn(2, 10), torch.optim.SGD), "SGD where its optimizer is expected"),
        (lambda: (_linear(), torch.randn(2, 10), 0.1), "a value of type float where its optimizer is expected"),
        (lambda: (_frozen(), torch.randn(2, 10)), "has parameters, all frozen"),
        (lambda: (nn.ReLU(), torch.randn(2, 10)), "has no parameters"),
        (lambda: (_Loses(), torch.randn(2, 10)), "no output of the model depends on parameters that are trained"),
        (_WorkOfNoSize, "no default_batch_size"),
        (_WorkOfOneSize, "takes no batch size"),
    ],
)
def test_a_factory_with_a_wrong_answer_is_told_what_it_gave(factory, said) -> None:
    with pytest.raises(OptionError) as caught:
        _captured(factory)
    assert said in str(caught.value)


def test_a_second_module_for_inputs_is_told_at_a_batch_size_too() -> None:
    with pytest.raises(OptionError, match="Linear where its inputs are expected"):
        _captured(lambda: (_linear(), _linear()), 8)


@pytest.mark.parametrize("factory", [lambda: (_frozen(), torch.randn(2, 10)), lambda: (nn.ReLU(), torch.randn(2, 10))])
def test_what_cannot_be_trained_can_infer(factory) -> None:
    assert _captured(factory, inference=True).trace.batch_size == 2


def test_a_workload_tells_its_batch_size_by_its_default() -> None:
    captured = _captured(_Work)
    assert captured.trace.batch_size == 5
    assert captured.scaling is not None


def test_a_loss_is_taken_of_complex_outputs() -> None:
    assert "aten::abs" in _captured(lambda: (_Spectrum(), torch.randn(2, 10))).trace.ops.name


@pytest.mark.parametrize("form", ["default", "keyword"])
def test_a_step_takes_the_batch_size_as_it_names_it(form: str) -> None:
    captured = _captured(lambda: _stepper(form), 8)
    assert captured.trace.batch_size == 8
    assert captured.scaling is not None


def test_inputs_that_are_one_tensor_stay_one_at_another_batch() -> None:
    Pair = collections.namedtuple("Pair", "x y")

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = _linear()

        def forward(self, pair: Any, again: torch.Tensor) -> torch.Tensor:
            assert type(pair) is Pair
            assert pair.x is again
            return self.inner(pair.x) + pair.y

    def factory() -> Any:
        x = torch.randn(4, 10)
        return Model(), (Pair(x, torch.randn(4, 1)), x)

    assert _captured(factory, 16).trace.batch_size == 16


# -- batch sizes that a step does not follow ---------------------------------------------------------------------------


def test_a_batch_size_that_the_step_does_not_follow_is_refused() -> None:
    with pytest.raises(OptionError, match="does not follow --batch-size 32, and runs at 4"):
        _captured(lambda: _stepper("own"), 32)


@pytest.mark.parametrize("asked", [None, 4])
def test_a_step_that_names_its_own_batch_is_predicted_at_it(asked: int | None) -> None:
    captured = _captured(lambda: _stepper("own"), asked)
    assert captured.trace.batch_size == 4
    assert captured.scaling is None
    assert any("the step names its own" in note for note in captured.notes)


def test_a_size_that_grows_by_parts_keeps_its_own_batch() -> None:
    def half(batch_size: int = 9) -> tuple[nn.Module, torch.Tensor]:
        return _linear(), torch.randn(batch_size // 2 + batch_size, 10)

    captured = _captured(half)
    assert captured.scaling is None
    assert any("is predicted" in note for note in captured.notes)


def test_the_lines_that_run_a_step_stand_in_no_line_of_the_users() -> None:
    sources = _captured(lambda: (_Spectrum(), torch.randn(2, 10))).trace.ops.source
    assert any(source and source.startswith("test_named_step.py:") for source in sources)
    assert not any(source and ("named_step.py:" in source.replace("test_named_step", "")) for source in sources)
    assert not any(source and "any_batch.py:" in source for source in sources)


# -- modules -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "said"), [("leaves", "importing leaves"), ("leaves.py", "running leaves.py")])
def test_a_module_that_exits_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, said: str) -> None:
    (tmp_path / "leaves.py").write_text("import sys\nsys.exit('no GPU')\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "leaves", raising=False)
    with pytest.raises(OptionError, match=f"{said} fails with SystemExit: no GPU"):
        named_step(f"{name}:factory")


def _data_set() -> torch.utils.data.TensorDataset:
    return torch.utils.data.TensorDataset(torch.randn(100, 10), torch.zeros(100, dtype=torch.int64))


def test_a_factory_of_surfer_tune_is_a_step_at_any_batch_size() -> None:
    for factory in (lambda: (_linear(), _data_set()), lambda: (_linear(), _data_set(), nn.functional.cross_entropy)):
        for size, named in ((None, 64), (7, 7), (128, 128)):
            assert _captured(factory, size).trace.batch_size == named
    assert _captured(lambda: (_frozen(), _data_set()), 7, inference=True).trace.batch_size == 7


def test_a_data_set_without_targets_and_one_for_a_frozen_model_are_told() -> None:
    with pytest.raises(OptionError, match="data set has items of type Tensor"):
        _captured(lambda: (_linear(), _Inputs()))
    with pytest.raises(OptionError, match="nothing to train"):
        _captured(lambda: (_frozen(), _data_set()))


class _Inputs(torch.utils.data.Dataset[torch.Tensor]):
    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.zeros(10)

"""A program that checks for NaN and infinity goes on without data as if its numbers were finite, and that is said."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from surfer_lab.capture import trace_symbolic

FINITE = "numbers are taken as finite where that is checked"
CONDITION = "conditions on tensors are taken as false"


def _assumed(check: Callable[[torch.Tensor], object], *, answer: bool) -> list[str]:
    """What is assumed for a check of activations, whose answer is asked for."""
    model = torch.nn.Linear(4, 4)

    def step() -> None:
        assert bool(check(model(torch.randn(3, 4)))) is answer

    seen = [warning.seen for warning in trace_symbolic(step).warnings]
    return [text for text in seen if text.startswith("without data")]


def _in_place(x: torch.Tensor) -> torch.Tensor:
    mask = torch.isnan(x)
    mask.logical_not_()
    return mask.all()


def _written_out(x: torch.Tensor) -> torch.Tensor:
    mask = torch.isfinite(x)
    torch.gt(x, 0, out=mask)
    return mask.all()


@pytest.mark.parametrize(
    ("check", "answer"),
    [
        (lambda x: torch.isfinite(x).all(), True),
        (lambda x: not torch.isfinite(x.sum()), False),
        (lambda x: torch.isnan(x).any(), False),
        (lambda x: torch.isinf(x).any() or torch.isposinf(x).any() or torch.isneginf(x).any(), False),
        (lambda x: (x != x).any(), False),
        (lambda x: (x == float("inf")).any(), False),
        (lambda x: torch.isnan(x).logical_or(torch.isinf(x)).any(), False),
        (lambda x: (torch.isnan(x) | torch.isinf(x))[0].clone().any(), False),
        (lambda x: (~torch.isnan(x) & torch.isfinite(x)).all(dim=0)[1], True),
    ],
)
def test_what_follows_from_finite_numbers_is_answered_by_it(check, answer) -> None:
    (seen,) = _assumed(check, answer=answer)
    assert seen.startswith(f"without data, {FINITE} (test_finite.py:")


@pytest.mark.parametrize(
    "check",
    [
        lambda x: (x > 0).all(),
        lambda x: (torch.isfinite(x) & (x > 0)).all(),
        lambda x: (x == x.clone()).all(),
        _in_place,
        _written_out,
    ],
)
def test_what_does_not_follow_is_taken_as_false(check) -> None:
    (seen,) = _assumed(check, answer=False)
    assert CONDITION in seen


def test_no_number_at_all_is_told_as_torch_does() -> None:
    assert FINITE not in " ".join(_assumed(lambda x: torch.isnan(x[:0]).any(), answer=False))


def test_tensors_that_are_compared_are_close_however_they_broadcast() -> None:
    (seen,) = _assumed(lambda x: torch.allclose(x, torch.randn(4)), answer=True)
    assert "tensors that are compared are taken as equal" in seen

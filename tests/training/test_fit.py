"""Fitting: the form is the same in torch and in numpy, a fit repeats itself, and a die held out leaves no trace."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from surfer_lab.engine.learned.form import LearnedFamily, Terms, combined_ms
from surfer_lab.engine.learned.predictor import network_ms
from surfer_lab.errors import OptionError
from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.training.fit.gradient_fit import FitSettings, fit_network, form_ms
from surfer_lab.training.fit.micro_benchmarks import read_timings
from surfer_lab.training.fit.train import train

QUICK = FitSettings(steps=30, batch_rows=64, hidden=8, members=2)


def made_up(rows: int = 200, algorithms: int = 1) -> tuple[Terms, np.ndarray]:
    random = np.random.default_rng(1)
    features = random.normal(size=(rows, 3)).astype(np.float32)
    compute = np.exp(random.normal(size=(rows, algorithms)))
    memory = np.exp(random.normal(size=(rows, algorithms)) - 1.0)
    return Terms(features, compute, memory), 1.3 * np.hypot(compute, memory).min(axis=1)


@pytest.mark.parametrize("algorithms", [1, 3])
def test_the_form_is_the_same_in_torch_and_in_numpy(algorithms: int) -> None:
    terms, _ = made_up(algorithms=algorithms)
    outputs = np.random.default_rng(2).normal(size=(200, 2 * algorithms + 1)).astype(np.float32)
    there = form_ms(*(torch.from_numpy(one) for one in (outputs, terms.compute_ms, terms.memory_ms)))
    assert combined_ms(outputs, terms.compute_ms, terms.memory_ms) == pytest.approx(there.numpy(), rel=1e-4)


def test_a_fit_repeats_itself_and_leaves_torchs_random_state_alone() -> None:
    terms, measured = made_up()
    before = torch.random.get_rng_state()
    first, second = (fit_network(terms, measured, np.zeros(200), np.ones(200), QUICK) for _ in range(2))
    assert (network_ms(first, terms) == network_ms(second, terms)).all()
    assert torch.equal(before, torch.random.get_rng_state())


def test_a_fit_comes_nearer_to_what_was_measured() -> None:
    terms, measured = made_up()
    fitted = fit_network(
        terms, measured, np.zeros(200), np.ones(200), FitSettings(steps=300, batch_rows=128, hidden=16)
    )
    assert np.median(np.abs(network_ms(fitted, terms) / measured - 1.0)) < 0.1


def test_a_folder_without_tables_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="timings"):
        train(tmp_path, tmp_path / "out")


def test_a_held_out_die_is_on_no_row_of_its_fit(data_dir: Path) -> None:
    timings = read_timings(data_dir, LearnedFamily.CONV, load_catalog())
    assert "GA100" in timings.dies
    seen = timings.of(~timings.on_die("GA100"))
    assert not seen.on_die("GA100").any()
    assert 0 < len(seen) < len(timings)

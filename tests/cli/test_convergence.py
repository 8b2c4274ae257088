"""`surfer tune` over simulated workers, `surfer plan-training` on a known machine."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from surfer_lab.cli.convergence import app
from tests.magic.test_tune import Simulated

torch = pytest.importorskip("torch")
pytest.importorskip("ray")

FACTORY = """
import torch
def make():
    data = torch.utils.data.TensorDataset(torch.zeros(4, 2), torch.zeros(4, dtype=torch.int64))
    return torch.nn.Linear(2, 2), data
"""


@pytest.fixture
def factory(tmp_path, monkeypatch):
    from surfer_lab.distributed import tune

    monkeypatch.setattr(tune, "Cluster", Simulated)
    file = tmp_path / "mine.py"
    file.write_text(FACTORY)
    return f"{file}:make"


def test_a_training_is_tuned_and_its_decisions_are_told(factory, tmp_path):
    page = tmp_path / "run.html"
    done = CliRunner().invoke(
        app, ["tune", factory, "--target", "0.01", "--window", "8", "--batch-size", "16", "--html", str(page)]
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert done.stderr.startswith("Starting 4 workers ...")
    assert "cold start" in done.stderr
    assert "cold start" not in done.stdout  # told once
    assert f"Written: {page}" in done.stdout
    assert "loss 0.01 reached" in done.stdout
    assert "surfer-training" in page.read_text(encoding="utf-8")


def test_json_is_all_that_is_on_stdout(factory):
    words = ["tune", factory, "--target", "0.01", "--window", "8", "--batch-size", "16", "--json"]
    done = CliRunner().invoke(app, words)
    assert json.loads(done.stdout)["state"] == "reached"


def test_a_target_that_is_not_reached_is_exit_code_1(factory):
    words = ["tune", factory, "--target", "1e-30", "--max-seconds", "30", "--batch-size", "16"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 1
    assert "target not reached" in done.stdout


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nowhere", "MODULE:FACTORY"),
        ("surfer_lab.units:absent", "no function absent"),
        ("no_such_module_here:make", "no module"),
        ("no/such/file.py:make", "cannot be read"),
    ],
)
def test_a_factory_that_is_not_there_is_one_sentence(name, said):
    done = CliRunner().invoke(app, ["tune", name, "--target", "1"])
    assert done.exit_code == 2
    assert said in done.output


def test_a_training_is_planned_on_a_machine_without_running_it():
    words = ["plan-training", "surfer_lab.workloads:lenet", "--machine", "DGX A100", "--batch-size", "512"]
    done = CliRunner().invoke(app, [*words, "--iterations", "5000", "--cpu-samples-per-s", "100", "--cpu-price", "1"])
    assert done.exit_code == 0, done.output
    for word in ("Groups", "(best)", "A100", "FLOP per dollar", "CPU"):
        assert word in done.stdout


def test_an_unknown_machine_names_near_ones():
    done = CliRunner().invoke(app, ["plan-training", "surfer_lab.workloads:lenet", "--machine", "DGX A10"])
    assert done.exit_code == 2
    assert "DGX A100" in done.output

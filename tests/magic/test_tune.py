"""`%%tune` in a real shell, over simulated workers: what is shown, what is refused, what stays of the cell."""

from __future__ import annotations

import pytest

pytest.importorskip("ray")
pytest.importorskip("torch")

from surfer_lab.distributed import tune as tune_module
from surfer_lab.magic.tune_cell import last_tuned
from tests.planner.convergence.simulated import SimulatedCluster

CELL = """%%tune make --target 0.01 --workers 4 --batch-size 16 --window 8
def make():
    return "model", "data"
kept = 7
"""


class Simulated(SimulatedCluster):
    """In the place of a cluster on Ray: same words, other workers."""

    def __init__(self, factory, *, workers, **_):
        super().__init__(s_per_sample=(0.01,) * workers, reduce_s=0.3, is_exponential=True)
        self.factory = factory

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


@pytest.fixture
def simulated(monkeypatch):
    monkeypatch.setattr(tune_module, "Cluster", Simulated)


def test_the_cell_runs_and_its_training_is_tuned_and_shown(shell, simulated):
    result = shell.run(CELL)
    assert result.success
    assert shell["kept"] == 7
    assert shell.displayed[0]["text/plain"].startswith("Starting 4 workers")
    final = shell.displayed[-1]
    assert "loss 0.01 reached" in final["text/plain"]
    assert "surfer-training" in final["text/html"]
    run, view = last_tuned()
    assert run.is_reached
    assert view.is_final


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("make", "--target LOSS"),
        ("make --target 1 --grops 2", "tune knows no --grops"),
        ("absent --target 1", "no function absent"),
    ],
)
def test_what_cannot_be_tuned_is_one_sentence(shell, simulated, line, said):
    result = shell.run(f"%%tune {line}\nx = 1")
    assert not result.success
    assert said in shell.err + shell.out


def test_help_lists_the_words(shell):
    shell.run("%%tune --help\npass")
    assert "--merge-head" in shell.out


def test_the_cells_own_error_leaves_as_in_a_plain_cell(shell, simulated):
    result = shell.run("%%tune make --target 1\n1 / 0")
    assert isinstance(result.error_in_exec, ZeroDivisionError)

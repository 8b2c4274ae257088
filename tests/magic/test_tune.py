"""`%%tune` in a real shell, over simulated workers: what is shown, what is refused, what stays of the cell."""

from __future__ import annotations

import pytest

pytest.importorskip("ray")
pytest.importorskip("torch")

import surfer_lab.magic.tune_cell as cell_module
from surfer_lab.distributed import tune as tune_module
from surfer_lab.errors import OptionError
from surfer_lab.magic.tune_cell import last_tuned
from surfer_lab.panel.messages import MOST_BYTES
from surfer_lab.panel.registration import register
from surfer_lab.report.bundle import TRAINING_MIME_TYPE
from tests.panel.test_kernel_end import Channel
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


class Clock:
    """Each look at it is `step_s` after the one before."""

    def __init__(self, step_s):
        self.now_s, self.step_s = 0.0, step_s

    def monotonic(self):
        self.now_s += self.step_s
        return self.now_s


@pytest.fixture
def told(shell, simulated, monkeypatch):
    """What a panel hears of a run whose every phase takes two seconds."""
    monkeypatch.setattr(cell_module, "time", Clock(2.0))
    channel = Channel()
    register(shell.ip).end.open(channel)
    return channel.sent


def views(told):
    return [data["view"] for data in told if data["kind"] == "training"]


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


def test_the_panel_hears_of_every_phase_and_of_the_end(shell, told):
    shell.run(CELL)
    heard = views(told)
    run, view = last_tuned()
    assert [one["revision"] for one in heard] == sorted({one["revision"] for one in heard})
    assert {one["id"] for one in heard} == {view.id}
    assert {one["state"] for one in heard[:-1]} == {"running"}
    assert heard[-1]["state"] == "reached"
    assert {len(one["trials"]["rows"]) for one in heard} == set(range(len(run.phases) + 1))
    assert any(one["running"] and one["running"]["updates"] > 0 for one in heard)
    assert all(len(str(data)) < MOST_BYTES / 4 for data in told)


def test_what_the_panel_heard_last_stays_in_the_notebook(shell, told):
    shell.run(CELL)
    assert shell.displayed[-1][TRAINING_MIME_TYPE] == views(told)[-1]
    kept = [bundle[TRAINING_MIME_TYPE] for bundle in shell.displayed[1:]]
    assert kept == views(told)


def test_the_panel_hears_no_more_than_once_a_second(shell, told, monkeypatch):
    clock = Clock(0.3)
    monkeypatch.setattr(cell_module, "time", clock)
    shell.run(CELL)
    assert clock.now_s > 1.0
    assert len(views(told)) <= clock.now_s + 2  # the first at once, and the end


def test_an_interrupted_run_says_so(shell, told, monkeypatch):
    monkeypatch.setattr(tune_module, "Cluster", Interrupted)
    shell.run(CELL)
    assert views(told)[-1]["state"] == "interrupted"
    assert shell.displayed[-1][TRAINING_MIME_TYPE]["state"] == "interrupted"


class Interrupted(Simulated):
    def __post_init__(self):
        super().__post_init__()
        self.interrupt_after = 5


@pytest.mark.parametrize("error", [OptionError("no worker started", remedy="fewer"), KeyboardInterrupt()])
def test_a_run_that_fails_is_not_left_running_in_the_panel(shell, told, monkeypatch, error):
    def failing(*_, **__):
        raise error

    monkeypatch.setattr(tune_module, "Cluster", failing)
    shell.run(CELL)
    assert [one["state"] for one in views(told)] == ["failed"]
    assert "Surfer Lab cannot tune this" in views(told)[-1]["recommendation"]
    assert shell.displayed[-1]["text/plain"] == views(told)[-1]["recommendation"]


def test_a_name_is_no_markup(shell, told):
    evil = "<script>alert(1)</script>"
    shell.ip.user_ns[evil] = lambda: ("model", "data")
    shell.run(f"%%tune {evil} --target 0.01 --workers 4 --batch-size 16 --window 8\nx = 1")
    assert views(told)[-1]["title"] == f"Tuning {evil}"
    assert "<script>" not in shell.displayed[-1]["text/html"]

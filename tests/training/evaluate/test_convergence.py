"""Does `surfer evaluate convergence --quick` run its experiments on real workers, and say what they gave?"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.minutes

_PROGRAM = "import sys; from surfer_lab.cli import main; sys.exit(main())"
_LIMIT_S = 1800  # a hang, not a slow machine


@dataclass(frozen=True)
class Ran:
    """What the command printed and wrote."""

    printed: str
    cases: list[dict[str, Any]]
    figures: Path

    def of(self, method: str) -> list[dict[str, Any]]:
        return [case for case in self.cases if case["method"] == method]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    for package in ("ray", "torch", "sklearn"):
        pytest.importorskip(package)
    folder = tmp_path_factory.mktemp("convergence")
    kept, figures = folder / "found.json", folder / "figures"
    words = ["evaluate", "convergence", "--quick", "--json", str(kept), "--figures", str(figures)]
    # warnings are errors only in pytest's own process
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *words],
        cwd=folder, env=os.environ | {"RAY_USAGE_STATS_ENABLED": "0"}, capture_output=True, text=True, timeout=_LIMIT_S,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return Ran(printed=done.stdout, cases=json.loads(kept.read_text(encoding="utf-8"))["cases"], figures=figures)


def test_every_experiment_is_run_and_its_budget_stated(ran: Ran) -> None:
    assert "effort: quick" in ran.printed
    for experiment in ("scale", "momentum", "shares", "penalty", "prediction", "tuning"):
        assert f"{experiment}: minutes: " in ran.printed


def test_staleness_is_measured_and_lies_near_the_theory(ran: Ran) -> None:
    exponential = [case for case in ran.of("implicit momentum") if case["work_times"] == "exponential"]
    assert [case["groups"] for case in exponential] == [2, 4]
    for case in exponential:
        assert abs(case["measured"] - case["theory"]) < 0.2  # few runs, on a machine that does other things


def test_shares_by_throughput_beat_equal_ones(ran: Ran) -> None:
    (case,) = ran.of("batch shares")
    assert case["divided_samples_per_s"] > 1.2 * case["equal_samples_per_s"]


def test_an_untuned_momentum_costs_iterations(ran: Ran) -> None:
    updates = {case["option"]: case["updates"] for case in ran.of("statistical penalty")}
    assert len(updates) == 4 and all(0 < count <= 3000 for count in updates.values())
    # of one seed: tuned and untuned with 4 groups lie apart in the median of five, not in each
    assert updates["g = 1, tuned"] < updates["g = 4, 0.9"]


def test_the_predicted_number_of_groups_is_run_and_reaches_the_target(ran: Ran) -> None:
    cases = ran.of("time to convergence")
    assert [case["groups"] for case in cases] == [1, 2, 4]
    assert all(case["predicted_ms"] and case["measured_ms"] for case in cases)
    predicted, measured = (min(cases, key=lambda case: case[key]) for key in ("predicted_ms", "measured_ms"))
    assert predicted["groups"] == measured["groups"] == 4  # links cost ten times what work does


def test_a_tuned_run_is_sooner_than_the_worse_untuned_one(ran: Ran) -> None:
    seconds = {case["option"]: case["seconds"] for case in ran.of("tuned run")}
    ours = seconds.pop("optimizer")
    assert len(seconds) == 2
    assert ours is not None and ours < max(math.inf if one is None else one for one in seconds.values())


def test_the_figures_are_written(ran: Ran) -> None:
    for name in ("convergence-staleness", "convergence-tuning"):
        assert (ran.figures / f"{name}.svg").read_text(encoding="utf-8").startswith("<svg")

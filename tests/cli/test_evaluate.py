"""Does `surfer evaluate` name its kinds, run them, and keep every case?"""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from surfer_lab.cli.evaluate import KINDS, app


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_has_a_function_that_takes_its_words(name: str) -> None:
    kind = KINDS[name]
    function = getattr(importlib.import_module(f"surfer_lab.training.evaluate.{kind.module}"), kind.function)
    assert set(kind.takes) <= set(function.__annotations__)


def test_an_experiment_that_is_not_known_is_named() -> None:
    done = CliRunner().invoke(app, ["evaluate", "convergence", "--only", "momentum,tunning"])
    assert done.exit_code == 2
    assert "'tunning' is no experiment" in done.output
    assert "tuning" in done.output.replace("'tunning'", "")


def test_the_hand_counts_of_memory_are_printed_and_kept(tmp_path: Path) -> None:
    file = tmp_path / "memory.json"
    done = CliRunner().invoke(app, ["evaluate", "memory", "--json", str(file)], env={"SURFER_LAB_DATA": ""})
    assert done.exit_code == 0, done.output
    assert "hand" in done.output
    kept = json.loads(file.read_bytes())
    assert kept["cases"] and kept["summary"]["tables"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["tim"], "Try: timm"),
        (["traces"], "--data DIR"),
        (["workloads", "--data", "no/such/folder"], "is no folder"),
        (["e2e", "--data", ".", "--protocol", "logos"], "'logos' is no protocol"),
        (["e2e", "--data", "."], "there is no table of measured models"),
        (["all"], "all needs measured data"),
        (["all", "--data", ".", "--protocol", "logo"], "all has the protocols of its parts"),
    ],
)
def test_what_is_wrong_is_one_sentence_and_exit_code_2(words: list[str], said: str) -> None:
    done = CliRunner().invoke(app, ["evaluate", *words], env={"SURFER_LAB_DATA": ""})
    assert done.exit_code == 2
    assert said in done.output


def test_of_all_what_a_folder_lacks_is_said_and_stops_nothing(tmp_path: Path) -> None:
    file = tmp_path / "all.json"
    done = CliRunner().invoke(app, ["evaluate", "all", "--data", str(tmp_path), "--sample", "5", "--json", str(file)])
    assert done.exit_code == 0, done.output
    for name in ("e2e", "kernels", "traces", "timm-steps"):
        assert f"{name} was not evaluated: " in done.output
    assert "1,000 operations on 75 GPUs" in done.output
    kept = json.loads(file.read_bytes())
    assert {row["part"] for row in kept["cases"]} == {"speed"}
    assert set(kept["summary"]["parts"]) == {
        "e2e", "e2e logo", "kernels", "kernels logo", "traces", "timm-steps", "speed",
    }  # fmt: skip

"""Several GPUs from the command line: the words of predict, and a link taken from nccl-tests' output."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from surfer_lab.cli.commands import app
from surfer_lab.hardware.configuration import FOLDER_VARIABLE

TABLE = """
#  Rank  0 Group  0 Pid 1 on host device  0 [0x07] NVIDIA A100
#  Rank  1 Group  0 Pid 1 on host device  1 [0x0b] NVIDIA A100
     1048576        262144     float     sum      -1     43.9   23.88   23.88      0     43.0   24.4   24.4      0
   134217728      33554432     float     sum      -1    660.0  203.36  203.36      0    661.0  203.0  203.0      0
"""


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CliRunner:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "configuration"))
    return CliRunner()


def test_the_example_is_put_on_several_gpus(runner):
    done = runner.invoke(
        app, ["predict", "--example", "--on", "A100 SXM4 80GB", "--counts", "1,2,4", "--link", "nvlink"]
    )
    assert done.exit_code == 0
    assert "On several GPUs: DGX A100, data parallel (DDP)" in done.output


def test_a_link_of_nccl_tests_is_kept_and_named(runner, tmp_path: Path):
    file = tmp_path / "sweep.txt"
    file.write_text(TABLE)
    kept = runner.invoke(app, ["calibrate", "--nccl-tests", str(file), "--name", "our pair"])
    assert kept.exit_code == 0
    assert "our pair" in kept.output
    line = ["predict", "--example", "--on", "A100 SXM4 80GB", "--counts", "1,2", "--link", "our pair"]
    done = runner.invoke(app, line)
    assert done.exit_code == 0
    assert "our pair" in done.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--counts", "0"], "--counts"),
        (["--strategy", "magic"], "no strategy"),
        (["--counts", "2", "--machine", "DGX Z"], "no machine"),
        (["--counts", "2", "--machine", "nowhere.toml"], "no file"),
        (["--counts", "2", "--link", "string"], "no link is called 'string'. Try: nvlink or pcie or"),
    ],
)
def test_a_word_that_means_nothing_is_one_sentence_and_exit_code_2(runner, words, said):
    done = runner.invoke(app, ["predict", "--example", "--on", "A100 SXM4 80GB", *words])
    assert done.exit_code == 2
    assert said in done.output
    assert "Traceback" not in done.output

"""`surfer schedule`: a file of jobs on machines, in a terminal's lines and in files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from surfer_lab.cli.schedule import app

pytest.importorskip("ortools")

JOBS = """
[[job]]
name = "vision"
hours = {1 = 8, 2 = 5, 4 = 3.5}
[[job]]
name = "text"
hours = {1 = 8, 2 = 6}
memory_gb = 12
[[job]]
name = "late"
hours = {1 = 1}
after = ["text"]
deadline = 10
"""


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    path = tmp_path / "jobs.toml"
    path.write_text(JOBS, encoding="utf-8")
    return path


def run(*words: object):
    return CliRunner().invoke(app, ["schedule", *map(str, words)])


def test_the_best_placement_is_told_with_its_chart_and_what_it_saves(jobs):
    done = run(jobs, "--machine", "DGX-1", "--count", "4", "--price", "V100 SXM2 16GB=2")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("3 jobs on 4 GPUs of DGX-1 V100: all done after 7 h")
    for word in ("Run one after another", "Run side by side", "Proven", "GPU 3", "1 vision", "Cost of machines held"):
        assert word in done.stdout


def test_files_are_written_as_asked(jobs, tmp_path):
    paths = [tmp_path / name for name in ("s.json", "s.html", "s.md")]
    done = run(jobs, "--machine", "DGX-1", "--count", "4", "--json", paths[0], "--html", paths[1], "--md", paths[2])
    assert done.exit_code == 0, done.output
    assert json.loads(paths[0].read_text(encoding="utf-8"))["objective"] == "makespan"
    assert "<svg" in paths[1].read_text(encoding="utf-8")
    assert "| vision |" in paths[2].read_text(encoding="utf-8")
    assert done.stdout.count("Written: ") == 3


def test_the_cheapest_placement_uses_one_gpu_a_job(jobs):
    done = run(jobs, "--machine", "DGX-1", "--objective", "cost", "--price", "V100 SXM2 16GB=2")
    assert done.exit_code == 0, done.output
    assert "$34.00" in done.stdout.splitlines()[0]


def test_several_machines_share_the_jobs(jobs):
    done = run(jobs, "--machine", "DGX-1", "--machine", "p3.16xlarge", "--count", "1", "--count", "2")
    assert done.exit_code == 0, done.output
    assert "1 GPU of DGX-1 V100 and 2 GPUs of p3.16xlarge" in done.stdout.replace("\n", " ")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--machine", "DGX-9"], "no machine is called 'DGX-9'"),
        (["--machine", "DGX-1", "--count", "0"], "0 GPUs of DGX-1"),
        (["--machine", "DGX-1", "--count", "1", "--count", "2"], "2 counts for 1 machines"),
        (["--machine", "DGX-1", "--machine", "DGX-1 V100"], "a machine is named twice"),
        (["--machine", "DGX-1", "--objective", "speed"], "--objective makespan, or cost"),
        (["--machine", "DGX-1", "--html", "s.txt"], "does not end in .html"),
        (["--machine", "DGX-1", "--price", "V100=x"], "--price"),
        (["--machine", "DGX-1", "--time-limit", "0"], "--time-limit"),
    ],
)
def test_what_cannot_be_meant_is_one_sentence_and_exit_code_2(jobs, words, said):
    done = run(jobs, *words)
    assert done.exit_code == 2
    assert said in done.output
    assert "Traceback" not in done.output


def test_a_file_that_is_not_there_or_wrong_is_named(jobs, tmp_path):
    assert "there is no jobs file" in run(tmp_path / "none.toml", "--machine", "DGX-1").output
    jobs.write_text("[[job]]\nname = 'a'\nhours = {1 = 2}\ndeadline = 1", encoding="utf-8")
    done = run(jobs, "--machine", "DGX-1")
    assert done.exit_code == 2
    assert "a cannot end by 1 h: it takes 2 h at best" in done.output
    jobs.write_text("[[job]\n", encoding="utf-8")
    assert "is not valid TOML" in run(jobs, "--machine", "DGX-1").output

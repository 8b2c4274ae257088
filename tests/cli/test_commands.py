"""The command line as people use it: answers on stdout, one sentence and exit code 2 for what they got wrong."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import jsonschema
import pytest
from typer.testing import CliRunner

from surfer_lab.cli.commands import app
from surfer_lab.planner.options import PREDICT_FLAGS, PredictOptions
from surfer_lab.report.bundle import mime_bundle
from surfer_lab.trace.storage import save
from surfer_lab.view.schema import view_schema
from tests.planner.predictions import trace
from tests.view.views import view


@pytest.fixture
def run():
    runner = CliRunner()
    return lambda *words: runner.invoke(app, [str(word) for word in words])


@pytest.fixture
def recording(tmp_path):
    path = tmp_path / "step.surfertrace"
    save(trace(), path)
    return path


def test_a_recording_is_answered_with_its_sentences_and_the_table(run, recording):
    done = run("predict", recording, "--batch-size", 32)
    assert done.exit_code == 0, done.stderr
    for words in ("Training step, batch 32", "Fastest", "Cheapest", "What bounds it", "$/1,000 steps", "samples/s"):
        assert words in done.stdout


def test_only_the_gpus_named_are_predicted_in_any_way_of_naming_them(run, recording):
    done = run("predict", recording, "--on", "h100 sxm5,T4", "--on", "rtx 4090", "--json")
    assert {row["gpu"] for row in json.loads(done.stdout)["rows"]} == {"H100 SXM5", "T4", "RTX 4090"}


def test_json_is_pure_and_obeys_its_schema(run, recording):
    done = run("predict", recording, "--json")
    view = json.loads(done.stdout)
    jsonschema.validate(view, view_schema())
    assert len(view["rows"]) > 70


def test_json_goes_with_files_too(run, recording, tmp_path):
    page, table = tmp_path / "a.html", tmp_path / "a.csv"
    done = run("predict", recording, "--json", "--html", page, "--csv", table)
    json.loads(done.stdout)
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    with table.open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == len(json.loads(done.stdout)["rows"])
    assert float(rows[0]["step_ms"]) <= float(rows[-1]["step_ms"])


def test_a_price_of_ones_own_wins(run, recording):
    done = run("predict", recording, "--on", "T4", "--price", "Tesla T4=36", "--json")
    row = json.loads(done.stdout)["rows"][0]
    assert row["usd_per_hour"]["text"] == "$36.00"
    assert row["price_note"] == "your price"


def test_the_command_that_makes_it_again_is_told_without_the_folder(run, recording):
    done = run("predict", recording, "--on", "T4", "--batch-size", 8, "--json")
    view = json.loads(done.stdout)
    assert view["command"] == "surfer predict step.surfertrace --on T4 --batch-size 8"
    assert str(recording.parent) not in done.stdout


def test_the_bundled_example_needs_no_file(run):
    done = run("predict", "--example", "--on", "H100 SXM5,L4")
    assert done.exit_code == 0, done.stderr
    assert "recorded without a GPU" in done.stdout


def test_a_report_is_written_and_its_path_printed(run, recording, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("report", recording).stdout.strip() == "step.surfertrace.surfer.html"
    assert (tmp_path / "step.surfertrace.surfer.html").is_file()
    assert run("report", recording, "--md", tmp_path / "a.md").exit_code == 0
    assert (tmp_path / "a.md").read_text(encoding="utf-8").startswith("# Training step")


def test_a_notebooks_predictions_are_reported_as_its_cells_left_them(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    output = {"output_type": "display_data", "metadata": {}, "data": mime_bundle(view(name="from a cell"))}
    cell = {"cell_type": "code", "source": "", "metadata": {}, "execution_count": 1, "outputs": [output]}
    notebook = {"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": [cell]}
    (tmp_path / "study.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    assert run("report", "study.ipynb").stdout.strip() == "study.surfer.html"
    assert "from a cell" in (tmp_path / "study.surfer.html").read_text(encoding="utf-8")
    done = run("report", "study.ipynb", "--md", "a.md", "--html", "b.html")
    assert done.stdout.split() == ["b.html", "a.md"]
    refused = run("report", "study.ipynb", "--on", "T4")
    assert refused.exit_code == 2
    assert "as its cells left them" in refused.stderr
    (tmp_path / "empty.ipynb").write_text(json.dumps({**notebook, "cells": []}), encoding="utf-8")
    assert "holds no prediction" in run("report", "empty.ipynb").stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "no trace file is given"),
        (("nothing.json",), "there is no file"),
        (("step.surfertrac",), "did you mean step.surfertrace"),
        ((".",), "one of its files"),
        (("*.surfertrace",), "is a pattern"),
        (("step.surfertrace", "--on", "H1000"), "no GPU of the catalogue"),
        (("step.surfertrace", "--on", "A100"), "name one of them"),
        (("step.surfertrace", "--from", "nonesuch"), "no GPU of the catalogue"),
        (("step.surfertrace", "--batch-size", "0"), "whole number above 0"),
        (("step.surfertrace", "--price", "T4"), "GPU=USD_PER_HOUR"),
        (("step.surfertrace", "--price", "nonesuch=1"), "no GPU of the catalogue"),
        (("step.surfertrace", "--precision", "fp8"), "known: as-run"),
        (("step.surfertrace", "--html", "a.pdf"), "does not end in .html"),
        (("step.surfertrace", "--html", "no/such/folder/a.html"), "cannot be written"),
        (("step.surfertrace", "--example"), "both a file and --example"),
        (("notes.txt",), "notes.txt"),
        (("unnamed.surfertrace",), "--from"),
    ],
)
def test_what_is_wrong_is_told_in_one_sentence_with_exit_code_2(run, recording, words, said, monkeypatch):
    monkeypatch.chdir(recording.parent)
    (recording.parent / "notes.txt").write_text("nothing but text", encoding="utf-8")
    (recording.parent / "some.json").write_text("{}", encoding="utf-8")
    save(trace(device=None), recording.parent / "unnamed.surfertrace")
    done = run("predict", *words)
    assert done.exit_code == 2
    assert said in done.stderr
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1
    assert "Traceback" not in done.stderr


def test_from_names_the_gpu_that_the_trace_does_not(run, recording):
    save(trace(device=None), recording)
    done = run("predict", recording, "--from", "V100 SXM2 16GB", "--on", "V100 SXM2 16GB,T4")
    assert done.exit_code == 0, done.stderr
    assert "V100 SXM2 16GB (here)" in done.stdout


def test_every_word_of_the_vocabulary_is_an_option_of_predict_and_of_report(run):
    for command in ("predict", "report"):
        text = run(command, "--help").stdout
        for flag in PREDICT_FLAGS:
            assert (flag.word in text) is not flag.is_for_cells
    assert {flag.field for flag in PREDICT_FLAGS} == {field.name for field in fields(PredictOptions)}


def test_an_unknown_option_is_refused_by_name(run, recording):
    done = run("predict", recording, "--batchsize", 3)
    assert done.exit_code == 2
    assert "--batch-size" in done.stderr


def test_gpus_are_listed_and_one_is_shown_with_its_sources(run):
    listed = run("gpus").stdout
    assert all(name in listed for name in ("H100 SXM5", "MI300X", "T4", "75 GPUs"))
    one = run("gpus", "h100", "sxm5").stdout
    assert all(word in one for word in ("sustained", "source", "NVLink") if word != "NVLink")
    assert run("gpus", "nonesuch").exit_code == 2


def test_the_doctor_says_what_works_and_what_to_do(run):
    text = run("doctor").stdout
    for word in ("surfer-lab", "Python", "torch", "GPU", "JupyterLab", "predicting"):
        assert word in text


def test_calibrate_without_a_gpu_says_so_and_offers_the_cpu(run):
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU: it would be measured")
    done = run("calibrate")
    assert done.exit_code == 2
    assert "--cpu" in done.stderr


def test_an_interrupt_ends_with_130_and_one_line(run, recording, monkeypatch):
    def interrupted(*_arguments, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr("surfer_lab.trace.reader.read", interrupted)
    done = run("predict", recording)
    assert done.exit_code == 130
    assert done.stderr.strip() == "surfer: interrupted"


def test_as_a_process_it_keeps_stdout_clean_and_loads_no_torch(recording):
    code = (
        "import sys; from surfer_lab.cli import main\n"
        f"sys.argv = ['surfer', 'predict', {str(recording)!r}, '--on', 'T4', '--json']\n"
        "try:\n    main()\nfinally:\n    print('torch' in sys.modules, 'IPython' in sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"][0]["gpu"] == "T4"
    assert done.stderr.strip() == "False False"
    assert not re.search(r"\x1b\[", done.stdout)


def test_the_version_is_that_of_the_package(run):
    import surfer_lab

    assert run("--version").stdout.strip() == surfer_lab.__version__


FULL = Path("/dev/full")
HOSTILE_WORDS = ["\x1b[31mevil\n\x07", "nonutf\udcff\udcfe", "x" * 300, "\u202eevil"]


@pytest.mark.parametrize("word", HOSTILE_WORDS)
def test_a_name_that_would_command_the_terminal_is_shown_harmless(run, recording, tmp_path, word):
    page = tmp_path / "page.html"
    done = run("predict", recording, "--on", "T4", "--name", word, "--html", page)
    assert done.exit_code == 0, done.stderr
    for shown in (done.stdout, page.read_text(encoding="utf-8")):
        assert not set("\x1b\x07\u202e\udcff") & set(shown)
    missing = run("predict", tmp_path / word)
    assert missing.exit_code == 2
    assert missing.stderr.strip().isprintable()


def test_a_pipe_is_not_said_to_be_missing(run, tmp_path):
    if not hasattr(os, "mkfifo"):
        pytest.skip("this system has no named pipes")
    os.mkfifo(tmp_path / "pipe.json")
    done = run("predict", tmp_path / "pipe.json")
    assert done.exit_code == 2
    assert "neither a file nor a folder" in done.stderr


@pytest.mark.skipif(not FULL.exists(), reason="this system has no full device")
def test_a_full_disk_behind_stdout_is_one_sentence():
    command = [sys.executable, "-c", "from surfer_lab.cli import main; main()", "gpus", "T4"]
    with FULL.open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and "cannot be written" in done.stderr


def test_a_closed_stdout_is_no_fault():
    command = [sys.executable, "-c", "import sys; sys.stdout = None; from surfer_lab.cli import main; main()", "gpus"]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (0, "")

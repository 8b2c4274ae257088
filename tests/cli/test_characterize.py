"""`surfer characterize`: the words it takes, the files it writes, and one sentence for what means nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from surfer_lab.cli import characterize
from surfer_lab.hardware.configuration import FOLDER_VARIABLE


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CliRunner:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "configuration"))
    return CliRunner()


def test_a_workload_is_told_and_written_in_all_forms(runner, tmp_path: Path):
    files = {word: tmp_path / f"page{end}" for word, end in (("--html", ".html"), ("--md", ".md"), ("--json", ".json"))}
    words = [part for word, path in files.items() for part in (word, str(path))]
    line = ["characterize", "lenet", "--counts", "1,2,8", "--input-ms", "0.1", *words]
    done = runner.invoke(characterize.app, line)
    assert done.exit_code == 0, done.output
    assert "lenet, batch 64" in done.output
    assert "Under the roofline" not in done.output  # a figure: it is in the page
    assert "Under the roofline" in files["--html"].read_text(encoding="utf-8")
    assert "Cores that load" in done.output
    assert all(path.stat().st_size > 1000 for path in files.values())


def test_a_folder_of_ranks_and_a_list_of_them_are_one_run(runner, traces_dir: Path, tmp_path: Path):
    names = ("timeline_analysis__sampled_rank-0.json.gz", "trace_filter__sampled_rank-1.json.gz")
    folder = tmp_path / "run"
    folder.mkdir()
    for name in names:
        (folder / name).write_bytes((traces_dir / name).read_bytes())
    for word in (str(folder), ",".join(str(folder / name) for name in names)):
        done = runner.invoke(characterize.app, ["characterize", word])
        assert done.exit_code == 0, done.output
        assert "straggler" in done.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["resnet5"], "no workload is called 'resnet5'"),
        (["nowhere.json"], "there is no file"),
        (["lenet", "--on", "H9000"], "H9000"),
        (["lenet", "--counts", "0"], "--counts"),
        (["lenet", "--html", "page.txt"], "does not end in .html"),
        (["lenet", "--input-ms", "-3"], "--input-ms"),
        (["llama_70b"], "no usual batch"),
    ],
)
def test_a_word_that_means_nothing_is_one_sentence_and_exit_code_2(runner, words, said):
    done = runner.invoke(characterize.app, ["characterize", *words])
    assert done.exit_code == 2
    assert said in done.output
    assert "Traceback" not in done.output


def test_an_empty_folder_has_no_trace(runner, tmp_path: Path):
    done = runner.invoke(characterize.app, ["characterize", str(tmp_path)])
    assert done.exit_code == 2
    assert "holds no trace" in done.output

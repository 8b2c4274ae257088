"""The notebooks that run nothing on a GPU and nothing on the CPU either, headless, in kernels of this environment."""

from __future__ import annotations

import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from surfer_lab.report.bundle import MIME_TYPE

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("no_gpu", "first_paper")


@pytest.mark.parametrize("name", NAMES)
def test_it_is_kept_without_outputs(name):
    notebook = nbformat.read(ROOT / "examples" / f"{name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    assert all(cell.outputs == [] for cell in notebook.cells if cell.cell_type == "code")
    assert all(cell.execution_count is None for cell in notebook.cells if cell.cell_type == "code")


def ran(name, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", "")))))
    notebook = nbformat.read(ROOT / "examples" / f"{name}.ipynb", as_version=4)
    client = NotebookClient(
        notebook, kernel_name="python3", timeout=600, resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    text = "\n".join(output.text for output in outputs if output.output_type == "stream")
    return outputs, text


@pytest.mark.slow
def test_models_written_in_a_notebook_are_predicted_without_being_run(tmp_path, monkeypatch):
    outputs, text = ran("no_gpu", tmp_path, monkeypatch)
    answers = [output.data[MIME_TYPE] for output in outputs if MIME_TYPE in output.get("data", {})]
    assert [answer["name"] for answer in answers] == ["ResNet-50", "GPT-2"]
    assert [answer["title"] for answer in answers] == [
        "Training step, batch 64", "Training step, batch 4, AMP bf16",
    ]  # fmt: skip
    for answer in answers:
        assert answer["curve"]["gpu"]
        assert answer["coverage"]["unscaled_of_items"] <= 0.01
        assert answer["coverage"]["fallback_of_time"] <= 0.10
    assert "not here" in text
    assert "The largest batch on 24 GB" in text


@pytest.mark.slow
def test_the_first_papers_table_and_case_studies_are_predicted(tmp_path, monkeypatch):
    outputs, text = ran("first_paper", tmp_path, monkeypatch)
    table = next(output.data["text/html"] for output in outputs if "text/html" in output.get("data", {}))
    for word in ("Quadro P4000", "RTX 2080 Ti", "H100 SXM5", "inception_v3", "dcgan"):
        assert word in table
    assert "Renting buys speed" in text
    assert "V100 against the 2080 Ti" in text

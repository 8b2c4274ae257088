"""The quickstart as a new user runs it, headless, in a kernel of this environment."""

from __future__ import annotations

import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from surfer_lab.report.bundle import MIME_TYPE

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "examples" / "quickstart.ipynb"


def test_it_is_kept_without_outputs():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None


@pytest.mark.slow
def test_it_runs_and_both_loops_are_answered(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", "")))))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(
        notebook, kernel_name="python3", timeout=600, resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    answers = [
        output.data[MIME_TYPE]
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if output.output_type == "display_data" and MIME_TYPE in output.data
    ]
    assert [answer["name"] for answer in answers] == ["small CNN", "small transformer"]
    assert len(answers[0]["rows"]["gpu"]) > 70
    assert set(answers[1]["rows"]["gpu"]) == {"H100 SXM5", "L4", "RTX 4090"}
    page = (tmp_path / "quickstart.html").read_text(encoding="utf-8")
    assert "small CNN" in page
    assert len(nbformat.writes(notebook).encode()) < 1_000_000

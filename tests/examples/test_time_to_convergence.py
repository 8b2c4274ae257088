"""The notebook that plans and tunes a training, headless, in a kernel of this environment, on a local Ray."""

from __future__ import annotations

import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "examples" / "time_to_convergence.ipynb"


def test_it_is_kept_without_outputs():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None


@pytest.mark.slow
def test_it_plans_and_tunes_a_real_training(tmp_path, monkeypatch):
    for package in ("torch", "ray", "sklearn"):
        pytest.importorskip(package)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", "")))))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(
        notebook, kernel_name="python3", timeout=600, resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    pages = [output.data["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    assert "Eight workers over slow links" in pages[0]
    assert "Tuning digits" in pages[-1]
    text = "\n".join(output.text for output in outputs if output.output_type == "stream")
    assert "loss 1 reached" in text or "target not reached" in text
    assert "cold start" in text
    assert "surfer-training" in (tmp_path / "tuned.html").read_text(encoding="utf-8")

"""Does a notebook that is run with nobody watching keep the whole prediction, its grid with it?"""

from __future__ import annotations

import nbformat
from nbclient import NotebookClient

from surfer_lab.report.bundle import MIME_TYPE
from tests.panel.conftest import CELL


def test_the_last_cell_of_a_headless_run_holds_the_grid(tmp_path, monkeypatch):
    monkeypatch.setenv("SURFER_LAB_CACHE_DIR", str(tmp_path))
    folder = {"metadata": {"path": str(tmp_path)}}
    cells = [nbformat.v4.new_code_cell("%load_ext surfer_lab"), nbformat.v4.new_code_cell(CELL.format(name="small"))]
    notebook = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources=folder).execute()
    shown = [output["data"] for output in cells[1].outputs if MIME_TYPE in output.get("data", {})]
    assert len(shown) == 1
    kept = shown[0][MIME_TYPE]
    assert kept["grid"]["precisions"] == ["as-run", "amp"]
    assert [row for row in kept["rows"]["gpu"] if row == "L4"] == ["L4"]
    assert "text/html" in shown[0]
    assert "Training step, batch 16" in shown[0]["text/plain"]

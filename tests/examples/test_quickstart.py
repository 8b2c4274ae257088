"""The quickstart as a new user runs it, headless, in a kernel of this environment."""

from __future__ import annotations

import nbformat
import pytest

from surfer_lab.report.bundle import MIME_TYPE


@pytest.mark.slow
def test_it_runs_and_both_loops_are_answered(run_example, tmp_path):
    notebook = run_example("quickstart")
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

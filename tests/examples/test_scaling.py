"""The notebook of the second paper: several GPUs, headless, in a kernel of this environment; nothing of it is run."""

from __future__ import annotations

import pytest


@pytest.mark.slow
def test_the_second_papers_questions_are_answered(run_example, tmp_path):
    notebook = run_example("scaling")
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    text = "\n".join(output.text for output in outputs if output.output_type == "stream")
    pages = [output.data["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    assert "ncf worst" in text
    assert "is most like" in text
    assert any("Which workloads are alike" in page for page in pages)
    assert any("Under the roofline of V100 SXM2 16GB" in page for page in pages)
    assert "Host: what feeds" in (tmp_path / "mine.html").read_text(encoding="utf-8")

"""The notebook that plans and tunes a training, headless, in a kernel of this environment, on a local Ray."""

from __future__ import annotations

import pytest


@pytest.mark.slow
def test_it_plans_and_tunes_a_real_training(run_example, tmp_path):
    for package in ("ray", "sklearn"):
        pytest.importorskip(package)
    notebook = run_example("time_to_convergence")
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    pages = [output.data["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    assert "Eight workers over slow links" in pages[0]
    assert "Tuning digits" in pages[-1]
    text = "\n".join(output.text for output in outputs if output.output_type == "stream")
    assert "loss 1 reached" in text
    assert "cold start" in text
    assert "surfer-training" in (tmp_path / "tuned.html").read_text(encoding="utf-8")

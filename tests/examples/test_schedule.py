"""The notebook that places jobs, headless, in a kernel of this environment: published times, then predicted ones."""

from __future__ import annotations

import pytest


@pytest.mark.slow
def test_it_places_published_and_predicted_jobs_better_than_by_hand(run_example, tmp_path):
    pytest.importorskip("ortools")
    notebook = run_example("schedule")
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    pages = [output.data["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    text = "\n".join(output.text for output in outputs if output.output_type == "stream")
    published, own = (page for page in pages if "Best placement" in page)
    for page in (published, own):
        assert page.count("<svg") == 3
        assert "Proven: with these times no placement is shorter." in page
    assert "6 jobs on 8 GPUs of DGX-1 V100: all done after 18 h 54 min" in published
    assert "Side by side, each on one GPU" in published
    assert "the deadlines cannot all be kept: at the least," in text
    assert "one after another, each on all GPUs: " in text
    assert "PCIe server 8 x V100" in (tmp_path / "schedule.html").read_text(encoding="utf-8")

"""Do the sliders of `prediction.explore()` work in JupyterLab with nothing else loaded?"""

from __future__ import annotations

import nbformat
import pytest
from playwright.sync_api import expect

from tests.browser.lab import LabPage, LabServer

CELL = """import surfer_lab
from surfer_lab.report.example import example_trace
box = surfer_lab.predict(example_trace(), on=["B200", "L4", "H100 SXM5"]).explore()
box"""
ASIDE = "print(box.gpu, box.precision, round(box.outcome.step_ms, 3))"


@pytest.fixture(scope="module")
def notebook(lab_server: LabServer) -> str:
    cells = [nbformat.v4.new_code_cell(CELL), nbformat.v4.new_code_cell(ASIDE)]
    return lab_server.add_notebook("explore.ipynb", cells)


def test_a_choice_in_the_page_changes_summary_figure_and_traits(lab: LabPage, notebook: str):
    lab.open_notebook(notebook)
    lab.run_all_cells()
    box = lab.page.locator(".widget-vbox").first
    gpu = box.get_by_label("GPU", exact=True)
    figure = box.locator("svg").first
    expect(figure).to_be_visible(timeout=60_000)
    before = figure.inner_html()
    gpu.select_option(label="L4")
    summary = box.locator("p").first
    expect(summary).to_contain_text("L4:")
    expect(summary).to_contain_text("per 1,000 steps")
    step = summary.inner_text()
    box.get_by_label("Precision", exact=True).select_option(index=1)
    expect(summary).not_to_have_text(step)
    expect(figure).not_to_have_text(before)
    lab.run_command("notebook:run-cell")
    expect(lab.page.locator(".jp-OutputArea-output").last).to_contain_text("L4 amp")

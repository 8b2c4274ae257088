"""Does a user who installed the wheel see a prediction below the cell, now and when the notebook is opened again?"""

from __future__ import annotations

import re

import nbformat
import pytest
from playwright.sync_api import expect

from tests.browser.accessible import serious_faults
from tests.browser.lab import LabPage, LabServer
from tests.browser.predicted import MIME_TYPE, demo_view, live_notebook, saved_notebook


@pytest.fixture(scope="module")
def saved(lab_server: LabServer) -> str:
    """A notebook with one prediction in it."""
    return saved_notebook(lab_server, "saved.ipynb", demo_view())


def test_the_installed_wheel_brings_the_extension_into_jupyterlab(lab: LabPage):
    for plugin in ("plugin", "output", "commands", "panel"):
        assert lab.has_plugin(f"surfer-lab:{plugin}")


def test_predict_draws_its_sentence_and_table_below_the_cell(lab: LabPage, lab_server: LabServer):
    lab.open_notebook(live_notebook(lab_server, "predicted.ipynb"))
    lab.run_all_cells()
    output = lab.outputs()
    expect(output.locator(".jp-SurferGpus-row").nth(1)).to_be_attached()
    expect(output).to_have_count(1)
    expect(output.locator(".jp-SurferSummary-sentence").first).to_contain_text("step", ignore_case=True)


def test_a_saved_output_is_drawn_and_its_sliders_answer_without_a_kernel(lab: LabPage, saved: str):
    asked: list[str] = []
    lab.page.on("request", lambda request: asked.append(request.url))
    lab.open_without_kernel(saved)
    output = lab.outputs()
    output.wait_for()
    expect(lab.page.get_by_text("html twin")).to_have_count(0)
    expect(output.locator(".jp-SurferSummary-sentence")).to_have_count(len(demo_view()["sentences"]))
    output.locator(".jp-SurferFigure canvas").first.wait_for()  # drawn to its end
    step = output.locator(".jp-SurferWhatIf-step")
    slider = output.get_by_label("Batch size", exact=True)
    before = step.inner_text()
    slider.press("ArrowRight")
    expect(step).not_to_have_text(before)
    setting = output.locator(".jp-SurferWhatIf-setting")
    expect(setting).to_have_text(re.compile(r"batch 64, as run, not compiled$"), use_inner_text=True)
    assert all(url.startswith(lab.server.url) for url in asked), "a request left the server"


def test_names_of_a_trace_stay_text(lab: LabPage, lab_server: LabServer):
    view = demo_view()
    view["rows"]["gpu"][0] = "A100 <b>SXM4</b>"
    lab.open_without_kernel(saved_notebook(lab_server, "hostile.ipynb", view))
    names = lab.outputs().locator(".jp-SurferGpus-name")
    expect(names.first).to_have_text("A100 <b>SXM4</b>")


def test_an_output_of_another_version_says_what_to_do(lab: LabPage, lab_server: LabServer):
    view = {"schema_version": 1, "version": "0.0.1"}
    shown = nbformat.v4.new_output("display_data", data={MIME_TYPE: view})
    path = lab_server.add_notebook("old.ipynb", [nbformat.v4.new_code_cell("", outputs=[shown])])
    lab.open_without_kernel(path)
    expect(lab.outputs()).to_contain_text("Install the same version")


def test_axe_finds_no_serious_fault_in_an_output(lab: LabPage, saved: str):
    lab.open_without_kernel(saved)
    lab.outputs().locator(".jp-SurferFigure canvas").first.wait_for()
    assert serious_faults(lab.page, ".jp-SurferOutput") == []


def test_the_palette_puts_the_magic_on_the_selected_cell(lab: LabPage, lab_server: LabServer):
    lab.open_without_kernel(lab_server.add_notebook("plain.ipynb", [nbformat.v4.new_code_cell("step()")]))
    lab.run_command("surfer-lab:predict-cell")
    expect(lab.page.locator(".jp-Notebook:visible .cm-line").first).to_have_text("%%predict")

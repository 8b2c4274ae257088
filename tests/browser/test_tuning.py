"""Does a run under `%%tune` show in the panel while it goes on, and again when its notebook is opened another day?"""

from __future__ import annotations

import json
import re

import nbformat
import pytest
from playwright.sync_api import Locator, expect

from tests.browser.accessible import serious_faults
from tests.browser.lab import LabPage, LabServer

MIME_TYPE = "application/vnd.surfer-lab.training+json"
# a loss that noise in the labels keeps it from: it trains for its 8 seconds
TUNED = """\
%%tune make --target 0.05 --workers 2 --batch-size 32 --window 8 --max-seconds 8
import torch
def make():
    torch.manual_seed(0)
    images, labels = torch.randn(256, 16), torch.randint(4, (256,))
    return torch.nn.Linear(16, 4), torch.utils.data.TensorDataset(images, labels)
"""
START_LIMIT_MS = 120_000  # two workers, each with torch
RUN_ALL = "() => { void window.jupyterapp.commands.execute('notebook:run-all-cells'); }"
SECTION = "#surfer-lab-panel [data-section=training]"


@pytest.fixture(scope="module")
def notebook(lab_server: LabServer) -> str:
    return lab_server.add_notebook(
        "tuning.ipynb", [nbformat.v4.new_code_cell("%load_ext surfer_lab"), nbformat.v4.new_code_cell(TUNED)]
    )


def head(panel: Locator) -> Locator:
    return panel.locator("[data-section=training] .jp-SurferWhatIf-head")


def test_a_run_shows_while_it_goes_on_and_when_its_notebook_is_opened_again(
    lab: LabPage, lab_server: LabServer, notebook: str
):
    lab.open_notebook(notebook)
    panel = lab.show_panel()
    section = panel.locator("[data-section=training]")
    lab.page.evaluate(RUN_ALL)
    expect(head(panel)).to_have_text("Tuning make: running", timeout=START_LIMIT_MS)
    expect(section.locator(".jp-SurferTraining-running")).to_contain_text(re.compile(r"Now .*: [\d,]+ updates in"))
    expect(head(panel)).to_have_text("Tuning make: ended without the target loss", timeout=START_LIMIT_MS)
    expect(section.locator(".jp-SurferTraining-recommendation")).to_contain_text("learning rate")
    trials = section.get_by_role("region", name="Phases, in their order").locator("tbody tr")
    assert trials.count() >= 3
    expect(section.get_by_role("region", name="Plan by number of groups").locator("tbody tr")).to_have_count(2)
    expect(section.get_by_role("region", name="Workers").locator("tbody tr")).to_have_count(2)
    loss = section.locator(".jp-SurferFigure").first
    loss.scroll_into_view_if_needed()
    loss.locator("canvas").first.wait_for()
    loss.get_by_role("button", name="As a table").click()
    assert loss.locator("tbody tr").count() > 10
    shown = section.locator(".jp-SurferTraining-recommendation").inner_text()
    rows = trials.all_inner_texts()

    # another day, without a kernel
    lab.run_command("docmanager:save")
    outputs = json.loads((lab_server.root / notebook).read_text(encoding="utf-8"))["cells"][1]["outputs"]
    assert [MIME_TYPE in output["data"] for output in outputs] == [True]
    lab.open()
    lab.open_without_kernel(notebook)
    panel = lab.show_panel()
    expect(head(panel)).to_have_text("Tuning make: ended without the target loss")
    expect(section.locator(".jp-SurferTraining-recommendation")).to_have_text(shown)
    assert trials.all_inner_texts() == rows
    expect(lab.page.locator(".jp-Notebook:visible .surfer-training")).to_be_visible()

    # by keys alone, in both themes
    decided = section.locator(".jp-SurferTraining-decided")
    decided.locator("summary").focus()
    lab.page.keyboard.press("Enter")
    expect(decided.locator("li").first).to_be_visible()
    assert serious_faults(lab.page, SECTION) == []
    lab.run_command("apputils:change-theme", {"theme": "JupyterLab Dark"})
    lab.page.wait_for_function("() => document.body.dataset.jpThemeName === 'JupyterLab Dark'")
    assert serious_faults(lab.page, SECTION) == []
    section.locator("> summary").focus()
    lab.page.keyboard.press("Enter")
    expect(section.locator(".jp-SurferTraining-recommendation")).to_be_hidden()

"""Does a user who installed the wheel see a prediction below the cell, now and when the notebook is opened again?"""

from __future__ import annotations

import nbformat
import pytest

from tests.browser.lab import LabPage, LabServer

MIME_TYPE = "application/vnd.surfer-lab.prediction+json"

TRAINING_LOOP = """\
%%predict
import torch
model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(torch.randn(32, 64)), torch.randint(10, (32,)))
    loss.backward()
    optimizer.step()
"""


@pytest.fixture(scope="module")
def predicted(lab_server: LabServer) -> str:
    """A notebook that predicts a small training loop."""
    return lab_server.add_notebook(
        "predicted.ipynb",
        [nbformat.v4.new_code_cell("%load_ext surfer_lab"), nbformat.v4.new_code_cell(TRAINING_LOOP)],
    )


def test_the_installed_wheel_brings_the_extension_into_jupyterlab(lab: LabPage):
    assert lab.has_plugin("surfer-lab:output")
    assert lab.has_plugin("surfer-lab:commands")


def test_predict_draws_its_sentence_and_table_below_the_cell(lab: LabPage, predicted: str):
    lab.open_notebook(predicted)
    lab.run_all_cells()
    output = lab.outputs()
    output.locator("table").first.wait_for()
    assert output.count() == 1
    assert "step" in output.locator(".jp-SurferOutput-sentence").first.inner_text().lower()
    assert output.locator(".jp-SurferOutput-gpus tbody tr").count() > 1


def test_all_gpus_are_reached_by_keyboard(lab: LabPage, predicted: str):
    lab.open_notebook(predicted)
    lab.run_all_cells()
    rows = lab.outputs().locator(".jp-SurferOutput-gpus tbody tr")
    rows.first.wait_for()
    before = rows.count()
    more = lab.outputs().locator("button.jp-SurferOutput-more")
    more.focus()
    lab.page.keyboard.press("Enter")
    assert more.get_attribute("aria-expanded") == "true"
    assert rows.count() > before


def test_a_saved_output_is_drawn_without_running_anything(lab: LabPage, lab_server: LabServer):
    sentence = "Training step: 126 ms on a Tesla V100."
    quantity = {"text": "50 ms", "unit": "ms", "range_text": "40 to 60 ms"}
    row = dict.fromkeys(("memory", "step", "busy", "faster", "usd_per_hour", "usd_per_1000_steps"), quantity)
    view = {
        "schema_version": 1, "version": "0.1.0", "sentences": [{"role": "step", "label": "", "text": sentence}],
        "rows": [row | {"gpu": "A100 <b>SXM4</b>", "verdict": "fits", "bound": "compute bound"}],
        "shortlist": ["A100 <b>SXM4</b>"], "warnings": [], "assumptions": [], "operations": [],
        "limit_labels": [], "method_labels": [], "range_note": "", "price_note": "", "focus": "",
    }  # fmt: skip
    shown = nbformat.v4.new_output("display_data", data={MIME_TYPE: view, "text/html": "html twin"})
    path = lab_server.add_notebook("saved.ipynb", [nbformat.v4.new_code_cell("", outputs=[shown])])
    lab.open_notebook(path)
    lab.outputs().wait_for()
    assert lab.outputs().locator(".jp-SurferOutput-sentence").inner_text() == sentence
    assert "A100 <b>SXM4</b>" in lab.outputs().inner_text()
    assert lab.page.get_by_text("html twin").count() == 0


def test_the_palette_puts_the_magic_on_the_selected_cell(lab: LabPage, lab_server: LabServer):
    lab.open_notebook(lab_server.add_notebook("plain.ipynb", [nbformat.v4.new_code_cell("step()")]))
    lab.run_command("surfer-lab:predict-cell")
    assert lab.page.locator(".jp-Notebook:visible .cm-line").first.inner_text() == "%%predict"

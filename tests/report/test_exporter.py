"""`jupyter nbconvert --to surfer_report`: found by its name, all predictions of a notebook in one file."""

from __future__ import annotations

import subprocess
import sys

import nbformat
import pytest
from nbconvert.exporters import get_exporter

from surfer_lab.errors import OptionError
from surfer_lab.report.bundle import MIME_TYPE, mime_bundle
from tests.view.views import view

WIDGET = "application/vnd.jupyter.widget-view+json"


def notebook(*bundles):
    outputs = [nbformat.v4.new_output("display_data", data=bundle) for bundle in bundles]
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("", outputs=outputs)])


@pytest.fixture
def exporter():
    return get_exporter("surfer_report")()


def test_the_notebooks_name_and_every_prediction_are_in_the_file(exporter):
    written, resources = exporter.from_notebook_node(
        notebook(mime_bundle(view(name="one")), mime_bundle(view(name="two"))), {"metadata": {"name": "study"}}
    )
    assert written.startswith("<!DOCTYPE html>")
    assert "<title>study</title>" in written
    assert 'id="prediction-1"' in written
    assert resources["output_extension"] == ".surfer.html"


def test_a_widget_beside_a_prediction_does_not_hide_it(exporter):
    bundle = {WIDGET: {"model_id": "x", "version_major": 2, "version_minor": 0}, **mime_bundle(view(name="one"))}
    executed = notebook(bundle)
    executed.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": {"state": {"x": {}}}}
    written, _ = exporter.from_notebook_node(executed, {"metadata": {"name": "study"}})
    assert view(name="one").sentences[0].text in written


def test_lab_can_list_it_in_its_export_menu(exporter):
    assert exporter.export_from_notebook == "Surfer Lab report"
    assert exporter.output_mimetype == "text/html"


def test_a_notebook_without_a_prediction_is_refused_with_what_to_do(exporter):
    with pytest.raises(OptionError, match="study holds no prediction"):
        exporter.from_notebook_node(notebook({"text/plain": "4"}), {"metadata": {"name": "study"}})


def test_on_the_command_line_the_refusal_is_a_sentence_and_no_traceback(tmp_path):
    nbformat.write(notebook({"text/plain": "4"}), tmp_path / "plain.ipynb")
    command = [sys.executable, "-m", "nbconvert", "--to", "surfer_report", "plain.ipynb"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert "plain holds no prediction. Try: put %%predict" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.glob("*.html")) == []


def test_the_json_of_a_prediction_is_what_is_read_not_its_html(exporter):
    bundle = {**mime_bundle(view(name="one")), "text/html": "<p>something else</p>"}
    assert MIME_TYPE in bundle
    written, _ = exporter.from_notebook_node(notebook(bundle), {"metadata": {"name": "study"}})
    assert "something else" not in written

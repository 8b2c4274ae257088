"""Notebooks turned into files: the predictions in them are there and work, run headless or saved in JupyterLab."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser, Page

from surfer_lab.report.bundle import MIME_TYPE
from surfer_lab.report.stored import read_notebook
from tests.browser.lab import LabPage, LabServer

ROOT = Path(__file__).parents[2]
LOOP = """\
%%predict {words}
import torch
model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(torch.randn(32, 64)), torch.randint(10, (32,)))
    loss.backward()
    optimizer.step()
"""


def cells() -> list[nbformat.NotebookNode]:
    return [
        nbformat.v4.new_code_cell("%load_ext surfer_lab"),
        nbformat.v4.new_code_cell(LOOP.format(words="--name run")),
        nbformat.v4.new_code_cell(LOOP.format(words="--name captured --no-run")),
    ]


def reported(notebook: Path, form: str, target: Path) -> None:
    """The command line's report of it."""
    command = [sys.executable, "-c", "from surfer_lab.cli import main; main()", "report", str(notebook)]
    subprocess.run([*command, form, str(target)], check=True, capture_output=True, cwd=ROOT)


def converted(notebook: Path, form: str, *words: str) -> Path:
    """What nbconvert makes of it."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))}
    done = subprocess.run(
        [sys.executable, "-m", "nbconvert", "--to", form, *words, notebook.name],
        cwd=notebook.parent, capture_output=True, text=True, env=environment, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return notebook.with_suffix(".html" if form == "html" else ".surfer.html")


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A notebook that was run headless, its outputs in it."""
    folder = tmp_path_factory.mktemp("executed")
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    fresh = nbformat.v4.new_notebook(cells=cells(), metadata={"kernelspec": kernel})
    nbformat.write(fresh, folder / "fresh.ipynb")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))}
    subprocess.run(
        [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--output", "executed", "fresh.ipynb"],
        cwd=folder, check=True, capture_output=True, env=environment,
    )  # fmt: skip
    return folder / "executed.ipynb"


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context(offline=True, viewport={"width": 1000, "height": 900})
    opened = context.new_page()
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    yield opened
    context.close()
    assert not errors, errors


def sliders_work(page: Page, count: int) -> None:
    """Every prediction of the page is alive, and chooses in its own grid."""
    page.wait_for_function(
        "count => document.querySelectorAll('.surfer[data-shown]:not(.s-contents)').length === count", arg=count
    )
    for place in range(count):
        report = page.locator(".surfer[data-shown]:not(.s-contents)").nth(place)
        before = report.locator(".s-v-o-step").inner_text()
        report.get_by_label("Compile", exact=True).select_option(value="1")
        assert report.locator(".s-v-o-step").inner_text() != before


def test_a_notebook_run_headless_holds_each_prediction_with_its_grid(executed: Path):
    views = read_notebook(executed).views
    assert [view.name for view in views] == ["run", "captured"]
    assert all(view.grid is not None for view in views)
    assert len(views[1].grid.batch_sizes) > 1


def test_plain_html_of_a_notebook_shows_the_interactive_output(page: Page, executed: Path):
    page.goto(converted(executed, "html").as_uri(), wait_until="domcontentloaded")
    sliders_work(page, 2)
    assert page.locator(".jp-OutputArea-output .s-lead").count() == 2


def test_our_exporter_runs_the_notebook_and_shows_every_prediction(page: Page, executed: Path):
    page.goto(converted(executed.with_name("fresh.ipynb"), "surfer_report", "--execute").as_uri())
    sliders_work(page, 2)
    assert page.locator(".s-contents li").count() == 2


def test_the_command_line_reports_the_same_notebook(page: Page, executed: Path, tmp_path: Path):
    target = tmp_path / "report.html"
    reported(executed, "--html", target)
    page.goto(target.as_uri())
    sliders_work(page, 2)


def test_the_report_is_printed_as_pdf(executed: Path, tmp_path: Path):
    target = tmp_path / "report.pdf"
    reported(executed, "--pdf", target)
    written = target.read_bytes()
    assert written.startswith(b"%PDF-")
    assert written.count(b"/Type /Page\n") + written.count(b"/Type /Page ") >= 4
    assert len(written) < 3_000_000


def test_a_notebook_saved_in_jupyterlab_is_exported_with_its_sliders(lab: LabPage, lab_server: LabServer, page: Page):
    path = lab_server.root / lab_server.add_notebook("saved_report.ipynb", cells())
    lab.open_notebook(path.name)
    lab.run_all_cells()
    lab.page.wait_for_function(
        """kind => {
          const notebook = window.jupyterapp.shell.currentWidget.content;
          const shown = notebook.widgets.flatMap(cell => cell.model.outputs ? cell.model.outputs.toJSON() : [])
            .map(output => output.data?.[kind]).filter(Boolean);
          return shown.length === 2 && shown.every(view => view.grid);
        }""",
        arg=MIME_TYPE,
    )
    lab.run_command("docmanager:save")
    assert len(read_notebook(path).views) == 2
    page.goto(converted(path, "html").as_uri(), wait_until="domcontentloaded")
    sliders_work(page, 2)
    lists = "async root => (await fetch(`${root}/api/nbconvert`)).json()"
    assert "surfer_report" in lab.page.evaluate(lists, lab_server.url)  # what Lab's menu lists
    name, text = lab.page.evaluate(
        """async address => {
          const answer = await fetch(address);
          return [answer.headers.get("Content-Disposition"), await answer.text()];
        }""",
        f"{lab_server.url}/nbconvert/surfer_report/{path.name}?download=true",
    )
    assert "saved_report.surfer.html" in name
    exported = path.with_name("menu.html")
    exported.write_text(text, encoding="utf-8")
    page.goto(exported.as_uri())
    sliders_work(page, 2)

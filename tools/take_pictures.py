"""Take the README's pictures: panel and cell in JupyterLab from the built wheel, the report from a file.

    python -m tools.take_pictures --out docs/img [--chromium PATH] [--wheel-python PATH] [--only report]

What is shown is recorded (`src/demo`), so that the same command gives the same pictures. `--wheel-python` is the Python
of an environment with the wheel in it, as `make test` sets one up.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import nbformat
from playwright.sync_api import Browser, Page, sync_playwright

from surfer_lab.report.bundle import MIME_TYPE, mime_bundle
from surfer_lab.report.document import html_document
from surfer_lab.view.model import ViewModel
from surfer_lab.view.stored import restored
from surfer_lab.view.stored_model import StoredView
from tests.browser.conftest import BROWSER_ARGUMENTS
from tests.browser.lab import LabPage, LabServer, serving

ROOT: Final = Path(__file__).parents[1]
SHOWN: Final = "resnet50"
PANEL_WIDER: Final = 186  # px
MADE_ON: Final = "29 November 2026"
CELL: Final = """\
%%predict --no-run --name ResNet-50
model, images, labels = resnet50(), torch.randn(32, 3, 224, 224), torch.randint(1000, (32,))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
torch.nn.functional.cross_entropy(model(images), labels).backward()
optimizer.step()"""
THEMES: Final = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
_CLOSE_LAUNCHER: Final = """() => [...window.jupyterapp.shell.widgets('main')]
    .filter(one => one.id.startsWith('launcher')).forEach(one => one.close())"""
Scheme = Literal["light", "dark"]
SCHEMES: Final[tuple[Scheme, ...]] = ("light", "dark")


def recorded() -> ViewModel:
    """The prediction that all pictures show."""
    kept = (ROOT / "src" / "demo" / f"{SHOWN}.json").read_bytes()
    return restored(msgspec.json.decode(kept, type=StoredView))


@contextmanager
def page_of(browser: Browser, scheme: Scheme, width: int, height: int, *, scale: float = 1.0) -> Iterator[Page]:
    """A page of this size and colour scheme."""
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, device_scale_factor=scale
    )
    yield context.new_page()
    context.close()


def report_pictures(browser: Browser, out: Path, folder: Path) -> None:
    """The exported report: its first screens, and on a phone."""
    file = folder / "report.html"
    file.write_text(html_document([recorded()], made_on=MADE_ON), encoding="utf-8")
    for scheme in SCHEMES:
        with page_of(browser, scheme, 1000, 1360) as page:
            opened(page, file)
            page.screenshot(path=out / f"report-{scheme}.png")
    with page_of(browser, "light", 390, 1500, scale=2) as page:
        opened(page, file)
        page.screenshot(path=out / "report-phone.png")


def opened(page: Page, file: Path) -> None:
    """The report with its figures drawn."""
    page.goto(file.as_uri())
    page.locator(".surfer[data-shown]").wait_for()
    page.wait_for_timeout(500)  # Bokeh draws in a frame of its own


def lab_pictures(browser: Browser, out: Path, python: Path, folder: Path) -> None:
    """A cell's output, and the panel beside it."""
    with serving(python, folder) as server:
        path = notebook(server)
        for scheme in SCHEMES:
            with page_of(browser, scheme, 1000, 1000) as page:
                cell_picture(LabPage(page, server), path, scheme, out / f"cell-{scheme}.png")
            with page_of(browser, scheme, 1360, 1500) as page:
                panel_picture(LabPage(page, server), path, scheme, out / f"panel-{scheme}.png")


def notebook(server: LabServer) -> str:
    """A notebook with the recorded prediction in it."""
    data: dict[str, Any] = mime_bundle(recorded())
    assert_known(data)
    shown = nbformat.v4.new_output("display_data", data=data)
    cells = [
        nbformat.v4.new_code_cell("%load_ext surfer_lab", execution_count=1),
        nbformat.v4.new_code_cell(CELL, execution_count=2, outputs=[shown]),
    ]
    return server.add_notebook("resnet.ipynb", cells)


def assert_known(data: dict[str, Any]) -> None:
    """Refuse a bundle that the front end would not draw."""
    if MIME_TYPE not in data:
        raise ValueError(f"no {MIME_TYPE} in the bundle")


def lab_with(lab: LabPage, path: str, scheme: Scheme) -> None:
    """JupyterLab in a theme, the notebook open and nothing else in the way."""
    lab.open()
    lab.run_command("apputils:change-theme", {"theme": THEMES[scheme]})
    lab.open_without_kernel(path)
    lab.outputs().first.wait_for()
    lab.page.evaluate(_CLOSE_LAUNCHER)


def cell_picture(lab: LabPage, path: str, scheme: Scheme, target: Path) -> None:
    """The notebook with the cell's output, side bars closed."""
    lab_with(lab, path, scheme)
    lab.page.evaluate("() => { window.jupyterapp.shell.collapseLeft(); window.jupyterapp.shell.collapseRight(); }")
    lab.page.wait_for_timeout(1500)
    lab.page.locator(".jp-Notebook:visible .jp-Cell").last.scroll_into_view_if_needed()
    lab.page.screenshot(path=target)


def panel_picture(lab: LabPage, path: str, scheme: Scheme, target: Path) -> None:
    """The panel beside the notebook."""
    lab_with(lab, path, scheme)
    lab.page.evaluate("() => window.jupyterapp.shell.collapseLeft()")
    panel = lab.show_panel()
    panel.locator("canvas").first.wait_for()
    handle = lab.page.locator("#jp-main-split-panel > .lm-SplitPanel-handle:visible").last.bounding_box()
    if handle is not None:  # as wide as one drags it to read its table
        lab.page.mouse.move(handle["x"] + handle["width"] / 2, handle["y"] + 300)
        lab.page.mouse.down()
        lab.page.mouse.move(handle["x"] - PANEL_WIDER, handle["y"] + 300, steps=4)
        lab.page.mouse.up()
    lab.page.wait_for_timeout(1500)
    lab.page.screenshot(path=target)


def main() -> None:
    """Write the pictures."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--out", type=Path, required=True)
    words.add_argument("--chromium", default=os.environ.get("SURFER_LAB_CHROMIUM", "/usr/bin/chromium"))
    words.add_argument("--wheel-python", type=Path, default=ROOT / ".venv-wheel" / "bin" / "python")
    words.add_argument("--only", choices=("report", "lab"))
    asked = words.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=asked.chromium, args=BROWSER_ARGUMENTS)
        if asked.only != "lab":
            report_pictures(browser, asked.out, Path(folder))
        if asked.only != "report":
            lab_pictures(browser, asked.out, asked.wheel_python.absolute(), Path(folder))
        browser.close()


if __name__ == "__main__":
    main()

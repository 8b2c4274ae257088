"""Is a saved prediction drawn, and do its sliders answer, in the lowest and newest JupyterLab and Notebook 7?"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import named_by
from tests.browser.lab import LabPage, LabServer, is_ours, serving
from tests.browser.predicted import demo_view, saved_notebook

HOSTS = {
    "lowest JupyterLab": ("SURFER_LAB_LOWEST_PYTHON", "jupyterlab"),
    "lowest Notebook 7": ("SURFER_LAB_LOWEST_PYTHON", "notebook"),
    "newest Notebook 7": ("SURFER_LAB_NEWEST_PYTHON", "notebook"),
}


@pytest.fixture(scope="module", params=HOSTS.values(), ids=HOSTS)
def host(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LabServer, str]]:
    variable, application = request.param
    folder = tmp_path_factory.mktemp("host")
    with serving(named_by(variable), folder, application=application) as server:
        yield server, application


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context(viewport={"width": 1280, "height": 1000})
    opened = context.new_page()
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)) if is_ours(error) else None)
    yield opened
    context.close()
    assert not errors, errors


def slides(shown: Locator) -> None:
    """The slider moves the outcome, and the figure is drawn."""
    step = shown.locator(".jp-SurferWhatIf-step").first
    before = step.inner_text()
    shown.get_by_label("Batch size", exact=True).first.press("ArrowRight")
    expect(step).not_to_have_text(before)
    shown.locator(".jp-SurferFigure canvas").first.wait_for()


def test_a_saved_prediction_is_drawn_and_answers(host: tuple[LabServer, str], page: Page):
    server, application = host
    path = saved_notebook(server, "saved.ipynb", demo_view())
    if application == "jupyterlab":
        lab = LabPage(page, server)
        lab.open()
        lab.open_without_kernel(path)
        panel = lab.show_panel()
        panel.locator(".jp-SurferGpus-row").first.wait_for()
        slides(panel)
    else:
        page.goto(f"{server.url}/notebooks/{path}", wait_until="domcontentloaded")
    output = page.locator(".jp-SurferOutput").first
    output.wait_for(timeout=60_000)
    slides(output)

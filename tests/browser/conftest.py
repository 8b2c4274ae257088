"""Where do the browser tests get their JupyterLab and their Chromium? From `make test`, which names both.

SURFER_LAB_WHEEL_PYTHON is the Python of a clean environment into which the built wheel was installed,
SURFER_LAB_CHROMIUM the browser. One server for the run, one browser a module, one context a test.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.browser.lab import LabPage, LabServer, serving

BROWSER_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
HERE = Path(__file__).parent

expect.set_options(timeout=30_000)  # two workers and their kernels share the machine


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder drives a browser."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.browser)


def named_by(variable: str) -> Path:
    path = os.environ.get(variable, "")
    if not path:
        pytest.skip(f"{variable} is not set: `make test` builds the wheel, finds a Chromium and sets it")
    return Path(path)


@pytest.fixture(scope="session")
def lab_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """JupyterLab as a user has it who installed the wheel: without Node, without this repository."""
    python = named_by("SURFER_LAB_WHEEL_PYTHON")
    with serving(python, tmp_path_factory.mktemp("lab")) as server:
        yield server


# A module's, not the session's: Playwright keeps an event loop running, in which no other test could run its own.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A headless Chromium."""
    path = named_by("SURFER_LAB_CHROMIUM")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=BROWSER_ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def lab(lab_server: LabServer, chromium: Browser) -> Iterator[LabPage]:
    """JupyterLab loaded in a context of its own; a script error in the page fails the test."""
    lab_server.forget_settings()
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    page = LabPage(context.new_page(), lab_server)
    page.open()
    yield page
    context.close()
    assert not page.errors, page.errors

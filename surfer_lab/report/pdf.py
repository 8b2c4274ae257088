"""How does a report become a PDF? Printed by a Chromium, the page's own style for print, nothing fetched.

The browser is the one named by SURFER_LAB_CHROMIUM or CHROME_PATH, else one of the system's, else the one that
Playwright installed. Playwright comes with the extra `pdf`.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from surfer_lab.errors import OptionError

__all__ = ["pdf_of"]

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
_VARIABLES: Final = ("SURFER_LAB_CHROMIUM", "CHROME_PATH")
_ARGUMENTS: Final = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")


def pdf_of(html: str) -> bytes:
    """The page as PDF, A4, everything unfolded. OptionError where Playwright or a browser is missing."""
    # in a thread: in a notebook an event loop runs here, in which Playwright refuses to wait
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(_printed, html).result()


def _printed(html: str) -> bytes:
    try:
        from playwright.sync_api import Error, sync_playwright  # optional: the extra `pdf`
    except ImportError as error:
        raise OptionError(
            "a PDF is printed by a browser through Playwright, which is not installed",
            remedy="pip install 'surfer-lab[pdf]', or write --html and print it in a browser",
        ) from error
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = Path(folder) / "report.html"
        page_file.write_text(html, encoding="utf-8")
        try:
            browser = playwright.chromium.launch(executable_path=_browser(), args=list(_ARGUMENTS))
        except Error as error:
            raise OptionError(
                f"no browser could be started to print the PDF ({error.message.splitlines()[0]})",
                remedy="playwright install chromium, or name a Chromium by SURFER_LAB_CHROMIUM, or write --html",
            ) from error
        try:
            page = browser.new_context(offline=True, color_scheme="light").new_page()
            page.goto(page_file.as_uri())
            page.wait_for_function("() => !document.querySelector('.surfer:not([data-shown])')")  # figures are drawn
            page.evaluate("() => document.querySelectorAll('details').forEach((one) => { one.open = true; })")
            return page.pdf(
                format="A4",
                print_background=True,
                margin={"top": "14mm", "bottom": "14mm", "left": "12mm", "right": "12mm"},
            )
        finally:
            browser.close()


def _browser() -> str | None:
    """The browser's program; None leaves the choice to Playwright."""
    named = next((os.environ[name] for name in _VARIABLES if os.environ.get(name)), None)
    return named or next((found for name in _NAMES if (found := shutil.which(name))), None)

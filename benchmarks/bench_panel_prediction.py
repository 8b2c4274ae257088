"""How soon does the panel show a new prediction? From the end of a cell of 10,000 operations a step, in Chromium."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import nbformat
from playwright.sync_api import Browser, sync_playwright

from benchmarks.bench_panel import lab_page, named
from benchmarks.figure import Figure
from tests.browser.conftest import BROWSER_ARGUMENTS
from tests.browser.lab import LabServer, serving

OPERATIONS: Final = 10_000
# six operations a turn, forward and backward: about 10,000 in a step
LOOP: Final = f"""\
%%predict
import torch
weight = torch.ones(8, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)
for _ in range(4):
    optimizer.zero_grad()
    x = torch.ones(8)
    for _ in range({OPERATIONS // 4}):
        x = x * weight
    x.sum().backward()
    optimizer.step()
print("trained")
"""
# when the cell's own code was through, when the kernel said that the cell has ended, when the panel showed a prediction
_WATCH: Final = """() => {
    const seen = window.surferSeen = { ran: 0, ended: 0, shown: 0 };
    const panel = document.querySelector('#surfer-lab-panel');
    const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
    kernel.iopubMessage.connect((_, message) => {
        if (message.header.msg_type === 'stream') {
            seen.ran = performance.now();
        }
        if (message.content.execution_state === 'idle') {
            seen.ended = performance.now();
        }
    });
    new MutationObserver(() => {
        if (!seen.shown && /\\d/.test(panel.querySelector('.jp-SurferWhatIf-step')?.textContent ?? '')) {
            seen.shown = performance.now();
        }
    }).observe(panel, { childList: true, subtree: true, characterData: true });
}"""


def figures() -> Iterator[Figure]:
    """One cell, run once."""
    python, chromium = named("SURFER_LAB_WHEEL_PYTHON"), named("SURFER_LAB_CHROMIUM")
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(python, Path(folder)) as server,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium, args=BROWSER_ARGUMENTS)
        yield from prediction_shown(browser, server)
        browser.close()


def prediction_shown(browser: Browser, server: LabServer) -> Iterator[Figure]:
    """From the end of a cell of 10,000 operations a step to its prediction in the panel."""
    cells = [nbformat.v4.new_code_cell("%load_ext surfer_lab"), nbformat.v4.new_code_cell(LOOP)]
    path = server.add_notebook("large.ipynb", cells)
    with lab_page(browser, server) as lab:
        lab.open_notebook(path)
        panel = lab.show_panel()
        lab.page.evaluate(_WATCH)
        lab.run_all_cells()
        failure = lab.page.get_by_text("Surfer Lab cannot predict this cell")
        panel.locator(".jp-SurferWhatIf-step").filter(has_text="s").or_(failure).first.wait_for()
        if failure.is_visible():
            raise RuntimeError(failure.inner_text())
        seen: dict[str, Any] = lab.page.evaluate("() => window.surferSeen")
    name = f"panel: prediction shown after a cell of {OPERATIONS:,} operations"
    # shown while the cell's output was still being made: at once
    shown_s, worked_out_s = (max(0.0, (seen["shown"] - seen[since]) / 1000) for since in ("ended", "ran"))
    yield Figure(name=name, measured=shown_s, unit="s", target=1)
    yield Figure(name=f"{name}, counted from the end of its own code", measured=worked_out_s, unit="s", target=1)

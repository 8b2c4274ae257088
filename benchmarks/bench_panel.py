"""Is the panel light and quick? JupyterLab from the built wheel in Chromium: its code, its sliders.

A slider is moved in two ways: a step at a time, the next when the last is drawn; and dragged, a step every frame. Timed
are an `input` event to the frame with the outcome's new number painted, and to the frame with the figure below it
painted. Both end in a task of the highest priority asked for in that frame: it runs when the frame's styles, layout and
painting are done. An event comes just after a frame has begun, so that waiting for the next one counts (17 ms).
Needs what `make bench` names: SURFER_LAB_WHEEL_PYTHON and SURFER_LAB_CHROMIUM.
"""

from __future__ import annotations

import gzip
import os
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.figure import Figure, NotAtHand
from tests.browser.conftest import BROWSER_ARGUMENTS
from tests.browser.lab import LabPage, LabServer, serving
from tests.browser.predicted import demo_view, saved_notebook

STEPS: Final = 60
BUSY_S: Final = 20
_SLIDE: Final = """async ([slider, outcome, canvases, count, isDragged]) => {
    const frame = () => new Promise(resolve => requestAnimationFrame(resolve));
    const painted = () => scheduler.postTask(() => performance.now(), { priority: 'user-blocking' });
    const late = new Promise((_, reject) => setTimeout(reject, 60_000, new Error('no answer in a minute')));
    const number_ms = [], figure_ms = [];
    let onDrawn = () => {};
    const context = CanvasRenderingContext2D.prototype;
    const { clearRect } = context;
    context.clearRect = function (...area) {
        if (canvases.includes(this.canvas)) onDrawn();
        return clearRect.apply(this, area);
    };
    const answered = [];
    for (let index = 0; index < count; index += 1) {
        await frame();
        const before = outcome.textContent;
        const drawn = new Promise(resolve => { onDrawn = resolve; });
        const began = performance.now();
        slider.value = String(index % (Number(slider.max) + 1));
        slider.dispatchEvent(new Event('input'));
        const answer = (async () => {
            do await frame(); while (outcome.textContent === before);
            number_ms.push(await painted() - began);
        })();
        if (isDragged) {
            answered.push(answer);
        } else {
            await Promise.race([answer, late]);
            await Promise.race([drawn, late]);
            figure_ms.push(await painted() - began);
        }
    }
    await Promise.race([Promise.all(answered), late]);
    context.clearRect = clearRect;
    return [number_ms, figure_ms];
}"""


# what one frame takes in which nothing is drawn: the least that a slider can take on this machine, now
_EMPTY: Final = """async count => {
    const times = [];
    for (let index = 0; index < count; index += 1) {
        const began = performance.now();
        await new Promise(resolve => requestAnimationFrame(resolve));
        times.push(performance.now() - began);
    }
    return times;
}"""


def figures() -> Iterator[Figure]:
    """The targets of the front end."""
    python, chromium = named("SURFER_LAB_WHEEL_PYTHON"), named("SURFER_LAB_CHROMIUM")
    yield own_code(python)
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(python, Path(folder)) as server,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium, args=BROWSER_ARGUMENTS)
        yield from sliders(browser, server)
        browser.close()


def named(variable: str) -> Path:
    """The program that this variable names."""
    path = os.environ.get(variable, "")
    if not path:
        raise NotAtHand(f"{variable} is not set: `make bench` builds the wheel, finds a Chromium and sets it")
    return Path(path)


def static_folder(python: Path) -> Path:
    """The front end's files in the environment of that Python."""
    return python.parents[1] / "share" / "jupyter" / "labextensions" / "surfer-lab" / "static"


def own_code(python: Path) -> Figure:
    """All scripts but Bokeh's own, as a server with compression sends them."""
    scripts = [path.read_bytes() for path in static_folder(python).glob("*.js")]
    own = [script for script in scripts if b"ColumnDataSource" not in script or len(script) < 500_000]
    return Figure(
        name="panel: own code, gzipped",
        measured=sum(len(gzip.compress(script)) for script in own) / 1000,
        unit="kB",
        target=200,
    )


def sliders(browser: Browser, server: LabServer) -> Iterator[Figure]:
    """A recorded prediction of 75 GPUs, its batch-size slider moved; then with the kernel in a long cell."""
    path = saved_notebook(server, "sliders.ipynb", demo_view())
    outside: list[str] = []
    with lab_page(browser, server) as lab:
        lab.page.on("request", lambda request: outside.append(request.url) if is_outside(request.url, server) else None)
        lab.open_notebook(path)
        panel = lab.show_panel()
        figure = panel.locator("[data-section=what-if] .jp-SurferFigure")
        figure.scroll_into_view_if_needed()
        figure.locator("canvas").first.wait_for()
        # figures above it have been drawn meanwhile and moved it
        panel.locator(".jp-mod-waiting").first.wait_for(state="detached")
        figure.evaluate("node => node.scrollIntoView({ block: 'end' })")
        parts = [
            panel.get_by_label("Batch size", exact=True).element_handle(),
            panel.locator(".jp-SurferWhatIf-setting").element_handle(),
            figure.locator("canvas").element_handles(),
        ]
        yield from moved(lab.page, parts, "")
        lab.page.evaluate(
            "code => { window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.requestExecute({ code }); }",
            f"import time\nend = time.monotonic() + {BUSY_S}\nwhile time.monotonic() < end: pass",
        )
        panel.get_by_text("The kernel is running a cell").wait_for()
        yield from moved(lab.page, parts, ", kernel busy")
    yield Figure(name="panel: requests outside the server", measured=len(outside), unit="", target=0)


def moved(page: Page, parts: list[object], state: str) -> Iterator[Figure]:
    """The slider moved step by step, then dragged; `parts` are the slider, the outcome and the figure's canvases."""
    empty_p95_ms = p95(page.evaluate(_EMPTY, STEPS))
    number_ms, figure_ms = page.evaluate(_SLIDE, [*parts, STEPS, False])
    dragged_ms, _ = page.evaluate(_SLIDE, [*parts, STEPS, True])
    for name, times_ms in (
        ("slider to painted number", number_ms),
        ("slider dragged, to painted number", dragged_ms),
        ("slider to painted figure", figure_ms),
    ):
        yield Figure(
            name=f"panel: {name}, p95{state}",
            measured=p95(times_ms),
            unit="ms",
            target=50,
            peer_name="a frame with nothing to draw, p95",
            peer=empty_p95_ms,
        )


def p95(times_ms: list[float]) -> float:
    """The time that one in twenty exceeds."""
    return statistics.quantiles(times_ms, n=20)[-1]


@contextmanager
def lab_page(browser: Browser, server: LabServer) -> Iterator[LabPage]:
    """JupyterLab in a context of its own."""
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    page: Page = context.new_page()
    lab = LabPage(page, server)
    lab.open()
    yield lab
    context.close()


def is_outside(url: str, server: LabServer) -> bool:
    """Whether a request leaves the server; data and blobs are no requests."""
    return not url.startswith((server.url, "data:", "blob:"))

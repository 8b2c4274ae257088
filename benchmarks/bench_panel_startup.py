"""What does the extension add to JupyterLab's start-up? The wheel's JupyterLab in Chromium, with it and without it.

Two figures. The wall time of loads in turns, with the extension's files there and not there, each first in every other
turn: what a user waits, and on a machine that does other work as well its spread is wider than what is looked for. And
the time that the page's main thread spends in the extension's code and all that it calls, sampled: what is left when
the machine's other work is taken away.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Browser, sync_playwright

from benchmarks.bench_panel import named
from benchmarks.figure import Figure
from tests.browser.conftest import BROWSER_ARGUMENTS
from tests.browser.lab import LabPage, LabServer, serving

EXTENSION: Final = "surfer-lab"
LOADS: Final = 9
SAMPLED_LOADS: Final = 3
SAMPLED_EVERY_US: Final = 200
_MOST_MS: Final = 100


def figures() -> Iterator[Figure]:
    """The target of the start-up, as waited for and as worked."""
    python, chromium = named("SURFER_LAB_WHEEL_PYTHON"), named("SURFER_LAB_CHROMIUM")
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryDirectory() as bare_folder,
        serving(python, Path(folder)) as server,
        serving(python, Path(bare_folder), without=EXTENSION) as bare,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium, args=BROWSER_ARGUMENTS)
        yield waited(browser, server, bare)
        yield worked(browser, server)
        browser.close()


def waited(browser: Browser, server: LabServer, bare: LabServer) -> Figure:
    """Medians of loads in turns."""
    times_s: dict[bool, list[float]] = {True: [], False: []}
    for turn in range(LOADS + 1):
        for has_extension in (turn % 2 == 0, turn % 2 == 1):
            load_s = loaded_s(browser, server if has_extension else bare)
            if turn:  # the first load fills the server's own caches
                times_s[has_extension].append(load_s)
    with_ms, without_ms = (1000 * statistics.median(times_s[key]) for key in (True, False))
    return Figure(
        name="panel: JupyterLab's start-up, with the extension",
        measured=with_ms,
        unit="ms",
        target=1.0,
        target_is_ratio=True,
        allowance=_MOST_MS,
        peer_name="without it",
        peer=without_ms,
    )


def loaded_s(browser: Browser, server: LabServer) -> float:
    """Seconds until an empty JupyterLab is there, in a context of its own."""
    context = browser.new_context()
    began = time.perf_counter()
    LabPage(context.new_page(), server).open()
    took_s = time.perf_counter() - began
    context.close()
    return took_s


def worked(browser: Browser, server: LabServer) -> Figure:
    """The main thread's time in the extension's code and what it calls, the median load."""
    times_ms = []
    for _ in range(SAMPLED_LOADS + 1):
        context = browser.new_context()
        page = context.new_page()
        session = context.new_cdp_session(page)
        session.send("Profiler.enable")
        session.send("Profiler.setSamplingInterval", {"interval": SAMPLED_EVERY_US})
        session.send("Profiler.start")
        LabPage(page, server).open()
        times_ms.append(below_extension_ms(session.send("Profiler.stop")["profile"]))
        context.close()
    return Figure(
        name="panel: the extension's own work in JupyterLab's start-up",
        measured=statistics.median(times_ms[1:]),
        unit="ms",
        target=_MOST_MS,
    )


def below_extension_ms(profile: dict[str, Any]) -> float:
    """Of a sampled profile: what was spent in frames of the extension's scripts and in all that they called."""
    spent_us: Counter[int] = Counter()
    for node, delta_us in zip(profile["samples"], profile["timeDeltas"], strict=True):
        spent_us[node] += delta_us
    children = {node["id"]: node.get("children", []) for node in profile["nodes"]}
    is_own = {node["id"]: f"/{EXTENSION}/" in node["callFrame"]["url"] for node in profile["nodes"]}
    below = {node for node, own in is_own.items() if own}
    waiting = list(below)
    while waiting:
        new = [child for child in children[waiting.pop()] if child not in below]
        below.update(new)
        waiting.extend(new)
    return sum(spent_us[node] for node in below) / 1000

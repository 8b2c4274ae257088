"""A cell's HTML in a browser: it says what Python worded, follows its notebook, and keeps names text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playwright.sync_api import Browser, Page

from surfer_lab.report.block import html_block
from surfer_lab.view.model import ViewModel
from surfer_lab.view.selection import Choosing, Setting
from surfer_lab.view.wording import time_quantity
from tests.browser.accessible import serious_faults
from tests.browser.test_report import demo
from tests.planner.predictions import trace
from tests.view.views import FAST, V100, gpu, view

NOTEBOOK = (
    '<!DOCTYPE html><meta charset="utf-8"><title>n</title><body data-jp-theme-light="{light}"><main>{blocks}</main>'
)
HOSTILE = [
    "<script>window.hacked = 1</script>",
    '"><img src=x onerror="window.hacked = 1">',
    "</script><script>window.hacked = 1</script>",
    "<svg onload=window.hacked=1>",
    "'-window.hacked=1-'",
    "<!--",
    "javascript:window.hacked=1",
    "\u202egnp.exe",
]


@pytest.fixture(scope="module")
def shown() -> ViewModel:
    return demo("resnet50")


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context(offline=True, viewport={"width": 800, "height": 900})
    opened = context.new_page()
    said: list[str] = []
    opened.on("console", lambda message: said.append(message.text) if message.type in {"error", "warning"} else None)
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.on("request", lambda request: said.append(request.url))
    yield opened
    context.close()
    assert not said, said


def show(page: Page, *blocks: str, light: str = "true") -> None:
    page.set_content(NOTEBOOK.format(light=light, blocks="<hr>".join(blocks)))
    page.wait_for_function(
        "count => document.querySelectorAll('.surfer[data-shown]').length === count", arg=len(blocks)
    )


def test_the_script_words_every_number_as_python_did(page, shown):
    for one in (shown, demo("profiler_trace"), demo("does_not_fit"), view(trace(peak_bytes=int(12e9)))):
        show(page, html_block(one))
        page.get_by_label("show all").evaluate_all("boxes => boxes.forEach(box => box.click())")
        rows = page.locator("table.s-gpus tbody tr")
        assert rows.count() == len(one.rows)
        said = rows.evaluate_all(
            """rows => rows.map(row => Object.fromEntries(
                ["step", "range", "faster", "cost", "cost-range", "rate", "needed", "hour"].map(
                    name => [name, row.querySelector(`.s-v-${name}`)?.textContent])))"""
        )
        for row, words in zip(one.rows, said, strict=True):
            assert words["step"] == row.step.text
            assert words["range"] == row.step.range_text
            assert words["hour"] == row.usd_per_hour.text
            assert words["cost"] == row.usd_per_1000_steps.text
            assert words["cost-range"] == row.usd_per_1000_steps.range_text
            if row.samples_per_s is not None:
                assert words["rate"] == row.samples_per_s.text.removesuffix(" samples/s")
            if row.faster.value is not None and not row.is_origin:
                assert words["faster"] == row.faster.text
            if row.needed is not None and row.needed.value is not None:
                assert words["needed"].startswith(f"needs {row.needed.text}")


def test_sliders_choose_in_the_grid_that_python_computed(page, shown):
    show(page, html_block(shown))
    page.get_by_label("Batch size", exact=True).fill("1")
    page.get_by_label("Precision", exact=True).select_option(value="1")
    gpu_row = next(index for index, row in enumerate(shown.rows) if row.gpu == "L4")
    page.get_by_label("GPU", exact=True).select_option(label="L4")
    expected = Choosing(shown).at(gpu_row, Setting(batch=1, precision=1, compiled=shown.grid.own[2]))
    assert page.locator(".s-v-o-step").inner_text() == time_quantity(expected.step_ms * 1e6).text
    assert page.locator("circle.s-chosen").count() >= 1


def test_several_outputs_of_a_notebook_do_not_meddle(page, shown):
    show(page, html_block(shown), html_block(demo("does_not_fit")), html_block(shown))
    assert page.evaluate("document.querySelectorAll('[id]').length") == 0
    steps = page.locator(".s-v-o-step")
    before = steps.all_inner_texts()
    page.get_by_label("Compile", exact=True).first.select_option(value="1")
    after = steps.all_inner_texts()
    assert after[0] != before[0]
    assert after[1:] == before[1:]


def test_an_output_that_is_shown_again_comes_to_life_again(page, shown):
    show(page, html_block(shown))
    page.evaluate(
        """() => {
          const block = document.querySelector(".surfer");
          const copy = document.createElement("main");
          copy.innerHTML = document.querySelector("main").innerHTML;
          copy.querySelectorAll(".surfer").forEach(one => { delete one.dataset.ready; delete one.dataset.shown; });
          document.querySelector("main").replaceWith(copy);
          copy.querySelectorAll("script:not([type])").forEach(old => {  // as JupyterLab runs an output's scripts
            const script = document.createElement("script");
            script.textContent = old.textContent;
            old.replaceWith(script);
          });
        }"""
    )
    page.locator(".surfer[data-shown]").wait_for()
    page.get_by_label("Compile", exact=True).select_option(value="1")
    assert page.locator("table.s-gpus tbody tr").count() == len(shown.rows)


def test_without_scripts_the_answer_is_there_and_no_dead_control(chromium: Browser, shown):
    with chromium.new_context(offline=True, java_script_enabled=False) as context:
        page = context.new_page()
        page.set_content(NOTEBOOK.format(light="true", blocks=html_block(shown)))
        text = page.locator(".surfer").inner_text()
        assert shown.sentences[0].text in text
        for name in shown.shortlist:
            assert name in text
        assert page.locator("select, input").count() == 0
        assert page.locator("svg.s-cost circle").count() > 5


@pytest.mark.parametrize(
    ("marks", "system", "dark"),
    [
        ('data-jp-theme-light="true"', "dark", False),
        ('data-jp-theme-light="false"', "light", True),
        ("", "dark", True),
        ("", "light", False),
        ('class="vscode-dark"', "light", True),
        ('class="vscode-light"', "dark", False),
    ],
)
def test_the_notebooks_theme_is_followed_and_else_the_systems(page, shown, marks, system, dark):
    page.emulate_media(color_scheme=system)
    page.set_content(f'<!DOCTYPE html><meta charset="utf-8"><body {marks}>{html_block(shown)}')
    red = page.locator(".surfer").evaluate("one => Number(getComputedStyle(one).color.match(/\\d+/)[0])")
    assert (red > 128) is dark


@pytest.mark.parametrize("width", [390, 640, 760])
def test_nothing_reaches_beyond_the_cell(page, shown, width):
    page.set_viewport_size({"width": width, "height": 900})
    show(page, html_block(shown))
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    inside, room = page.locator(".s-gpus").evaluate(
        "table => [table.parentElement.scrollWidth, table.parentElement.clientWidth]"
    )
    assert inside <= room


@pytest.mark.parametrize("light", ["true", "false"])
def test_axe_finds_no_serious_fault(page, shown, light):
    show(page, html_block(shown), light=light)
    page.add_style_tag(content="body[data-jp-theme-light='false'] { background: #161c24; }")
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert serious_faults(page, within=".surfer") == []


@given(names=st.lists(st.sampled_from(HOSTILE) | st.text(max_size=30), min_size=5, max_size=5))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_name_becomes_an_element_or_runs(page, names):
    device, source, op, name, card = names
    kernels = [(f"aten::{op}", None, 1, op, "fp32", 90)]
    plain = html_block(view(trace(), speeds=((V100, 1.0), (FAST, 2.0))))
    written = html_block(
        view(
            trace(device=device, source=source, kernels=kernels),
            speeds=((V100, 1.0), (gpu(card or "card"), 2.0)),
            name=name,
            kernels=kernels,
            unscaled=op,
        )
    )
    show(page, plain)
    kinds = "[...new Set([...document.querySelectorAll('main *')].map(one => one.tagName.toLowerCase()))]"
    known = set(page.evaluate(kinds))
    show(page, written)
    assert page.evaluate("window.hacked") is None
    assert set(page.evaluate(kinds)) <= known | {"ul", "li"}
    assert page.evaluate(
        "[...document.querySelectorAll('main *')].every(one => one.getAttributeNames().every(n => !n.startsWith('on')))"
    )

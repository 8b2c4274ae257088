"""The exported report in a browser: opened from a file with the network off, what it says follows what is chosen."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from playwright.sync_api import Browser, Page, expect

from surfer_lab.report.document import html_document
from surfer_lab.view.model import ViewModel
from surfer_lab.view.money_words import money_text
from surfer_lab.view.selection import Choosing, Setting
from surfer_lab.view.stored import restored
from surfer_lab.view.stored_model import StoredView
from surfer_lab.view.wording import significant, time_quantity
from tests.browser.accessible import serious_faults

DEMO = Path(__file__).parents[2] / "src" / "demo"
NS_PER_MS = 1e6
SIZES = [390, 760, 1100]


def demo(name: str) -> ViewModel:
    """A recorded view of the front end's demo, with its grid."""
    return restored(msgspec.json.decode((DEMO / f"{name}.json").read_bytes(), type=StoredView))


@pytest.fixture(scope="module")
def shown() -> ViewModel:
    return demo("resnet50")


@pytest.fixture
def page(chromium: Browser, shown: ViewModel, tmp_path: Path) -> Iterator[Page]:
    path = tmp_path / "report.html"
    path.write_text(html_document([shown], made_on="1 May 2026"), encoding="utf-8")
    context = chromium.new_context(offline=True, viewport={"width": 1100, "height": 900})
    opened = context.new_page()
    said: list[str] = []
    opened.on("console", lambda message: said.append(message.text) if message.type in {"error", "warning"} else None)
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.on("request", lambda request: said.append(request.url) if not request.url.startswith("file:") else None)
    opened.goto(path.as_uri())
    opened.locator(".surfer[data-shown]").wait_for()
    yield opened
    context.close()
    assert not said, said


def gpu_names(page: Page) -> list[str]:
    page.get_by_text("All GPUs", exact=True).evaluate("summary => summary.parentElement.open = true")
    return page.locator("table.s-gpus tbody tr:visible bdi").all_inner_texts()


def outcome(page: Page, name: str) -> str:
    return page.locator(f".s-v-o-{name}").inner_text()


def choose(page: Page, *, gpu: str, batch: int, precision: int, compiled: int) -> None:
    page.get_by_label("GPU", exact=True).select_option(label=gpu)
    page.get_by_label("Batch size", exact=True).fill(str(batch))
    page.get_by_label("Precision", exact=True).select_option(value=str(precision))
    page.get_by_label("Compile", exact=True).select_option(value=str(compiled))


def test_the_summary_comes_first_with_what_to_decide_by(page, shown):
    top = page.locator(".s-best").inner_text()
    for choice in shown.choices:
        assert choice.gpu in top
    assert page.locator(".s-best tbody tr").count() >= 7  # three, three, and their headings
    facts = page.locator(".s-facts").inner_text()
    assert "What limits the step" in facts
    assert "What would help most" in facts
    assert page.evaluate(
        "document.querySelector('.s-best').compareDocumentPosition(document.querySelector('[data-part=controls]')) & 4"
    )  # the controls follow it


def test_what_is_chosen_is_what_python_looks_up_in_the_same_grid(page, shown):
    chooser, grid, draw = Choosing(shown), shown.grid, random.Random(5)
    for _ in range(12):
        gpu = draw.randrange(len(shown.rows))
        setting = Setting(
            batch=draw.randrange(len(grid.batch_sizes)),
            precision=draw.randrange(len(grid.precisions)),
            compiled=draw.randrange(len(grid.compiles)),
        )
        choose(
            page,
            gpu=shown.rows[gpu].gpu,
            batch=setting.batch,
            precision=setting.precision,
            compiled=setting.compiled,
        )
        expected = chooser.at(gpu, setting)
        if expected.why:
            assert outcome(page, "range") == expected.why
            continue
        step = time_quantity(
            expected.step_ms * NS_PER_MS, low_ns=expected.low_ms * NS_PER_MS, high_ns=expected.high_ms * NS_PER_MS
        )
        assert outcome(page, "step") == step.text
        assert outcome(page, "range") == step.range_text
        assert outcome(page, "rate") == significant(expected.samples_per_s)
        cost = expected.usd_per_1000_steps
        assert outcome(page, "cost") == ("–" if cost is None else money_text(cost))
        assert outcome(page, "fits") == expected.verdict.value
        assert page.locator(".s-batch-text").inner_text() == f"{expected.batch_size:,}"


def test_a_price_of_ones_own_changes_the_money_of_its_gpu_only(page, shown):
    gpu = next(index for index, row in enumerate(shown.rows) if row.usd_per_hour.value is not None)
    other = next(index for index, row in enumerate(shown.rows) if row.usd_per_hour.value is not None and index != gpu)
    gpu_names(page)
    page.get_by_label("show all").check()
    before = page.locator(f"tr[data-row='{other}'] .s-v-cost").inner_text()
    page.get_by_label("GPU", exact=True).select_option(label=shown.rows[gpu].gpu)
    page.get_by_label("USD per hour", exact=True).fill("7.5")
    expected = Choosing(shown).at(gpu, usd_per_hour=7.5).usd_per_1000_steps
    assert outcome(page, "cost") == money_text(expected)
    assert outcome(page, "price") == "your price"
    assert page.locator(f"tr[data-row='{gpu}'] .s-v-cost").inner_text() == money_text(expected)
    assert page.locator(f"tr[data-row='{other}'] .s-v-cost").inner_text() == before


def test_as_predicted_brings_everything_back(page, shown):
    gpu_names(page)
    before = page.locator("main").inner_text()
    choose(page, gpu=shown.rows[-1].gpu, batch=0, precision=1, compiled=1)
    page.get_by_label("USD per hour", exact=True).fill("7.5")
    assert page.locator("main").inner_text() != before
    page.get_by_role("button", name="As predicted").click()
    assert page.locator("main").inner_text() == before


def test_figures_are_drawn_by_bokeh_and_follow_the_choice(page, shown):
    expect(page.locator("[data-figure]:visible")).to_have_count(3)
    assert page.locator(".s-static:visible").count() == 0
    steps = "Bokeh.documents.map(one => one.get_model_by_name('bars')).find(Boolean).data.value"
    before = page.evaluate(steps)
    page.get_by_label("Compile", exact=True).select_option(value="1")
    after = page.evaluate(steps)
    assert len(before) == len(after) > 5
    assert before != after


def test_another_colour_scheme_draws_the_figures_anew(page):
    ink = "Bokeh.documents.at(-1).get_model_by_name('x_axis').axis_label_text_color"
    light = page.evaluate(ink)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"before => {ink} !== before", arg=light)
    expect(page.locator("[data-figure]:visible")).to_have_count(3)  # they are drawn one after another


def test_only_the_short_list_is_there_until_all_are_asked_for(page, shown):
    assert gpu_names(page) == [row.gpu for row in shown.rows if row.gpu in shown.shortlist]
    page.get_by_label("show all").check()
    assert gpu_names(page) == [row.gpu for row in shown.rows]
    count = len(shown.rows)
    assert page.locator(".s-count").inner_text() == f"{count} of {count} GPUs"


def test_a_filter_finds_among_all(page, shown):
    gpu_names(page)
    page.get_by_label("Filter").fill("amd mi300")
    assert gpu_names(page) == [row.gpu for row in shown.rows if row.vendor == "AMD" and "MI300" in row.gpu]
    page.get_by_label("Filter").fill("no such card")
    assert gpu_names(page) == []


def test_a_heading_sorts_both_ways_says_so_and_keeps_to_it(page, shown):
    gpu_names(page)
    page.get_by_label("show all").check()
    heading = page.locator("table.s-gpus th", has_text="GPU").first
    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    assert gpu_names(page) == sorted(gpu_names(page), key=str.lower)
    heading.get_by_role("button").press("Enter")
    assert heading.get_attribute("aria-sort") == "descending"
    assert gpu_names(page) == sorted(gpu_names(page), key=str.lower, reverse=True)
    step = page.locator("table.s-gpus th", has_text="Step").first
    step.get_by_role("button").click()
    page.get_by_label("Batch size", exact=True).fill("0")  # another order of the same column
    times = page.locator("table.s-gpus tbody tr:visible td:has(.s-v-step)").evaluate_all(
        "cells => cells.map(cell => Number(cell.dataset.sort))"
    )
    assert times == sorted(times)


def test_what_is_not_known_sorts_last(page, shown):
    gpu_names(page)
    page.get_by_label("show all").check()
    heading = page.locator("table.s-gpus th", has_text="$/hour")
    priced = sum(row.usd_per_hour.value is not None for row in shown.rows)
    for _ in range(2):
        heading.get_by_role("button").click()
        prices = page.locator("table.s-gpus tbody tr:visible .s-v-hour").all_inner_texts()
        assert "–" not in prices[:priced]
        assert set(prices[priced:]) == {"–"}


def test_operations_follow_the_gpu_chosen(page, shown):
    page.get_by_text("The costliest operations", exact=True).click()
    index = len(shown.rows) // 2
    page.get_by_label("GPU of this table").select_option(value=str(index))
    for place, row in enumerate(shown.operations):
        drawn = page.locator("table.s-operations tbody tr").nth(place)
        assert drawn.locator(".s-v-time").inner_text() == row.on_text[index]
        assert drawn.locator(".s-v-time-range").inner_text() == row.on_range[index]
        assert drawn.locator(".s-v-limit").inner_text() == shown.limit_labels[row.on_limit[index]]
        assert drawn.locator(".s-v-method").inner_text() == shown.method_labels[row.on_method[index]]
    assert page.locator("table.s-operations .s-there").inner_text() == shown.rows[index].gpu


def test_all_is_reached_and_changed_by_keyboard(page, shown):
    page.get_by_label("GPU", exact=True).focus()
    before = outcome(page, "step")
    seen = set()
    for _ in range(6):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("document.activeElement.className"))
        if "s-batch" in page.evaluate("document.activeElement.className"):
            page.keyboard.press("ArrowRight")
    assert {"s-batch", "s-precision", "s-compile", "s-price", "s-price-slider", "s-reset"} <= seen
    assert outcome(page, "step") != before


@pytest.mark.parametrize("width", SIZES)
def test_nothing_reaches_beyond_the_page(page, width):
    page.set_viewport_size({"width": width, "height": 900})
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    page.get_by_label("show all").check()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # the two tables that one decides by are read without scrolling sideways
    for table in (".s-best", ".s-gpus"):
        inside, room = page.locator(table).evaluate(
            "table => [table.parentElement.scrollWidth, table.parentElement.clientWidth]"
        )
        assert inside <= room, table


@pytest.mark.parametrize("width", [390, 1100])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_fault(page, scheme, width):
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert serious_faults(page) == []


def test_a_trace_of_an_unknown_batch_size_has_no_batch_slider(chromium: Browser, tmp_path: Path):
    view = demo("profiler_trace")
    path = tmp_path / "report.html"
    path.write_text(html_document([view]), encoding="utf-8")
    with chromium.new_context(offline=True) as context:
        page = context.new_page()
        page.goto(path.as_uri())
        page.locator(".surfer[data-shown]").wait_for()
        assert page.get_by_label("Batch size", exact=True).count() == 0
        page.get_by_label("Compile", exact=True).select_option(value="1")
        expected = Choosing(view).at(
            Choosing(view).view.rows.index(row_of(view)), Setting(batch=0, precision=0, compiled=1)
        )
        assert outcome(page, "step") == time_quantity(expected.step_ms * NS_PER_MS).text


def row_of(view: ViewModel):
    return next(row for row in view.rows if row.gpu == view.focus)


def test_several_predictions_stand_in_one_page_and_do_not_meddle(chromium: Browser, tmp_path: Path, shown):
    views = [shown, demo("does_not_fit"), demo("profiler_trace")]
    path = tmp_path / "report.html"
    path.write_text(html_document(views, title="three of them"), encoding="utf-8")
    assert path.stat().st_size < 3_000_000
    with chromium.new_context(offline=True) as context:
        page = context.new_page()
        page.goto(path.as_uri())
        page.locator(".surfer[data-shown]").nth(2).wait_for()
        page.wait_for_function("document.querySelectorAll('.surfer:not([data-shown]):not(.s-contents)').length === 0")
        assert page.locator("h1").inner_text() == "three of them"
        assert page.locator(".s-contents li").count() == 3
        ids = page.evaluate("[...document.querySelectorAll('[id]')].map(one => one.id)")
        assert len(ids) == len(set(ids))
        reports = page.locator("article.surfer")
        before = [reports.nth(place).locator(".s-v-o-step").inner_text() for place in range(3)]
        reports.nth(0).get_by_label("Compile", exact=True).select_option(value="1")
        after = [reports.nth(place).locator(".s-v-o-step").inner_text() for place in range(3)]
        assert before[0] != after[0]
        assert before[1:] == after[1:]


def test_without_scripts_the_report_is_complete(chromium: Browser, tmp_path: Path, shown):
    path = tmp_path / "report.html"
    path.write_text(html_document([shown], made_on="1 May 2026"), encoding="utf-8")
    with chromium.new_context(offline=True, java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(path.as_uri())
        text = page.locator("main").inner_text()
        assert shown.sentences[0].text in text
        assert page.locator("select, input").count() == 0  # nothing that would do nothing
        assert page.locator(".s-static svg").count() == 3
        assert page.locator("table.s-gpus tbody tr").count() == len(shown.rows)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground_in_both_schemes(page, scheme):
    page.emulate_media(color_scheme=scheme)
    ratio = page.evaluate(
        """() => {
          const light = (name) => {
            const probe = document.querySelector(".surfer").appendChild(document.createElement("i"));
            probe.style.color = `var(${name})`;
            const [r, g, b] = getComputedStyle(probe).color.match(/\\d+/g).map((v) => v / 255)
              .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
            probe.remove();
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
          };
          const page = light("--s-page"), card = light("--s-card");
          const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
          const inks = ["--s-fg", "--s-muted", "--s-accent", "--s-bad", "--s-warn"].map(light);
          return Math.min(...inks.flatMap((ink) => [contrast(ink, page), contrast(ink, card)]));
        }"""
    )
    assert ratio >= 4.5  # WCAG AA for text

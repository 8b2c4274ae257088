"""The exported report in a browser: opened from a file with the network off, its table sorts, filters and follows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from surfer_lab.report.html import html_page
from surfer_lab.view.model import ViewModel
from tests.planner.predictions import gpu, trace
from tests.view.views import V100, view


@pytest.fixture(scope="module")
def shown() -> ViewModel:
    """Thirty cards, a dozen of them on the short list."""
    cards = ((V100, 1.0), *((gpu(f"Card {index:02}"), 0.5 + index / 10) for index in range(29)))
    return view(trace(peak_bytes=int(12e9)), speeds=cards, dataset_size=50_000)


@pytest.fixture
def page(chromium: Browser, shown: ViewModel, tmp_path: Path) -> Iterator[Page]:
    path = tmp_path / "report.html"
    path.write_text(html_page(shown, made_on="1 May 2026"), encoding="utf-8")
    context = chromium.new_context(offline=True, viewport={"width": 1100, "height": 900})
    opened = context.new_page()
    said: list[str] = []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.on("request", lambda request: said.append(request.url) if not request.url.startswith("file:") else None)
    opened.goto(path.as_uri())
    yield opened
    context.close()
    assert not said, said


def names(page: Page) -> list[str]:
    return page.locator("table.s-gpus tbody tr:visible bdi").all_inner_texts()


def test_only_the_short_list_is_there_until_all_are_asked_for(page, shown):
    assert names(page) == [row.gpu for row in shown.rows if row.gpu in shown.shortlist]
    page.get_by_label("show all").check()
    assert names(page) == [row.gpu for row in shown.rows]
    assert page.locator(".s-count").inner_text() == "30 of 30 GPUs"


def test_a_filter_finds_among_all(page):
    page.get_by_label("Filter").fill("17 CARD")
    assert names(page) == ["Card 17"]
    page.get_by_label("Filter").fill("nvidia test")  # maker and architecture
    assert len(names(page)) == 30
    page.get_by_label("Filter").fill("no such card")
    assert names(page) == []


def test_a_heading_sorts_both_ways_and_says_so(page):
    page.get_by_label("show all").check()
    heading = page.locator("table.s-gpus th", has_text="GPU").first
    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    assert names(page) == sorted(names(page))
    heading.get_by_role("button").press("Enter")
    assert heading.get_attribute("aria-sort") == "descending"
    assert names(page) == sorted(names(page), reverse=True)


def test_what_is_not_known_sorts_last(page):
    page.get_by_label("show all").check()
    heading = page.locator("table.s-gpus th", has_text="$/hour")
    for _ in range(2):
        heading.get_by_role("button").click()
        assert names(page)[0] == V100.name  # the one with a price


def test_operations_follow_the_gpu_chosen(page, shown):
    index = next(index for index, row in enumerate(shown.rows) if row.gpu == "Card 05")
    page.get_by_label("GPU of this table").select_option(label="Card 05")
    first = shown.operations[0]
    assert page.locator(".s-there-time").first.inner_text() == first.on_text[index]
    assert page.locator(".s-there-range").first.inner_text() == first.on_range[index]
    assert page.locator("table.s-operations .s-there-name").inner_text() == "Card 05"


@pytest.mark.parametrize("width", [390, 760, 1100])
def test_nothing_reaches_beyond_the_page(page, width):
    page.set_viewport_size({"width": width, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= width


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

"""Report and block below a cell: complete without network or script, harmless whatever the names."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surfer_lab.report.block import html_block
from surfer_lab.report.bokeh_page import bokeh_scripts
from surfer_lab.report.document import html_document
from surfer_lab.trace.model import CellRecord, TraceOrigin, TraceWarning
from tests.planner.predictions import MS, gpu, trace
from tests.view.views import FAST, V100, view

VOID = {"br", "hr", "meta", "input"}
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "';alert(1)//",
    "</script><script>alert(1)</script>",
    "<!--",
    "]]>",
    "\u202egnp.exe",
    "\x1b[2J\x00",
    "مرحبا بالعالم",
    "x" * 5000,
)


BOKEH = bokeh_scripts()[0]


def html_page(view, **words):
    """The page, but for Bokeh's own script, which a strict reader would read for seconds."""
    written = html_document([view], **words)
    assert BOKEH in written
    return written.replace(BOKEH, "")


class Document(HTMLParser):
    """A strict reader: every element closed, what scripts and text hold."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.scripts, self.text = [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        (self.scripts if self.open and self.open[-1] in {"script", "style"} else self.text).append(data)

    def of(self, name):
        return [attributes for tag, attributes in self.elements if tag == name]


def test_the_page_has_every_sentence_row_and_operation():
    shown = view()
    text = " ".join(Document(html_page(shown, made_on="1 May 2026")).text)
    for sentence in shown.sentences:
        if sentence.role.value not in {"fastest", "cheapest"}:
            assert sentence.text in text
    for row in shown.rows:
        assert row.gpu in text
        assert row.step.range_text in text
        assert row.usd_per_1000_steps.range_text in text
    for operation in shown.operations:
        assert operation.name in text
    for line in (*shown.warnings, *shown.assumptions, *shown.accuracy, shown.range_note, shown.price_note):
        assert line in text
    assert "1 May 2026" in text
    assert shown.command in text


@pytest.mark.parametrize("write", [html_page, html_block])
def test_nothing_is_fetched(write):
    written = write(view())
    document = Document(written)
    named = written.replace("http://www.w3.org/2000/svg", "")  # a name that a browser knows, not an address
    assert not re.search(r"https?://|//cdn|@import|url\(", named)
    for name in ("link", "img", "iframe", "object", "form", "base"):
        assert document.of(name) == []
    assert all("src" not in attributes for attributes in document.of("script"))


def test_the_page_forbids_itself_the_network():
    policies = [meta["content"] for meta in Document(html_page(view())).of("meta") if "http-equiv" in meta]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"]


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("write", [html_page, html_block])
def test_hostile_names_stay_text(name, write):
    kernels = [(f"aten::{name}", None, 1, name, "fp32", 90)]
    recorded = trace(device=name, source=name, kernels=kernels, warnings=(TraceWarning(seen=name, consequence=name),))
    plain = Document(write(view(trace(), speeds=((V100, 1.0), (FAST, 2.0)))))
    cards = ((V100, 1.0), (gpu(name), 2.0))
    document = Document(write(view(recorded, speeds=cards, name=name, kernels=kernels, unscaled=name)))
    assert len(document.of("script")) == len(plain.of("script"))
    assert document.of("img") == []
    for _, attributes in document.elements:
        assert not any(attribute.startswith("on") for attribute in attributes)
    assert not any("\u202e" in text or "\x1b" in text or "\x00" in text for text in document.text)


@given(st.text(max_size=60))
def test_any_name_gives_a_document_that_a_strict_reader_accepts(name):
    Document(html_page(view(trace(device=name, source=name), name=name)))


def test_tables_have_captions_and_scoped_headings_and_figures_their_names():
    document = Document(html_page(view()))
    assert len(document.of("caption")) == len(document.of("table"))
    assert all(heading.get("scope") in {"row", "col", "rowgroup"} for heading in document.of("th"))
    for drawing in document.of("svg"):
        assert drawing.get("aria-label") or drawing.get("aria-hidden") == "true"


def test_both_colour_schemes_are_in_the_page_and_the_block_follows_its_notebook():
    assert "prefers-color-scheme: dark" in html_page(view())
    block = html_block(view())
    assert '[data-jp-theme-light="false"] .surfer' in block
    assert "body:not([data-jp-theme-light])" in block  # elsewhere as the reader's system


def test_what_is_not_known_has_no_column_and_no_card():
    cell = CellRecord(wall_ns=10**10, step_count=50, profiled_step_count=5, unprofiled_step_ns=100 * MS)
    bare = view(trace(origin=TraceOrigin.CPU_RUN, device=None), origin=None, batch_size=None)
    written = html_page(bare)
    assert "Samples/s" not in written
    assert "Share here" not in written
    full = html_page(view(trace(cell=cell), dataset_size=1000))
    assert all(word in full for word in ("Samples/s", "Epoch", "This cell", "Share here"))

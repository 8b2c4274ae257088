"""A tuned run as text, Markdown and HTML: everything is there, names stay names."""

from __future__ import annotations

from html import unescape
from html.parser import HTMLParser

import msgspec
import pytest

from surfer_lab.planner.convergence.optimizer import Optimizer
from surfer_lab.planner.convergence.tuned_run import Goal
from surfer_lab.report.training_report import training_html, training_markdown, training_page, training_text
from surfer_lab.view.training_view import tuned_view
from surfer_lab.view.wording import duration_text
from tests.planner.convergence.simulated import SimulatedCluster

EVIL = "<script>alert('x')</script> | `a` [b](c)"


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen = []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)


@pytest.fixture(scope="module")
def view():
    simulated = SimulatedCluster(s_per_sample=(0.01,) * 4, reduce_s=0.4, exchange_s=0.02, is_exponential=True)
    run = Optimizer(simulated, Goal(batch_size=16, target_loss=1e-3, window=8)).run()
    return tuned_view(run, title=EVIL, target_loss=1e-3)


def test_all_forms_tell_the_recommendation_and_the_plan(view):
    for written in (training_text(view), training_markdown(view), training_page(view)):
        assert "learning rate" in written
        assert "Momentum to set" in written
        assert "Mean staleness" in written


def test_no_name_becomes_markup(view):
    page = training_page(view)
    tags = Tags()
    tags.feed(page)
    assert "script" not in tags.seen
    assert "&lt;script&gt;" in page
    first = training_markdown(view).splitlines()[0]
    assert "\\<script\\>" in first
    assert "\\|" in first


def test_the_page_follows_light_and_dark_and_fits_a_phone_and_asks_no_network(view):
    page = training_page(view)
    assert '<meta name="viewport"' in page
    assert '<meta name="color-scheme" content="light dark">' in page
    assert "default-src 'none'" in unescape(page)


def test_every_table_scrolls_by_itself_where_it_is_too_wide(view):
    page = training_page(view)
    assert page.count("<table") == page.count('class="surfer-training-wide"') == 3


def test_the_time_axis_of_the_losses_ends_with_the_run_in_its_own_unit(view):
    short = [msgspec.structs.replace(c, seconds=[s / 1e5 for s in c.seconds]) for c in view.curves]
    last = max(s for curve in short for s in curve.seconds)
    assert last < 0.1
    assert f">{duration_text(last * 1e9)}<" in training_html(msgspec.structs.replace(view, curves=short))


def test_a_view_without_anything_is_still_written(view):
    empty = msgspec.structs.replace(view, curves=[], staleness=[], decisions=[], staleness_note="", target_loss=None)
    assert "<svg" not in training_html(empty)
    assert training_text(empty)


def test_drawings_are_named_for_those_who_do_not_see_them(view):
    html = training_html(view)
    assert html.count('role="img"') == 2
    assert "Loss by wall time" in html
    assert "Updates by staleness" in html

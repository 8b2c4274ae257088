"""A characterisation written: every form has everything, names stay names, nothing is told by colour alone."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from surfer_lab.errors import OptionError, PredictionError, TraceError, UnknownGpuError
from surfer_lab.planner.characterise.characteristics import REFERENCE_GPU, UNITS
from surfer_lab.planner.characterise.similarity import PointGroup
from surfer_lab.report.character_report import (
    character_json,
    character_markdown,
    character_page_html,
    character_text,
)
from surfer_lab.report.characterised import CharacterOptions, characterise_step, characterise_traces, view_of_pages
from surfer_lab.report.reference_workloads import load_references, reference_characteristics
from surfer_lab.view.character_model import CharacterView
from surfer_lab.workloads import build
from surfer_lab.workloads.any_batch import capture_step
from surfer_lab.workloads.named_step import model_step

EVIL = "<script>alert('x')</script> | `a` [b](c)"
RANKS = ("timeline_analysis__sampled_rank-0.json.gz", "trace_filter__sampled_rank-1.json.gz")
WITH_GPU = "nccl_parser_config__nccl_data.json.gz"


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen = []
        self.attributes = []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.attributes.append(dict(attrs))


@pytest.fixture(scope="module")
def pages():
    options = CharacterOptions(on=("A100 SXM4 80GB", REFERENCE_GPU), counts=(1, 2, 4, 8))
    step = capture_step(model_step(lambda: build("lenet"), name="lenet"), 64)
    return [characterise_step(step, name, options) for name in (EVIL, "second")]


@pytest.fixture(scope="module")
def view(pages):
    return view_of_pages(pages, command=f"surfer characterize {EVIL}")


def test_all_forms_tell_all_tables(view):
    titles = [table.title for page in view.pages for table in page.tables]
    assert {"Where it lies under the roofline", f"Several GPUs: {REFERENCE_GPU}"} <= set(titles)
    text, page = character_text(view, width=140), character_page_html(view)
    markdown = re.sub(r"\\(.)", r"\1", character_markdown(view))
    for title in (*titles, "Which workloads are alike", f"Side by side on {REFERENCE_GPU}"):
        assert title in text
        assert title in page
        assert title in markdown


def test_no_name_becomes_markup(view):
    page = character_page_html(view)
    tags = Tags()
    tags.feed(page)
    assert "script" not in tags.seen
    assert "&lt;script&gt;" in page
    assert all(not name.startswith("on") for one in tags.attributes for name in one)
    first = character_markdown(view).splitlines()[0]
    assert "\\<script\\>" in first
    assert "\\|" in first


def test_the_page_asks_nobody_and_says_what_it_draws(view):
    page = character_page_html(view)
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page
    tags = Tags()
    tags.feed(page)
    drawings = [one for name, one in zip(tags.seen, tags.attributes, strict=True) if name == "svg"]
    assert all(one.get("aria-hidden") == "true" or (one["role"] == "img" and one["aria-label"]) for one in drawings)


def test_groups_are_told_apart_by_shape_and_dash_too(view):
    page = character_page_html(view)
    assert page.count("stroke-dasharray") >= 3
    assert 'class="c-own"' in page
    assert 'class="c-reference"' in page
    # an own workload is a diamond, a reference a circle
    assert re.search(r"<path d=\"M[^\"]+Z\" class=\"c-own\"", page)
    assert re.search(r"<circle [^>]*class=\"c-reference\"", page)


def test_the_json_is_the_view(view):
    assert msgspec.json.decode(character_json(view), type=CharacterView) == view


def test_figures_hold_what_the_tables_say(view):
    page = view.pages[0]
    assert page.roofline is not None
    shown = {point.label for point in page.roofline.points if point.kind == "part"}
    rows = {row[0] for table in page.tables if table.key == "roofline" for row in table.table.rows}
    assert shown <= rows
    scaling = [table for table in page.tables if table.key == "scaling"]
    assert [[row[0] for row in table.table.rows] for table in scaling] == [
        [line.label for line in figure.lines] for figure in page.scaling
    ]


def test_what_is_asked_about_stands_beside_the_references(view):
    assert view.alike is not None
    groups = [point.group for point in view.alike.points]
    assert groups.count("own") == 2
    assert groups.count("reference") == len(load_references().workloads)
    assert groups.count("kernel") > 200
    own = [point for point in view.alike.points if point.group == "own"]
    assert own[0].nearest == own[1].label  # the same step under two names


def test_references_have_every_characteristic():
    assert len(load_references().workloads) >= 10
    for row in reference_characteristics():
        assert row.group is PointGroup.REFERENCE
        assert list(row.values) == list(UNITS)
    names = {row.name for row in reference_characteristics({"resnet50"})}
    assert "resnet50" not in names
    assert "gpt2" in names


def test_ranks_of_an_unknown_gpu_are_told_by_their_communication(traces_dir: Path):
    page = characterise_traces([traces_dir / name for name in RANKS], CharacterOptions(), name="two ranks")
    assert page.on == ()
    written = character_text(view_of_pages([page]), width=160)
    assert "Straggler" in written
    assert "sendrecv" in written
    assert "compute is not predicted" in written
    assert "<svg" not in character_page_html(view_of_pages([page]))


def test_a_recorded_run_is_told_with_its_compute_predicted(traces_dir: Path):
    options = CharacterOptions(on=("A100 SXM4 80GB",), origin="A100 SXM4 40GB")
    page = characterise_traces([traces_dir / WITH_GPU], options, name="one rank")
    written = character_text(view_of_pages([page]), width=160)
    assert "allreduce" in written
    assert "A100 SXM4 80GB" in written
    assert page.on[0].host_step.is_recorded


@pytest.mark.parametrize(
    ("words", "error"),
    [({"on": ("Nonesuch",)}, UnknownGpuError), ({"counts": (0,)}, OptionError), ({"input_ms": -1.0}, OptionError)],
)
def test_what_cannot_be_is_refused_before_anything_long(words, error):
    with pytest.raises(error):
        CharacterOptions(**words)


def test_a_trace_without_gpu_and_without_communication_is_refused(traces_dir: Path, tmp_path: Path):
    with pytest.raises((PredictionError, UnknownGpuError)):
        characterise_traces([traces_dir / "trace_compare__base__base.json.gz"], CharacterOptions(), name="x")
    file = tmp_path / "none.json"
    file.write_text("no trace")
    with pytest.raises(TraceError):
        characterise_traces([file], CharacterOptions(), name="x")

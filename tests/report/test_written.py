"""A report's forms: chosen by the name's ending, one or several predictions, Markdown with its figures beside it."""

from __future__ import annotations

import sys
from xml.etree import ElementTree

import pytest

from surfer_lab.errors import OptionError
from surfer_lab.report.written import write_report
from tests.planner.predictions import trace
from tests.view.views import view

HOSTILE = "a](b) <img src=x onerror=alert(1)> `x` | $&"


def both(_with_grid):
    return [view(name="first one"), view(name="second one")]


@pytest.mark.parametrize("ending", [".html", ".htm", ".md", ".txt", ".json"])
def test_several_predictions_are_in_every_form(tmp_path, ending):
    written = write_report(both, tmp_path / f"two{ending}", title="two").read_text(encoding="utf-8")
    assert "first one" in written
    assert "second one" in written


def test_markdown_names_the_figures_that_lie_beside_it_and_they_are_pictures(tmp_path):
    written = write_report(both, tmp_path / "my (two).md").read_text(encoding="utf-8")
    figures = sorted((tmp_path / "my (two)_figures").iterdir())
    assert len(figures) == 4
    for figure in figures:
        assert ElementTree.parse(figure).getroot().tag == "{http://www.w3.org/2000/svg}svg"
        assert f"(my%20%28two%29_figures/{figure.name})" in written


def test_names_in_a_figures_file_are_text(tmp_path):
    hostile = view(trace(device=HOSTILE), name=HOSTILE)
    write_report(lambda _: [hostile], tmp_path / "a.md")
    for figure in (tmp_path / "a_figures").iterdir():
        tags = {element.tag.split("}")[1] for element in ElementTree.parse(figure).iter()}
        assert tags <= {"svg", "style", "text", "line", "rect", "circle", "path", "title"}


def test_the_grid_is_asked_for_only_where_there_are_sliders(tmp_path):
    asked = []

    def views(with_grid):
        asked.append(with_grid)
        return [view()]

    for ending in (".html", ".md", ".txt", ".json"):
        write_report(views, tmp_path / f"a{ending}")
    assert asked == [True, False, False, False]


def test_an_unknown_ending_and_a_place_that_is_not_there_are_refused_with_what_to_do(tmp_path):
    with pytest.raises(OptionError, match=r"ends in .html"):
        write_report(both, tmp_path / "a.docx")
    with pytest.raises(OptionError, match="another folder"):
        write_report(both, tmp_path / "no" / "such" / "a.html")


def test_a_pdf_without_playwright_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "playwright", None)
    monkeypatch.setitem(sys.modules, "playwright.sync_api", None)
    with pytest.raises(OptionError, match=r"surfer-lab\[pdf\]"):
        write_report(both, tmp_path / "a.pdf")


def test_a_pdf_without_a_browser_says_how_to_name_one(tmp_path, monkeypatch):
    monkeypatch.setenv("SURFER_LAB_CHROMIUM", str(tmp_path / "nothing"))
    with pytest.raises(OptionError, match="SURFER_LAB_CHROMIUM"):
        write_report(both, tmp_path / "a.pdf")
    assert not (tmp_path / "a.pdf").exists()

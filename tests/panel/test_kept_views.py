"""Are kept views few, whole, and harmless when their folder is not?"""

from __future__ import annotations

import msgspec
import pytest

from surfer_lab.panel import kept_views
from surfer_lab.view.detail_model import Provenance
from surfer_lab.view.stored import stored
from tests.view.views import view

VIEW = stored(view())


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(kept_views.FOLDER_VARIABLE, str(tmp_path))
    return tmp_path


def of(name):
    return msgspec.structs.replace(VIEW, provenance=Provenance(id=name))


def test_what_is_kept_comes_back_the_same_oldest_first():
    kept_views.keep(of("one"), "a.ipynb")
    kept_views.keep(of("two"), "a.ipynb")
    assert [one.provenance.id for one in kept_views.kept("a.ipynb")] == ["one", "two"]
    assert kept_views.kept("a.ipynb")[0] == of("one")


def test_only_the_newest_few_of_a_notebook_are_kept():
    for place in range(15):
        kept_views.keep(of(f"view{place:02}"), "a.ipynb")
    names = [one.provenance.id for one in kept_views.kept("a.ipynb")]
    assert names == [f"view{place:02}" for place in range(5, 15)]


def test_many_notebooks_do_not_fill_the_disk(folder):
    for place in range(110):
        kept_views.keep(of("one"), f"{place}.ipynb")
    assert len(list(folder.rglob("*.view.json"))) == 100
    assert kept_views.kept("109.ipynb")


def test_without_a_notebook_nothing_is_kept(folder):
    kept_views.keep(of("one"), "")
    assert not list(folder.rglob("*.json"))


def test_damaged_and_foreign_files_are_passed_over(folder):
    kept_views.keep(of("good"), "a.ipynb")
    place = next(folder.rglob("*.view.json")).parent
    (place / "bad.view.json").write_bytes(b"\xff{")
    (place / "older.view.json").write_bytes(msgspec.json.encode(msgspec.structs.replace(VIEW, schema_version=1)))
    assert [one.provenance.id for one in kept_views.kept("a.ipynb")] == ["good"]


def test_a_folder_that_is_a_file_is_as_if_there_were_none(folder):
    (folder / "views").write_text("not a folder")
    kept_views.keep(of("one"), "a.ipynb")
    assert kept_views.kept("a.ipynb") == []
    kept_views.forget("one", "a.ipynb")

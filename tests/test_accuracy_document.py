"""Do README and docs/accuracy.md say what the stored evaluations found, number by number?"""

from __future__ import annotations

from surfer_lab.training.evaluate.targets import RANGES_TITLE, TARGETS_TITLE
from tools.write_accuracy import BEGIN, DOCUMENT, END, README, attempts, document, readme_with, stored


def test_the_document_is_what_the_stored_evaluations_say() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == document(stored())


def test_the_readmes_section_is_what_the_stored_evaluations_say() -> None:
    text = README.read_text(encoding="utf-8")
    assert text.count(BEGIN) == text.count(END) == 1
    assert readme_with(text, stored()) == text


def test_a_changed_figure_is_seen() -> None:
    content = stored()
    content["targets"]["tables"][TARGETS_TITLE][0]["reached"] = "99.9 / 99.9"
    assert "99.9" in document(content)
    assert readme_with(README.read_text(encoding="utf-8"), content) != README.read_text(encoding="utf-8")


def test_each_aim_that_was_missed_has_three_recorded_attempts() -> None:
    tables = stored()["targets"]["tables"]
    missed = [row for title in (TARGETS_TITLE, RANGES_TITLE) for row in tables[title] if "missed" in row["verdict"]]
    assert missed
    for row in missed:
        named = str(row["what"]).split(":")[0]
        assert sum(str(one["target"]).startswith(named) for one in attempts()) >= 3, named
    assert all(one["tried"] and one["figure"] and one["kept"] for one in attempts())


def test_every_aim_was_evaluated() -> None:
    for rows in stored()["targets"]["tables"].values():
        assert "not evaluated" not in {row["verdict"] for row in rows}


def test_every_section_names_its_command_and_its_data() -> None:
    for name, section in stored()["sections"].items():
        assert section["command"].startswith(f"surfer evaluate {name.split()[0]}"), name
        assert section["data_hash"], name

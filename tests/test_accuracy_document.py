"""Do README and docs/accuracy.md say what the stored evaluations found, number by number?"""

from __future__ import annotations

from tools.write_accuracy import BEGIN, DOCUMENT, END, README, document, readme_with, stored


def test_the_document_is_what_the_stored_evaluations_say() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == document(stored())


def test_the_readmes_section_is_what_the_stored_evaluations_say() -> None:
    text = README.read_text(encoding="utf-8")
    assert text.count(BEGIN) == text.count(END) == 1
    assert readme_with(text, stored()) == text


def test_a_changed_figure_is_seen() -> None:
    content = stored()
    rows = next(iter(content["sections"]["e2e"]["tables"].values()))
    rows[0]["mean %"] = 99.9
    assert "99.9" in document(content)
    assert readme_with(README.read_text(encoding="utf-8"), content) != README.read_text(encoding="utf-8")


def test_every_section_names_its_command_and_its_data() -> None:
    for name, section in stored()["sections"].items():
        assert section["command"].startswith(f"surfer evaluate {name.split()[0]}"), name
        assert section["data_hash"], name

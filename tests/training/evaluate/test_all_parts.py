"""Does `surfer evaluate all` keep what is done, go on where it was interrupted, and do again what has changed?"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from surfer_lab.errors import OptionError
from surfer_lab.training.evaluate import all_parts, e2e
from surfer_lab.training.evaluate.all_parts import PARTS, Part, evaluate_all
from surfer_lab.training.evaluate.cases import Case, Evaluation


class Counted:
    """A part's function that counts its runs, and fails where told."""

    def __init__(self, fails: BaseException | None = None) -> None:
        self.runs, self.fails = 0, fails

    def __call__(self, data: Path, **words: object) -> Evaluation:
        self.runs += 1
        if self.fails is not None:
            raise self.fails
        case = Case(method=e2e.LEARNED, gpu="T4", predicted_ms=104.0, measured_ms=100.0)
        return Evaluation(name="made up", cases=(case,), tables=(), facts={"runs": self.runs})


def part(name: str, function: Callable[..., Evaluation]) -> Part:
    return Part(name=name, command="none", function=function, folders=("e2e",), takes=("data",))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "e2e").mkdir()
    (tmp_path / "e2e" / "index.csv").write_text("gpu\n", encoding="utf-8")
    return tmp_path


def test_an_interrupt_keeps_the_parts_before_it_and_the_next_run_goes_on(folder: Path) -> None:
    first, second, file = Counted(), Counted(KeyboardInterrupt()), folder / "all.json"
    parts = (part("e2e", first), part("kernels", second))
    with pytest.raises(KeyboardInterrupt):
        evaluate_all(folder, kept=file, parts=parts)
    kept = json.loads(file.read_bytes())
    assert list(kept["summary"]["parts"]) == ["e2e"]
    assert [row["part"] for row in kept["cases"]] == ["e2e"]
    second.fails = None
    whole = evaluate_all(folder, kept=file, parts=parts)
    assert (first.runs, second.runs) == (1, 2)
    assert [row["part"] for row in json.loads(file.read_bytes())["cases"]] == ["e2e", "kernels"]
    assert len(whole.rows) == 2


def test_changed_data_and_another_sample_are_evaluated_again(folder: Path) -> None:
    counted, file = Counted(), folder / "all.json"
    parts = (part("e2e", counted),)
    for _ in range(2):
        evaluate_all(folder, kept=file, parts=parts)
    assert counted.runs == 1
    evaluate_all(folder, kept=file, sample=3, parts=parts)
    assert counted.runs == 2
    (folder / "e2e" / "index.csv").write_text("gpu\nT4\n", encoding="utf-8")
    evaluate_all(folder, kept=file, sample=3, parts=parts)
    assert counted.runs == 3


def test_changed_code_or_weights_are_evaluated_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted, file = Counted(), folder / "all.json"
    for code in ("a", "b"):
        monkeypatch.setattr(all_parts, "code_hash", lambda code=code: code)
        evaluate_all(folder, kept=file, parts=(part("e2e", counted),))
    assert counted.runs == 2


def test_what_the_folder_lacks_is_said_stops_nothing_and_is_tried_again(folder: Path) -> None:
    missing, file, told = Counted(OptionError("no tables", remedy="some")), folder / "all.json", list[str]()
    parts = (part("kernels", missing), part("e2e", Counted()))
    whole = evaluate_all(folder, kept=file, tell=told.append, parts=parts)
    assert "kernels was not evaluated: no tables" in whole.as_text()
    assert len(whole.rows) == 1
    assert any(line.startswith("kernels: no tables") for line in told)
    missing.fails = None
    assert len(evaluate_all(folder, kept=file, parts=parts).rows) == 2


def test_another_file_is_not_overwritten(folder: Path) -> None:
    file = folder / "notes.json"
    file.write_text('{"mine": 1}', encoding="utf-8")
    with pytest.raises(OptionError, match="was not written by"):
        evaluate_all(folder, kept=file, parts=(part("e2e", Counted()),))
    assert json.loads(file.read_bytes()) == {"mine": 1}


def test_parts_have_names_of_their_own_and_name_their_command() -> None:
    assert len({one.name for one in PARTS}) == len(PARTS)
    for one in PARTS:
        assert one.command.startswith(f"surfer evaluate {one.name.split()[0]}")

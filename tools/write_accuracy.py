"""Write docs/accuracy.md and the README's accuracy section from what `surfer evaluate` found.

    surfer evaluate all --data FOLDER --json all.json
    surfer evaluate scaling --data FOLDER --json scaling.json
    python -m tools.write_accuracy --data FOLDER all.json scaling.json ...

Each file is one evaluation, `all.json` several and the table of targets; its sections are replaced, others stay. The
tables are kept in docs/accuracy.json, with the command and a hash of the data, and both texts are made from that file
and from docs/attempts.json (what was tried for a target that was missed) alone: `--check` says whether they are. A new
kind of evaluation needs no change here; `SECTIONS` gives it a heading, an order and words.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from surfer_lab.training.evaluate.fingerprint import data_hash
from surfer_lab.training.evaluate.targets import RANGES_TITLE, TARGETS_TITLE

__all__ = ["SECTIONS", "attempts", "document", "readme_with", "stored"]

ROOT: Final = Path(__file__).parents[1]
STORED: Final = ROOT / "docs" / "accuracy.json"
ATTEMPTS: Final = ROOT / "docs" / "attempts.json"
DOCUMENT: Final = ROOT / "docs" / "accuracy.md"
README: Final = ROOT / "README.md"
BEGIN: Final = "<!-- accuracy: made by tools/write_accuracy.py -->"
END: Final = "<!-- end of accuracy -->"
LONGEST: Final = 80  # rows of a table in the document; what is longer stays in the evaluation's own output

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Section:
    """How one evaluation is shown: in the document with its tables, in the README with lines beside the targets."""

    heading: str
    words: str = ""
    folders: tuple[str, ...] = ()  # of the data, for the hash
    leave_out: tuple[str, ...] = ()  # titles of tables that say too much
    in_readme: Callable[[dict[str, list[Row]]], list[str]] | None = None


def stored() -> dict[str, Any]:
    """What docs/accuracy.json holds."""
    if not STORED.is_file():
        return {"sections": {}}
    found: dict[str, Any] = orjson.loads(STORED.read_bytes())
    return found


def attempts() -> list[Row]:
    """What was tried for targets: docs/attempts.json, rows of "target", "tried", "figure" and "kept"."""
    found: list[Row] = orjson.loads(ATTEMPTS.read_bytes())
    return found


def document(content: dict[str, Any]) -> str:
    """docs/accuracy.md."""
    lines = [
        "# How far off predictions are",
        "",
        "Made by `python -m tools.write_accuracy` from [accuracy.json](accuracy.json); nothing here is typed by hand.",
        "Errors are |predicted / measured - 1| in percent; `+- %` is the median half-width of the ranges. No figure's",
        "destination, and no card with its die, was seen by anything that was fitted, unless a table says so.",
    ]
    if "targets" in content:
        lines += _targets(content["targets"])
    for name in _ordered(content["sections"]):
        section, found = SECTIONS.get(name, Section(heading=name)), content["sections"][name]
        lines += ["", f"## {section.heading}", ""]
        if section.words:
            lines += [section.words, ""]
        lines += [f"`{found['command']}`, data {found['data_hash']}", ""]
        lines += [f"- {key}: {_cell(value)}" for key, value in found["facts"].items()]
        for title, rows in found["tables"].items():
            lines += ["", f"### {title}", "", *_table(rows)]
        if found["notes"]:
            lines += ["", *(f"{note}." for note in found["notes"])]
    return "\n".join(lines) + "\n"


def readme_with(text: str, content: dict[str, Any]) -> str:
    """The README with its section between the marks replaced."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    lines: list[str] = []
    if "targets" in content:
        lines += [*_table(content["targets"]["tables"][TARGETS_TITLE]), ""]
        lines += [*_table(content["targets"]["tables"][RANGES_TITLE]), ""]
    for name in _ordered(content["sections"]):
        section = SECTIONS.get(name)
        if section is not None and section.in_readme is not None:
            lines += section.in_readme(content["sections"][name]["tables"])
    return before + "\n".join([BEGIN, *lines, END]) + after


def _ordered(names: Sequence[str] | dict[str, Any]) -> list[str]:
    known = [name for name in SECTIONS if name in names]
    return [*known, *sorted(name for name in names if name not in SECTIONS)]


def _table(rows: list[Row]) -> list[str]:
    if not rows:
        return ["(no cases)"]
    names = list(rows[0])
    right = [all(not isinstance(row[name], str) for row in rows) for name in names]
    lines = [_line(names), _line(["---:" if one else "---" for one in right])]
    lines += [_line([_cell(row[name]) for name in names]) for row in rows[:LONGEST]]
    return lines + ([f"\n({len(rows) - LONGEST} more rows)"] if len(rows) > LONGEST else [])


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.3g}" if 0 < abs(value) < 1 else f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _targets(found: dict[str, Any]) -> list[str]:
    """The table of targets, that of ranges, and for each target that was missed what was tried."""
    lines = ["", "## What was aimed at, and what was reached", "", f"`{found['command']}`"]
    for title, rows in found["tables"].items():
        lines += ["", f"### {title}", "", *_table(rows)]
    lines += ["", *(f"{note}." for note in found["notes"])]
    tried = attempts()
    if tried:
        lines += [
            "", "### what was tried for targets that were missed", "",
            "Figures are |error| in percent, mean / median, on what was held out, unless a line says otherwise.", "",
            *_table(tried),
        ]  # fmt: skip
    return lines


# -- the README's lines ------------------------------------------------------------------------------------------------


def _elsewhere(tables: dict[str, list[Row]]) -> list[str]:
    rows = tables.get("traces: GPU-busy time on another GPU", [])
    if not rows:
        return []
    said = "; ".join(f"{row['model']}, {row['from']} to {row['on']} {row['error %']:+.1f} %" for row in rows)
    return [f"Recorded traces, GPU-busy time on another GPU: {said}.", ""]


SECTIONS: Final[dict[str, Section]] = {
    "e2e": Section(
        heading="Whole models",
        words="FP32 language models of e2e/, one GPU held out in turn; from an origin, every ordered pair of GPUs.",
        folders=("e2e", "kernels"),
    ),
    "e2e logo": Section(
        heading="Whole models, refitted without each GPU",
        words="The same, by networks fitted now without each die in turn; efficiencies are not learned from steps: "
        "pointwise work is on the calibrated roofline. The first paper's hybrid is refitted likewise.",
        folders=("e2e", "kernels"),
    ),
    "kernels": Section(
        heading="Single operations", words="Micro-benchmarks of kernels/, dies held out.", folders=("kernels",),
    ),
    "kernels logo": Section(
        heading="Single operations, refitted without each GPU",
        words="The same by weights fitted now, and the first paper's plain networks refitted likewise.",
        folders=("kernels",), leave_out=("single operations, by GPU",),
    ),
    "timm-steps": Section(
        heading="Steps under automatic mixed precision, held out",
        words="timm's tables: families of networks, half of the architectures, or the GPU left out of the fit.",
        folders=("timm",),
    ),
    "timm": Section(
        heading="Steps under automatic mixed precision", words="timm's benchmark tables.", folders=("timm",),
    ),
    "traces": Section(
        heading="Recorded traces", folders=("traces",), in_readme=_elsewhere,
    ),
    "speed": Section(heading="Time of an answer"),
    "scaling": Section(heading="Several GPUs", folders=("scaling",)),
    "convergence": Section(heading="Training to a loss", folders=("convergence",)),
    "coverage": Section(heading="What the tables of operations cover"),
    "memory": Section(heading="Memory"),
}  # fmt: skip


# -- command -----------------------------------------------------------------------------------------------------------


def section_of(name: str, evaluation: dict[str, Any], data: Path | None, command: str) -> dict[str, Any]:
    """What is kept of an evaluation's JSON: facts, tables, command and the data's hash."""
    section = SECTIONS.get(name, Section(heading=name))
    summary = dict(evaluation["summary"])
    tables, notes = summary.pop("tables"), summary.pop("notes")
    return {
        "command": command,
        "data_hash": data_hash(data, section.folders) if data is not None and section.folders else "none",
        "facts": summary,
        "tables": {title: rows for title, rows in tables.items() if title not in section.leave_out},
        "notes": list(dict.fromkeys(notes)),
    }


def _take_all(content: dict[str, Any], summary: dict[str, Any]) -> None:
    """What `surfer evaluate all` found: the targets, and each part that was evaluated as a section."""
    content["targets"] = {
        "command": "surfer evaluate all --data FOLDER", "tables": summary["tables"], "notes": summary["notes"]
    }  # fmt: skip
    for name, part in summary["parts"].items():
        if not part["reason"]:
            section = SECTIONS.get(name, Section(heading=name))
            content["sections"][name] = {
                **{key: part[key] for key in ("command", "data_hash", "facts")},
                "tables": {title: rows for title, rows in part["tables"].items() if title not in section.leave_out},
                "notes": list(dict.fromkeys(part["notes"])),
            }


def main() -> int:
    """Update the sections named, and write both texts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="JSON of `surfer evaluate KIND --json KIND.json`")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--words", default="", help="what the command was given besides --data and --json")
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a text is not as stored")
    asked = parser.parse_args()
    content = stored()
    for path in asked.files:
        evaluation = orjson.loads(path.read_bytes())
        if "parts" in evaluation["summary"]:
            _take_all(content, evaluation["summary"])
            continue
        command = " ".join(f"surfer evaluate {path.stem} --data FOLDER {asked.words}".split())
        content["sections"][path.stem] = section_of(path.stem, evaluation, asked.data, command)
    texts = {DOCUMENT: document(content), README: readme_with(README.read_text(encoding="utf-8"), content)}
    if asked.check:
        stale = [path.name for path, text in texts.items() if path.read_text(encoding="utf-8") != text]
        if stale:
            print(f"{', '.join(stale)}: not as docs/accuracy.json says; python -m tools.write_accuracy")
        return 1 if stale else 0
    STORED.write_bytes(orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n")
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

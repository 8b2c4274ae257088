"""What did real asynchronous runs show? docs/convergence.md, made from the JSON of `surfer evaluate convergence`.

surfer evaluate convergence --json docs/convergence.json --figures docs/img
python -m tools.write_convergence
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import orjson

ROOT: Final = Path(__file__).resolve().parents[1]
SOURCE: Final = ROOT / "docs" / "convergence.json"
ATTEMPTS: Final = ROOT / "docs" / "convergence_attempts.json"
TARGET: Final = ROOT / "docs" / "convergence.md"
_FIGURES: Final = {
    "convergence-staleness": "Measured staleness (bars) beside the geometric distribution (line)",
    "convergence-tuning": "Seconds to the target loss, tuning included",
}


def page(kept: Mapping[str, Any], attempts: Sequence[Mapping[str, Any]]) -> str:
    """The page, from what was kept, and what was tried for the targets (rows of target, tried, figure, kept)."""
    summary = kept["summary"]
    facts = {name: value for name, value in summary.items() if name not in ("tables", "notes")}
    parts = [
        "# What real asynchronous runs showed",
        "Made by `python -m tools.write_convergence` from [convergence.json](convergence.json), the cases of\n"
        "`surfer evaluate convergence`, and, of what was tried, from convergence_attempts.json. Workers are processes\n"
        "on Ray; the times of devices, links and server are made by sleeping, nowhere told to the planner, and\n"
        "measured first.",
        "\n".join(f"- {name}: {value}" for name, value in facts.items()),
    ]
    for title, rows in summary["tables"].items():
        parts += [f"## {title[:1].upper()}{title[1:]}", table(rows)]
    parts.append("\n".join(f"- {note}" for note in summary["notes"]))
    parts += ["## What was tried", table(attempts)]
    parts += [
        f"![{words}](img/{name}.svg)"
        for name, words in _FIGURES.items()
        if (ROOT / "docs" / "img" / f"{name}.svg").is_file()
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Markdown of the rows."""
    if not rows:
        return "No rows."
    columns = list(rows[0])
    lines = ["| " + " | ".join(column.strip() for column in columns) + " |", "|" + " --- |" * len(columns)]
    lines += ["| " + " | ".join("-" if row[one] is None else str(row[one]) for one in columns) + " |" for row in rows]
    return "\n".join(lines)


def main() -> None:
    """Write the page."""
    TARGET.write_text(page(orjson.loads(SOURCE.read_bytes()), orjson.loads(ATTEMPTS.read_bytes())), encoding="utf-8")
    print(TARGET.relative_to(ROOT))


if __name__ == "__main__":
    main()

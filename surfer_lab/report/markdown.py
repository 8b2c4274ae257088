"""How does a ViewModel read as Markdown? Sentences, tables and notes; every name is escaped, so that none is markup."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from surfer_lab.view.model import CurveFigure, GpuRow, MemoryView, PartitionFigure, ViewModel

__all__ = ["escaped", "markdown_of", "table_text"]

# what Markdown or HTML inside it could read as more than text
_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>()#+!|~$&])")


def markdown_of(view: ViewModel, *, made_on: str = "", figures: Mapping[str, str] | None = None) -> str:
    """A GitHub-flavoured Markdown document; ends in a newline. `made_on` is a date in words, "" for none.

    `figures` are the files of its figures: title -> address, as it stands in a link.
    """
    measured = any(row.here.value is not None for row in view.operations)
    blocks = [
        f"# {escaped(view.title)}",
        escaped(", ".join(filter(None, (view.name, made_on)))),
        "\n".join(f"- **{escaped(sentence.label)}**: {escaped(sentence.text)}" for sentence in view.sentences),
        *(
            f"## {escaped(figure.title)}\n\n{table_text(figure.table.columns, figure.table.rows)}"
            for figure in view.figures
            if isinstance(figure, PartitionFigure)
        ),
        *(f"![{escaped(title)}]({address})" for title, address in (figures or {}).items()),
        f"## GPUs\n\n{_gpus(view)}" if view.rows else "",
        _blocked(view),
        f"## In another precision, or compiled\n\n{_alternatives(view)}" if view.alternatives else "",
        _scaling(view),
        *(
            f"## {escaped(figure.title)}\n\n{table_text(figure.table.columns, figure.table.rows)}"
            for figure in view.figures
            if isinstance(figure, CurveFigure)
        ),
        f"## Memory on {escaped(view.memory.gpu)}\n\n{_memory(view.memory)}" if view.memory is not None else "",
        f"## Where the GPU time goes\n\n{_operations(view, measured=measured)}"
        if view.operations and view.rows
        else "",
        "## To know\n\n" + "\n".join(f"- {escaped(warning)}" for warning in view.warnings) if view.warnings else "",
        "\n\n".join(escaped(note) for note in (*view.assumptions, view.range_note, view.price_note) if note),
        "## How such predictions did on measured cases\n\n" + "\n".join(f"- {escaped(line)}" for line in view.accuracy)
        if view.accuracy
        else "",
        escaped(f"Surfer Lab {view.version}".rstrip() + (f": {view.command}" if view.command else "")),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def escaped(text: str) -> str:
    """The text, nothing of it markup."""
    return _SPECIAL.sub(r"\\\1", text)


def table_text(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table, the first column to the left."""
    lines = [
        " | ".join(map(escaped, columns)),
        " | ".join("---" if index == 0 else "--:" for index in range(len(columns))),
    ]
    lines += [" | ".join(map(escaped, row)) for row in rows]
    return "\n".join(f"| {line} |" for line in lines)


def _blocked(view: ViewModel) -> str:
    reasons = dict.fromkeys(row.why for row in view.blocked)
    return "\n".join(
        f"- No answer for {escaped(', '.join(row.gpu for row in view.blocked if row.why == why))}: {escaped(why)}."
        for why in reasons
    )


def _alternatives(view: ViewModel) -> str:
    rows = [
        [row.label, row.step.text, row.blocker or row.step.range_text, row.faster.text, row.memory.text]
        for row in view.alternatives
    ]
    table = table_text(["What if", "Step", "Range", "Against as run", "Memory"], rows)
    return f"{table}\n\n{escaped(view.alternatives_note)}"


def _scaling(view: ViewModel) -> str:
    shown = view.scaling
    if shown is None:
        return ""
    notes = "\n".join(f"- {escaped(note)}" for note in shown.notes)
    return f"## {escaped(shown.title)}\n\n{table_text(shown.columns, shown.table)}\n\n{notes}"


def _memory(memory: MemoryView) -> str:
    rows = [[row.label, row.amount.text, row.amount.range_text, row.source] for row in memory.parts]
    sums = (("allocated", memory.allocated), ("reserved", memory.reserved), ("on the device", memory.device))
    rows += [[label, amount.text, amount.range_text, ""] for label, amount in sums]
    table = table_text(["Part", "Likely", "Range", "From"], rows)
    return f"{table}\n\n{escaped(memory.measured)}".rstrip()


def _gpus(view: ViewModel) -> str:
    with_batch = any(row.samples_per_s is not None for row in view.rows)
    columns = [
        "GPU",
        "Step",
        "Range",
        "Against here",
        *(["Samples/s"] if with_batch else []),
        "$ per hour",
        "$ per 1,000 steps",
        "Range",
        "Memory",
        "Needed",
        "Fits",
    ]

    def row_of(row: GpuRow) -> list[str]:
        samples = [row.samples_per_s.text if row.samples_per_s is not None else "–"] if with_batch else []
        cost = row.usd_per_1000_steps
        money = [row.usd_per_hour.text, cost.text, cost.range_text]
        return [
            row.gpu,
            row.step.text,
            row.step.range_text,
            row.faster.text,
            *samples,
            *money,
            row.memory.text,
            row.needed.range_text or row.needed.text if row.needed is not None else "–",
            row.verdict.value,
        ]

    return table_text(columns, [row_of(row) for row in view.rows])


def _operations(view: ViewModel, *, measured: bool) -> str:
    names = [row.gpu for row in view.rows]
    focus = names.index(view.focus) if view.focus in names else 0
    columns = [
        "Operation",
        "Phase",
        *(["Here"] if measured else []),
        "Share",
        f"On {names[focus]}",
        "Range",
        "Limited by",
        "Predicted by",
        "Source",
    ]
    rows = [
        [
            row.name,
            row.phase,
            *([row.here.text] if measured else []),
            row.share_text,
            row.on_text[focus],
            row.on_range[focus],
            view.limit_labels[row.on_limit[focus]],
            view.method_labels[row.on_method[focus]],
            row.source or row.module,
        ]
        for row in view.operations
    ]
    coverage = f"How the GPU time on {names[focus]} was predicted: {view.rows[focus].methods_text}."
    if view.coverage is not None:
        coverage += f" {view.coverage.text}"
    return f"{table_text(columns, rows)}\n\n{escaped(coverage)}"

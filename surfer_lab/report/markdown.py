"""How does a ViewModel read as Markdown? Sentences, tables and notes; every name is escaped, so that none is markup."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from surfer_lab.view.model import CurveFigure, GpuRow, MemoryView, PartitionFigure, ViewModel

__all__ = ["markdown_of"]

# what Markdown or HTML inside it could read as more than text
_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>()#+!|~$&])")


def markdown_of(view: ViewModel, *, made_on: str = "", figures: Mapping[str, str] | None = None) -> str:
    """A GitHub-flavoured Markdown document; ends in a newline. `made_on` is a date in words, "" for none.

    `figures` are the files of its figures: title -> address, as it stands in a link.
    """
    measured = any(row.here.value is not None for row in view.operations)
    blocks = [
        f"# {_text(view.title)}",
        _text(", ".join(filter(None, (view.name, made_on)))),
        "\n".join(f"- **{_text(sentence.label)}**: {_text(sentence.text)}" for sentence in view.sentences),
        *(
            f"## {_text(figure.title)}\n\n{_table(figure.table.columns, figure.table.rows)}"
            for figure in view.figures
            if isinstance(figure, PartitionFigure)
        ),
        *(f"![{_text(title)}]({address})" for title, address in (figures or {}).items()),
        f"## GPUs\n\n{_gpus(view)}" if view.rows else "",
        _blocked(view),
        f"## In another precision, or compiled\n\n{_alternatives(view)}" if view.alternatives else "",
        _scaling(view),
        *(
            f"## {_text(figure.title)}\n\n{_table(figure.table.columns, figure.table.rows)}"
            for figure in view.figures
            if isinstance(figure, CurveFigure)
        ),
        f"## Memory on {_text(view.memory.gpu)}\n\n{_memory(view.memory)}" if view.memory is not None else "",
        f"## Where the GPU time goes\n\n{_operations(view, measured=measured)}"
        if view.operations and view.rows
        else "",
        "## To know\n\n" + "\n".join(f"- {_text(warning)}" for warning in view.warnings) if view.warnings else "",
        "\n\n".join(_text(note) for note in (*view.assumptions, view.range_note, view.price_note) if note),
        "## How such predictions did on measured cases\n\n" + "\n".join(f"- {_text(line)}" for line in view.accuracy)
        if view.accuracy
        else "",
        _text(f"Surfer Lab {view.version}".rstrip() + (f": {view.command}" if view.command else "")),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _text(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [
        " | ".join(map(_text, columns)),
        " | ".join("---" if index == 0 else "--:" for index in range(len(columns))),
    ]
    lines += [" | ".join(map(_text, row)) for row in rows]
    return "\n".join(f"| {line} |" for line in lines)


def _blocked(view: ViewModel) -> str:
    reasons = dict.fromkeys(row.why for row in view.blocked)
    return "\n".join(
        f"- No answer for {_text(', '.join(row.gpu for row in view.blocked if row.why == why))}: {_text(why)}."
        for why in reasons
    )


def _alternatives(view: ViewModel) -> str:
    rows = [
        [row.label, row.step.text, row.blocker or row.step.range_text, row.faster.text, row.memory.text]
        for row in view.alternatives
    ]
    table = _table(["What if", "Step", "Range", "Against as run", "Memory"], rows)
    return f"{table}\n\n{_text(view.alternatives_note)}"


def _scaling(view: ViewModel) -> str:
    shown = view.scaling
    if shown is None:
        return ""
    notes = "\n".join(f"- {_text(note)}" for note in shown.notes)
    return f"## {_text(shown.title)}\n\n{_table(shown.columns, shown.table)}\n\n{notes}"


def _memory(memory: MemoryView) -> str:
    rows = [[row.label, row.amount.text, row.amount.range_text, row.source] for row in memory.parts]
    sums = (("allocated", memory.allocated), ("reserved", memory.reserved), ("on the device", memory.device))
    rows += [[label, amount.text, amount.range_text, ""] for label, amount in sums]
    table = _table(["Part", "Likely", "Range", "From"], rows)
    return f"{table}\n\n{_text(memory.measured)}".rstrip()


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

    return _table(columns, [row_of(row) for row in view.rows])


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
    return f"{_table(columns, rows)}\n\n{_text(coverage)}"

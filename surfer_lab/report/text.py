"""How does a ViewModel read in a terminal and in a cell's `text/plain`? Lines of text, aligned, at most `width` wide.

Plain by default; a terminal passes `paint`, which wraps a piece of text in its colours and must not change its length.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Final

from surfer_lab.view.model import CurveFigure, GpuRow, PartitionBar, PartitionFigure, Verdict, ViewModel

__all__ = ["Ink", "Paint", "sentence_lines", "table_lines", "text_of", "unpainted", "wrapped_lines"]

_LABEL_WIDTH: Final = 16
_BAR_WIDTH: Final = 32
_CURVE_WIDTH: Final = 16
_BLOCKS: Final = {"gpu_busy": "█", "launch_bound": "░", "input_wait": "▒", "synchronization": "▓", "communication": "─"}
_LEAST_WIDTH: Final = 60


class Ink(Enum):
    """What a piece of text is, for a terminal that has colours."""

    TITLE = "title"
    LABEL = "label"
    STRONG = "strong"
    FAINT = "faint"
    WARNING = "warning"


Paint = Callable[[str, Ink], str]


def unpainted(text: str, _ink: Ink) -> str:
    """The text as it is, for what has no colours."""
    return text


def text_of(view: ViewModel, *, width: int = 120, paint: Paint = unpainted) -> str:
    """Sentences, where the step goes, the GPUs, the costliest operations, what to know; no trailing newline."""
    wide = max(_LEAST_WIDTH, width)
    blocks = [
        [paint(view.title, Ink.TITLE) + paint(f"  ·  {view.name}", Ink.FAINT)],
        [line for sentence in view.sentences for line in sentence_lines(sentence.label, sentence.text, wide, paint)],
        _partition(view, wide, paint),
        _gpus(view, wide, paint),
        _alternatives(view, wide, paint),
        _scaling(view, wide, paint),
        _curve(view, wide, paint),
        _memory(view, wide, paint),
        _operations(view, wide, paint),
        _closing(view, wide, paint),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def cells(text: str) -> int:
    """Columns that a text takes in a terminal."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def wrapped_lines(text: str, width: int) -> list[str]:
    """Lines of at most `width` columns, broken between words, long words broken anywhere."""
    lines: list[str] = []
    line = ""
    for word in text.split():
        while cells(word) > width:
            room = width - cells(line) - 1 if line else width
            head = word[: max(0, room // 2 if cells(word[:room]) > room else room)]
            lines.append(f"{line} {head}".strip())
            line, word = "", word[len(head) :]
        if line and cells(line) + 1 + cells(word) > width:
            lines.append(line)
            line = ""
        line = f"{line} {word}".strip()
    return [*lines, line] if line else lines


def _fit(text: str, width: int) -> str:
    """The text cut to `width` columns and filled up to it."""
    if cells(text) > width:
        while text and cells(text) > width - 1:
            text = text[:-1]
        text += "…"
    return text + " " * (width - cells(text))


def sentence_lines(label: str, text: str, width: int, paint: Paint) -> list[str]:
    """A fact beside its heading."""
    lines = wrapped_lines(text, width - _LABEL_WIDTH) or [""]
    first = paint(_fit(label, _LABEL_WIDTH), Ink.LABEL) + lines[0]
    return [first, *(" " * _LABEL_WIDTH + line for line in lines[1:])]


def _partition(view: ViewModel, width: int, paint: Paint) -> list[str]:
    lines = []
    for figure in view.figures:
        if isinstance(figure, PartitionFigure) and figure.bars:
            lines.append(paint(figure.title, Ink.TITLE))
            longest = max(sum(part.value_ms for part in bar.parts) for bar in figure.bars)
            for bar in figure.bars:
                lines += _partition_bar(bar, longest, width, paint)
    return lines


def _partition_bar(bar: PartitionBar, longest_ms: float, width: int, paint: Paint) -> list[str]:
    drawn, start = "", 0.0
    for part in bar.parts:
        start += part.value_ms
        end = round(_BAR_WIDTH * start / longest_ms) if longest_ms > 0 else 0
        drawn += _BLOCKS[part.key] * max(0, end - len(drawn))
    said = ", ".join(f"{_BLOCKS[part.key]} {part.label} {part.text}" for part in bar.parts if part.value_ms > 0)
    head = f"  {_fit(drawn, _BAR_WIDTH)} {bar.total_text:>8}  "
    label = _fit(bar.label, max(8, width - cells(head))).rstrip()
    return [head + label, *(paint(f"  {line}", Ink.FAINT) for line in wrapped_lines(said, width - 2))]


def table_lines(
    columns: Sequence[tuple[str, bool]],
    rows: Sequence[Sequence[str]],
    width: int,
    paint: Paint,
    marks: Sequence[Ink | None],
) -> list[str]:
    """Aligned columns (name, to the left); where they are too wide the first gives way, then the last ones go."""
    widths = [max([cells(name), *(cells(row[index]) for row in rows)]) for index, (name, _) in enumerate(columns)]
    shown = len(columns)
    widths[0] = min(widths[0], max(18, width - sum(widths[1:]) - 2 * (shown - 1)))
    while shown > 3 and sum(widths[:shown]) + 2 * (shown - 1) > width:
        shown -= 1

    def line(texts: Sequence[str]) -> str:
        parts = []
        for index in range(shown):
            text = _fit(texts[index], widths[index])
            parts.append(text if columns[index][1] else " " * (widths[index] - cells(text.rstrip())) + text.rstrip())
        return "  ".join(parts).rstrip()

    painted = [line(row) if ink is None else paint(line(row), ink) for row, ink in zip(rows, marks, strict=True)]
    return [paint(line([name for name, _ in columns]), Ink.FAINT), *painted]


def _gpus(view: ViewModel, width: int, paint: Paint) -> list[str]:
    by_name = {row.gpu: row for row in view.rows}
    shown = view.rows if view.shows_all else [by_name[name] for name in view.shortlist]
    if not shown:
        return []
    with_batch = any(row.samples_per_s is not None for row in shown)
    with_epoch = any(row.epoch is not None for row in shown)
    with_speed = any(row.faster.value is not None for row in shown)
    with_cell = any(row.cell is not None for row in shown)
    with_largest = any(row.largest_batch is not None for row in shown)
    with_peak = any(row.verdict is not Verdict.UNKNOWN for row in shown)
    columns: list[tuple[str, bool, Callable[[GpuRow], str]]] = [
        ("GPU", True, lambda row: row.gpu + (" (here)" if row.is_origin else "")),
        ("step", False, lambda row: row.step.text),
        ("range", False, lambda row: row.step.range_text),
        *([("GPU busy", False, lambda row: row.busy.text)] if view.shows_busy else []),
        *([("against here", False, lambda row: row.faster.text)] if with_speed else []),
        ("$/1,000 steps", False, lambda row: row.usd_per_1000_steps.text),
        ("$/hour", False, lambda row: row.usd_per_hour.text),
        *([("samples/s", False, _samples)] if with_batch else []),
        ("memory", False, _memory_of_card),
        *([("fits", True, lambda row: row.verdict.value)] if with_peak else []),
        *([("max batch", False, _largest_batch)] if with_largest else []),
        *([("epoch", False, _epoch)] if with_epoch else []),
        *([("this cell", False, _whole_cell)] if with_cell else []),
    ]
    rows = [[write(row) for _, _, write in columns] for row in shown]
    marks = [Ink.STRONG if row.is_origin else None for row in shown]
    lines = table_lines([(name, left) for name, left, _ in columns], rows, width, paint, marks)
    hidden = len(view.rows) - len(shown)
    if hidden:
        lines.append(
            paint(f"{hidden} more GPUs were predicted: --on all shows them, --on NAME,... those named.", Ink.FAINT)
        )
    for why in dict.fromkeys(row.why for row in view.blocked):
        names = ", ".join(row.gpu for row in view.blocked if row.why == why)
        lines += [paint(line, Ink.WARNING) for line in wrapped_lines(f"No answer for {names}: {why}.", width)]
    return lines


def _memory_of_card(row: GpuRow) -> str:
    if row.needed is None or row.needed.value is None:
        return row.memory.text
    return f"{row.needed.text.removesuffix(' GB')} of {row.memory.text}"


def _largest_batch(row: GpuRow) -> str:
    return f"{row.largest_batch:,}" if row.largest_batch is not None else "–"


def _alternatives(view: ViewModel, width: int, paint: Paint) -> list[str]:
    if not view.alternatives:
        return []
    columns = [("what if", True), ("step", False), ("range", False), ("against as run", False), ("memory", False),
               ("fits", True)]  # fmt: skip
    rows = [
        [
            f"{'> ' if row.is_shown else '  '}{row.label}",
            row.step.text,
            row.blocker or row.step.range_text,
            row.faster.text,
            row.memory.text,
            row.verdict.value if row.memory.value is not None else "",
        ]
        for row in view.alternatives
    ]
    marks = [Ink.STRONG if row.is_shown else None for row in view.alternatives]
    lines = [paint("In another precision, or compiled", Ink.TITLE), *table_lines(columns, rows, width, paint, marks)]
    return [*lines, *(paint(line, Ink.FAINT) for line in wrapped_lines(view.alternatives_note, width))]


def _scaling(view: ViewModel, width: int, paint: Paint) -> list[str]:
    shown = view.scaling
    if shown is None:
        return []
    columns = [(name.lower() if name != "GPUs" else name, False) for name in shown.columns]
    lines = [paint(shown.title, Ink.TITLE), *table_lines(columns, shown.table, width, paint, [None] * len(shown.table))]
    return [*lines, *(paint(line, Ink.FAINT) for line in wrapped_lines("; ".join(shown.notes) + ".", width))]


def _curve(view: ViewModel, width: int, paint: Paint) -> list[str]:
    lines = []
    for figure in view.figures:
        if isinstance(figure, CurveFigure):
            best = max((point.samples_per_s.value or 0.0 for point in figure.points), default=0.0)
            columns = [("batch", False), ("samples/s", False), ("", True), ("step", False), ("range", False),
                       ("memory", False), ("fits", True), ("", True)]  # fmt: skip
            rows = [
                [
                    f"{point.batch_size:,}",
                    point.samples_per_s.text.removesuffix(" samples/s"),
                    _BLOCKS["gpu_busy"] * round(_CURVE_WIDTH * (point.samples_per_s.value or 0.0) / best),
                    point.step.text,
                    point.step.range_text,
                    point.memory.text,
                    point.verdict.value,
                    point.mark,
                ]
                for point in figure.points
            ]
            lines += [
                paint(figure.title, Ink.TITLE),
                *table_lines(columns, rows, width, paint, [Ink.STRONG if p.mark else None for p in figure.points]),
            ]
    return lines


def _memory(view: ViewModel, width: int, paint: Paint) -> list[str]:
    memory = view.memory
    if memory is None:
        return []
    columns = [("part", True), ("likely", False), ("range", False)]
    rows = [[row.label, row.amount.text, row.amount.range_text] for row in memory.parts]
    sums = [("allocated", memory.allocated), ("reserved", memory.reserved), ("on the device", memory.device)]
    rows += [[label, amount.text, amount.range_text] for label, amount in sums]
    marks = [None] * len(memory.parts) + [Ink.STRONG] * len(sums)
    title = f"Memory on {memory.gpu}, at its peak ({memory.when})"
    measured = [paint(memory.measured, Ink.STRONG)] if memory.measured else []
    return [paint(title, Ink.TITLE), *table_lines(columns, rows, width, paint, marks), *measured]


def _samples(row: GpuRow) -> str:
    return row.samples_per_s.text.removesuffix(" samples/s") if row.samples_per_s is not None else "–"


def _epoch(row: GpuRow) -> str:
    if row.epoch is None:
        return "–"
    cost = row.usd_per_epoch
    return f"{row.epoch.text}, {cost.text}" if cost is not None and cost.value is not None else row.epoch.text


def _whole_cell(row: GpuRow) -> str:
    if row.cell is None:
        return "–"
    cost = row.usd_per_cell
    return f"{row.cell.text}, {cost.text}" if cost is not None and cost.value is not None else row.cell.text


def _operations(view: ViewModel, width: int, paint: Paint) -> list[str]:
    names = [row.gpu for row in view.rows]
    if not view.operations or not names:
        return []
    focus = names.index(view.focus) if view.focus in names else 0
    measured = any(row.here.value is not None for row in view.operations)
    columns = [
        ("operation", True),
        ("phase", True),
        *([("here", False)] if measured else []),
        ("share", False),
        (f"on {names[focus]}", False),
        ("range", False),
        ("limited by", True),
        ("predicted by", True),
        ("source", True),
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
    title = paint("The costliest operations of a step (GPU time)", Ink.TITLE)
    coverage = f"How the GPU time on {names[focus]} was predicted: {view.rows[focus].methods_text}."
    lines = [title, *table_lines(columns, rows, width, paint, [None] * len(rows))]
    notes = [coverage, *([view.coverage.text] if view.coverage is not None else [])]
    return [*lines, *(paint(line, Ink.FAINT) for note in notes for line in wrapped_lines(note, width))]


def _closing(view: ViewModel, width: int, paint: Paint) -> list[str]:
    lines = []
    for warning in view.warnings:
        first, *more = wrapped_lines(warning, width - 2) or [""]
        lines += [paint(line, Ink.WARNING) for line in (f"! {first}", *(f"  {line}" for line in more))]
    notes = [*view.assumptions, view.range_note, view.price_note]
    for note in filter(None, notes):
        lines += [paint(line, Ink.FAINT) for line in wrapped_lines(note, width)]
    return lines

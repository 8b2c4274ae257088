"""What does an evaluation find? Every case with its prediction and its measurement, and tables made from them.

A case that cannot be predicted stays a case, with the reason in place of a prediction. A row's own columns travel along
as the table spells them, so that a reader can split the cases as he likes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, TypeAlias

import numpy as np
import orjson
from numpy.typing import NDArray

__all__ = [
    "Case", "Cell", "ErrorStats", "Evaluation", "Table", "error_stats", "plain", "range_table", "stats_by", "stats_of",
]  # fmt: skip

Cell: TypeAlias = "str | int | float | None"

F64 = NDArray[np.float64]

_DECIMALS: Final = 6  # of a number written as JSON


@dataclass(frozen=True, kw_only=True)
class Case:
    """One measurement and one way of predicting it; times in ms of a step. None: not known, or not predicted."""

    gpu: str | None = None
    model: str | None = None
    mode: str | None = None
    batch: int | None = None
    precision: str | None = None
    compile: str | None = None
    option: str | None = None
    num_gpus: int = 1
    origin_gpu: str | None = None
    method: str
    predicted_ms: float | None = None
    low_ms: float | None = None
    high_ms: float | None = None
    measured_ms: float | None = None
    reason: str = ""  # why it is not predicted
    columns: Mapping[str, Cell] = field(default_factory=dict)  # the row's own

    @property
    def is_predicted(self) -> bool:
        """Both numbers are there."""
        return self.predicted_ms is not None and self.measured_ms is not None

    @property
    def error(self) -> float:
        """Predicted over measured, less one; nan where either is missing."""
        if self.predicted_ms is None or self.measured_ms is None or self.measured_ms <= 0:
            return math.nan
        return self.predicted_ms / self.measured_ms - 1.0

    def as_row(self) -> dict[str, Cell]:
        """The case as one flat row; its own columns first, so that they never hide ours."""
        own = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in ("columns", "reason")}
        row: dict[str, Cell] = {**self.columns, **own}
        return {**row, "reason": self.reason} if self.reason else row


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table for a person: a title, names of columns, rows of cells, and what to know about it."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()

    def as_text(self) -> str:
        """Aligned columns; numbers with at most three decimals, on the right."""
        printed = [[_printed(cell) for cell in row] for row in self.rows]
        widths = [
            max([len(name), *(len(row[at]) for row in printed)]) for at, name in enumerate(self.columns)
        ]  # fmt: skip
        on_right = [all(not isinstance(row[at], str) for row in self.rows) for at in range(len(self.columns))]

        def line(cells: Sequence[str]) -> str:
            padded = (
                cell.rjust(width) if right else cell.ljust(width)
                for cell, width, right in zip(cells, widths, on_right, strict=True)
            )
            return "  ".join(padded).rstrip()

        lines = [self.title, line(self.columns), *(line(row) for row in printed)]
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])

    def as_records(self) -> list[dict[str, Cell]]:
        """Rows by the columns' names."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """One kind of evaluation: all cases, and what they sum up to."""

    name: str
    cases: tuple[Case, ...]
    tables: tuple[Table, ...]
    facts: Mapping[str, Cell] = field(default_factory=dict)  # single numbers: counts, shares, the data's hash

    @property
    def summary(self) -> dict[str, Any]:
        """Facts, and the tables' rows by title."""
        tables = {table.title: table.as_records() for table in self.tables}
        return {**self.facts, "tables": tables, "notes": [note for table in self.tables for note in table.notes]}

    def as_json(self) -> bytes:
        """`{"cases": [...], "summary": {...}}`; numbers that are not known are null."""
        return orjson.dumps(
            {"cases": [plain(case.as_row()) for case in self.cases], "summary": plain(self.summary)},
            option=orjson.OPT_INDENT_2,
        )

    def as_text(self) -> str:
        """The tables, one after the other."""
        facts = [f"{name}: {_printed(value)}" for name, value in self.facts.items()]
        return "\n\n".join([*(table.as_text() for table in self.tables), *(["\n".join(facts)] if facts else [])])


@dataclass(frozen=True, kw_only=True)
class ErrorStats:
    """|error| in percent over cases; `coverage` and `half_width` of the ranges, in percent, where there are any."""

    count: int
    mean: float
    median: float
    worst: float
    bias: float  # median of the signed errors
    coverage: float
    half_width: float  # median of (high - low) / (2 predicted)

    def cells(self) -> tuple[Cell, ...]:
        """In the order of `HEAD`, to a tenth of a percent."""
        numbers = (self.mean, self.median, self.worst, self.bias, self.coverage, self.half_width)
        return (self.count, *(None if math.isnan(value) else round(value, 1) for value in numbers))

    HEAD = ("cases", "mean %", "median %", "worst %", "bias %", "in range %", "+- %")


def error_stats(cases: Iterable[Case]) -> ErrorStats:
    """Statistics of the cases that are predicted; nan for none."""
    known = [case for case in cases if case.is_predicted]
    measured, predicted, low, high = (
        np.array([_number(getattr(case, name)) for case in known])
        for name in ("measured_ms", "predicted_ms", "low_ms", "high_ms")
    )
    return stats_of(predicted, measured, low, high)


def stats_of(predicted: F64, measured: F64, low: F64 | None = None, high: F64 | None = None) -> ErrorStats:
    """Statistics of numbers in any unit, (cases,) each; ends of ranges that are not known are nan."""
    errors = 100.0 * (predicted / measured - 1.0)
    coverage = half_width = math.nan
    if low is not None and high is not None and np.isfinite(low + high).any():
        ranged = np.isfinite(low + high)
        coverage = 100.0 * float(((low <= measured) & (measured <= high))[ranged].mean())
        half_width = 100.0 * float(np.median(((high - low) / (2.0 * predicted))[ranged]))
    if not len(errors):
        return ErrorStats(count=0, mean=math.nan, median=math.nan, worst=math.nan, bias=math.nan, coverage=math.nan,
                          half_width=math.nan)  # fmt: skip
    size = np.abs(errors)
    return ErrorStats(
        count=len(errors), mean=float(size.mean()), median=float(np.median(size)), worst=float(size.max()),
        bias=float(np.median(errors)), coverage=coverage, half_width=half_width,
    )  # fmt: skip


def stats_by(
    cases: Sequence[Case], *, title: str, by: Callable[[Case], tuple[Cell, ...]], names: tuple[str, ...],
    notes: tuple[str, ...] = (),
) -> Table:  # fmt: skip
    """A table of error statistics, one row a group, in the order in which groups appear."""
    groups: dict[tuple[Cell, ...], list[Case]] = {}
    for case in cases:
        groups.setdefault(by(case), []).append(case)
    rows = tuple((*key, *error_stats(group).cells()) for key, group in groups.items())
    return Table(title=title, columns=(*names, *ErrorStats.HEAD), rows=rows, notes=notes)


def range_table(title: str, cases: Sequence[Case]) -> Table:
    """How often measured times lie in the 80 and 90 % ranges, and how wide these are: by method, then by its GPUs."""
    rows: list[tuple[Cell, ...]] = []
    for method in dict.fromkeys(case.method for case in cases):
        own = [case for case in cases if case.method == method and case.is_predicted]
        for gpu in (None, *dict.fromkeys(case.gpu for case in own)):
            some = [case for case in own if gpu in (None, case.gpu)]
            narrow = error_stats(some)
            wide = error_stats([_at_90(case) for case in some])
            numbers = (narrow.coverage, narrow.half_width, wide.coverage, wide.half_width)
            rows.append((method, gpu or "all", len(some), *(None if math.isnan(v) else round(v, 1) for v in numbers)))
    return Table(
        title=title,
        columns=("method", "gpu", "cases", "in 80 % range", "+- %", "in 90 % range", "+- % at 90"),
        rows=tuple(rows),
        notes=("+- is the median half-width, in percent of the prediction",),
    )


def _at_90(case: Case) -> Case:
    low, high = case.columns.get("low90_ms"), case.columns.get("high90_ms")
    ends = (float(low), float(high)) if low is not None and high is not None else (None, None)
    return replace(case, low_ms=ends[0], high_ms=ends[1])


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _printed(cell: Cell) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, float):
        return f"{cell:.3g}" if abs(cell) < 1 and cell else f"{cell:,.1f}"
    return str(cell)


def plain(value: Any) -> Any:
    """For JSON: numpy's numbers as Python's, nan as null."""
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return round(value, _DECIMALS) if math.isfinite(value) else None
    return value

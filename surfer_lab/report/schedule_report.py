"""How is a schedule written? As text with its Gantt chart, Markdown, and a self-contained section or page of HTML."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from surfer_lab.report.dates import today_words
from surfer_lab.report.forms import write_form
from surfer_lab.report.gantt_svg import gantt_svg, gantt_text, letter_of
from surfer_lab.report.html_details import scroll
from surfer_lab.report.markdown import escaped, table_text
from surfer_lab.report.markup import Child, Markup, name_markup, tag, verbatim
from surfer_lab.report.page import whole_page
from surfer_lab.report.style import block_style
from surfer_lab.report.text import Ink, Paint, table_lines, unpainted, wrapped_lines
from surfer_lab.view.model import TableTwin
from surfer_lab.view.schedule_view import ChartView, ScheduleView

__all__ = ["schedule_html", "schedule_json", "schedule_markdown", "schedule_page", "schedule_text", "write_schedule"]

# after the style of all reports: the last column is words
_STYLE: Final = (
    ".surfer.surfer .s-schedule td:last-child{text-align:left;white-space:normal}.s-schedule svg{max-width:100%}"
)


def schedule_text(view: ScheduleView, *, width: int = 100, paint: Paint = unpainted) -> str:
    """Sentences, the best schedule drawn, its rows, and what the others take; no trailing newline."""
    best = view.charts[0]
    parts = [
        [paint(line, Ink.STRONG) for line in wrapped_lines(view.headline, width)],
        [line for one in view.sentences for line in wrapped_lines(one, width)],
        [
            paint(best.title, Ink.TITLE),
            *gantt_text(best, best.makespan_h, width=width),
            *(paint(line, Ink.FAINT) for line in wrapped_lines(_key(best), width)),
        ],
        _aligned(best.table, width, paint),
        _aligned(view.comparison, width, paint),
        [paint(line, Ink.FAINT) for note in view.notes for line in wrapped_lines(note, width)],
    ]
    return "\n\n".join("\n".join(part) for part in parts if part)


def _aligned(table: TableTwin, width: int, paint: Paint) -> list[str]:
    last = len(table.columns) - 1
    columns = [(name, at == 0 or (at == last and name == "Where")) for at, name in enumerate(table.columns)]
    return table_lines(columns, table.rows, width, paint, [None] * len(table.rows))


def _key(chart: ChartView) -> str:
    named = sorted({(bar.number, bar.job) for bar in chart.bars})
    return ", ".join(f"{letter_of(number)} {job}" for number, job in named)


def schedule_markdown(view: ScheduleView, *, made_on: str = "") -> str:
    """Headings, the chart as indented text (nothing in a name ends it), tables; names are escaped."""
    best = view.charts[0]
    drawn = "\n".join(f"    {line}" for line in (*gantt_text(best, best.makespan_h), _key(best)))
    parts = [f"# {escaped(view.title)}", made_on, escaped(view.headline)]
    parts += ["\n".join(f"- {escaped(one)}" for one in view.sentences)]
    parts += [f"## {escaped(best.title)}\n\n{drawn}", table_text(best.table.columns, best.table.rows)]
    parts += [f"## Compared\n\n{table_text(view.comparison.columns, view.comparison.rows)}"]
    for chart in view.charts[1:]:
        parts.append(f"## {escaped(chart.title)}\n\n{table_text(chart.table.columns, chart.table.rows)}")
    parts += ["\n".join(f"- {escaped(note)}" for note in view.notes)]
    return "\n\n".join(part for part in parts if part) + "\n"


def schedule_html(view: ScheduleView) -> Markup:
    """One element with its style, for a notebook; every name is escaped, nothing is loaded from anywhere."""
    return tag("div", block_style(), tag("style", verbatim(_STYLE)), *_sections(view, "h2"), class_="surfer s-schedule")


def schedule_page(view: ScheduleView, *, made_on: str = "") -> str:
    """A whole page, light or dark as the reader's system."""
    brand = tag("p", tag("b", "Surfer Lab"), f" · {made_on}" if made_on else None, class_="s-brand")
    body = tag("main", tag("article", brand, *_sections(view, "h1"), class_="surfer s-schedule"))
    return whole_page(view.title, body, styles=[tag("style", verbatim(_STYLE))])


def _sections(view: ScheduleView, heading: str) -> list[Child]:
    notes = tag("ul", *(tag("li", note) for note in view.notes), class_="s-note") if view.notes else None
    return [
        tag(heading, name_markup(view.title)),
        tag("p", view.headline, class_="s-lead", role="status"),
        tag("ul", *(tag("li", one) for one in view.sentences)),
        *(_chart(chart, view.span_h, is_open=place == 0) for place, chart in enumerate(view.charts)),
        _table("Compared", view.comparison),
        notes,
    ]


def _chart(chart: ChartView, span_h: float, *, is_open: bool) -> Markup:
    return tag(
        "section",
        tag("h3", chart.title),
        scroll(chart.title, gantt_svg(chart, span_h)),
        tag("p", f"Breaks: {'; '.join(chart.warnings)}.", class_="s-warn") if chart.warnings else None,
        tag("details", tag("summary", "As a table"), _table(chart.title, chart.table), open=is_open),
    )


def _table(title: str, table: TableTwin) -> Markup:
    heads = (tag("th", name, scope="col", class_=None if at else "s-left") for at, name in enumerate(table.columns))
    rows = [
        tag("tr", tag("th", row[0], scope="row", class_="s-left"), *(tag("td", cell) for cell in row[1:]))
        for row in table.rows
    ]
    return scroll(title, tag("table", tag("caption", title), tag("thead", tag("tr", *heads)), tag("tbody", *rows)))


def schedule_json(view: ScheduleView) -> str:
    """The view as JSON: raw numbers beside their wording."""
    return msgspec.json.encode(view).decode()


def write_schedule(view: ScheduleView, path: str | Path) -> Path:
    """Write the schedule in the form of the name's ending and return its path; OptionError where that cannot be."""
    forms: dict[str, Callable[[], str | bytes]] = {
        ".html": lambda: schedule_page(view, made_on=today_words()),
        ".md": lambda: schedule_markdown(view, made_on=today_words()),
        ".json": lambda: schedule_json(view) + "\n",
        ".txt": lambda: schedule_text(view) + "\n",
    }
    return write_form(path, forms, what="a schedule")

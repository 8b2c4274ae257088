"""How is a planned or tuned training run written? As text, Markdown, and a self-contained section of HTML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from surfer_lab.report.loss_svg import loss_svg, staleness_bars
from surfer_lab.report.markup import Markup, join, tag, verbatim
from surfer_lab.report.page import whole_page
from surfer_lab.view.model import TableTwin
from surfer_lab.view.training_model import TrainingView

__all__ = ["training_html", "training_markdown", "training_page", "training_text"]

_SHOWN_DECISIONS: Final = 40
_STYLE: Final = """
.surfer-training{font:13px/1.45 var(--jp-ui-font-family,sans-serif)}
.jp-RenderedHTMLCommon .surfer-training{color:var(--jp-ui-font-color1)}
.surfer-training-wide{overflow-x:auto;margin:6px 0}
.surfer-training table,.jp-RenderedHTMLCommon .surfer-training table{border-collapse:collapse;table-layout:auto;
margin:0;font-size:12px}
.surfer-training caption{text-align:left;font-weight:600;padding:2px 0}
.surfer-training th,.surfer-training td{padding:2px 8px;text-align:right;white-space:nowrap;
border-bottom:1px solid color-mix(in srgb,currentColor 20%,transparent)}
.surfer-training th{white-space:normal;vertical-align:bottom}
.surfer-training th:first-child,.surfer-training td:first-child{text-align:left}
.surfer-training h3{margin:10px 0 2px;font-size:14px}.surfer-training ol{margin:4px 0;padding-left:22px}
.surfer-training svg{max-width:100%;height:auto;display:block}
"""


def training_text(view: TrainingView, *, with_decisions: bool = True) -> str:
    """Everything in lines, tables aligned; without the decisions where they have been told already."""
    decisions = view.decisions[-_SHOWN_DECISIONS:] if with_decisions else []
    parts = [
        view.title, view.recommendation, _text_table(view.plan), _text_table(view.workers), view.staleness_note,
        "\n".join(decisions), "\n".join(view.notes),
    ]  # fmt: skip
    return "\n\n".join(part for part in parts if part)


def _text_table(table: TableTwin) -> str:
    if not table.rows:
        return ""
    every = [list(table.columns), *table.rows]
    widths = [max(len(row[at]) for row in every) for at in range(len(table.columns))]
    lines = [
        "  ".join(cell.ljust(width) if at == 0 else cell.rjust(width) for at, (cell, width) in enumerate(
            zip(row, widths, strict=True)
        )).rstrip()
        for row in every
    ]  # fmt: skip
    return "\n".join(lines)


def training_markdown(view: TrainingView) -> str:
    """A section with headings and tables; pipes in names are escaped."""
    parts = [f"## {_plain(view.title)}", _plain(view.recommendation)]
    for title, table in (("Plan", view.plan), ("Workers", view.workers), ("Phases", view.trials)):
        if table.rows:
            head = f"| {' | '.join(map(_plain, table.columns))} |\n|{'---|' * len(table.columns)}"
            rows = "\n".join(f"| {' | '.join(map(_plain, row))} |" for row in table.rows)
            parts.append(f"### {title}\n\n{head}\n{rows}")
    if view.decisions:
        parts.append("### Decisions\n\n" + "\n".join(f"- {_plain(one)}" for one in view.decisions))
    parts += [_plain(note) for note in (view.staleness_note, *view.notes) if note]
    return "\n\n".join(parts) + "\n"


def _plain(text: str) -> str:
    escaped = text.replace("\\", "\\\\")
    for special in "|<>*_`[]#":
        escaped = escaped.replace(special, f"\\{special}")
    return escaped


def training_html(view: TrainingView) -> Markup:
    """One element with its style; every name is escaped, nothing is loaded from anywhere."""
    return tag(
        "div",
        tag("style", verbatim(_STYLE)),
        tag("h3", view.title),
        tag("p", tag("strong", view.recommendation), role="status"),
        _html_table("Plan by number of groups", view.plan),
        loss_svg(view.curves, view.target_loss) if view.curves else None,
        _html_table("Workers, by what was measured", view.workers),
        _html_table("Phases, in their order", view.trials),
        staleness_bars(view.staleness) if len(view.staleness) > 1 else None,
        tag("p", view.staleness_note) if view.staleness_note else None,
        _decisions(view.decisions),
        join(tag("p", note) for note in view.notes),
        class_="surfer-training",
    )


def training_page(view: TrainingView) -> str:
    """A whole page around `training_html`."""
    return whole_page(view.title, tag("main", training_html(view)))


def _html_table(title: str, table: TableTwin) -> Markup | None:
    if not table.rows:
        return None
    head = tag("tr", *(tag("th", column, scope="col") for column in table.columns))
    rows = [tag("tr", *(tag("td", cell) for cell in row)) for row in table.rows]
    table_tag = tag("table", tag("caption", title), tag("thead", head), tag("tbody", *rows))
    return tag("div", table_tag, class_="surfer-training-wide", tabindex="0", role="region", aria_label=title)


def _decisions(decisions: Sequence[str]) -> Markup | None:
    if not decisions:
        return None
    return tag(
        "details",
        tag("summary", f"{len(decisions)} decisions, with their reasons"),
        tag("ol", *(tag("li", one) for one in decisions)),
    )

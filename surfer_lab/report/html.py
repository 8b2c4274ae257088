"""How does a ViewModel look as HTML? One self-contained text: a page for a file, or a block for a cell's output.

No network (the page forbids it to itself), no library: own style, a few kB of own script, figures as SVG. Without the
script every number is still there; with it tables sort and filter and operations follow the GPU chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Final

from surfer_lab.report.html_gpus import gpu_table
from surfer_lab.report.html_operations import operation_tables
from surfer_lab.report.html_what_ifs import what_if_sections
from surfer_lab.report.markup import Child, Markup, join, name_markup, tag, verbatim
from surfer_lab.report.svg import partition_svg, scatter_svg
from surfer_lab.view.model import (
    Choice,
    PartitionFigure,
    Role,
    ScatterFigure,
    TableTwin,
    ViewModel,
)

__all__ = ["html_block", "html_page"]

_FEW_WARNINGS: Final = 3
_NO_NETWORK: Final = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
# where a host says that its own theme is dark; elsewhere a cell stays light
_DARK_HOSTS: Final = '[data-jp-theme-light="false"] .surfer, body.vscode-dark .surfer'


@cache
def _asset(name: str) -> str:
    return files("surfer_lab.report").joinpath("assets", name).read_text(encoding="utf-8").strip()


def html_page(view: ViewModel, *, made_on: str = "") -> str:
    """A whole document for a file; light or dark as the reader's system. `made_on` is a date in words, "" for none."""
    style = verbatim(
        f"{_asset('page.css')}\n@media (prefers-color-scheme: dark) {{ .surfer {{ {_asset('dark.css')} }} "
        "body { background: #161c24; } }\nbody { margin: 0; } .surfer { margin: 0 auto; padding: 1.6rem 1.1rem 3rem; }"
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", http_equiv="Content-Security-Policy", content=_NO_NETWORK),
        tag("title", f"{view.title} – {view.name}"),
        tag("style", style),
    )
    body = tag("main", *_body(view, made_on=made_on, is_page=True), class_="surfer")
    return "<!DOCTYPE html>\n" + tag("html", head, tag("body", body, _script()), lang="en") + "\n"


def html_block(view: ViewModel) -> str:
    """The same as a block inside a notebook; follows the notebook's theme."""
    style = verbatim(
        f"{_asset('page.css')}\n.surfer {{ --s-page: var(--jp-layout-color0, #ffffff); }}\n"
        f"{_DARK_HOSTS} {{ {_asset('dark.css')} --s-page: var(--jp-layout-color0, #161c24); }}"
    )
    return tag("style", style) + tag("div", *_body(view, made_on="", is_page=False), class_="surfer") + _script()


def _script() -> Markup:
    return tag("script", verbatim(_asset("page.js")))


def _body(view: ViewModel, *, made_on: str, is_page: bool) -> list[Child]:
    said = {sentence.role: sentence for sentence in view.sentences}
    lead = said.get(Role.STEP)
    facts = [sentence for sentence in view.sentences if sentence.role not in {Role.STEP, Role.FASTEST, Role.CHEAPEST}]
    heading = "h1" if is_page else "h2"
    return [
        tag(
            "p",
            tag("b", "Surfer Lab"),
            " · ",
            name_markup(view.name),
            f" · {made_on}" if made_on else None,
            class_="s-brand",
        ),
        tag(heading, view.title),
        tag("p", lead.text, class_="s-lead") if lead else None,
        tag("div", *map(_choice, view.choices), class_="s-choices"),
        tag("dl", *(join([tag("dt", fact.label), tag("dd", fact.text)]) for fact in facts), class_="s-facts")
        if facts
        else None,
        _warnings(view.warnings) if view.warnings else None,
        *_partition(view),
        *gpu_table(view),
        *what_if_sections(view),
        *operation_tables(view),
        *_details(view, is_page=is_page),
    ]


def _choice(choice: Choice) -> Markup:
    return tag(
        "div",
        tag(
            "div",
            choice.label,
            tag("span", " · ", name_markup(choice.gpu), class_="s-gpu-name") if choice.gpu else None,
            class_="s-role",
        ),
        tag("div", choice.headline, class_="s-big"),
        *(tag("div", name_markup(line), class_="s-line") for line in choice.lines),
        class_="s-choice",
    )


def _warnings(warnings: Sequence[str]) -> Markup:
    rows = tag("ul", *(tag("li", name_markup(warning)) for warning in warnings))
    count = "1 thing to know" if len(warnings) == 1 else f"{len(warnings)} things to know"
    if len(warnings) > _FEW_WARNINGS:
        return tag("div", tag("details", tag("summary", tag("b", count)), rows), class_="s-warnings")
    return tag("div", tag("b", count), rows, class_="s-warnings")


def _partition(view: ViewModel) -> list[Child]:
    figures = [figure for figure in view.figures if isinstance(figure, PartitionFigure)]
    drawn: list[Child] = []
    for figure in figures:
        longest = max((sum(part.value_ms for part in bar.parts) for bar in figure.bars), default=0.0)
        drawn.append(tag("h2", figure.title))
        for bar in figure.bars:
            legend = [
                tag("span", tag("span", class_=f"s-key s-{part.key.replace('_', '-')}"), f"{part.label} {part.text}")
                for part in bar.parts
                if part.value_ms > 0
            ]
            head = tag("div", name_markup(bar.label), tag("b", bar.total_text), class_="s-head")
            drawn.append(
                tag(
                    "div",
                    head,
                    partition_svg(bar, longest),
                    tag("div", *legend, class_="s-legend"),
                    class_="s-partition",
                )
            )
    return drawn


def _details(view: ViewModel, *, is_page: bool) -> list[Child]:
    scatter = next((figure for figure in view.figures if isinstance(figure, ScatterFigure)), None)
    facts = [f"{key} {value}" for key, value in view.environment.items()]
    made_by = [f"Surfer Lab {view.version}" if view.version else "Surfer Lab", *facts]
    twins = [(figure.title, figure.table) for figure in view.figures]
    return [
        tag("h2", "More"),
        tag(
            "details",
            tag("summary", scatter.title),
            tag("p", scatter.description, class_="s-note"),
            tag("div", scatter_svg(scatter), class_="s-scroll", role="region", tabindex="0", aria_label=scatter.title),
            open=is_page,
        )
        if scatter is not None
        else None,
        tag(
            "details",
            tag("summary", "How sure is this?"),
            tag("p", view.range_note),
            tag("ul", *(tag("li", name_markup(line)) for line in view.assumptions)) if view.assumptions else None,
        ),
        tag("details", tag("summary", "Figures as tables"), *(_twin(title, table) for title, table in twins)),
        tag(
            "details",
            tag("summary", "Made with"),
            tag("p", name_markup(", ".join(made_by)), "."),
            tag("p", "To make it again: ", tag("code", view.command)) if view.command else None,
        ),
    ]


def _twin(title: str, table: TableTwin) -> Markup:
    return tag(
        "div",
        tag(
            "table",
            tag("caption", title),
            tag(
                "thead",
                tag(
                    "tr",
                    *(
                        tag("th", column, scope="col", class_=None if index else "s-left")
                        for index, column in enumerate(table.columns)
                    ),
                ),
            ),
            tag("tbody", *(_twin_row(row) for row in table.rows)),
        ),
        class_="s-scroll",
        role="region",
        tabindex="0",
        aria_label=title,
    )


def _twin_row(row: Sequence[str]) -> Markup:
    return tag(
        "tr", tag("th", name_markup(row[0]), scope="row", class_="s-left"), *(tag("td", value) for value in row[1:])
    )

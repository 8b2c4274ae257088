"""How is a characterisation written? As text, as Markdown, and as one self-contained page of HTML, light or dark."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from surfer_lab.report.character_svg import FIGURE_STYLE, efficiency_svg, map_svg, roofline_legend, roofline_svg
from surfer_lab.report.html_details import scroll
from surfer_lab.report.markdown import escaped, table_text
from surfer_lab.report.markup import Child, Markup, name_markup, tag, verbatim
from surfer_lab.report.page import whole_page
from surfer_lab.report.style import block_style
from surfer_lab.report.text import Ink, Paint, sentence_lines, table_lines, unpainted, wrapped_lines
from surfer_lab.view.character_model import CharacterPage, CharacterTable, CharacterView, MapFigure
from surfer_lab.view.model import TableTwin
from surfer_lab.view.wording import UNKNOWN

__all__ = [
    "character_block", "character_html", "character_json", "character_markdown", "character_page_html",
    "character_text",
]  # fmt: skip


def character_text(view: CharacterView, *, width: int = 120, paint: Paint = unpainted) -> str:
    """Everything in lines, at most so wide; no trailing newline."""
    blocks = [block for page in view.pages for block in _text_page(page, width, paint)]
    if view.comparison is not None:
        blocks.append(_text_table(view.comparison, width, paint))
    if view.alike is not None:
        blocks += _text_map(view.alike, width, paint)
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _text_page(page: CharacterPage, width: int, paint: Paint) -> list[list[str]]:
    facts = [line for one in page.sentences for line in sentence_lines(one.label, one.text, width, paint)]
    notes = [paint(line, Ink.FAINT) for note in page.notes for line in wrapped_lines(_sentence(note), width)]
    return [
        [paint(page.title, Ink.TITLE)],
        facts,
        *(_text_table(table, width, paint) for table in page.tables),
        notes,
    ]


def _sentence(note: str) -> str:
    text = note[:1].upper() + note[1:]
    return text if text.endswith(".") else f"{text}."


def _text_table(shown: CharacterTable, width: int, paint: Paint) -> list[str]:
    lines = [paint(shown.title, Ink.TITLE), *_aligned(shown.table, width, paint)]
    return [*lines, *(paint(line, Ink.FAINT) for note in shown.notes for line in wrapped_lines(note, width))]


def _aligned(table: TableTwin, width: int, paint: Paint) -> list[str]:
    columns = [(name, at == 0) for at, name in enumerate(table.columns)]
    return table_lines(columns, table.rows, width, paint, [None] * len(table.rows))


def _text_map(alike: MapFigure, width: int, paint: Paint) -> list[list[str]]:
    axes = [f"{axis.label}: {axis.made_of}" for axis in alike.axes]
    notes = [paint(line, Ink.FAINT) for note in (*axes, *alike.notes) for line in wrapped_lines(_sentence(note), width)]
    return [[paint(alike.title, Ink.TITLE), alike.description, *_aligned(alike.table, width, paint), *notes]]


def character_json(view: CharacterView) -> str:
    """All numbers and words."""
    return msgspec.json.format(msgspec.json.encode(view), indent=1).decode() + "\n"


def character_markdown(view: CharacterView) -> str:
    """A document with headings and tables; every name is escaped."""
    blocks = [f"# {escaped(view.title)}"]
    for page in view.pages:
        blocks.append(f"## {escaped(page.title)}")
        blocks.append("\n".join(f"- **{escaped(one.label)}**: {escaped(one.text)}" for one in page.sentences))
        blocks += [_markdown_table(table) for table in page.tables]
        blocks += ["\n".join(f"- {escaped(_sentence(note))}" for note in page.notes)]
    if view.comparison is not None:
        blocks.append(_markdown_table(view.comparison, level=2))
    if view.alike is not None:
        alike = view.alike
        blocks.append(f"## {escaped(alike.title)}\n\n{escaped(alike.description)}")
        blocks.append("\n".join(f"- {escaped(axis.label)}: {escaped(axis.made_of)}" for axis in alike.axes))
        blocks += [table_text(table.columns, table.rows) for table in (alike.table, alike.loadings)]
        blocks += [escaped(note) for note in alike.notes]
    blocks.append(escaped(f"Surfer Lab {view.version}".rstrip() + (f": {view.command}" if view.command else "")))
    return "\n\n".join(block for block in blocks if block) + "\n"


def _markdown_table(shown: CharacterTable, level: int = 3) -> str:
    notes = "".join(f"\n\n{escaped(note)}" for note in shown.notes)
    return f"{'#' * level} {escaped(shown.title)}\n\n{table_text(shown.table.columns, shown.table.rows)}{notes}"


def character_page_html(view: CharacterView) -> str:
    """A whole page around `character_html`, which asks no network; light or dark as the reader's system."""
    return whole_page(view.title, tag("main", character_html(view)))


def character_block(view: CharacterView) -> str:
    """The article in a notebook: light or dark as the notebook is."""
    return tag("div", block_style(), character_html(view))


def character_html(view: CharacterView) -> Markup:
    """The article alone, with the style of its figures; around it `report.style` gives colours."""
    several = len(view.pages) > 1
    beside = [_compared(view), _alike(view.alike)]
    return tag(
        "article",
        tag("style", verbatim(FIGURE_STYLE)),
        tag("p", tag("b", "Surfer Lab"), class_="s-brand"),
        tag("h1", name_markup(view.title)),
        *(beside if several else ()),
        *(_page(page, several=several) for page in view.pages),
        *(() if several else beside),
        _made_with(view),
        class_="surfer",
        data_ready="",
        data_shown="",
    )


def _compared(view: CharacterView) -> Child:
    return None if view.comparison is None else tag("section", *_table(view.comparison))


def _made_with(view: CharacterView) -> Child:
    if not (view.version or view.command):
        return None
    made = tag("code", view.command) if view.command else None
    return tag("p", f"Made with Surfer Lab {view.version}".rstrip(), ": " if made else ".", made, class_="s-note")


def _page(page: CharacterPage, *, several: bool) -> Markup:
    facts = [child for one in page.sentences for child in (tag("dt", name_markup(one.label)), tag("dd", one.text))]
    roofline = [table for table in page.tables if table.key == "roofline"]
    scaling = [table for table in page.tables if table.key == "scaling"]
    others = [table for table in page.tables if table.key not in ("roofline", "scaling")]
    heading = "h3" if several else "h2"
    sections: list[Child] = [tag("section", *_table(table, _roofline(page), heading=heading)) for table in roofline]
    for table, figure in zip(scaling, page.scaling, strict=True):
        drawn = [tag("p", figure.description, class_="s-note"), scroll(figure.title, *efficiency_svg(figure))]
        sections.append(tag("section", *_table(table, drawn, heading=heading)))
    sections += [tag("section", *_table(table, heading=heading)) for table in others]
    notes = [tag("li", name_markup(_sentence(note))) for note in page.notes]
    return tag(
        "section",
        tag("h2", name_markup(page.title), class_="c-title") if several else None,
        tag("dl", *facts, class_="s-facts"),
        *sections,
        tag("details", tag("summary", "What was assumed, and what is left out"), tag("ul", *notes)) if notes else None,
    )


def _roofline(page: CharacterPage) -> list[Child]:
    figure = page.roofline
    if figure is None:
        return []
    return [
        tag("p", figure.description, class_="s-note"),
        roofline_legend(figure),
        scroll(figure.title, roofline_svg(figure)),
    ]


def _table(shown: CharacterTable, figure: Sequence[Child] = (), *, heading: str = "h2") -> list[Child]:
    return [
        tag(heading, name_markup(shown.title)),
        *figure,
        scroll(shown.title, _twin(shown.title, shown.table)),
        *(tag("p", note, class_="s-note") for note in shown.notes),
    ]


def _twin(title: str, table: TableTwin) -> Markup:
    """Words to the left, numbers to the right."""
    left = ["s-left" if at == 0 or _is_words(table, at) else None for at in range(len(table.columns))]
    heads = (tag("th", name, scope="col", class_=left[at]) for at, name in enumerate(table.columns))
    rows = (
        tag(
            "tr",
            tag("th", name_markup(row[0]), scope="row"),
            *(tag("td", cell, class_=left[at]) for at, cell in enumerate(row[1:], start=1)),
        )
        for row in table.rows
    )
    return tag(
        "table", tag("caption", title), tag("thead", tag("tr", *heads)), tag("tbody", *rows), class_="s-batches c-table"
    )


def _is_words(table: TableTwin, column: int) -> bool:
    """Whether no cell of a column begins as a number does."""
    first = [row[column][:1] for row in table.rows if row[column] not in ("", UNKNOWN)]
    return bool(first) and not any(one.isdigit() or one in "+-<>" for one in first)


def _alike(alike: MapFigure | None) -> Child:
    if alike is None:
        return None
    axes = [tag("li", f"{axis.label}: {axis.made_of}.") for axis in alike.axes]
    return tag(
        "section",
        tag("h2", alike.title),
        tag("p", alike.description, class_="s-note"),
        scroll(f"{alike.title}, figure", *map_svg(alike)),
        tag("ul", *axes),
        scroll(alike.title, _twin(alike.title, alike.table)),
        *(tag("p", note, class_="s-note") for note in alike.notes),
        tag("details", tag("summary", "What makes the components"), _twin("Loadings", alike.loadings)),
    )

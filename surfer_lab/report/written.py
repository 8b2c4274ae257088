"""How is a report written to a file? The form follows the name's ending; one or several predictions go into it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import quote

import msgspec

from surfer_lab.report.dates import today_words
from surfer_lab.report.document import html_document
from surfer_lab.report.forms import write_form
from surfer_lab.report.markdown import markdown_of
from surfer_lab.report.pdf import pdf_of
from surfer_lab.report.svg_files import figure_files
from surfer_lab.report.text import text_of
from surfer_lab.view.model import ViewModel

__all__ = ["write_report"]


def write_report(
    views: Callable[[bool], Sequence[ViewModel]],
    path: str | Path,
    *,
    title: str = "",
    notes: Sequence[str] = (),
    others: dict[str, Callable[[], str]] | None = None,
) -> Path:
    """Write the report and return its path. `others` are forms that the caller knows beside these, by ending.

    `views` is asked for the predictions once: True where the form has sliders, which choose in the views' grids.
    A Markdown report has its figures beside it, in NAME_figures. Refused (OptionError): an ending that is not known, a
    place that cannot be written, a PDF without a browser.
    """
    target = Path(path)
    made_on = today_words()
    forms: dict[str, Callable[[], str | bytes]] = {
        ".html": lambda: html_document(views(True), title=title, made_on=made_on, notes=notes),
        ".md": lambda: _markdown(views(False), target, made_on),
        ".pdf": lambda: pdf_of(html_document(views(False), title=title, made_on=made_on, notes=notes)),
        ".txt": lambda: "\n\n\n".join(text_of(view) for view in views(False)) + "\n",
        ".json": lambda: _json(views(False)),
        **(others or {}),
    }
    return write_form(target, forms, what="a report")


def _json(views: Sequence[ViewModel]) -> str:
    return msgspec.json.encode(views[0] if len(views) == 1 else list(views)).decode() + "\n"


def _markdown(views: Sequence[ViewModel], target: Path, made_on: str) -> str:
    """The text; the figures are written beside it, as its links name them."""
    folder = target.with_name(f"{target.stem}_figures")
    parts = []
    for place, view in enumerate(views, start=1):
        prefix = f"{place}_" if len(views) > 1 else ""
        links = {}
        for name, (figure_title, drawn) in figure_files(view).items():
            folder.mkdir(exist_ok=True)
            (folder / f"{prefix}{name}").write_text(drawn, encoding="utf-8")
            links[figure_title] = quote(f"{folder.name}/{prefix}{name}")
        parts.append(markdown_of(view, made_on=made_on, figures=links))
    return "\n".join(parts)

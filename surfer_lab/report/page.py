"""What stands around a report that is a page of its own? A head for light, dark and small screens, and no network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from surfer_lab.report.markup import Child, Markup, tag
from surfer_lab.report.style import page_style

__all__ = ["whole_page"]

_NO_NETWORK: Final = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_WITH_SCRIPTS: Final = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


def whole_page(title: str, body: Child, *, styles: Sequence[Markup] = (), scripts: Sequence[Markup] = ()) -> str:
    """The whole document. `styles` follow the style of all reports; scripts are allowed where there are any."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", http_equiv="Content-Security-Policy", content=_WITH_SCRIPTS if scripts else _NO_NETWORK),
        tag("title", title),
        page_style(),
        *styles,
    )
    return f"<!DOCTYPE html>\n{tag('html', head, tag('body', body, *scripts), lang='en')}\n"

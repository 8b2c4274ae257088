"""Which style and script do the HTML forms carry? This package's own files, comments and indentation left out.

A block follows its notebook (JupyterLab's variables and its mark of a dark theme), elsewhere the reader's system, as a
page of its own does.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Final

from surfer_lab.report.markup import Markup, tag, verbatim

__all__ = ["block_style", "page_style", "script"]

# one scope, in the order of their use; none of them asks the network or stores anything
_SCRIPTS: Final = ("words.js", "grid.js", "draw.js", "tables.js", "start.js")
_DARK_HOSTS: Final = '[data-jp-theme-light="false"] .surfer, body.vscode-dark .surfer'
_UNMARKED_HOSTS: Final = "body:not([data-jp-theme-light]):not(.vscode-light)"
_COMMENT_LINE: Final = re.compile(r"^\s*//.*$|\s+//\s.*$", re.MULTILINE)
_LINE_START: Final = re.compile(r"\n\s*")


@cache
def _asset(name: str) -> str:
    return files("surfer_lab.report").joinpath("assets", *name.split("/")).read_text(encoding="utf-8").strip()


@cache
def script(*more: str) -> Markup:
    """The reports' script: everything on the page that was not yet brought to life."""
    text = "\n".join(_asset(f"script/{name}") for name in (*more, *_SCRIPTS))
    return tag("script", verbatim(_dense(f"(() => {{\n{text}\n}})();")))


def _dense(text: str) -> str:
    return _LINE_START.sub("\n", _COMMENT_LINE.sub("", text))


@cache
def block_style() -> Markup:
    """Style of a block in a notebook."""
    dark = _asset("dark.css")
    page = "--s-page: var(--jp-layout-color0, {});"
    return tag(
        "style",
        verbatim(
            _LINE_START.sub(
                "\n",
                f"{_asset('page.css')}\n.surfer {{ {page.format('#ffffff')} }}\n"
                f"{_DARK_HOSTS} {{ {dark} {page.format('#161c24')} }}\n"
                f"@media (prefers-color-scheme: dark) {{ {_UNMARKED_HOSTS} .surfer {{ {dark} "
                "background: var(--s-page); border-radius: 8px; padding: 0.6rem 0.8rem; } }",
            )
        ),
    )


@cache
def page_style() -> Markup:
    """Style of a file of its own."""
    return tag(
        "style",
        verbatim(
            f"{_asset('page.css')}\n@media (prefers-color-scheme: dark) {{ .surfer {{ {_asset('dark.css')} }} "
            "body { background: #161c24; } }\nbody { margin: 0; } main { margin: 0 auto; max-width: 70rem; "
            "padding: 1.6rem 1.1rem 3rem; } .surfer + .surfer { border-top: 2px solid var(--s-line); "
            "margin-top: 2.5rem; padding-top: 1.5rem; }"
        ),
    )

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

__all__ = ["block_opener", "block_script", "block_style", "page_script", "page_style"]

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
def _scripts(*names: str) -> str:
    text = "\n".join(_asset(f"script/{name}") for name in names)
    return _LINE_START.sub("\n", _COMMENT_LINE.sub("", f"(() => {{\n{text}\n}})();"))


def page_script() -> Markup:
    """The script of a file of its own."""
    return tag("script", verbatim(_scripts("unpack.js", *_SCRIPTS, "figures.js", "start_page.js")))


def block_script() -> str:
    """The script of a block, which travels packed with its data."""
    return _scripts(*_SCRIPTS, "start_block.js")


def block_opener() -> Markup:
    """The few lines that unpack a block and run its script."""
    return tag("script", verbatim(_scripts("unpack.js", "open_block.js")))


@cache
def block_style() -> Markup:
    """Style of a block in a notebook."""
    dark = _asset("dark.css")
    page = "--s-page: var(--jp-layout-color0, {});"
    text = (
        f"{_asset('page.css')}\n.surfer {{ {page.format('#ffffff')} }}\n"
        f"{_DARK_HOSTS} {{ {dark} {page.format('#161c24')} }}\n"
        f"@media (prefers-color-scheme: dark) {{ {_UNMARKED_HOSTS} .surfer {{ {dark} "
        "background: var(--s-page); border-radius: 8px; padding: 0.6rem 0.8rem; } }"
    )
    return tag("style", verbatim(_LINE_START.sub("\n", text)))


@cache
def page_style() -> Markup:
    """Style of a file of its own."""
    text = (
        f"{_asset('page.css')}\n@media (prefers-color-scheme: dark) {{ .surfer {{ {_asset('dark.css')} }} "
        "body { background: #161c24; } }\nbody { margin: 0; } "
        "main { margin: 0 auto; max-width: 70rem; padding: 1.6rem 1.1rem 3rem; } "
        ".surfer + .surfer { border-top: 2px solid var(--s-line); margin-top: 2.5rem; padding-top: 1.5rem; }"
    )
    return tag("style", verbatim(text))

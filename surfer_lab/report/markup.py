"""How is HTML written so that no name in a trace can become markup?

`tag` escapes every string that it is given; only what `tag` itself returned (`Markup`) passes as it is. There is no
other way to make markup in this package.
"""

from __future__ import annotations

import html
from collections.abc import Iterable

__all__ = ["Markup", "join", "name_markup", "tag", "verbatim"]

_VOID = frozenset({"br", "hr", "meta", "input"})


class Markup(str):
    """Text that is HTML already; made by `tag`, `join` and `verbatim` only."""

    __slots__ = ()


Child = str | Markup | None | Iterable["Child"]


def join(children: Iterable[Child]) -> Markup:
    """Children one after the other, strings escaped, None left out."""
    return Markup("".join(_written(child) for child in children))


def _written(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Markup):
        return child
    if isinstance(child, str):
        return html.escape(child, quote=True)
    return join(child)


def tag(name: str, /, *children: Child, **attributes: str | bool | None) -> Markup:
    """One element. In attribute names `_` is a dash, a trailing one is dropped; True is bare, None and False absent.

    >>> tag("td", "<b>", class_="s-name", title='"')
    '<td class="s-name" title="&quot;">&lt;b&gt;</td>'
    """
    written = []
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        attribute = key.rstrip("_").replace("_", "-")
        written.append(f" {attribute}" if value is True else f' {attribute}="{html.escape(str(value), quote=True)}"')
    opening = f"<{name}{''.join(written)}>"
    return Markup(opening if name in _VOID else f"{opening}{join(children)}</{name}>")


def name_markup(name: str) -> Markup:
    """A name that may run right to left, kept from turning what stands beside it."""
    return tag("bdi", name, class_="s-name")


def verbatim(own_text: str) -> Markup:
    """This package's own style or script, as it stands; never anything from a trace."""
    return Markup(own_text)

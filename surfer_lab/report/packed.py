"""How does a view travel inside an HTML text without taking its room? As JSON, deflated, in base64.

The letters of base64 can neither close a script element nor open a comment. A browser's own DecompressionStream reads
it; where there is none the page keeps what is written in it.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping

import msgspec

from surfer_lab.report.markup import Markup, tag, verbatim
from surfer_lab.view.stored_model import StoredView

__all__ = ["packed_json", "packed_view"]


def packed_json(value: object, *, class_: str) -> Markup:
    """A script element that no browser runs, holding `value`."""
    text = base64.b64encode(zlib.compress(msgspec.json.encode(value), 9)).decode("ascii")
    return tag("script", verbatim(text), type="application/octet-stream", class_=class_)


def packed_view(view: StoredView, parts: Mapping[str, Markup]) -> Markup:
    """What the script of a block or a page reads: the view, and by name the parts that it puts in place."""
    return packed_json({"view": view, "parts": {name: str(part) for name, part in parts.items()}}, class_="s-data")

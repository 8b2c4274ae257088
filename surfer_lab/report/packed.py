"""How does a view travel inside an HTML text without taking its room? As JSON, deflated, in base64.

The letters of base64 can neither close a script element nor open a comment. A browser's own DecompressionStream reads
it; where there is none the page keeps what is written in it.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from surfer_lab.report.markup import Markup, tag, verbatim
from surfer_lab.view.stored_model import StoredView

__all__ = ["packed_json", "packed_view"]

# what the script reads of a view; the rest stands in the text already, or is for the panel
_READ: Final = frozenset({
    "rows", "shortlist", "focus", "shows_all", "time_unit", "here", "verdicts", "prices", "limit_labels",
    "method_labels", "operation_ms", "operation_low_ms", "operation_high_ms", "operation_kind", "batch_size",
    "dataset_size", "grid",
})  # fmt: skip
_READ_OF_ROWS: Final = frozenset({
    "gpu", "origin", "memory_gb", "verdict", "step_ms", "low_ms", "high_ms", "busy_ms", "method_share",
    "usd_per_hour", "sold_by", "price", "faster", "needed_gb", "largest_batch",
})  # fmt: skip
_UNREAD_OF_GRID: Final = ("memory_high_gb", "notes")


def packed_json(value: object, *, class_: str) -> Markup:
    """A script element that no browser runs, holding `value`."""
    text = base64.b64encode(zlib.compress(msgspec.json.encode(value), 9)).decode("ascii")
    return tag("script", verbatim(text), type="application/octet-stream", class_=class_)


def packed_view(view: StoredView, parts: Mapping[str, Markup], script: str = "") -> Markup:
    """What a block or a page reads: the view, by name the parts that are put in place, and a block's own script."""
    given = {"view": _read(view), "parts": {name: str(part) for name, part in parts.items()}}
    return packed_json({**given, "script": script} if script else given, class_="s-data")


def _read(view: StoredView) -> dict[str, Any]:
    lean = {name: value for name, value in msgspec.to_builtins(view).items() if name in _READ}
    lean["rows"] = {name: column for name, column in lean["rows"].items() if name in _READ_OF_ROWS}
    lean["operation_count"] = len(view.operations)
    for name in _UNREAD_OF_GRID:
        lean.get("grid", {}).pop(name, None)
    return lean

"""What is a cell's output made of? One MIME bundle: our JSON for the extension, self-contained HTML, plain text."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from surfer_lab.report.block import html_block
from surfer_lab.report.text import text_of
from surfer_lab.view.model import ViewModel
from surfer_lab.view.stored import stored

__all__ = ["MIME_TYPE", "mime_bundle"]

MIME_TYPE: Final = "application/vnd.surfer-lab.prediction+json"


def mime_bundle(view: ViewModel) -> dict[str, Any]:
    """All three forms of the same view; a front end shows the richest that it knows."""
    kept = stored(view)
    return {MIME_TYPE: msgspec.to_builtins(kept), "text/html": html_block(view, kept), "text/plain": text_of(view)}

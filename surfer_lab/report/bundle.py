"""What is a cell's output made of? One MIME bundle: our JSON for the extension, self-contained HTML, plain text."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from surfer_lab.report.block import html_block
from surfer_lab.report.text import text_of
from surfer_lab.report.training_report import training_html, training_text
from surfer_lab.view.model import ViewModel
from surfer_lab.view.stored import stored
from surfer_lab.view.training_model import TrainingView
from surfer_lab.view.training_view import shortened

__all__ = ["MIME_TYPE", "TRAINING_MIME_TYPE", "mime_bundle", "training_bundle"]

MIME_TYPE: Final = "application/vnd.surfer-lab.prediction+json"
TRAINING_MIME_TYPE: Final = "application/vnd.surfer-lab.training+json"


def mime_bundle(view: ViewModel) -> dict[str, Any]:
    """All three forms of the same view; a front end shows the richest that it knows."""
    kept = stored(view)
    return {MIME_TYPE: msgspec.to_builtins(kept), "text/html": html_block(view, kept), "text/plain": text_of(view)}


def training_bundle(view: TrainingView) -> dict[str, Any]:
    """The same of a training run: the panel reads the JSON, the cell shows the HTML."""
    return {
        TRAINING_MIME_TYPE: msgspec.to_builtins(shortened(view)),
        "text/html": str(training_html(view)),
        "text/plain": training_text(view),
    }

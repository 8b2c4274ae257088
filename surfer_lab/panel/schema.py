"""Which JSON do the messages become? Their JSON Schema, with the stored view's in it, for front ends.

`schema.json` beside this file is the same text, checked in; `python -m tools.generate_types` writes it again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import msgspec

from surfer_lab.panel.messages import Announcement, Answer, Progress, Request
from surfer_lab.view.stored_model import StoredView

__all__ = ["SCHEMA_FILE", "Protocol", "protocol_schema", "schema_text"]

SCHEMA_FILE: Final = Path(__file__).with_name("schema.json")


class Protocol(msgspec.Struct, frozen=True, kw_only=True):
    """What is sent: by the front end, by the kernel, and what stays in a notebook."""

    request: Request
    answer: Answer
    progress: Progress
    announcement: Announcement
    stored: StoredView


def protocol_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of everything that is sent."""
    return msgspec.json.schema(Protocol)


def schema_text() -> str:
    """The schema as it is checked in."""
    return json.dumps(protocol_schema(), indent=2, ensure_ascii=False) + "\n"

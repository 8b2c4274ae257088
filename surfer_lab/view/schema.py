"""Which JSON does a ViewModel become? Its JSON Schema, for front ends and for readers of `--json`.

`schema.json` beside this file is the same text, checked in; `python -m surfer_lab.view.schema` writes it again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import msgspec

from surfer_lab.view.model import ViewModel

__all__ = ["SCHEMA_FILE", "schema_text", "view_schema"]

SCHEMA_FILE: Final = Path(__file__).with_name("schema.json")


def view_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of `ViewModel`."""
    return msgspec.json.schema(ViewModel)


def schema_text() -> str:
    """The schema as it is checked in."""
    return json.dumps(view_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    SCHEMA_FILE.write_text(schema_text(), encoding="utf-8")

"""Does the front end draw the version of the stored view that Python sends?

That its TypeScript types are those of the checked-in schema is held by `python -m tools.generate_types --check`, which
needs Node: `make check` runs it.
"""

from __future__ import annotations

from surfer_lab.view.stored_model import STORED_SCHEMA_VERSION
from tools.generate_types import ROOT, TYPES_FILE


def test_the_front_end_draws_the_schema_version_that_python_sends():
    tokens = (ROOT / "src" / "tokens.ts").read_text(encoding="utf-8")
    assert f"VIEW_SCHEMA_VERSION = {STORED_SCHEMA_VERSION};" in tokens


def test_the_generated_types_are_checked_in():
    assert "export interface ViewModel" in TYPES_FILE.read_text(encoding="utf-8")

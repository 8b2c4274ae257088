"""Does the front end read the shape that Python sends?"""

from __future__ import annotations

from surfer_lab.view.model import VIEW_SCHEMA_VERSION
from tools import generate_types


def test_the_checked_in_schema_is_that_of_the_view_model():
    assert generate_types.SCHEMA.read_text(encoding="utf-8") == generate_types.schema_text(), (
        "stale: run python -m tools.generate_types"
    )


def test_the_front_end_draws_the_schema_version_that_python_sends():
    tokens = (generate_types.ROOT / "src" / "tokens.ts").read_text(encoding="utf-8")
    assert f"VIEW_SCHEMA_VERSION = {VIEW_SCHEMA_VERSION};" in tokens

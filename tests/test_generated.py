"""Does the front end draw the version of the stored view that Python sends?

That its TypeScript types are those of the checked-in schema is held by `python -m tools.generate_types --check`, which
needs Node: `make check` runs it.
"""

from __future__ import annotations

import json

import bokeh

from surfer_lab.panel.messages import PROTOCOL_VERSION, TARGET_NAME
from surfer_lab.view.stored_model import STORED_SCHEMA_VERSION
from tools.generate_types import ROOT, TYPES_FILE


def test_the_front_end_draws_the_schema_version_that_python_sends():
    tokens = (ROOT / "src" / "tokens.ts").read_text(encoding="utf-8")
    assert f"VIEW_SCHEMA_VERSION = {STORED_SCHEMA_VERSION};" in tokens


def test_both_ends_name_the_comm_and_its_protocol_alike():
    said = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").glob("*.ts"))
    assert f"COMM_TARGET = '{TARGET_NAME}';" in said
    assert f"PROTOCOL_VERSION = {PROTOCOL_VERSION};" in said


def test_figures_are_drawn_by_the_minor_version_of_bokeh_that_builds_them():
    drawn_by = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))["dependencies"]["@bokeh/bokehjs"]
    built_by = ".".join(bokeh.__version__.split(".")[:2])
    assert drawn_by.startswith(f"~{built_by}.")


def test_the_generated_types_are_checked_in():
    assert "export interface StoredView" in TYPES_FILE.read_text(encoding="utf-8")

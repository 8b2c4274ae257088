"""Is the checked-in JSON Schema that of the record, and does what is sent obey it?"""

from __future__ import annotations

import json

import jsonschema
import msgspec

from surfer_lab.view.model import ViewModel
from surfer_lab.view.schema import SCHEMA_FILE, schema_text, view_schema
from tests.view.views import view


def test_the_checked_in_schema_is_not_stale():
    assert SCHEMA_FILE.read_text(encoding="utf-8") == schema_text(), "run python -m surfer_lab.view.schema"


def test_a_view_obeys_the_schema_and_reads_back_the_same():
    sent = msgspec.json.encode(view())
    jsonschema.validate(json.loads(sent), view_schema())
    assert msgspec.json.decode(sent, type=ViewModel) == view()

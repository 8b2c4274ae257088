"""A width to write in that does not depend on who runs the tests: pytest's own workers say 80 columns."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _usual_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")

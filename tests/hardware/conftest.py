"""A configuration folder of its own for each test: no user's rows are read or written."""

from __future__ import annotations

from pathlib import Path

import pytest

from surfer_lab.hardware import catalog
from surfer_lab.hardware.configuration import FOLDER_VARIABLE


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "configuration"
    monkeypatch.setenv(FOLDER_VARIABLE, str(folder))
    monkeypatch.setattr(catalog, "_SESSION", catalog._Session())
    return folder

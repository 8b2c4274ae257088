"""How is an example run? Its notebook headless, in a kernel of this environment that finds this checkout."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def run_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Runs the example of that name in the test's folder; the notebook with its outputs."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", "")))))

    def run(name: str) -> Any:
        pytest.importorskip("torch")
        notebook = nbformat.read(ROOT / "examples" / f"{name}.ipynb", as_version=4)
        folder = {"metadata": {"path": str(tmp_path)}}
        NotebookClient(notebook, kernel_name="python3", timeout=600, resources=folder).execute()
        return notebook

    return run

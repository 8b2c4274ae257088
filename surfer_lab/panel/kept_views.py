"""Where do views outlive a kernel? In the user's cache folder, a file each, by notebook; few, small, the oldest go.

The notebook's own outputs hold the same views; these serve a panel whose notebook was cleared. The folder is
platformdirs' cache folder for "surfer-lab", or what SURFER_LAB_CACHE_DIR names. A file that cannot be read or written
is as if it were not there: history is a convenience.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path
from typing import Final

import msgspec

from surfer_lab.view.stored_model import STORED_SCHEMA_VERSION, StoredView

__all__ = ["FOLDER_VARIABLE", "forget", "keep", "kept"]

FOLDER_VARIABLE: Final = "SURFER_LAB_CACHE_DIR"
_APPLICATION: Final = "surfer-lab"
_MOST_VIEWS: Final = 10  # of a notebook
_MOST_FILES: Final = 100  # in all
_MOST_BYTES: Final = 1_000_000  # of one
_LONGEST_ID: Final = 64
_ENDING: Final = ".view.json"


def keep(view: StoredView, notebook: str) -> None:
    """Write the view; nothing where the notebook is not known or the folder is not to be written to."""
    text = msgspec.json.encode(view)
    if not notebook or not _is_name(view.provenance.id) or len(text) > _MOST_BYTES:
        return
    folder = _folder(notebook)
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder, prefix=".")
        with os.fdopen(handle, "wb") as file:
            file.write(text)
        Path(name).replace(folder / f"{view.provenance.id}{_ENDING}")
        _drop_oldest(folder, _MOST_VIEWS)
        _drop_oldest(folder.parent, _MOST_FILES)


def kept(notebook: str) -> list[StoredView]:
    """The views kept for a notebook, oldest first; those of another form or damaged left out."""
    if not notebook:
        return []
    views = []
    for path in _by_age(_folder(notebook)):
        with contextlib.suppress(OSError, msgspec.DecodeError, UnicodeDecodeError):
            if path.stat().st_size <= _MOST_BYTES:
                view = msgspec.json.decode(path.read_bytes(), type=StoredView)
                if view.schema_version == STORED_SCHEMA_VERSION:
                    views.append(view)
    return views


def forget(name: str, notebook: str) -> None:
    """Remove the view of that id."""
    if notebook and _is_name(name):
        with contextlib.suppress(OSError):
            (_folder(notebook) / f"{name}{_ENDING}").unlink(missing_ok=True)


def _is_name(name: str) -> bool:
    """An id comes back from a browser: nothing but a few letters, digits and hyphens names a file."""
    return len(name) <= _LONGEST_ID and name.isascii() and name.replace("-", "").isalnum()


def _folder(notebook: str) -> Path:
    named = os.environ.get(FOLDER_VARIABLE, "")
    if named:
        root = Path(named)
    else:
        import platformdirs  # only where views are kept

        root = platformdirs.user_cache_path(_APPLICATION, appauthor=False)
    return root / "views" / hashlib.sha256(notebook.encode("utf-8", "replace")).hexdigest()[:24]


def _by_age(folder: Path) -> list[Path]:
    dated = []
    with contextlib.suppress(OSError):
        for path in folder.rglob(f"*{_ENDING}"):
            with contextlib.suppress(OSError):  # gone since listed
                dated.append((path.stat().st_mtime_ns, path.name, path))
    return [path for _, _, path in sorted(dated)]


def _drop_oldest(folder: Path, most: int) -> None:
    for path in _by_age(folder)[:-most]:
        with contextlib.suppress(OSError):
            path.unlink()

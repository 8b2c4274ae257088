"""Where are captured steps of timm's networks kept between runs? One small file a capture, in a folder of the user's.

    <folder>/captures-1/<architecture>/<mode>-<image size>-<layout>[-unfused][-reparam].trace
    <folder>/captures-1/<architecture>/<the same>.failed     why it could not be captured, one sentence
    <folder>/captures-1/<architecture>/family                timm's file that defines the architecture

The captures are in float32 at a prime batch: precision and batch size are derived from them. The number in the folder's
name is raised when captures would come out differently.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from surfer_lab.trace.model import Trace
from surfer_lab.trace.storage import load, save
from surfer_lab.training.timm_table.rows import CaptureKey

__all__ = ["FOLDER_VARIABLE", "CaptureStore", "cache_folder"]

FOLDER_VARIABLE: Final = "SURFER_LAB_CACHE_DIR"
_CAPTURES: Final = "captures-1"


def cache_folder() -> Path:
    """What SURFER_LAB_CACHE_DIR names, else the user's cache folder for "surfer-lab"."""
    named = os.environ.get(FOLDER_VARIABLE, "")
    if named:
        return Path(named).expanduser()
    import platformdirs  # only where the user's files are looked for

    return platformdirs.user_cache_path("surfer-lab", appauthor=False)


@dataclass(frozen=True)
class CaptureStore:
    """Captures by key. Files appear whole or not at all, so that several processes may fill one folder."""

    folder: Path

    def trace(self, key: CaptureKey) -> Trace | None:
        """The capture, None where there is none."""
        path = self._path(key, "trace")
        return load(path) if path.is_file() else None

    def failure(self, key: CaptureKey) -> str | None:
        """Why the capture failed, None where it did not."""
        path = self._path(key, "failed")
        return path.read_text(encoding="utf-8").strip() if path.is_file() else None

    def knows(self, key: CaptureKey) -> bool:
        """Captured, or found impossible."""
        return self._path(key, "trace").is_file() or self._path(key, "failed").is_file()

    def put(self, key: CaptureKey, trace: Trace) -> None:
        """Keep a capture; a failure noted before is gone."""
        path = self._path(key, "trace")
        path.parent.mkdir(parents=True, exist_ok=True)
        save(trace, path)
        self._path(key, "failed").unlink(missing_ok=True)

    def put_failure(self, key: CaptureKey, reason: str) -> None:
        """Note why there is no capture."""
        path = self._path(key, "failed")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(" ".join(reason.split()) + "\n", encoding="utf-8")

    def family(self, arch: str) -> str | None:
        """The architecture's family, None where it was never built."""
        path = self.folder / _CAPTURES / arch / "family"
        return path.read_text(encoding="utf-8").strip() if path.is_file() else None

    def put_family(self, arch: str, family: str) -> None:
        """Note the architecture's family."""
        path = self.folder / _CAPTURES / arch / "family"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(family + "\n", encoding="utf-8")

    def _path(self, key: CaptureKey, kind: str) -> Path:
        return self.folder / _CAPTURES / key.arch / f"{key.name}.{kind}"

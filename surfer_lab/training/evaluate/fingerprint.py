"""Would an evaluation find the same again? Hashes of the measured data, and of the code and weights that predict."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

__all__ = ["code_hash", "data_hash"]

_DIGITS: Final = 16
_FOLDERS: Final = ("hardware", "trace", "engine", "training")  # of the package, whose files decide what is predicted
_ENDINGS: Final = (".py", ".json", ".npz", ".csv", ".toml")


def data_hash(data: Path, folders: Sequence[str]) -> str:
    """The first digits of a SHA-256 over the names and contents of the folders' files."""
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(one for one in (data / folder).rglob("*") if one.is_file()):
            digest.update(str(path.relative_to(data)).encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:_DIGITS]


@cache
def code_hash() -> str:
    """The same of the package's own files: predictions, shipped weights, ranges, evaluations."""
    package = Path(str(files("surfer_lab")))
    digest = hashlib.sha256()
    for folder in _FOLDERS:
        for path in sorted(one for one in (package / folder).rglob("*") if one.suffix in _ENDINGS):
            digest.update(str(path.relative_to(package)).encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:_DIGITS]

"""Where does a user keep own GPUs, calibrations and prices, and how are those files read and written?

The folder is platformdirs' configuration folder for "surfer-lab", or what SURFER_LAB_CONFIG_DIR names. A file that
cannot be read raises GpuError naming file and line; nothing here decides whether that stops anybody. Writing replaces
a file in one step, so that an interrupted write leaves the old one.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from surfer_lab.errors import GpuError

__all__ = ["FOLDER_VARIABLE", "configuration_folder", "parse_toml", "read_text", "state_of", "write_text"]

FOLDER_VARIABLE: Final = "SURFER_LAB_CONFIG_DIR"
APPLICATION: Final = "surfer-lab"
MAX_FILE_BYTES: Final = 1_000_000  # a user's row is hundreds of bytes: a bigger file is a wrong one


def configuration_folder() -> Path:
    """The folder, whether it exists or not."""
    named = os.environ.get(FOLDER_VARIABLE, "")
    if named:
        try:
            return Path(named).expanduser()
        except RuntimeError as error:  # `~` of a user that is not there, or of none
            raise GpuError(
                f"the folder in {FOLDER_VARIABLE} is {named!r} ({error})", remedy="a path without ~"
            ) from error
    import platformdirs  # only where the user's files are looked for

    return platformdirs.user_config_path(APPLICATION, appauthor=False)


def state_of(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """What changes when any of the folder's files does: name, time, size of each."""
    return tuple((str(path), stat.st_mtime_ns, stat.st_size) for path, stat in _files(folder))


def read_text(path: Path) -> str:
    """The file's text; GpuError names the file where it is unreadable, too big or not UTF-8."""
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise GpuError(
                f"{path} has {path.stat().st_size} bytes, more than any such file needs", remedy="remove or shorten it"
            )
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise GpuError(f"{path} is not UTF-8 text (byte {error.start})", remedy="save it as UTF-8") from error
    except OSError as error:
        raise GpuError(f"{path} cannot be read: {error.strerror}", remedy="check its permissions") from error


def parse_toml(text: str, where: str) -> dict[str, object]:
    """The TOML text as a dict; GpuError names `where`, line and column of a mistake."""
    if sys.version_info >= (3, 11):
        import tomllib  # only where a user has own rows
    else:
        import tomli as tomllib
    try:
        return dict(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise GpuError(
            f"{where} is not valid TOML: {error}", remedy="lines are  key = value, text in quotes"
        ) from error


def write_text(path: Path, text: str) -> None:
    """Replace the file in one step, making its folder; GpuError where that is not allowed."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            Path(name).replace(path)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise GpuError(
            f"{path} cannot be written: {error.strerror}", remedy=f"set {FOLDER_VARIABLE} to a folder of yours"
        ) from error


def _files(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for pattern in ("*.toml", "*.json", "gpus/*.toml"):
        for path in sorted(folder.glob(pattern)):
            try:
                yield path, path.stat()
            except OSError:  # gone since listed, or a dangling link: as if never there
                continue

"""Which file is meant by an argument? One existing file, else a sentence that names what lies near."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from surfer_lab.errors import OptionError, TraceError
from surfer_lab.planner.options import near_matches

__all__ = ["stem_of", "trace_file", "with_suffix"]

_TRACE_SUFFIXES: Final = (".json", ".json.gz", ".gz")
_SHOWN: Final = 3


def trace_file(path: Path) -> Path:
    """The path, if it is a file. TraceError for a folder, a pattern and a name that is not there, with what is near."""
    try:
        return _existing(path)
    except OSError as error:  # a name longer than names can be, a folder that may not be entered
        reason = error.strerror or type(error).__name__
        raise TraceError(
            f"{path} cannot be looked up ({reason})", remedy="check the path and its permissions"
        ) from error


def _existing(path: Path) -> Path:
    if path.is_file():
        return path
    if path.is_dir():
        inside = sorted(entry.name for entry in path.iterdir() if entry.name.endswith(_TRACE_SUFFIXES))
        remedy = f"one of its files: {_some(inside)}" if inside else "the path of a trace file (.json, .json.gz)"
        raise TraceError(f"{path} is a folder, and one file is predicted at a time", remedy=remedy)
    if any(character in path.name for character in "*?["):
        found = sorted(entry.name for entry in path.parent.glob(path.name)) if path.parent.is_dir() else []
        remedy = f"one of {_some(found)}" if found else "the path of one file; no file matches this pattern"
        raise TraceError(f"{path} is a pattern, and one file is predicted at a time", remedy=remedy)
    if path.exists():
        raise TraceError(
            f"{path} is neither a file nor a folder (a pipe, a device)", remedy="write the trace to a file first"
        )
    beside = [entry.name for entry in path.parent.iterdir() if entry.is_file()] if path.parent.is_dir() else []
    near = near_matches(path.name, beside)
    remedy = "did you mean " + " or ".join(near) + "?" if near else "the path of a trace file (.json, .json.gz)"
    raise TraceError(f"there is no file {path}", remedy=remedy)


def _some(names: list[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def stem_of(path: Path) -> str:
    """The file's name without the endings of a trace or a notebook."""
    name = path.name.removesuffix(".gz").removesuffix(".json").removesuffix(".pt.trace").removesuffix(".ipynb")
    return name or "trace"


def with_suffix(path: Path, suffix: str) -> Path:
    """The path, refused (OptionError) where its ending says another form than the option does."""
    if path.suffix.lower() not in {suffix, suffix.removesuffix("l")}:
        raise OptionError(f"{path.name} does not end in {suffix}", remedy=f"{path.stem}{suffix}")
    return path

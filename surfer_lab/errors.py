"""What can go wrong, as types: each error carries what was seen, what was expected and what to do next.

Everything the package raises on a user's input derives from `SurferError`; the edges (magic, command line,
panel) show `str(error)` and nothing else. An error is never raised for a value that is merely unknown: unknown
is a value that reaches the screen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

__all__ = [
    "CaptureError",
    "GpuError",
    "OptionError",
    "OriginError",
    "PredictionError",
    "SurferError",
    "TraceError",
    "UnknownGpuError",
]


_SHOWN_ENDS: Final = 300  # characters kept of each end of a text that somebody else made long


def _one_line(text: str) -> str:
    """Names in an error are others': no line break, no control or direction-changing character, not endless."""
    if len(text) > 3 * _SHOWN_ENDS:
        text = f"{text[:_SHOWN_ENDS]} … {text[-_SHOWN_ENDS:]}"
    return "".join(one if one.isprintable() else " " if one.isspace() else "\N{REPLACEMENT CHARACTER}" for one in text)


class SurferError(Exception):
    """Base of all errors of this package: one sentence of what was seen, then the remedy.

    >>> str(SurferError("no GPU work in trace.json", remedy="record with activities=[CPU, CUDA]"))
    'no GPU work in trace.json. Try: record with activities=[CPU, CUDA]'
    """

    def __init__(self, seen: str, *, remedy: str = "") -> None:
        self.seen = _one_line(seen.rstrip("."))
        self.remedy = _one_line(remedy)
        super().__init__(f"{self.seen}. Try: {self.remedy}" if self.remedy else f"{self.seen}.")


class TraceError(SurferError):
    """A file or record that cannot become a Trace: not a trace, empty, without work to predict, wrong version."""


class GpuError(SurferError):
    """A GPU row (the user's own, or of the catalogue) that breaks a rule; names the field."""


class UnknownGpuError(GpuError):
    """A GPU name that fits none, or several, of the known GPUs; `candidates` are the near matches."""

    def __init__(self, seen: str, *, candidates: Sequence[str] = (), remedy: str = "") -> None:
        self.candidates = tuple(candidates)
        super().__init__(seen, remedy=remedy)


class OptionError(SurferError):
    """An option of the magic or the command line that is unknown or has a bad value; names near matches."""


class CaptureError(SurferError):
    """Recording could not observe what was asked for; the user's own error is never wrapped in this one."""


class PredictionError(SurferError):
    """A trace and a GPU that cannot be brought together."""


class OriginError(PredictionError):
    """A trace that does not say which GPU it was recorded on; `candidates` are those that its words fit."""

    def __init__(self, seen: str, *, candidates: Sequence[str] = (), remedy: str = "") -> None:
        self.candidates = tuple(candidates)
        super().__init__(seen, remedy=remedy)

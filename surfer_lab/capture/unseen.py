"""How is a traceback shown as if nobody had recorded? Without our frames, and torch's that only we pass through."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Final

__all__ = ["leave_out_own_frames"]

_OWN: Final = str(Path(__file__).parent)
_PASSED_THROUGH: Final = (str(Path("torch") / "_ops.py"), str(Path("torch") / "utils" / "_stats.py"))


def leave_out_own_frames(error: BaseException) -> None:
    """Shorten the chain of `error.__traceback__` in place; the first entry always stays."""
    entry = error.__traceback__
    after_own = False
    while entry is not None:
        following = entry.tb_next
        while following is not None and (_is_own(following) or (after_own and _is_passed_through(following))):
            after_own = True
            following = following.tb_next
        after_own = False
        entry.tb_next = following
        entry = following


def _is_own(entry: TracebackType) -> bool:
    return entry.tb_frame.f_code.co_filename.startswith(_OWN)


def _is_passed_through(entry: TracebackType) -> bool:
    return entry.tb_frame.f_code.co_filename.endswith(_PASSED_THROUGH)

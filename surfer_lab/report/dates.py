"""Which day is it, in words? The one place where reports read the clock."""

from __future__ import annotations

import datetime

__all__ = ["today_words"]


def today_words() -> str:
    """Today as "1 May 2026"."""
    today = datetime.date.today()
    return f"{today.day} {today:%B %Y}"

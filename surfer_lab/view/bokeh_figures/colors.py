"""Which colour has which role in a figure? A theme's colours, or tokens that a page replaces by those of its theme."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Final

__all__ = ["DARK", "FIGURE_COLORS", "LIGHT", "TOKENS", "FigureColors"]


@dataclass(frozen=True, kw_only=True)
class FigureColors:
    """One colour a role, as #rrggbb."""

    ink: str  # text and axes
    muted: str  # what is beside the point
    grid: str
    paper: str  # behind the figure
    accent: str  # what is shown
    accent_soft: str  # its range
    second: str  # what is chosen
    third: str  # what was recorded
    warn: str
    bad: str
    good: str
    idle: str


LIGHT: Final = FigureColors(
    ink="#212121", muted="#757575", grid="#e0e0e0", paper="#ffffff", accent="#1565c0", accent_soft="#90caf9",
    second="#c75000", third="#6a1b9a", warn="#b26a00", bad="#c62828", good="#2e7d32", idle="#cfd8dc",
)  # fmt: skip
DARK: Final = FigureColors(
    ink="#e0e0e0", muted="#9e9e9e", grid="#424242", paper="#111111", accent="#64b5f6", accent_soft="#2b5d8a",
    second="#ffb74d", third="#ce93d8", warn="#ffb74d", bad="#ef9a9a", good="#81c784", idle="#37474f",
)  # fmt: skip
# colours that no theme has: a page finds them in a template and puts its own in their place
TOKENS: Final = FigureColors(
    ink="#5c0f01", muted="#5c0f02", grid="#5c0f03", paper="#5c0f04", accent="#5c0f05", accent_soft="#5c0f06",
    second="#5c0f07", third="#5c0f08", warn="#5c0f09", bad="#5c0f0a", good="#5c0f0b", idle="#5c0f0c",
)  # fmt: skip
FIGURE_COLORS: Final[Mapping[str, str]] = asdict(TOKENS)

"""An amount of memory that is known within bounds: at least, most likely, at most."""

from __future__ import annotations

from dataclasses import dataclass

from surfer_lab.errors import PredictionError

__all__ = ["NOTHING", "ByteRange"]


@dataclass(frozen=True, slots=True)
class ByteRange:
    """Bytes, low <= likely <= high.

    >>> ByteRange(0, 2, 5) + ByteRange.exactly(3)
    ByteRange(low=3, likely=5, high=8)
    """

    low: int
    likely: int
    high: int

    def __post_init__(self) -> None:
        if not 0 <= self.low <= self.likely <= self.high:
            raise PredictionError(f"bytes from {self.low} over {self.likely} to {self.high} are no range")

    @classmethod
    def exactly(cls, amount: int) -> ByteRange:
        """An amount that is known."""
        return cls(amount, amount, amount)

    def __add__(self, other: ByteRange) -> ByteRange:
        return ByteRange(self.low + other.low, self.likely + other.likely, self.high + other.high)


NOTHING = ByteRange(0, 0, 0)

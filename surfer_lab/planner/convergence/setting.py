"""What is chosen for a distributed run? Groups, explicit momentum, learning rate."""

from __future__ import annotations

import math
from dataclasses import dataclass

from surfer_lab.errors import OptionError

__all__ = ["Setting", "groups_text"]


@dataclass(frozen=True, kw_only=True, order=True)
class Setting:
    """One choice. `groups` compute groups (1: synchronous); `momentum` is the explicit one and may be negative."""

    groups: int
    momentum: float
    learning_rate: float

    def __post_init__(self) -> None:
        if self.groups < 1:
            raise OptionError(f"{self.groups} compute groups", remedy="1 or more")
        if not -1.0 < self.momentum < 1.0:
            raise OptionError(f"a momentum of {self.momentum!r}", remedy="more than -1 and less than 1")
        if not 0.0 < self.learning_rate < math.inf:
            raise OptionError(f"a learning rate of {self.learning_rate!r}", remedy="a positive number")

    @property
    def words(self) -> str:
        """The choice as people write it."""
        return f"g={self.groups}, momentum {self.momentum:g}, learning rate {self.learning_rate:g}"


def groups_text(count: int) -> str:
    """That many groups in words.

    >>> groups_text(1), groups_text(8)
    ('1 group', '8 groups')
    """
    return "1 group" if count == 1 else f"{count:,} groups"

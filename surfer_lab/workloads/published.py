"""Which counts did others publish for a workload, and how exactly? A count without its source is not kept.

A printed count is rounded, and authors count different parts: `without` names the modules that a source leaves out,
`sizes` those that differ from the workload's defaults, `rounding_fraction` how far the print may be off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

__all__ = ["EXACT", "PublishedCount", "Quantity"]

EXACT: Final = 0.0


class Quantity(Enum):
    """What was counted."""

    PARAMETERS = "parameters"
    FORWARD_MACS = "multiply-accumulates of one sample's forward pass"  # what many papers print as "FLOPs"


@dataclass(frozen=True, kw_only=True)
class PublishedCount:
    """One printed number.

    >>> printed = PublishedCount(quantity=Quantity.PARAMETERS, value=25.6e6, rounding_fraction=0.002, source="a paper")
    >>> printed.agrees(25_557_032)
    True
    """

    quantity: Quantity
    value: float
    source: str
    rounding_fraction: float = EXACT
    scope: str = "the whole model"
    without: tuple[str, ...] = ()  # paths of modules that the source did not count
    sizes: Mapping[str, Any] = field(default_factory=dict)

    def agrees(self, counted: float) -> bool:
        """Whether a count is the published one within its rounding."""
        return abs(counted - self.value) <= self.rounding_fraction * self.value

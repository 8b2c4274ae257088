"""What is one line of the benchmark table: something measured, its peer, the target, met or missed?"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Figure", "NotAtHand", "best_of_s"]


class NotAtHand(Exception):
    """Data or a peer that this benchmark needs is absent here; the message says which."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One measured value, beside what it is compared with.

    The target is an upper limit: of `measured / peer` where `target_is_ratio`, else of `measured` itself. `allowance`
    is added to the limit in the unit of `measured` ("1.3x its plain time plus 2 s").
    """

    name: str
    measured: float
    unit: str
    target: float
    target_is_ratio: bool = False
    allowance: float = 0.0
    peer_name: str = ""
    peer: float | None = None

    def __post_init__(self) -> None:
        if self.target_is_ratio and not self.peer:
            raise ValueError(f"{self.name}: a ratio needs a peer that was measured and is not zero")

    @property
    def ratio(self) -> float | None:
        """Measured over its peer; None without a peer."""
        return self.measured / self.peer if self.peer else None

    @property
    def limit(self) -> float:
        """The most that `measured` may be, in its unit."""
        base = self.target * self.peer if self.target_is_ratio and self.peer else self.target
        return base + self.allowance

    @property
    def is_met(self) -> bool:
        """Whether the target was met."""
        return self.measured <= self.limit

    @property
    def target_text(self) -> str:
        """The target as people say it: `at most 1.5x`, `at most 1.3x + 2 s`, `at most 0.15 s`."""
        text = f"at most {self.target:g}" + ("x" if self.target_is_ratio else f" {self.unit}")
        return f"{text} + {self.allowance:g} {self.unit}" if self.allowance else text


def best_of_s(work: Callable[[], object], *, repeats: int = 3) -> float:
    """Shortest of `repeats` wall times of `work()` in seconds: what the machine allows when nobody disturbs it."""
    times_s = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times_s.append(time.perf_counter() - began)
    return min(times_s)

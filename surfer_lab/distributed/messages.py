"""What do workers and servers say to one another? Small records, pickled by Ray."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surfer_lab.planner.convergence.run_record import MemberTimes

__all__ = ["GroupOrder", "Pull", "Push", "ShareRecord"]

F32 = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class GroupOrder:
    """One member's place: its group, its rank in it, every member's share of the batch, where the group meets."""

    phase: int
    group: int
    rank: int
    shares: tuple[int, ...]  # samples by rank
    seed: int
    meeting: str  # host:port of the group's store; "" for a group of one
    is_head_merged: bool = False

    @property
    def size(self) -> int:
        """Members."""
        return len(self.shares)

    @property
    def batch_size(self) -> int:
        """Samples of the whole group."""
        return sum(self.shares)


@dataclass(frozen=True, kw_only=True, eq=False)
class Push:
    """A group's gradient, from weights of this version; the first message of a group has none."""

    phase: int
    group: int
    version: int = -1
    gradient: F32 | None = None
    loss: float = 0.0
    samples: int = 0
    compute_s: float = 0.0
    all_reduce_s: float = 0.0
    exchange_s: float = 0.0  # of the exchange before this one, as the group saw it, less what the server did


@dataclass(frozen=True, kw_only=True, eq=False)
class Pull:
    """The server's answer: weights and their version, or none where the phase is over."""

    version: int = -1
    weights: F32 | None = None
    wait_s: float = 0.0
    service_s: float = 0.0

    @property
    def is_over(self) -> bool:
        """Whether the group is to stop."""
        return self.weights is None


@dataclass(frozen=True, kw_only=True, eq=False)
class ShareRecord:
    """What a member hands back when its group stops. `fault` where it could not go on because another one died."""

    times: MemberTimes
    fault: str = ""

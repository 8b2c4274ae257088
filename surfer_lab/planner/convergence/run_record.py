"""What is asked of a running cluster, and what comes back? One phase: one setting, from one state, until it stops.

The records are the engine's and the optimizer's common words; who runs the phase (Ray, or a simulation in a test) is
not known here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from surfer_lab.errors import OptionError
from surfer_lab.planner.convergence.setting import Setting

__all__ = [
    "UPDATE_COLUMNS",
    "MemberTimes",
    "PhaseInterrupted",
    "PhaseRecord",
    "PhaseRequest",
    "PhaseRunner",
    "PhaseStatus",
    "RunState",
]

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]

# one row an update, in the order in which the server made them
UPDATE_COLUMNS: Final = (
    "at_s",  # since the phase began
    "loss",  # of the batch, at the weights it was computed with
    "staleness",  # updates between reading and writing
    "group",
    "samples",
    "compute_s",  # the group's slowest member
    "all_reduce_s",
    "exchange_s",  # to the server and back, without waiting and being served
    "wait_s",  # for the server to be free
    "service_s",
)


@dataclass(frozen=True, kw_only=True, eq=False)
class RunState:
    """Where training is: what a checkpoint holds."""

    weights: F32
    velocity: F32
    updates: int = 0  # of all phases that were kept
    seconds: float = 0.0  # likewise


@dataclass(frozen=True, kw_only=True)
class PhaseRequest:
    """One phase. It stops at the first of its limits; at least one of them must be set."""

    setting: Setting
    batch_size: int
    max_updates: int | None = None
    max_seconds: float | None = None
    target_loss: float | None = None
    window: int = 20  # updates whose mean loss is "the loss"
    diverged_above: float = math.inf  # a loss that says so
    seed: int = 0
    keeps_iterates: bool = False

    def __post_init__(self) -> None:
        if self.max_updates is None and self.max_seconds is None:
            raise OptionError("a phase without an end", remedy="max_updates, max_seconds or both")
        if self.batch_size < 1 or self.window < 1:
            raise OptionError(f"a batch of {self.batch_size}, a window of {self.window}", remedy="1 or more")


@dataclass(frozen=True, kw_only=True, eq=False)
class MemberTimes:
    """What one worker measured of itself, one number a step."""

    worker: int
    samples: int  # its share of the batch
    compute_s: F64
    all_reduce_s: F64


@dataclass(frozen=True, kw_only=True, eq=False)
class PhaseRecord:
    """A phase that ended. `updates` is (n, columns of UPDATE_COLUMNS); `iterates` (n + 1, parameters) where kept."""

    request: PhaseRequest
    updates: F64
    members: tuple[MemberTimes, ...]
    state: RunState
    is_reached: bool = False
    is_diverged: bool = False
    is_interrupted: bool = False
    faults: tuple[str, ...] = ()  # what died and was replaced
    wall_s: float = 0.0  # of the whole phase, placing and stopping the groups included
    iterates: F32 | None = field(default=None, repr=False)

    def column(self, name: str) -> F64:
        """One column of the updates, (n,)."""
        return np.asarray(self.updates[:, UPDATE_COLUMNS.index(name)])

    @property
    def count(self) -> int:
        """Updates made."""
        return len(self.updates)

    @property
    def seconds(self) -> float:
        """From the phase's begin to its last update."""
        return float(self.updates[-1, 0]) if self.count else 0.0

    @property
    def seconds_per_update(self) -> float:
        """Mean over the phase, the first round of each group left out: nobody had to wait in it."""
        skip = min(self.request.setting.groups, self.count - 1)
        return (self.seconds - float(self.updates[skip - 1, 0])) / (self.count - skip) if skip > 0 else math.nan

    def last_loss(self, updates: int | None = None) -> float:
        """Mean of the last losses; inf where it diverged or nothing ran."""
        if self.is_diverged or not self.count:
            return math.inf
        return float(self.column("loss")[-(updates or self.request.window) :].mean())

    @property
    def staleness_histogram(self) -> F64:
        """Updates by staleness 0, 1, ...; those before every group was back once are left out."""
        late = self.column("staleness")[self.request.setting.groups :].astype(np.int64)
        return np.bincount(late if len(late) else self.column("staleness").astype(np.int64)).astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class PhaseStatus:
    """How a running phase does; for progress bars and panels."""

    updates: int
    seconds: float
    loss: float  # mean of the window
    staleness: tuple[int, ...]  # counts by lag
    is_done: bool
    checkpoint_s: float | None = None  # since the newest checkpoint


class PhaseInterrupted(KeyboardInterrupt):
    """The user interrupted a phase; `record` is what it did until then."""

    def __init__(self, record: PhaseRecord) -> None:
        self.record = record
        super().__init__()


class PhaseRunner(Protocol):
    """Whoever can run a phase: batches are divided by `samples_per_s` and `overhead_s`, (workers,) each."""

    worker_count: int
    samples_per_s: F64
    overhead_s: F64

    def run(
        self,
        request: PhaseRequest,
        state: RunState | None = None,
        *,
        told: Callable[[PhaseStatus], None] | None = None,
        keeps: bool = False,
        facts: dict[str, Any] | None = None,
    ) -> PhaseRecord:
        """Run it from this state (None: the problem's initial weights); `told` is called now and then.

        `keeps`: it is training, whose state is checkpointed with `facts` where the runner has a place for that.
        """
        ...

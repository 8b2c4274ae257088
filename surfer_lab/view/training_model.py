"""Which records hold what is shown of a planned or tuned training run? Plain lists and texts, ready for JSON.

The same record is drawn below the cell, in a report and in the panel; the kernel sends it anew as the run goes on, with
a growing `revision`, and the notebook keeps the last one.
"""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

from surfer_lab.view.model import TableTwin

__all__ = ["TRAINING_SCHEMA_VERSION", "LossCurve", "RunningPhase", "TrainingState", "TrainingView"]

TRAINING_SCHEMA_VERSION: Final = 1

TrainingState = Literal["planned", "running", "reached", "ended", "interrupted", "failed"]


class LossCurve(Struct, frozen=True, kw_only=True):
    """Loss by wall time of one phase, smoothed over its window."""

    label: str
    role: str
    seconds: list[float]
    loss: list[float]


class RunningPhase(Struct, frozen=True, kw_only=True):
    """The phase that is running: `loss` is the mean of its window, None before there is one."""

    role: str
    setting: str
    updates: int
    seconds: float
    loss: float | None


class TrainingView(Struct, frozen=True, kw_only=True):
    """All of it; a section without rows or points is left out where it is drawn."""

    title: str
    recommendation: str
    state: TrainingState
    plan: TableTwin
    workers: TableTwin
    trials: TableTwin  # the phases, in their order
    staleness: list[float]  # updates by lag, of the chosen setting
    staleness_geometric: list[float]  # as many updates, were work times exponential and alike
    staleness_note: str
    target_loss: float | None
    curves: list[LossCurve]
    decisions: list[str]
    notes: list[str]
    running: RunningPhase | None = None
    id: str = ""  # of the run; "" where it is not followed
    revision: int = 0  # grows as the run goes on
    schema_version: int = TRAINING_SCHEMA_VERSION

    @property
    def is_final(self) -> bool:
        """Whether nothing more will come."""
        return self.state != "running"

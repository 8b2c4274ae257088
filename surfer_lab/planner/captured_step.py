"""What is known of a step that is to be predicted? Its trace, how it scales with the batch, and what was assumed."""

from __future__ import annotations

from dataclasses import dataclass

from surfer_lab.planner.batch import BatchScaling
from surfer_lab.trace.model import Trace

__all__ = ["CapturedStep"]


@dataclass(frozen=True, kw_only=True)
class CapturedStep:
    """The step at its batch, and at others where `scaling` is there; `notes` are sentences."""

    trace: Trace
    scaling: BatchScaling | None = None
    notes: tuple[str, ...] = ()

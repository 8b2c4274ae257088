"""What does a what-if give? The step as it would have been, how to predict it, and what was assumed."""

from __future__ import annotations

from dataclasses import dataclass

from surfer_lab.engine.options import EngineOptions
from surfer_lab.trace.model import Trace

__all__ = ["RewriteResult"]


@dataclass(frozen=True, kw_only=True, eq=False)
class RewriteResult:
    """`predict(result.trace, gpus, options=result.options)`; `notes` are sentences for a person."""

    trace: Trace
    options: EngineOptions
    notes: tuple[str, ...] = ()

"""Is a step compiled already? Fused kernels stand in a trace as ops of two names."""

from __future__ import annotations

from surfer_lab.engine.lowering.ops.fused import FUSED_POINTWISE, FUSED_REDUCTION
from surfer_lab.trace.model import Trace

__all__ = ["is_compiled"]


def is_compiled(trace: Trace) -> bool:
    """Does the trace hold fused ops?"""
    return bool({FUSED_POINTWISE, FUSED_REDUCTION} & set(trace.ops.name.values))

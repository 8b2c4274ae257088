"""Do two Traces say the same? Row by row and field by field, whatever codes their columns use inside."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from surfer_lab.trace.columns import Interned
from surfer_lab.trace.invariants import TABLES
from surfer_lab.trace.model import Trace

__all__ = ["differences", "same"]


def same(left: Trace, right: Trace) -> bool:
    """Whether nothing tells the two apart."""
    return not differences(left, right)


def differences(left: Trace, right: Trace) -> list[str]:
    """The fields and columns in which they differ, "kernels.start_ns"; empty for equal traces."""
    found = [
        field.name
        for field in fields(Trace)
        if field.name not in TABLES and getattr(left, field.name) != getattr(right, field.name)
    ]
    for name in TABLES:
        ours, theirs = getattr(left, name), getattr(right, name)
        found += [
            f"{name}.{column.name}"
            for column in fields(ours)
            if not _equal(getattr(ours, column.name), getattr(theirs, column.name))
        ]
    return found


def _equal(left: Any, right: Any) -> bool:
    if isinstance(left, Interned):
        return isinstance(right, Interned) and left.same_as(right)
    return left.dtype == right.dtype and bool(np.array_equal(left, right))

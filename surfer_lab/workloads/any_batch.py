"""What does a step cost at any batch size? Captured from shapes at two, so that every size is known in between.

The first capture is at the batch asked about, and exact there. The second, at a prime of more than twice that, tells
how each size depends on the batch (`planner.batch`). At one sample torch leaves out copies that larger batches need, so
other batches are then read off the second capture alone, if it gives back the first one's shapes. A step whose ops
change with the batch (a loop over samples) keeps its own batch only, and that is said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np

from surfer_lab.capture import trace_symbolic
from surfer_lab.errors import CaptureError, OptionError, PredictionError
from surfer_lab.planner.batch import BatchScaling
from surfer_lab.planner.captured_step import CapturedStep
from surfer_lab.trace.model import Trace
from surfer_lab.trace.tables import TensorRole
from surfer_lab.workloads.named_step import ModelStep

__all__ = ["capture_step", "next_prime", "scaling_of"]

_BESIDE_ONE: Final = 17  # a prime that few models have in their sizes, and small enough for loops over samples
_SAME_OPS_FRACTION: Final = 0.97


def capture_step(step: ModelStep, batch_size: int | None = None) -> CapturedStep:
    """The step captured from shapes. Refused (CaptureError, OptionError): what cannot go on without data.

    A batch size that the step does not follow is refused too: its time would be that of another batch.
    """
    asked = batch_size or step.default_batch_size
    first = _capture(step, asked)
    own = asked or first.batch_size
    notes = tuple(step.notes)
    if own is None:
        return CapturedStep(trace=first, scaling=None, notes=(*notes, "no dimension was found to be the batch"))
    scaling, why = scaling_of(first, own, lambda other: _capture(step, other))
    if why == _unchanged(own):
        if batch_size is not None and batch_size != first.batch_size:
            runs_at = f", and runs at {first.batch_size:,}" if first.batch_size else ""
            raise OptionError(
                f"the step does not follow --batch-size {batch_size:,}{runs_at}",
                remedy="let the factory, or the step that it returns, take batch_size; or leave --batch-size out",
            )
        return CapturedStep(trace=first, notes=(*notes, "other batch sizes are not predicted: the step names its own"))
    return CapturedStep(trace=replace(first, batch_size=own), scaling=scaling, notes=(*notes, *why))


def scaling_of(
    first: Trace, batch_size: int, capture: Callable[[int], Trace]
) -> tuple[BatchScaling | None, tuple[str, ...]]:
    """How the step scales from its batch, by a second capture; else None and why."""
    other = next_prime(2 * batch_size) if batch_size > 1 else _BESIDE_ONE
    try:
        second = capture(other)
        if second.tensors.size_bytes.sum() == first.tensors.size_bytes.sum():
            return None, _unchanged(batch_size)
        if _own_sizes(first) != _own_sizes(second):
            return None, (f"only batch {batch_size:,} is predicted: a size of the model is {batch_size:,} too",)
        if batch_size > 1:
            scaling = BatchScaling.of_two(first, second, (batch_size, other))
            scaling.at(other + 1)  # a size that grows by a part of a whole number is paired wrongly
            return scaling, ()
        scaling = BatchScaling.of_prime(second, other)
        if _has_ops_of(scaling.at(1), first):
            return scaling, ()
        return None, ("only batch 1 is predicted: other batches run other operations",)
    except (CaptureError, PredictionError) as error:
        return None, (f"only batch {batch_size:,} is predicted: {error.seen}",)


def _unchanged(batch_size: int) -> tuple[str, ...]:
    return (f"only batch {batch_size:,} is predicted: the step stays the same at another one",)


def _own_sizes(trace: Trace) -> list[int]:
    """Sizes of the model's parameters and buffers: no batch changes them."""
    own = np.isin(trace.tensors.role, (TensorRole.PARAMETER, TensorRole.BUFFER)) & (trace.tensors.allocated_by < 0)
    return sorted(trace.tensors.size_bytes[own].tolist())


def _has_ops_of(reshaped: Trace, captured: Trace) -> bool:
    """Whether nearly all ops are the same, with the same shapes."""
    ops = [Counter(zip(trace.ops.name, trace.ops.input_shapes, strict=True)) for trace in (reshaped, captured)]
    return (ops[0] & ops[1]).total() >= _SAME_OPS_FRACTION * max(one.total() for one in ops)


def _capture(step: ModelStep, batch_size: int | None) -> Trace:
    return trace_symbolic(lambda made: step.run(made, batch_size), build=lambda: step.build(batch_size))


def next_prime(above: int) -> int:
    """The least prime above a number.

    >>> next_prime(2), next_prime(128)
    (3, 131)
    """
    number = above + 1
    while any(number % factor == 0 for factor in range(2, int(number**0.5) + 1)):
        number += 1
    return number

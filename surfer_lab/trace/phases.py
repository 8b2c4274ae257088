"""In which phase of the iteration is an op, and which forward op does a backward op belong to?

Phases by name and by place: autograd's nodes and what they call are backward; what runs inside `Optimizer.step` or
`zero_grad` is the optimizer's; c10d and NCCL calls are communication; what the data loader runs is none of them; the
rest is forward. Forward links follow the profiler's own rule (torch's profiler_kineto.cpp): of all ops with the
backward op's sequence number, the one that started last made the autograd node.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.trace.nesting import inherit
from surfer_lab.trace.pools import spread
from surfer_lab.trace.tables import Phase

__all__ = ["forward_ops", "phases"]

I8 = NDArray[np.int8]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]

_UNDECIDED: Final = -1
# "ConvolutionBackward0" since torch 1.10, "CudnnConvolutionBackward" before, inside "autograd::engine::..." since 1.9
_PHASE_BY_NAME: Final = (
    (re.compile(r"(?:_?c10d(?:_functional)?|nccl|rccl|gloo|ucc|mpi)::?|record_param_comms"), Phase.COMMUNICATION),
    (re.compile(r"autograd::|(?:struct )?torch::autograd::|.*Backward\d*$|.*_backward(?:_out)?$"), Phase.BACKWARD),
    (re.compile(r"(?:aten::)?_fused_(?:adam|adamw|sgd|adagrad)_?$"), Phase.OPTIMIZER),
)


def phases(
    name_codes: NDArray[Any],
    names: Sequence[str],
    parent: I32,
    thread: I32,
    forward_thread: I64,
    *,
    in_optimizer: NDArray[np.bool_],
    in_input: NDArray[np.bool_],
) -> I8:
    """The phase of each op, (rows,). `in_optimizer`, `in_input`: whether the op starts inside such a mark."""
    own = spread(name_codes, names, _phase_of, np.int8)
    own[(own == _UNDECIDED) & in_optimizer] = Phase.OPTIMIZER
    own[(own == _UNDECIDED) & (forward_thread > 0)] = Phase.BACKWARD  # recorded for backward ops only
    found: I8 = inherit(own, parent, absent=_UNDECIDED)
    undecided = found == _UNDECIDED
    found[undecided & in_input] = Phase.OTHER
    undecided &= ~in_input
    found[undecided] = np.where(_on_backward_thread(parent, thread, found)[undecided], Phase.BACKWARD, Phase.FORWARD)
    return found


def forward_ops(sequence: I64, forward_thread: I64, start_ns: I64, thread: I32, parent: I32, phase: I8) -> I32:
    """For each backward op, and what it calls, the forward op; -1 elsewhere. Shape (rows,)."""
    linked = np.full(len(sequence), -1, dtype=np.int32)
    # inside backward, torch before 1.10 gave every op a number of its own thread; only nodes name a forward thread
    is_node = forward_thread > 0 if (forward_thread > 0).any() else parent < 0
    backward = np.flatnonzero((phase == Phase.BACKWARD) & is_node & (sequence >= 0))
    forward = np.flatnonzero((phase == Phase.FORWARD) & (sequence >= 0))
    if not len(backward) or not len(forward):
        return linked
    thread_of = _forward_threads(sequence, forward_thread, thread, backward, forward)
    for key in np.unique(thread_of).tolist():
        asking = backward[thread_of == key]
        offered = forward[thread[forward] == key]
        if not len(offered):
            continue
        offered = offered[np.lexsort((start_ns[offered], sequence[offered]))]
        position = np.searchsorted(sequence[offered], sequence[asking], side="right") - 1
        match = offered[np.maximum(position, 0)]
        fits = (position >= 0) & (sequence[match] == sequence[asking]) & (start_ns[match] < start_ns[asking])
        linked[asking[fits]] = match[fits]
    inherited: I32 = inherit(linked, parent)
    inherited[phase == Phase.FORWARD] = -1
    return inherited


def _phase_of(name: str) -> int:
    return next((phase for pattern, phase in _PHASE_BY_NAME if pattern.match(name)), _UNDECIDED)


def _on_backward_thread(parent: I32, thread: I32, phase: I8) -> NDArray[np.bool_]:
    """Whether an op runs on a thread that is autograd's: more of its outermost ops are backward than undecided."""
    outermost = parent < 0
    count = int(thread.max(initial=-1)) + 1
    backward = np.bincount(thread[outermost & (phase == Phase.BACKWARD)], minlength=count)
    undecided = np.bincount(thread[outermost & (phase == _UNDECIDED)], minlength=count)
    on_it: NDArray[np.bool_] = (backward > undecided)[thread]
    return on_it


def _forward_threads(sequence: I64, forward_thread: I64, thread: I32, backward: I64, forward: I64) -> I64:
    """The trace's thread for each backward op's forward thread, which autograd numbers on its own (1, 2, ...).

    With several forward threads (DataParallel) numbers repeat between them; the thread that alone has most of the
    numbers is taken, and -1 where none stands out.
    """
    threads = np.unique(thread[forward])
    if len(threads) == 1:
        return np.full(len(backward), threads[0], dtype=np.int64)
    found = np.full(len(backward), -1, dtype=np.int64)
    has = np.array([np.isin(sequence[backward], sequence[forward[thread[forward] == key]]) for key in threads])
    alone = has & (has.sum(axis=0) == 1)
    for key in np.unique(forward_thread[backward]).tolist():
        rows = forward_thread[backward] == key
        votes = alone[:, rows].sum(axis=1)
        if votes.max(initial=0) > 0:
            found[rows] = threads[int(votes.argmax())]
    return found

"""When would a host launch the work of a capture without a GPU? A timeline from a model of the host.

Ops are launched in their order, each launch at the cost of an eager PyTorch program; waits for the data loader take
what they took where the ops really ran; ops that hand a value to Python wait for the GPU. So a small batch comes out
bound by launches, as it would be.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.compilation import CompileMode
from surfer_lab.engine.coverage import cover
from surfer_lab.engine.estimate import WorkItems
from surfer_lab.engine.host_launches import HOST_NS_PER_LAUNCH, launch_costs
from surfer_lab.engine.timeline import ALL_STREAMS, EventBatch, EventCode, MarkKind, Marks, Timeline, marks_of, ordered
from surfer_lab.trace.model import Trace, TraceOrigin
from surfer_lab.trace.tables import Phase

__all__ = ["HOST_NS_PER_LAUNCH", "modelled_timeline"]

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

# ops whose result Python or the allocator needs: they return when the GPU is done
_BLOCKING_OPS: Final = frozenset(
    f"aten::{name}"
    for name in (
        "_local_scalar_dense", "item", "is_nonzero", "equal", "nonzero", "masked_select", "_unique", "_unique2",
        "unique_dim", "unique_consecutive",
    )
)  # fmt: skip


def modelled_timeline(trace: Trace, items: WorkItems, compile_mode: CompileMode = CompileMode.OFF) -> Timeline:
    """Launches of `items` (the kernels of the timeline, by their order), marks of steps and loader waits."""
    recorded = marks_of(trace.steps, trace.spans, trace.wall_ns)
    op_time = _op_times(trace)
    item_time = op_time[items.op] if len(trace.ops) else np.zeros(len(items))
    phase = trace.ops.phase[items.op] if len(trace.ops) else np.zeros(len(items), dtype=np.int8)
    one, cost = launch_costs(phase, items.launch_count, compile_mode)
    loads = cover(
        recorded.time_ns[recorded.kind == MarkKind.INPUT_START], recorded.time_ns[recorded.kind == MarkKind.INPUT_END]
    )
    host = _HostClock(item_time, cost, loads.start_ns, loads.end_ns - loads.start_ns)
    begin = host.at_item + cost - one * items.launch_count
    blocks = np.flatnonzero(_is_blocking(trace))
    block_ns = host.at(op_time[blocks], after=True)
    if trace.origin is TraceOrigin.SYMBOLIC:
        marks = _one_step(max(1, len(trace.steps)), host.total_ns)
    else:
        marks = Marks(time_ns=_mark_times(host, recorded), kind=recorded.kind, row=recorded.row)
    order = np.arange(len(items))
    batches = [
        EventBatch(
            code=EventCode.LAUNCH, subject=order, slot=np.zeros(len(items), np.int64), order=order, begin_ns=begin,
            end_ns=begin + one,
        ),
        *(
            EventBatch(
                code=code, subject=np.arange(len(blocks)), slot=np.full(len(blocks), ALL_STREAMS), order=order_of_block,
                begin_ns=block_ns, end_ns=block_ns,
            )
            for code, order_of_block in (
                (EventCode.BLOCK_BEGIN, len(items) + 2 * np.arange(len(blocks))),
                (EventCode.BLOCK_END, len(items) + 2 * np.arange(len(blocks)) + 1),
            )
        ),
    ]  # fmt: skip
    return ordered(batches, marks, kernel_count=len(items), slot_count=1, record_count=0, block_count=len(blocks))


def _op_times(trace: Trace) -> F64:
    """When ops began; their order where they have no times."""
    if trace.origin is TraceOrigin.SYMBOLIC:
        return np.arange(len(trace.ops), dtype=np.float64)
    return trace.ops.start_ns.astype(np.float64)


def _is_blocking(trace: Trace) -> NDArray[np.bool_]:
    """Ops that make the host wait. An optimizer reads its step counters too, but those lie on the host."""
    waits = trace.ops.name.map(lambda name: name in _BLOCKING_OPS, absent=False, dtype=np.bool_)
    blocking: NDArray[np.bool_] = waits & (trace.ops.phase != Phase.OPTIMIZER)
    return blocking


class _HostClock:
    """Host time of a run in which launches and loader waits are all that takes time, in their recorded order."""

    def __init__(self, item_time: F64, item_cost: F64, load_time: F64, load_cost: F64) -> None:
        time = np.concatenate([load_time, item_time])
        self._order = np.argsort(time, kind="stable")
        self._time = time[self._order]
        self._spent = np.concatenate([[0.0], np.cumsum(np.concatenate([load_cost, item_cost])[self._order])])
        began = np.empty(len(time))
        began[self._order] = self._spent[:-1]
        self.at_load, self.at_item = began[: len(load_time)], began[len(load_time) :]
        self.total_ns = float(self._spent[-1])

    def at(self, time: F64, *, after: bool = False) -> F64:
        """Host time at a recorded time, before (or after) what began at that very time."""
        return self._spent[np.searchsorted(self._time, time, side="right" if after else "left")]


def _mark_times(host: _HostClock, recorded: Marks) -> F64:
    """Step marks before what begins at their time; a loader's wait ends with its cost."""
    ends = recorded.kind == MarkKind.INPUT_END
    starts = recorded.kind == MarkKind.INPUT_START
    times = host.at(recorded.time_ns)
    times[ends] = host.at(recorded.time_ns[starts], after=True)
    return times


def _one_step(step_count: int, total_ns: float) -> Marks:
    """A capture without times: every step mark spans all of it."""
    return Marks(
        time_ns=np.repeat([0.0, total_ns], step_count),
        kind=np.repeat(np.array([MarkKind.STEP_START, MarkKind.STEP_END], np.int8), step_count),
        row=np.tile(np.arange(step_count, dtype=np.int32), 2),
    )

"""What is known of one step on one GPU when it is put on several: when each gradient is ready, and what its parts take.

Relies on a predicted step: of a capture, or of a profiler's trace (its collectives taken out). In a capture the
gradients are tensors, ready when the last op that writes them ends; in a profiler's trace they are what AccumulateGrad
takes, if shapes were recorded. Blocks are the numbered parts of the model ("layers.12"); all else is block -1.
Refused (PredictionError): a step in which no gradient is found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.compilation import CompileMode
from surfer_lab.engine.compute_timeline import ComputeTimeline, compute_timeline
from surfer_lab.engine.estimate import PredictionSet
from surfer_lab.errors import PredictionError
from surfer_lab.hardware.dtypes import BYTES_BY_DTYPE
from surfer_lab.hardware.gpu import Gpu
from surfer_lab.planner.memory_need import memory_needs
from surfer_lab.planner.scaling.divided import division_factors
from surfer_lab.planner.sharding import block_path
from surfer_lab.trace.model import Trace, TraceOrigin
from surfer_lab.trace.tables import Phase, TensorRole

__all__ = ["BlockTimes", "GradientTimeline", "StepProfile", "profile_of"]

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
B = NDArray[np.bool_]

_ACCUMULATE: Final = "torch::autograd::AccumulateGrad"
_PRODUCTS: Final = ("mm", "matmul", "attention", "conv", "linear")


@dataclass(frozen=True, kw_only=True)
class BlockTimes:
    """One block of the model, ns of one step; `split_` is what tensor parallelism divides, of it."""

    name: str
    forward_ns: float
    backward_ns: float
    optimizer_ns: float
    split_forward_ns: float
    split_backward_ns: float
    parameter_bytes: int
    input_bytes: int  # what enters it from the block before: of all samples


@dataclass(frozen=True, kw_only=True, eq=False)
class GradientTimeline:
    """What data parallelism needs to know of one rank's step: gradients in the order in which they become ready."""

    gradient_bytes: I64
    gradient_ready_ns: F64
    backward_end_ns: float  # the last gradient
    optimizer_ns: float  # from there to the step's end
    copy_bytes_per_s: float  # read and written memory, of a copy
    sm_count: int
    gradient_of_table: B | None = None  # of an embedding table
    table_output_bytes: int = 0
    dense_ns: tuple[float, float] = (0.0, 0.0)  # forward, backward of a network that one rank runs for all
    lookup_ns: tuple[float, float] = (0.0, 0.0)  # of the tables


@dataclass(frozen=True, kw_only=True, eq=False)
class StepProfile:
    """One step on one GPU. Gradients are in the order in which they become ready, (gradients,)."""

    gpu: Gpu
    batch_size: int | None
    step_ns: float
    low_ns: float
    high_ns: float
    gradient_bytes: I64
    gradient_ready_ns: F64
    gradient_of_table: B  # of an embedding table
    table_output_bytes: int  # what the lookups give, of all samples
    backward_end_ns: float  # the last gradient
    optimizer_ns: float  # from there to the step's end
    parameter_bytes: int
    trace: Trace
    item: I64
    item_start_ns: F64
    item_end_ns: F64
    prediction: PredictionSet
    gpu_index: int
    division: dict[int, F64] = field(default_factory=dict)  # factors found so far, by ranks; shared by scaled copies

    def module_ns(self, prefix: str) -> tuple[float, float]:
        """Forward and backward time of a part of the model, named by how its path begins."""
        ops = self.trace.ops
        item_op = np.maximum(self.prediction.items.op[self.item], 0)
        inside = ops.module.map(lambda path: (path or "").startswith(prefix), absent=False, dtype=np.bool_)[item_op]
        length, phase = _lengths(self), ops.phase[item_op]
        return float(length[inside & (phase == Phase.FORWARD)].sum()), float(
            length[inside & (phase != Phase.FORWARD)].sum()
        )

    def gradients(self, dense_on_one: str = "", tables: str = "") -> GradientTimeline:
        """When each gradient is ready; with names of parts of the model, their times too."""
        return GradientTimeline(
            dense_ns=self.module_ns(dense_on_one) if dense_on_one else (0.0, 0.0),
            lookup_ns=self.module_ns(tables) if tables else (0.0, 0.0),
            gradient_bytes=self.gradient_bytes,
            gradient_ready_ns=self.gradient_ready_ns,
            backward_end_ns=self.backward_end_ns,
            optimizer_ns=self.optimizer_ns,
            copy_bytes_per_s=self.gpu.sustained_bandwidth.per_s,
            sm_count=self.gpu.sm_count,
            gradient_of_table=self.gradient_of_table,
            table_output_bytes=self.table_output_bytes,
        )

    @cached_property
    def needed_bytes(self) -> int | None:
        """Memory of the step on this GPU alone, most likely; None where the step says nothing of it."""
        need = memory_needs(self.trace, [self.gpu])[0]
        return None if need is None else need.likely_bytes

    @cached_property
    def blocks(self) -> tuple[BlockTimes, ...]:
        """What comes before the first block, the blocks in order, and what comes after the last. At least one."""
        return _blocks(self, 1)

    @property
    def has_attention(self) -> bool:
        """Whether it is a transformer's step: of a capture, by its operations."""
        names = {name or "" for name in self.trace.ops.name}
        return any("attention" in name or ("softmax" in name and "log_softmax" not in name) for name in names)

    def divided_blocks(self, ranks: int) -> tuple[BlockTimes, ...]:
        """The blocks as one rank of a tensor-parallel group runs them; parameters stay whole."""
        return _blocks(self, ranks)

    def scaled(self, factor: float) -> StepProfile:
        """The same step with all times multiplied."""
        return replace(
            self,
            step_ns=self.step_ns * factor,
            low_ns=self.low_ns * factor,
            high_ns=self.high_ns * factor,
            gradient_ready_ns=self.gradient_ready_ns * factor,
            backward_end_ns=self.backward_end_ns * factor,
            optimizer_ns=self.optimizer_ns * factor,
            item_start_ns=self.item_start_ns * factor,
            item_end_ns=self.item_end_ns * factor,
        )


def profile_of(
    prediction: PredictionSet,
    gpu_index: int = 0,
    *,
    batch_size: int | None = None,
    compiled: CompileMode = CompileMode.OFF,
    host_factor: float = 1.0,
) -> StepProfile:
    """The step of one GPU of a prediction."""
    trace = prediction.trace
    line = compute_timeline(prediction, gpu_index, compiled=compiled, host_factor=host_factor)
    sizes, ready, of_table = _gradients(prediction, line)
    if not len(sizes):
        raise PredictionError(
            "no gradient is found in the step, so there is nothing to send between GPUs",
            remedy="a training step: captured by predict-model or --no-run, or traced with record_shapes=True",
        )
    order = np.argsort(ready, kind="stable")
    last = float(ready.max())
    communication = float(prediction.steps.communication_ns[gpu_index])
    likely = float(prediction.steps.step_ns[gpu_index])
    tensors = trace.tensors
    parameters = int(tensors.size_bytes[tensors.role == TensorRole.PARAMETER].sum()) if len(tensors) else 0
    return StepProfile(
        gpu=prediction.gpus[gpu_index],
        batch_size=batch_size if batch_size is not None else trace.batch_size,
        step_ns=line.step_ns,
        low_ns=line.step_ns * _ratio(float(prediction.steps.low_ns[gpu_index]) - communication, likely - communication),
        high_ns=line.step_ns
        * _ratio(float(prediction.steps.high_ns[gpu_index]) - communication, likely - communication),
        gradient_bytes=sizes[order],
        gradient_ready_ns=ready[order],
        gradient_of_table=of_table[order],
        table_output_bytes=_table_output_bytes(trace),
        backward_end_ns=last,
        optimizer_ns=max(0.0, line.step_ns - last),
        parameter_bytes=parameters or int(sizes.sum()),
        trace=trace,
        item=line.item,
        item_start_ns=line.start_ns,
        item_end_ns=line.end_ns,
        prediction=prediction,
        gpu_index=gpu_index,
    )


def _ratio(end: float, likely: float) -> float:
    return max(0.0, end) / likely if likely > 0 else 1.0


def _gradients(prediction: PredictionSet, line: ComputeTimeline) -> tuple[I64, F64, B]:
    if prediction.trace.origin is TraceOrigin.PROFILER:
        return _recorded_gradients(prediction, line)
    trace = prediction.trace
    tensors, uses = trace.tensors, trace.uses
    # a gradient of what is no parameter (rows looked up in a table) stays where it is
    of_parameters = np.isin(tensors.size_bytes, tensors.size_bytes[tensors.role == TensorRole.PARAMETER])
    made = np.flatnonzero((tensors.role == TensorRole.GRADIENT) & (tensors.allocated_by >= 0) & of_parameters)
    written = tensors.allocated_by.astype(np.int64).copy()
    if len(uses):
        writes = uses.is_write & (trace.ops.phase[uses.op] != Phase.OPTIMIZER)
        np.maximum.at(written, uses.tensor[writes], uses.op[writes])
    of_table = np.array(["embedding" in (trace.ops.name[op] or "") for op in tensors.allocated_by[made]], dtype=bool)
    return tensors.size_bytes[made].astype(np.int64), _done_after(prediction, line, written[made]), of_table


def _table_output_bytes(trace: Trace) -> int:
    """Bytes that the forward pass looks up in embedding tables."""
    tensors = trace.tensors
    if not len(tensors):
        return 0
    looks_up = np.array(
        [
            phase == Phase.FORWARD and "embedding" in (name or "")
            for name, phase in zip(trace.ops.name, trace.ops.phase, strict=True)
        ]
        + [False]
    )
    return int(tensors.size_bytes[looks_up[tensors.allocated_by]].sum())


def _recorded_gradients(prediction: PredictionSet, line: ComputeTimeline) -> tuple[I64, F64, B]:
    """What AccumulateGrad was given in the step, ready when the work launched before its end is done."""
    ops = prediction.trace.ops
    if not len(line.item):
        return np.zeros(0, np.int64), np.zeros(0), np.zeros(0, dtype=bool)
    of_step = prediction.items.op[line.item]
    known = of_step[of_step >= 0]
    if not len(known):
        return np.zeros(0, np.int64), np.zeros(0), np.zeros(0, dtype=bool)
    first, last = int(known.min()), int(known.max())
    found, sizes = [], []
    for op in range(first, last + 1):
        if not (ops.name[op] or "").endswith(_ACCUMULATE):
            continue
        shapes, dtypes = ops.input_shapes[op], ops.input_dtypes[op]
        shape = shapes[0] if shapes else None
        if shape is None or any(isinstance(one, tuple) for one in shape):
            continue
        width = BYTES_BY_DTYPE.get((dtypes[0] if dtypes else None) or "float32", 4)
        found.append(op)
        sizes.append(int(np.prod([int(one) for one in shape if not isinstance(one, tuple)], dtype=np.int64)) * width)
    done = _done_after(prediction, line, np.array(found, dtype=np.int64))
    return np.array(sizes, dtype=np.int64), done, np.zeros(len(sizes), dtype=bool)


def _done_after(prediction: PredictionSet, line: ComputeTimeline, op: I64) -> F64:
    """When the items of the ops up to each op are done."""
    of_item = prediction.items.op[line.item].astype(np.int64)
    by_op = np.argsort(of_item, kind="stable")
    reached = np.maximum.accumulate(line.end_ns[by_op]) if len(by_op) else np.zeros(0)
    place = np.searchsorted(of_item[by_op], op, side="right") - 1
    done: F64 = np.where(place >= 0, reached[np.maximum(place, 0)] if len(reached) else 0.0, 0.0)
    return done


def _blocks(profile: StepProfile, ranks: int) -> tuple[BlockTimes, ...]:
    trace, prediction = profile.trace, profile.prediction
    ops, tensors = trace.ops, trace.tensors
    paths = [block_path(path) for path in ops.module.values]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(name for name in paths if name))}
    of_value = np.array([numbers.get(name, -1) for name in paths] + [-1], dtype=np.int64)
    op_block = of_value[ops.module.codes]
    count = max(1, len(numbers))
    item_op = prediction.items.op[profile.item].astype(np.int64)
    block = np.where(item_op >= 0, op_block[np.maximum(item_op, 0)], -1) if len(ops) else np.full(len(item_op), -1)
    phase = np.where(item_op >= 0, ops.phase[np.maximum(item_op, 0)], Phase.OTHER) if len(ops) else block
    slot = _slots(block, phase, count)
    length = _lengths(profile)
    split = _is_split(trace, item_op)
    if ranks > 1:
        if ranks not in profile.division:
            profile.division[ranks] = division_factors(trace, profile.gpu, ranks, _residual_shape(trace), item_op)
        length = np.where(split, length * profile.division[ranks], length)

    def summed(chosen: B) -> F64:
        return np.bincount(slot[chosen], weights=length[chosen], minlength=count + 2).astype(np.float64)

    backward = phase == Phase.BACKWARD
    optimizer = profile.item_start_ns >= profile.backward_end_ns
    forward = ~backward & ~optimizer
    times = [
        summed(chosen) for chosen in (forward, backward & ~optimizer, forward & split, backward & split & ~optimizer)
    ]
    weights = _parameters(trace, op_block, count)
    whole = max(1.0, float(weights.sum()))
    entering = _entering(trace, op_block, count)
    names = ["before the blocks", *(numbers or {"the model": 0}), "after the blocks"]
    unplaced = profile.parameter_bytes if not len(tensors) else 0
    return tuple(
        BlockTimes(
            name=names[at],
            forward_ns=float(times[0][at]),
            backward_ns=float(times[1][at]),
            optimizer_ns=profile.optimizer_ns * (float(weights[at]) / whole if weights.sum() else float(at == 1)),
            split_forward_ns=float(times[2][at]),
            split_backward_ns=float(times[3][at]),
            parameter_bytes=(unplaced if at == 1 else 0) if unplaced else int(weights[at]),
            input_bytes=int(entering[at]),
        )
        for at in range(count + 2)
    )


def _slots(block: I64, phase: NDArray[np.integer], count: int) -> I64:
    """0 before the blocks, 1.. the blocks, count + 1 after them; forward order tells, backward mirrors it."""
    slot = np.where(block >= 0, block + 1, 0)
    inside = np.flatnonzero((block >= 0) & (phase != Phase.BACKWARD))
    if len(inside):
        later = (block < 0) & (np.arange(len(block)) > inside[-1])
        in_backward = np.flatnonzero((block >= 0) & (phase == Phase.BACKWARD))
        ends = in_backward[-1] if len(in_backward) else len(block)
        slot[later & (np.arange(len(block)) < ends)] = count + 1
    else:
        slot[block < 0] = 1
    return slot.astype(np.int64)


def _lengths(profile: StepProfile) -> F64:
    """What each item takes of the step, the time before it until the one before ended with it; they sum to the step."""
    ends = np.maximum.accumulate(profile.item_end_ns) if len(profile.item_end_ns) else np.zeros(0)
    lengths: F64 = np.diff(ends, prepend=0.0)
    return lengths


def _is_split(trace: Trace, item_op: I64) -> B:
    """Whether tensor parallelism divides an item: a product, or pointwise work inside a block's two halves.

    What runs on the residual stream (its shape enters most norms) is done by every rank whole.
    """
    ops = trace.ops
    residual = _residual_shape(trace)
    width = residual[-1] if residual else 0
    tokens = int(np.prod(residual[:-1])) if residual else 0

    def splits(name: str, shapes: Sequence[object]) -> bool:
        if any(word in name for word in _PRODUCTS):
            return True
        first = next((shape for shape in shapes if isinstance(shape, tuple) and shape), None)
        if first is None or any(isinstance(one, tuple) for one in first):
            return first is not None
        return first[-1] != width or int(np.prod(first)) != tokens * width

    of_op = np.array(
        [splits(name or "", shapes or ()) for name, shapes in zip(ops.name, ops.input_shapes, strict=True)] + [False]
    )
    is_norm = np.array(["norm" in (name or "") for name in ops.name] + [False])
    chosen: B = (of_op & ~is_norm)[item_op]
    return chosen


def _residual_shape(trace: Trace) -> tuple[int, ...]:
    """The shape that most norms take."""
    counted: dict[tuple[int, ...], int] = {}
    for name, shapes in zip(trace.ops.name, trace.ops.input_shapes, strict=True):
        if name and "norm" in name and shapes and isinstance(shapes[0], tuple) and shapes[0]:
            shape = tuple(one for one in shapes[0] if isinstance(one, int))
            counted[shape] = counted.get(shape, 0) + 1
    return max(counted, key=lambda shape: counted[shape]) if counted else ()


def _parameters(trace: Trace, op_block: I64, count: int) -> I64:
    """Bytes of the parameters that each slot reads first."""
    tensors, uses = trace.tensors, trace.uses
    found = np.zeros(count + 2, dtype=np.int64)
    if not len(tensors) or not len(uses):
        return found
    reader = np.full(len(tensors), -1, dtype=np.int64)
    reads = np.flatnonzero(~uses.is_write)[::-1]
    reader[uses.tensor[reads]] = uses.op[reads]  # the first one wins
    parameter = np.flatnonzero(tensors.role == TensorRole.PARAMETER)
    block = np.where(reader[parameter] >= 0, op_block[np.maximum(reader[parameter], 0)], -1)
    in_blocks = np.flatnonzero(op_block >= 0)
    forward_end = 0
    if len(in_blocks):
        forward = in_blocks[trace.ops.phase[in_blocks] == Phase.FORWARD]
        forward_end = int(forward[-1]) if len(forward) else int(in_blocks[-1])
    slot = np.where(block >= 0, block + 1, np.where(reader[parameter] > forward_end, count + 1, 0))
    if not len(in_blocks):
        slot = np.ones(len(parameter), dtype=np.int64)
    np.add.at(found, slot, tensors.size_bytes[parameter])
    return found


def _entering(trace: Trace, op_block: I64, count: int) -> I64:
    """Bytes that enter each block from the one before: the largest such activation."""
    tensors, uses = trace.tensors, trace.uses
    found = np.zeros(count + 2, dtype=np.int64)
    if not len(tensors) or not len(uses):
        return found
    made_in = np.where(tensors.allocated_by >= 0, op_block[np.maximum(tensors.allocated_by, 0)], -1)
    passes = np.isin(tensors.role, (TensorRole.ACTIVATION, TensorRole.TEMPORARY)) & (tensors.allocated_by >= 0)
    forward = trace.ops.phase == Phase.FORWARD
    reads = ~uses.is_write & forward[uses.op] & (op_block[uses.op] >= 0)
    reader, tensor = op_block[uses.op[reads]], uses.tensor[reads]
    enters = passes[tensor] & (made_in[tensor] != reader)
    np.maximum.at(found, reader[enters] + 1, tensors.size_bytes[tensor[enters]])
    return found

"""Captured steps written by hand, with what each op reads and writes.

graph = Graph()
graph.before("w", (16, 8), TensorRole.PARAMETER)
product = graph.op("mm", ["x", "w"], {"y": (4, 16)})
trace = graph.trace()
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from surfer_lab.hardware.dtypes import BYTES_BY_DTYPE
from surfer_lab.trace.columns import Interned
from surfer_lab.trace.model import Trace, TraceOrigin
from surfer_lab.trace.tables import (
    OpTable,
    Phase,
    Shape,
    SpanTable,
    StepSource,
    StepTable,
    TensorRole,
    TensorTable,
    TensorUseTable,
)
from tests.planner.captured import Captured


@dataclass
class _Storage:
    shape: Shape
    role: TensorRole
    dtype: str
    made: int
    used: int = -1
    is_kept: bool = False


@dataclass
class _Op:
    name: str
    phase: Phase
    reads: list[str]
    shapes: list[Shape]
    dtypes: list[str]
    writes: list[str]
    arguments: tuple[str, ...]
    forward: int


@dataclass
class Graph:
    """Ops in order; float32 unless told. A result that names an existing tensor is written in place."""

    storages: dict[str, _Storage] = field(default_factory=dict)
    ops: list[_Op] = field(default_factory=list)

    def before(self, name: str, shape: Shape, role: TensorRole = TensorRole.INPUT, dtype: str = "float32") -> str:
        self.storages[name] = _Storage(shape, role, dtype, -1, is_kept=True)
        return name

    def op(
        self,
        name: str,
        reads: Sequence[str],
        writes: Mapping[str, Shape] | Sequence[str] = (),
        *,
        phase: Phase = Phase.FORWARD,
        forward: int = -1,
        dtype: str = "float32",
        gradients: Sequence[str] = (),
        kept: Sequence[str] = (),
        arguments: tuple[str, ...] = (),
    ) -> int:
        """The number of the op. `gradients` of the results are parameters'; `kept` outlive the step."""
        number = len(self.ops)
        made = dict(writes) if isinstance(writes, Mapping) else {}
        for result, shape in made.items():
            role = TensorRole.GRADIENT if result in gradients else TensorRole.TEMPORARY
            self.storages[result] = _Storage(
                shape, role, dtype, number, is_kept=result in kept or result in gradients
            )  # fmt: skip
        for read in reads:
            self.storages[read].used = number
        inputs = [self.storages[read] for read in reads]
        self.ops.append(
            _Op(
                f"aten::{name}", phase, list(reads), [one.shape for one in inputs], [one.dtype for one in inputs],
                list(writes), arguments, forward,
            )
        )  # fmt: skip
        return number

    def trace(self, origin: TraceOrigin = TraceOrigin.SYMBOLIC, batch_size: int | None = None) -> Trace:
        count, names = len(self.ops), list(self.storages)
        uses = [
            (at, names.index(name), position, is_write)
            for at, op in enumerate(self.ops)
            for group, is_write in ((op.reads, False), (op.writes, True))
            for position, name in enumerate(group)
        ]
        empty = Captured().trace()
        kept = list(self.storages.values())
        return Trace(
            origin=origin, device=None, host_calls=empty.host_calls, kernels=empty.kernels, memory=empty.memory,
            ops=OpTable(
                name=Interned.of(op.name for op in self.ops),
                phase=np.array([int(op.phase) for op in self.ops], np.int8),
                start_ns=np.zeros(count, np.int64), duration_ns=np.zeros(count, np.int64),
                thread=np.zeros(count, np.int32), parent=np.full(count, -1, np.int32),
                input_shapes=Interned.of(tuple(op.shapes) for op in self.ops),
                input_dtypes=Interned.of(tuple(op.dtypes) for op in self.ops),
                output_shapes=Interned.of(tuple(self.storages[name].shape for name in op.writes) for op in self.ops),
                output_dtypes=Interned.of(tuple(self.storages[name].dtype for name in op.writes) for op in self.ops),
                arguments=Interned.of(op.arguments for op in self.ops),
                memory_format=np.ones(count, np.int8), module=Interned.absent(count), source=Interned.absent(count),
                sequence=np.arange(count, dtype=np.int64) if not count else self._sequences(),
                forward_op=np.array([op.forward for op in self.ops], np.int32),
            ),
            spans=SpanTable(
                name=Interned.absent(0), kind=np.zeros(0, np.int8), start_ns=np.zeros(0, np.int64),
                duration_ns=np.zeros(0, np.int64), thread=np.zeros(0, np.int32),
            ),
            steps=StepTable(
                number=np.array([1]), start_ns=np.array([0]), end_ns=np.array([0]), complete=np.array([True])
            ),
            step_source=StepSource.OPTIMIZER,
            tensors=TensorTable(
                size_bytes=np.array([math.prod(one.shape) * BYTES_BY_DTYPE[one.dtype] for one in kept], np.int64),
                role=np.array([int(one.role) for one in kept], np.int8),
                dtype=Interned.of(one.dtype for one in kept),
                allocated_by=np.array([one.made for one in kept], np.int32),
                last_used_by=np.array([one.used for one in kept], np.int32),
                freed_after=np.array([-1 if one.is_kept else max(one.used, one.made) for one in kept], np.int32),
            ),
            uses=TensorUseTable(
                op=np.array([use[0] for use in uses], np.int32), tensor=np.array([use[1] for use in uses], np.int32),
                position=np.array([use[2] for use in uses], np.int16),
                is_write=np.array([use[3] for use in uses], np.bool_),
            ),
            wall_ns=0, batch_size=batch_size,
        )  # fmt: skip

    def _sequences(self) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        """A gradient op has the number of its forward op."""
        return np.array([op.forward if op.forward >= 0 else at for at, op in enumerate(self.ops)], np.int64)


def perceptron(batch: int = 32, width: int = 64) -> Trace:
    """A training step of two linear layers with a relu between, mean squared error, plain SGD over lists."""
    graph = Graph()
    graph.before("x", (batch, width))
    graph.before("target", (batch, width))
    for layer in "ab":
        graph.before(f"w{layer}", (width, width), TensorRole.PARAMETER)
        graph.before(f"b{layer}", (width,), TensorRole.PARAMETER)
    square, row = (batch, width), (1, width)
    first = graph.op("addmm", ["ba", "x", "wa"], {"h": square})
    bend = graph.op("relu", ["h"], {"r": square})
    second = graph.op("addmm", ["bb", "r", "wb"], {"y": square})
    loss = graph.op("mse_loss", ["y", "target"], {"loss": ()})
    graph.op("ones_like", ["loss"], {"seed": ()})
    back = {"phase": Phase.BACKWARD}
    graph.op("mse_loss_backward", ["seed", "y", "target"], {"dy": square}, forward=loss, **back)  # type: ignore[arg-type]
    graph.op("mm", ["dy", "wb"], {"dr": square}, forward=second, **back)  # type: ignore[arg-type]
    graph.op("mm", ["r", "dy"], {"dwb": (width, width)}, forward=second, gradients=["dwb"], **back)  # type: ignore[arg-type]
    graph.op("sum", ["dy"], {"dbb": row}, forward=second, gradients=["dbb"], **back)  # type: ignore[arg-type]
    graph.op("threshold_backward", ["dr", "r"], {"dh": square}, forward=bend, **back)  # type: ignore[arg-type]
    graph.op("mm", ["x", "dh"], {"dwa": (width, width)}, forward=first, gradients=["dwa"], **back)  # type: ignore[arg-type]
    graph.op("sum", ["dh"], {"dba": row}, forward=first, gradients=["dba"], **back)  # type: ignore[arg-type]
    for layer in "ab":
        graph.op("add_", [f"w{layer}", f"dw{layer}"], [f"w{layer}"], phase=Phase.OPTIMIZER)
        graph.op("add_", [f"b{layer}", f"db{layer}"], [f"b{layer}"], phase=Phase.OPTIMIZER)
    return graph.trace(batch_size=batch)

"""Rules for ops that stream their operands once: elementwise, copies, fills, reductions, gathers.

A rule is a record: which arguments are read, how many FLOPs an element costs, what is written. All are bound by bytes;
the FLOP counts are rough (1 for an add, ten for a transcendental) and only keep the roofline honest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from surfer_lab.engine.lowering.call import Call, Unrecorded, broadcast, itemsize_of, numel, rate_class_of
from surfer_lab.engine.lowering.families import Family
from surfer_lab.engine.lowering.grid import (
    POINTWISE_THREADS,
    REDUCTION_THREADS,
    multi_tensor_launches,
    pointwise_blocks,
    reduction_blocks,
)
from surfer_lab.engine.lowering.work import KernelWork
from surfer_lab.trace.tables import Shape

__all__ = ["TRANSCENDENTAL_FLOP", "Foreach", "Moving", "NoKernel", "Pointwise", "Reduction", "pointwise_work"]

TRANSCENDENTAL_FLOP: Final = 10.0  # exp, tanh, erf: special function unit plus range reduction, order of magnitude


def pointwise_work(
    family: Family,
    *,
    elements: int,
    read_bytes: float,
    write_bytes: float,
    flop_per_element: float,
    dtype: str | None,
    launch_count: int = 1,
    reason: str = "",
) -> KernelWork:
    """One elementwise kernel over `elements` results; sizes as given."""
    return KernelWork(
        family=family,
        flop=flop_per_element * elements,
        read_bytes=read_bytes,
        write_bytes=write_bytes,
        rate_class=rate_class_of(dtype, matrix=False),
        blocks=pointwise_blocks(elements),
        threads=POINTWISE_THREADS,
        launch_count=launch_count,
        reason=reason,
    )


@dataclass(frozen=True, kw_only=True)
class NoKernel:
    """Views and metadata: nothing is launched."""

    def __call__(self, call: Call) -> tuple[KernelWork, ...]:
        return ()


@dataclass(frozen=True, kw_only=True)
class Pointwise:
    """Elementwise over the broadcast of its first `operands` arguments.

    `extra_reads` names arguments read besides; `result_itemsize` overrides the operands' (1 for comparisons);
    `results` how many tensors of the broadcast shape are written; `reads_self` False for plain overwrites.
    """

    family: Family
    operands: int
    flop: float = 1.0
    result_itemsize: int | None = None
    results: int = 1
    extra_reads: tuple[int, ...] = ()

    def __call__(self, call: Call) -> tuple[KernelWork, ...]:
        operands = list(call.tensors(self.operands))
        if not operands:
            raise Unrecorded(f"{call.name}: no shape of an operand recorded")
        in_place = call.name.endswith("_")
        shape = call.output() or (operands[0][1] if in_place else broadcast([shape for _, shape in operands]))
        elements = numel(shape)
        if elements == 0:
            return ()
        positions = {position for position, _ in operands} | set(self.extra_reads)
        written = call.output_bytes()
        if written is None:
            # a zero-dimensional operand does not decide the result's dtype unless all are
            sizes = [call.itemsize(position) for position, own in operands if own or not shape]
            size = self.result_itemsize or max(sizes)
            written = elements * size * self.results
        return (
            pointwise_work(
                self.family,
                elements=elements,
                read_bytes=sum(call.bytes_of(position) for position in positions),
                write_bytes=written,
                flop_per_element=self.flop,
                dtype=call.dtype(operands[0][0]),
            ),
        )


@dataclass(frozen=True, kw_only=True)
class Reduction:
    """Reads its first `operands` tensors once, writes a result that the arguments or the outputs give.

    `axes` is the position of the reduced dimensions (None: always to one value), `keep` of keepdim.
    """

    family: Family = Family.REDUCTION
    operands: int = 1
    flop: float = 1.0
    axes: int | None = 1
    passes: int = 1
    index_result: bool = False  # an int64 index beside (or in place of) each value
    launch_count: int = 1

    def __call__(self, call: Call) -> tuple[KernelWork, ...]:
        tensors = list(call.tensors())[: self.operands]
        if not tensors:
            raise Unrecorded(f"{call.name}: no shape of an operand recorded")
        first, shape = tensors[0]
        elements = numel(shape)
        written = call.output_bytes()
        output = call.output()
        outputs = numel(output) if output is not None else self._outputs(call, shape, elements)
        if written is None:
            written = outputs * (call.itemsize(first) + (8 if self.index_result else 0))
        return (
            KernelWork(
                family=self.family,
                flop=self.flop * elements,
                read_bytes=float(self.passes * sum(call.bytes_of(position) for position, _ in tensors)),
                write_bytes=float(written),
                rate_class=rate_class_of(call.dtype(first), matrix=False),
                blocks=reduction_blocks(elements, outputs),
                threads=REDUCTION_THREADS,
                launch_count=self.launch_count,
            ),
        )

    def _outputs(self, call: Call, shape: Shape, elements: int) -> int:
        axes = call.ints(self.axes) if self.axes is not None else None
        if axes is None or not shape:
            return 1  # to one value, or dimensions not recorded: the result is small beside the operand either way
        kept = elements
        for axis in {axis % len(shape) for axis in axes if -len(shape) <= axis < len(shape)}:
            kept //= max(1, shape[axis])
        return kept


@dataclass(frozen=True, kw_only=True)
class Moving:
    """Reads and writes given by two functions of the call (bytes): gathers, scatters, pads, fills, concatenation."""

    family: Family
    read: Callable[[Call], float]
    write: Callable[[Call], float]
    flop: float = 0.0
    launch_count: int = 1

    def __call__(self, call: Call) -> tuple[KernelWork, ...]:
        if not call.has_shapes():
            raise Unrecorded(f"{call.name}: no shapes recorded")
        read, written = self.read(call), self.write(call)
        dtype = call.lead_dtype() or call.output_dtype()
        elements = int(max(read, written) // itemsize_of(dtype))
        if read <= 0 and written <= 0:
            return ()
        return (
            pointwise_work(
                self.family,
                elements=max(1, elements),
                read_bytes=float(read),
                write_bytes=float(written),
                flop_per_element=self.flop,
                dtype=dtype,
                launch_count=self.launch_count,
            ),
        )


@dataclass(frozen=True, kw_only=True)
class Foreach:
    """Elementwise over lists of tensors: `read` and `write` say how often the first list's bytes move.

    Scalar lists cost nothing. The launch count follows PyTorch's multi-tensor apply.
    """

    read: float
    write: float
    flop: float
    lists: int
    family: Family = Family.OPTIMIZER
    first: int = 0

    def __call__(self, call: Call) -> tuple[KernelWork, ...]:
        shapes = call.need_list(self.first)
        sizes = tuple(numel(shape) for shape in shapes)
        moved = sum(sizes) * call.itemsize(self.first)
        launches, blocks = multi_tensor_launches(sizes, self.lists)
        return (
            KernelWork(
                family=self.family,
                flop=self.flop * sum(sizes),
                read_bytes=self.read * moved,
                write_bytes=self.write * moved,
                rate_class=rate_class_of(call.dtype(self.first), matrix=False),
                blocks=blocks,
                threads=512,
                launch_count=launches,
            ),
        )

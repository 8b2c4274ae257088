"""What is predicted as one, and with which facts? One item a kernel of a profiler trace, or the kernels an op of a
capture without a GPU would launch.

`Work` is the engine's own view of the items: numbers of `lowering` as columns, indices in place of names.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.estimate import WorkItems
from surfer_lab.engine.lowering import Family, Fusion, Lowered, Source, lower, lower_kernels, traits
from surfer_lab.engine.rates import CLASS_INDEX
from surfer_lab.engine.utilisation import ALIGNED_TO, UTILISATION, Utilisation
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.trace.columns import Interned
from surfer_lab.trace.model import Trace, TraceOrigin
from surfer_lab.trace.tables import ArgShapes, KernelKind, MemoryFormat

__all__ = ["Transfer", "Work", "work_of"]

I8 = NDArray[np.int8]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
F64 = NDArray[np.float64]
B = NDArray[np.bool_]

_UNKNOWN_UTILISATION: Final = Utilisation()
_SOURCES: Final = tuple(Source)
_NONE: Final = _SOURCES.index(Source.NONE)
_STREAMING: Final = (Family.OPTIMIZER, Family.MEMCPY, Family.COMMUNICATION)  # move bytes like pointwise work


class Transfer:
    """What a copy crosses; codes of `Work.transfer`."""

    NONE: Final = 0  # no copy, or one inside the device
    PINNED: Final = 1  # host link, direct
    STAGED: Final = 2  # host link by way of pageable memory
    PEER: Final = 3  # to another GPU
    HOST_LINK: Final = (1, 2)


@dataclass(frozen=True, kw_only=True, eq=False)
class Work:
    """Columns (items,). `measured_ns` is nan where nothing was measured; counts that are not known are 0."""

    items: WorkItems
    measured_ns: F64
    family: tuple[Family | None, ...]  # by `family_code`
    family_code: I32
    base_class: I8  # index into rates.RATE_CLASSES, by dtype: TF32 is FP32 here
    tf32: I8  # Tf32Switch
    ran_tf32: B  # recorded on TF32, by the kernel's name
    arithmetic: B
    reducing: B  # norms, reductions and what else is neither pointwise nor a product
    memory_bound: B
    matrix_gain: F64
    compute_fraction: F64
    matrix_fraction: F64
    memory_fraction: F64
    blocks: F64
    threads: F64  # of the grid
    amd_bytes: F64  # factor on the bytes where AMD's library does it
    read_bytes: F64  # nan: unknown
    memory_format: I8  # MemoryFormat of the op
    first_extent: I64  # of the first dimension of the op's first tensor: a convolution's images; 0: unknown
    flop_fraction: F64  # of the FLOPs, what the cheapest usual algorithm does
    gemm: I64  # (items, 4): batch, m, n, k of a product; zeros: none, or not known
    block_threads: I64
    regs_per_thread: I64
    smem_bytes: I64
    is_copy: B  # copies and memsets
    transfer: I8
    over_host_link: B
    is_communication: B
    by_name: B  # without shapes
    by_fallback: B
    unscaled: B

    def __len__(self) -> int:
        return len(self.measured_ns)

    def rows(self, rows: slice | I64) -> Work:
        """Some of the items; names and families stay whole."""
        items = {field.name: _some(getattr(self.items, field.name), rows) for field in fields(self.items)}
        columns = {
            field.name: _some(getattr(self, field.name), rows)
            for field in fields(self)
            if field.name not in ("items", "family")
        }
        return replace(self, items=replace(self.items, **items), **columns)


def _some(column: Any, rows: slice | I64) -> Any:
    return Interned(column.codes[rows], column.values) if isinstance(column, Interned) else column[rows]


def work_of(trace: Trace) -> Work:
    """The items of a trace, in the kernels' order, or in the ops' order where nothing ran on a GPU."""
    if trace.origin is TraceOrigin.PROFILER:
        return _work(trace, lower_kernels(trace.kernels, trace.ops), trace.kernels.duration_ns.astype(np.float64))
    lowered = lower(trace.ops)
    return _work(trace, lowered, np.full(len(lowered), np.nan))


def _work(trace: Trace, lowered: Lowered, measured_ns: F64) -> Work:
    kernels, count = trace.kernels, len(lowered)
    of_kernel = lowered.kernel >= 0
    row = np.maximum(lowered.kernel, 0)

    def recorded(column: NDArray[np.integer], absent: int) -> I64:
        if not len(kernels):
            return np.full(count, absent, dtype=np.int64)
        return np.where(of_kernel, column[row], absent).astype(np.int64)

    kind = recorded(kernels.kind, KernelKind.COMPUTE)
    families = tuple(Family(name) for name in lowered.family.values)
    family_traits = [traits(family) for family in families]
    table = [UTILISATION.get(family, _UNKNOWN_UTILISATION) for family in families]
    code = lowered.family.codes

    def of_family(values: list[float] | list[bool], absent: float | bool) -> NDArray[np.float64]:
        return np.asarray([*values, absent], dtype=np.float64)[code]

    base = lowered.rate_class.map(
        lambda name: CLASS_INDEX[RateClass(name)], absent=CLASS_INDEX[RateClass.FP32], dtype=np.int8
    )
    ran_tf32 = base == CLASS_INDEX[RateClass.TF32]
    source = lowered.source.map(lambda name: _SOURCES.index(Source(name)), absent=_NONE, dtype=np.int8)
    grid = recorded(kernels.grid.astype(np.int64).prod(axis=1), 0)
    block = recorded(kernels.block.astype(np.int64).prod(axis=1), 0)
    aligned = ((lowered.gemm[:, 2:] % ALIGNED_TO) == 0).all(axis=1)  # n and k; no product: zeros
    reached = np.where(aligned, 1.0, of_family([one.unaligned for one in table], 1.0))
    blocks = np.where(grid > 0, grid, lowered.blocks).astype(np.float64)
    block_threads = np.where(block > 0, block, lowered.threads).astype(np.int64)
    transfer = np.where(kind == KernelKind.MEMCPY, recorded(_transfers(trace), Transfer.NONE), Transfer.NONE)
    is_memcpy = of_family([family is Family.MEMCPY for family in families], False).astype(bool)
    is_communication = kind == KernelKind.COMMUNICATION
    is_copy = (kind == KernelKind.MEMCPY) | (kind == KernelKind.MEMSET)
    unscaled = (source == _NONE) & ~is_communication & ~is_copy
    return Work(
        items=_items(trace, lowered, unscaled),
        measured_ns=measured_ns,
        family=(*families, None),
        family_code=code,
        base_class=np.where(ran_tf32, np.int8(CLASS_INDEX[RateClass.FP32]), base),
        tf32=lowered.tf32,
        ran_tf32=ran_tf32,
        arithmetic=of_family([one.arithmetic for one in family_traits], False).astype(bool),
        reducing=of_family([_is_reducing(family) for family in families], False).astype(bool),
        memory_bound=lowered.memory_bound | is_copy,
        matrix_gain=of_family([one.matrix_gain for one in table], _UNKNOWN_UTILISATION.matrix_gain),
        compute_fraction=reached * of_family([one.compute for one in table], _UNKNOWN_UTILISATION.compute),
        matrix_fraction=reached * of_family([one.matrix for one in table], _UNKNOWN_UTILISATION.matrix),
        memory_fraction=of_family([one.memory for one in table], _UNKNOWN_UTILISATION.memory),
        blocks=blocks,
        threads=blocks * block_threads,
        amd_bytes=lowered.amd_bytes,
        read_bytes=lowered.read_bytes,
        memory_format=_memory_formats(trace, lowered),
        first_extent=_first_extents(trace, lowered),
        flop_fraction=lowered.flop_fraction,
        gemm=lowered.gemm,
        block_threads=block_threads,
        regs_per_thread=recorded(kernels.regs_per_thread, -1),
        smem_bytes=recorded(kernels.smem_bytes, 0),
        is_copy=is_copy,
        transfer=transfer.astype(np.int8),
        over_host_link=np.where(of_kernel, np.isin(transfer, Transfer.HOST_LINK), is_memcpy),
        is_communication=is_communication,
        by_name=source == _SOURCES.index(Source.NAME),
        by_fallback=source == _SOURCES.index(Source.FALLBACK),
        unscaled=unscaled,
    )


def _memory_formats(trace: Trace, lowered: Lowered) -> I8:
    if not len(trace.ops):
        return np.full(len(lowered), MemoryFormat.UNKNOWN, dtype=np.int8)
    formats = trace.ops.memory_format[np.maximum(lowered.op, 0)]
    return np.where(lowered.op >= 0, formats, MemoryFormat.UNKNOWN).astype(np.int8)


def _first_extents(trace: Trace, lowered: Lowered) -> I64:
    if not len(trace.ops):
        return np.zeros(len(lowered), dtype=np.int64)
    extents = trace.ops.input_shapes.map(_first_extent, absent=0, dtype=np.int64)[np.maximum(lowered.op, 0)]
    return np.where(lowered.op >= 0, extents, 0)


def _first_extent(shapes: ArgShapes) -> int:
    first = shapes[0] if shapes else None
    return first[0] if first and isinstance(first[0], int) else 0


def _is_reducing(family: Family) -> bool:
    one = traits(family)
    return (
        not one.arithmetic and (one.fusion is not Fusion.POINTWISE or one.kernel_varying) and family not in _STREAMING
    )


def _items(trace: Trace, lowered: Lowered, unscaled: B) -> WorkItems:
    reason = Interned.of(
        [(text or "its name is in no table and its operation has no shapes") if is_one else None
         for text, is_one in zip(lowered.reason, unscaled.tolist(), strict=True)]
    ) if unscaled.any() else Interned[str].absent(len(lowered))  # fmt: skip
    return WorkItems(
        kernel=lowered.kernel,
        op=lowered.op,
        step=_steps(trace, lowered),
        flop=lowered.flop,
        bytes=lowered.bytes,
        rate_class=lowered.rate_class,
        family=lowered.family,
        family_source=lowered.source,
        launch_count=lowered.launch_count,
        unscaled_reason=reason,
    )


def _steps(trace: Trace, lowered: Lowered) -> I32:
    """The step in which an item was launched; -1 outside. A kernel without a launch counts where it ran."""
    steps, kernels = trace.steps, trace.kernels
    if not len(steps):
        return np.full(len(lowered), -1, dtype=np.int32)
    if trace.origin is TraceOrigin.SYMBOLIC and len(steps) == 1:
        return np.zeros(len(lowered), dtype=np.int32)
    time = np.zeros(len(lowered), dtype=np.int64)
    by_op, by_kernel = lowered.op >= 0, lowered.kernel >= 0
    time[by_op] = trace.ops.start_ns[lowered.op[by_op]]
    if by_kernel.any():
        kernel = lowered.kernel[by_kernel]
        call = kernels.host_call[kernel]
        launched = trace.host_calls.start_ns[np.maximum(call, 0)] if len(trace.host_calls) else kernels.start_ns[kernel]
        time[by_kernel] = np.where(call >= 0, launched, kernels.start_ns[kernel])
    by_start = np.argsort(steps.start_ns, kind="stable")
    place = np.searchsorted(steps.start_ns[by_start], time, side="right") - 1
    step = by_start[np.maximum(place, 0)]
    inside = (place >= 0) & (time < steps.end_ns[step])
    return np.where(inside, step, -1).astype(np.int32)


def _transfers(trace: Trace) -> I8:
    """Transfer code of each kernel that is a copy, by its name ("Memcpy HtoD (Pinned -> Device)")."""
    return trace.kernels.name.map(_transfer, absent=Transfer.NONE, dtype=np.int8)


def _transfer(name: str) -> int:
    if "PtoP" in name or "Peer" in name:
        return Transfer.PEER
    if "HtoD" in name or "DtoH" in name or "HostToDevice" in name or "DeviceToHost" in name:
        return Transfer.STAGED if "Pageable" in name else Transfer.PINNED
    return Transfer.NONE

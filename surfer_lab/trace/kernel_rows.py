"""How do raw kernels become the table of kernels: in order, linked to launch and op, with sizes and collectives?

A kernel's op is the innermost op around its launch, on the launch's thread. Where the launch is not in the file, the
op that the kernel's External id names is taken, but only if such ids agreed with the launches that are (in 2022 they
repeated the correlation id). Kernels of a CUDA graph have no op: they come from many.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.hardware.dtypes import BYTES_BY_DTYPE
from surfer_lab.trace.arguments import element_count, input_dtypes, input_shapes
from surfer_lab.trace.categories import COMMUNICATION_KERNEL, EventKind
from surfer_lab.trace.collectives import collective_of_kernel, recorded_collective, sizes_of
from surfer_lab.trace.columns import Interned
from surfer_lab.trace.launch_shapes import GRID_IN_THREADS, blocks_of_threads, sizes_by_code
from surfer_lab.trace.nesting import Nesting, inherit
from surfer_lab.trace.op_rows import OpRows
from surfer_lab.trace.pools import Pools, canonical, spread
from surfer_lab.trace.raw_tables import RawAnnotations, RawCalls, RawKernels
from surfer_lab.trace.row_order import in_order
from surfer_lab.trace.tables import HostCallKind, HostCallTable, KernelKind, KernelTable

__all__ = ["kernel_table", "once", "ordered_kernels"]

I8 = NDArray[np.int8]
I16 = NDArray[np.int16]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]

_TRUSTED_AGREEMENT: Final = 0.9
_LARGEST_BYTES: Final = 1 << 60
_ANNOTATED_COLLECTIVE: Final = ("nccl:", "rccl:")


def ordered_kernels(raw: RawKernels, name_ranks: I64, raw_ranks: I64) -> RawKernels:
    """Rows by start, then stream; ties by what they are."""
    keys: list[NDArray[Any]] = [
        raw.device,
        raw.duration_ns,
        name_ranks[raw.name],
        raw.kind,
        raw.correlation,
        raw.external_id,
        raw.size_bytes,
    ]
    keys += [raw_ranks[raw.grid], raw_ranks[raw.block], raw.regs_per_thread, raw.smem_bytes]
    return raw.take(in_order(raw.start_ns, raw.stream, keys))


def once(kernels: RawKernels, launch: I32, call_kind: I8) -> NDArray[np.bool_]:
    """False for a kernel event that stands in the file a second time: one launch that is no graph's puts one kernel."""
    kept = np.ones(len(kernels), dtype=np.bool_)
    if len(kernels) < 2:
        return kept
    same = np.ones(len(kernels) - 1, dtype=np.bool_)
    for column in (kernels.start_ns, kernels.duration_ns, kernels.stream, kernels.device, kernels.name, launch):
        same &= column[1:] == column[:-1]
    same &= launch[1:] >= 0
    same[same] = call_kind[launch[1:][same]] != HostCallKind.GRAPH_LAUNCH
    kept[1:] = ~same
    return kept


def kernel_table(
    kernels: RawKernels,
    launch: I32,
    calls: RawCalls,
    host_calls: HostCallTable,
    row_of_call: I32,
    ops: OpRows,
    annotations: RawAnnotations,
    pools: Pools,
    *,
    world_size: int,
) -> KernelTable:
    """Build from ordered kernels whose `launch` (kernels,) is an index of `calls`."""
    names, printed = pools.shown_names, list(pools.raws)
    host_call = np.where(launch >= 0, row_of_call[launch], -1).astype(np.int32) if len(row_of_call) else launch
    launched = host_call >= 0
    of_graph = launched.copy()
    of_graph[launched] = host_calls.kind[host_call[launched]] == HostCallKind.GRAPH_LAUNCH

    op = np.full(len(kernels), -1, dtype=np.int32)
    op[launched] = host_calls.op[host_call[launched]]
    op = np.where(op >= 0, op, _op_by_external_id(kernels.external_id, op, ops.raw.external_id))
    op = np.where(of_graph, -1, op).astype(np.int32)

    kind = _kinds(kernels, names)
    own_launch = np.where(launched & ~of_graph, launch, -1)
    grid, block, smem_bytes = _launch_shapes(kernels, own_launch, calls, names, printed)
    collective, size_bytes, group_size = _collectives(
        kernels, kind, op, own_launch, calls, ops, annotations, pools, world_size=world_size
    )
    call_size = np.where(own_launch >= 0, calls.size_bytes[own_launch], -1) if len(calls) else np.full(len(kernels), -1)
    size_bytes = np.where((size_bytes < 0) & (kind != KernelKind.COMPUTE), call_size, size_bytes)
    return KernelTable(
        name=canonical(kernels.name, names),
        kind=kind,
        start_ns=kernels.start_ns,
        duration_ns=kernels.duration_ns,
        device=_in_int16(kernels.device),
        stream=kernels.stream,
        grid=grid,
        block=block,
        regs_per_thread=_within(kernels.regs_per_thread, 1 << 16).astype(np.int32),
        smem_bytes=_within(smem_bytes, 1 << 40),
        op=op,
        host_call=host_call,
        size_bytes=_within(size_bytes, _LARGEST_BYTES),
        group_size=group_size,
        collective=collective,
    )


def _kinds(kernels: RawKernels, names: Sequence[str]) -> I8:
    kind = np.full(len(kernels), KernelKind.COMPUTE, dtype=np.int8)
    kind[spread(kernels.name, names, lambda name: COMMUNICATION_KERNEL.match(name) is not None, np.bool_)] = (
        KernelKind.COMMUNICATION
    )
    kind[kernels.kind == EventKind.MEMCPY] = KernelKind.MEMCPY
    kind[kernels.kind == EventKind.MEMSET] = KernelKind.MEMSET
    return kind


def _op_by_external_id(kernel_id: I64, op: I32, op_id: I64) -> I32:
    """The op that each kernel's External id names, all -1 where ids do not agree with the launches."""
    nothing = np.full(len(kernel_id), -1, dtype=np.int32)
    ids, first, counts = np.unique(op_id, return_index=True, return_counts=True)
    usable = (ids > 0) & (counts == 1)
    ids, first = ids[usable], first[usable]
    if not len(ids):
        return nothing
    position = np.minimum(np.searchsorted(ids, kernel_id), len(ids) - 1)
    named = np.where(ids[position] == kernel_id, first[position], -1).astype(np.int32)
    both = (op >= 0) & (named >= 0)
    if not both.any() or np.mean(named[both] == op[both]) < _TRUSTED_AGREEMENT:
        return nothing
    return named


def _launch_shapes(
    kernels: RawKernels, launch: I32, calls: RawCalls, names: Sequence[str], printed: Sequence[bytes]
) -> tuple[I32, I32, I64]:
    """Grid in blocks, block in threads, shared memory: of the kernel, else of its launch call."""
    grid_code, block_code, smem_bytes = kernels.grid.copy(), kernels.block.copy(), kernels.smem_bytes.copy()
    launched = np.flatnonzero(launch >= 0)
    call = launch[launched]
    for own, of_call in ((grid_code, calls.grid), (block_code, calls.block)):
        own[launched] = np.where(own[launched] == 0, of_call[call], own[launched])
    unsaid = smem_bytes[launched] < 0
    smem_bytes[launched[unsaid]] = calls.smem_bytes[call[unsaid]]
    grid, block = sizes_by_code(grid_code, printed), sizes_by_code(block_code, printed)
    in_threads = spread(calls.name[call], names, lambda name: GRID_IN_THREADS.match(name) is not None, np.bool_)
    rows = launched[in_threads]
    grid[rows] = blocks_of_threads(grid[rows], block[rows])
    return grid, block, smem_bytes


def _collectives(
    kernels: RawKernels,
    kind: I8,
    op: I32,
    launch: I32,
    calls: RawCalls,
    ops: OpRows,
    annotations: RawAnnotations,
    pools: Pools,
    *,
    world_size: int,
) -> tuple[Interned[str], I64, I32]:
    """Name, size and group of communication kernels: as recorded on the kernel, on its op, around its launch."""
    names = pools.shown_names
    rows = np.flatnonzero(kind == KernelKind.COMMUNICATION)
    recorded = [recorded_collective(printed) for printed in pools.collectives]
    code = kernels.collective[rows].copy()
    if len(ops.table):
        of_op = inherit(ops.raw.collective, ops.table.parent)
        code = np.where(code >= 0, code, np.where(op[rows] >= 0, of_op[op[rows]], -1))
    size, group = sizes_of(code, recorded)
    size = np.where(size >= 0, size, _annotated_sizes(launch[rows], calls, annotations, pools))
    group = np.where(group > 0, group, world_size if world_size > 0 else -1)

    size_bytes, group_size = kernels.size_bytes.copy(), np.full(len(kernels), -1, dtype=np.int32)
    size_bytes[rows], group_size[rows] = size, group
    own_names = set(kernels.name[rows].tolist())
    by_kernel = [
        collective_of_kernel(name) if code_of_name in own_names else None for code_of_name, name in enumerate(names)
    ]
    by_record = [value.name for value in recorded]
    nothing = len(by_kernel) + len(by_record)
    merged = np.full(len(kernels), nothing, dtype=np.int64)
    named = np.array([value is not None for value in by_record] + [False])[code]
    merged[rows] = np.where(named, code + len(by_kernel), kernels.name[rows])
    return canonical(merged, [*by_kernel, *by_record, None]), size_bytes, group_size


def _annotated_sizes(launch: I32, calls: RawCalls, annotations: RawAnnotations, pools: Pools) -> I64:
    """Bytes by the shape on the "nccl:..." annotation around each launch, -1 where there is none. Shape of `launch`."""
    names, printed = pools.shown_names, list(pools.raws)
    marks = annotations.take(
        spread(annotations.name, names, lambda name: name.startswith(_ANNOTATED_COLLECTIVE), np.bool_)
    )
    sizes = np.full(len(launch), -1, dtype=np.int64)
    rows = np.flatnonzero(launch >= 0)
    if not len(marks) or not len(rows):
        return sizes
    around = Nesting.of(marks.start_ns, marks.end_ns, marks.thread).innermost(
        calls.start_ns[launch[rows]], calls.thread[launch[rows]]
    )
    for row, mark in zip(rows.tolist(), around.tolist(), strict=True):
        if mark >= 0:
            sizes[row] = _bytes_of(printed[marks.dims[mark]], printed[marks.types[mark]])
    return sizes


def _bytes_of(dims: bytes, types: bytes) -> int:
    dtypes = input_dtypes(types)
    shapes = input_shapes(dims, dtypes)
    dtype = next((name for name in dtypes or () if name), None)
    count = element_count(shapes)
    size_bytes = count * BYTES_BY_DTYPE.get(dtype or "", 0)
    return size_bytes if 0 < size_bytes < _LARGEST_BYTES else -1


def _within(column: I64, limit: int) -> I64:
    """Numbers outside [0, limit) are not sound: not recorded."""
    return np.where((column >= 0) & (column < limit), column, -1)


def _in_int16(device: I64) -> I16:
    return _within(device, 1 << 15).astype(np.int16)

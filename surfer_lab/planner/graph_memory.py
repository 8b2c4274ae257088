"""What device memory does a captured step need, at which op is the peak, and does it fit on a card?

Relies on the trace's tensors: each storage once, with the ops between which it lives. `step_memory` is the part that no
card changes; `memory_on` adds what a card's libraries and driver take. A storage made by op i is there from i on, one
freed after op i until i ends; the scratch of a convolution is there during its op. Refused (PredictionError): a trace
without tensors, as profilers record it: its measured peak is `planner.memory`'s.

allocated = sum of blocks in use (torch.cuda.max_memory_allocated), reserved = what the caching allocator holds
(max_memory_reserved), device = reserved + context (what nvidia-smi shows).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.errors import PredictionError
from surfer_lab.hardware.gpu import Gpu
from surfer_lab.planner.allocator_replay import replay
from surfer_lab.planner.byte_range import NOTHING, ByteRange
from surfer_lab.planner.caching_allocator import segment_bytes
from surfer_lab.planner.device_overhead import context_on, usable_bytes
from surfer_lab.planner.memory import Fit
from surfer_lab.planner.workspace import matmul_workspace, op_workspaces, uses_matmul
from surfer_lab.trace.model import Trace
from surfer_lab.trace.tables import Phase, TensorRole, TensorTable

__all__ = [
    "MemoryEstimate", "MemoryPart", "MemoryRow", "StepMemory", "at_least", "fit_on", "live_rows",
    "measured_above_start_bytes", "memory_on", "step_memory",
]  # fmt: skip

I64 = NDArray[np.int64]

_BLOCK_BYTES: Final = 512
# kernels' own temporaries that a capture does not see (sorting keys, partial sums, casts inside a kernel): at most this
# share of activations and temporaries; an allowance, not a measurement
_UNSEEN_FRACTION: Final = 0.03
# reserved beyond allocated where the allocator is not replayed: replaying the reference workloads gives 0.01 to 0.34
_CACHED_FRACTION_LIKELY: Final = 0.15
# a program does more than its steady step (evaluation, a first step of other sizes): at most this share more is cached
_CACHED_FRACTION_HIGH: Final = 0.10


class MemoryPart(Enum):
    """The rows of an estimate, in the order shown; the value is what a person reads."""

    PARAMETERS = "parameters"
    BUFFERS = "buffers"
    INPUTS = "inputs and other data there before the step"
    GRADIENTS = "gradients"
    OPTIMIZER_STATE = "optimizer state"
    ACTIVATIONS = "activations saved for the backward pass"
    TEMPORARIES = "temporaries at the peak"
    WORKSPACE = "scratch of convolutions"
    UNSEEN = "kernels' own temporaries"
    LIBRARIES = "buffers of the matrix library"
    ROUNDING = "rounding to blocks"
    CACHED = "cached or in fragments"
    CONTEXT = "context of the driver and loaded kernels"


_PART_OF_ROLE: Final = {
    TensorRole.PARAMETER: MemoryPart.PARAMETERS,
    TensorRole.BUFFER: MemoryPart.BUFFERS,
    TensorRole.INPUT: MemoryPart.INPUTS,
    TensorRole.GRADIENT: MemoryPart.GRADIENTS,
    TensorRole.OPTIMIZER_STATE: MemoryPart.OPTIMIZER_STATE,
    TensorRole.ACTIVATION: MemoryPart.ACTIVATIONS,
    TensorRole.TEMPORARY: MemoryPart.TEMPORARIES,
}


@dataclass(frozen=True, kw_only=True)
class StepMemory:
    """A step's memory on any card. `tensors` holds exact bytes by part at the peak op; they count each storage once."""

    peak_op: int  # -1: before the first op
    peak_phase: Phase
    tensors: Mapping[MemoryPart, int]
    workspace: ByteRange  # of the op at the peak
    unseen: ByteRange
    rounding: ByteRange
    start_bytes: int  # in blocks: what lives before the step's first op
    reserved_bytes: int | None  # by replaying the allocator; None: not replayed
    uses_matmul: bool
    is_training: bool

    @property
    def tensor_bytes(self) -> int:
        """All storages alive at the peak."""
        return sum(self.tensors.values())

    @property
    def allocated(self) -> ByteRange:
        """Peak of blocks in use, without the matrix library's buffers."""
        return ByteRange.exactly(self.tensor_bytes) + self.workspace + self.unseen + self.rounding

    @property
    def above_start(self) -> ByteRange:
        """How far the peak is above what lives before the step."""
        whole = self.allocated
        return ByteRange(
            max(0, whole.low - self.start_bytes),
            max(0, whole.likely - self.start_bytes),
            max(0, whole.high - self.start_bytes),
        )


@dataclass(frozen=True, kw_only=True)
class MemoryRow:
    """One part, and where its number comes from."""

    part: MemoryPart
    bytes: ByteRange
    source: str


@dataclass(frozen=True, kw_only=True)
class MemoryEstimate:
    """A step's memory on one card. Rows to ROUNDING sum to `allocated`, with CACHED to `reserved`, all to `device`."""

    rows: tuple[MemoryRow, ...]
    allocated: ByteRange
    reserved: ByteRange
    device: ByteRange
    peak_op: int
    peak_phase: Phase


def step_memory(trace: Trace, *, replay_allocator: bool = True, cached_fraction: float | None = None) -> StepMemory:
    """The peak of a captured step: exact tensors, ranges for what libraries add.

    Without `replay_allocator` rounding is counted in blocks of 512 bytes and what is cached is left to `memory_on`: 15
    to 60 times faster (ResNet-50: 0.6 against 9 ms), for searches. `cached_fraction` is then what a replay at another
    batch found cached beyond what was allocated.
    """
    tensors = trace.tensors
    if len(tensors) == 0:
        raise PredictionError(
            "the trace holds no tensors, so its memory cannot be counted",
            remedy="capture the step without a GPU (surfer_lab.trace_symbolic), or read the trace's measured peak",
        )
    op_count = len(trace.ops)
    blocks = -(-tensors.size_bytes // _BLOCK_BYTES) * _BLOCK_BYTES
    likely_scratch, high_scratch = op_workspaces(trace.ops)
    likely_scratch, high_scratch = _at_positions(likely_scratch), _at_positions(high_scratch)
    in_blocks = _live_bytes(tensors, blocks, op_count)  # position 0: before the first op
    peak = _highest(in_blocks + likely_scratch, _live_bytes(tensors, tensors.size_bytes, op_count))
    alive = live_rows(tensors, peak - 1)
    roles = np.where(  # the user's own data, not handed to a module (targets, a step's scalars)
        (tensors.role == TensorRole.TEMPORARY) & (tensors.allocated_by < 0), TensorRole.INPUT, tensors.role
    )
    by_role = np.bincount(roles[alive], weights=tensors.size_bytes[alive], minlength=len(TensorRole))
    parts = {part: int(by_role[role]) for role, part in _PART_OF_ROLE.items()}
    exact = sum(parts.values())
    rounding_low = int(blocks[alive].sum()) - exact
    scratch = int(likely_scratch[peak])
    largest = int((in_blocks + high_scratch).max())
    least = int(in_blocks.max()) - int(in_blocks[peak])
    workspace = ByteRange(least, scratch, max(scratch, largest - int(in_blocks[peak])))
    rounding = rounding_low
    reserved = None
    if replay_allocator:
        replayed = replay(tensors, op_count, likely_scratch[1:])
        rounding = max(rounding_low, replayed.peak_allocated_bytes - exact - scratch)
        reserved = max(replayed.peak_reserved_bytes, exact + scratch + rounding)
    elif cached_fraction is not None:
        reserved = int((1 + cached_fraction) * (exact + scratch + rounding))
    unseen = int(_UNSEEN_FRACTION * (parts[MemoryPart.ACTIVATIONS] + parts[MemoryPart.TEMPORARIES]))
    phases = trace.ops.phase
    return StepMemory(
        peak_op=peak - 1,
        peak_phase=Phase(int(phases[peak - 1])) if peak else Phase.OTHER,
        tensors=parts,
        workspace=workspace,
        unseen=ByteRange(0, 0, unseen),
        rounding=ByteRange(rounding_low, rounding, rounding),
        start_bytes=int(in_blocks[0]),
        reserved_bytes=reserved,
        uses_matmul=uses_matmul(trace.ops),
        is_training=bool((phases == Phase.BACKWARD).any()),
    )


def memory_on(step: StepMemory, gpu: Gpu) -> MemoryEstimate:
    """The step's memory on a card, row by row."""
    libraries = matmul_workspace(gpu, is_training=step.is_training) if step.uses_matmul else NOTHING
    rows = [
        MemoryRow(part=part, bytes=ByteRange.exactly(amount), source="the captured storages, each once")
        for part, amount in step.tensors.items()
    ]
    rows += [
        MemoryRow(part=MemoryPart.WORKSPACE, bytes=step.workspace, source="cuDNN's algorithms; nothing to a copy"),
        MemoryRow(part=MemoryPart.UNSEEN, bytes=step.unseen, source="an allowance"),
        MemoryRow(part=MemoryPart.LIBRARIES, bytes=libraries, source="torch's default workspace of a cuBLAS handle"),
        MemoryRow(part=MemoryPart.ROUNDING, bytes=step.rounding, source="the caching allocator's rules"),
    ]
    allocated = step.allocated + libraries
    cached = _cached(step, allocated, libraries)
    context = context_on(gpu)
    rows += [
        MemoryRow(part=MemoryPart.CACHED, bytes=cached, source="the caching allocator's rules, replayed"),
        MemoryRow(part=MemoryPart.CONTEXT, bytes=context.bytes, source=context.source),
    ]
    reserved = allocated + cached
    return MemoryEstimate(
        rows=tuple(rows),
        allocated=allocated,
        reserved=reserved,
        device=reserved + context.bytes,
        peak_op=step.peak_op,
        peak_phase=step.peak_phase,
    )


def at_least(estimate: MemoryEstimate, device: ByteRange) -> MemoryEstimate:
    """The estimate with as much more cached as it lacks to that amount on the device, its likely and its high end."""
    likely = max(0, device.likely - estimate.device.likely)
    more = ByteRange(0, likely, max(likely, device.high - estimate.device.high))
    if more == NOTHING:
        return estimate
    rows = tuple(
        replace(row, bytes=row.bytes + more) if row.part is MemoryPart.CACHED else row for row in estimate.rows
    )
    return replace(estimate, rows=rows, reserved=estimate.reserved + more, device=estimate.device + more)


def fit_on(estimate: MemoryEstimate, gpu: Gpu) -> Fit:
    """FITS when even the high end does, TIGHT when only the likely amount does, DOES_NOT_FIT when that does not."""
    usable = usable_bytes(gpu)
    if estimate.device.high <= usable:
        return Fit.FITS
    return Fit.TIGHT if estimate.device.likely <= usable else Fit.DOES_NOT_FIT


def live_rows(tensors: TensorTable, op: int) -> NDArray[np.bool_]:
    """Which storages are there while an op runs (-1: before the first), (tensors,)."""
    made = tensors.allocated_by <= op
    kept = (tensors.freed_after < 0) | (tensors.freed_after >= op)
    return made & kept


def measured_above_start_bytes(trace: Trace) -> int | None:
    """How far recorded allocator events rise above the first one's level, on the GPU; None without such events."""
    on_gpu = trace.memory.device >= 0
    if not on_gpu.any():
        return None
    return max(0, int(np.cumsum(trace.memory.delta_bytes[on_gpu]).max()))


def _live_bytes(tensors: TensorTable, sizes: I64, op_count: int) -> I64:
    """Bytes in use during each op, (ops + 1,): position i + 1 is op i after it made its outputs, 0 is before."""
    change = np.zeros(op_count + 2, dtype=np.int64)
    np.add.at(change, np.clip(tensors.allocated_by, -1, op_count - 1) + 1, sizes)
    freed = tensors.freed_after >= 0
    np.subtract.at(change, np.minimum(tensors.freed_after[freed], op_count - 1) + 2, sizes[freed])
    live: I64 = np.cumsum(change)[: op_count + 1]
    return live


def _highest(used: I64, exact: I64) -> int:
    """Where most blocks are in use; of several such positions the one with most bytes in them, the first of equals."""
    positions = np.flatnonzero(used == used.max())
    return int(positions[np.argmax(exact[positions])])


def _at_positions(by_op: I64) -> I64:
    return np.concatenate((np.zeros(1, dtype=np.int64), by_op))


def _cached(step: StepMemory, allocated: ByteRange, libraries: ByteRange) -> ByteRange:
    """Reserved less allocated. The matrix library's buffers bring their own segments."""
    if step.reserved_bytes is None:
        likely = int(_CACHED_FRACTION_LIKELY * allocated.likely)
    else:
        own_segments = segment_bytes(libraries.likely) - libraries.likely if libraries.likely else 0
        likely = max(0, step.reserved_bytes - step.allocated.likely) + own_segments
    return ByteRange(0, likely, likely + int(_CACHED_FRACTION_HIGH * allocated.high))

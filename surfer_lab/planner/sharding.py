"""How many GPUs of a kind would hold a step that one cannot, its states sharded over them (FSDP, ZeRO stage 3)?

    need(N) = max over the step's ops of [ states / N + working set + gathered ]     N >= 2
    states: parameters, gradients, optimizer state, and the optimizer's temporaries, which are made from shards
    working set: activations and other temporaries of this GPU's own samples, not sharded
    gathered: the weights of two blocks (the one computed and the one fetched ahead) and the gradients of one

Blocks are the numbered parts of the model ("layers.12"). Rajbhandari et al., ZeRO (SC'20), stage 3, and PyTorch FSDP.
Time on several GPUs is not said here. The batch is each GPU's own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.hardware.gpu import Gpu
from surfer_lab.planner.device_overhead import context_on, usable_bytes
from surfer_lab.trace.model import Trace
from surfer_lab.trace.tables import Phase, TensorRole, TensorTable

__all__ = ["ShardedNeed", "sharded_needs"]

I64 = NDArray[np.int64]

MOST_GPUS: Final = 1024
_STATES: Final = (TensorRole.PARAMETER, TensorRole.GRADIENT, TensorRole.OPTIMIZER_STATE)
_GATHERED_BLOCKS: Final = 3  # weights of two, gradients of one
# what libraries, rounding and the allocator add beyond the tensors: the share that graph_memory finds cached, and some
_BEYOND_TENSORS: Final = 1.10


@dataclass(frozen=True, kw_only=True)
class ShardedNeed:
    """The least number of GPUs of a kind, and bytes on each."""

    gpu: Gpu
    gpu_count: int
    bytes_each: int


def sharded_needs(trace: Trace, gpus: Sequence[Gpu]) -> list[ShardedNeed | None]:
    """One a GPU, in order; None where more than 1,024 of them would be needed, or nothing is known of tensors."""
    if not len(trace.tensors):
        return [None for _ in gpus]
    states, working = _live_states(trace)
    gathered = _GATHERED_BLOCKS * _largest_block_bytes(trace)
    return [_need(gpu, states, working, gathered) for gpu in gpus]


def _need(gpu: Gpu, states: I64, working: I64, gathered: int) -> ShardedNeed | None:
    room = usable_bytes(gpu) - context_on(gpu).bytes.likely

    def each(count: int) -> int:
        return int(_BEYOND_TENSORS * (float((states / count + working).max()) + gathered))

    if each(MOST_GPUS) > room:
        return None
    low, high = 1, MOST_GPUS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if each(middle) <= room else (middle, high)
    return ShardedNeed(gpu=gpu, gpu_count=high, bytes_each=each(high))


def _live_states(trace: Trace) -> tuple[I64, I64]:
    """Bytes alive during each op (position 0: before the first): of what is sharded, and of what is not."""
    tensors, phases = trace.tensors, trace.ops.phase
    made = tensors.allocated_by
    in_optimizer = (made >= 0) & (phases[np.maximum(made, 0)] == Phase.OPTIMIZER)
    sharded = np.isin(tensors.role, _STATES) | in_optimizer
    count = len(trace.ops)
    return _live(tensors, sharded, count), _live(tensors, ~sharded, count)


def _live(tensors: TensorTable, chosen: NDArray[np.bool_], op_count: int) -> I64:
    change = np.zeros(op_count + 2, dtype=np.int64)
    sizes = np.where(chosen, tensors.size_bytes, 0)
    np.add.at(change, np.clip(tensors.allocated_by, -1, op_count - 1) + 1, sizes)
    freed = tensors.freed_after >= 0
    np.subtract.at(change, np.minimum(tensors.freed_after[freed], op_count - 1) + 2, sizes[freed])
    live: I64 = np.cumsum(change)[: op_count + 1]
    return live


def _largest_block_bytes(trace: Trace) -> int:
    """Parameters used inside the largest numbered block of the model; of the largest parameter where none is."""
    tensors, uses = trace.tensors, trace.uses
    is_parameter = tensors.role == TensorRole.PARAMETER
    largest = int(tensors.size_bytes[is_parameter].max(initial=0))
    blocks: dict[str, set[int]] = defaultdict(set)
    for op, tensor in zip(uses.op.tolist(), uses.tensor.tolist(), strict=True):
        if is_parameter[tensor]:
            block = _block(trace.ops.module[op])
            if block:
                blocks[block].add(tensor)
    sums = (int(tensors.size_bytes[list(rows)].sum()) for rows in blocks.values())
    return max([largest, *sums])


def _block(path: str | None) -> str:
    """The numbered part that a path lies in, "layers.12" of "layers.12.attention.query"; "" outside such parts."""
    parts = (path or "").split(".")
    number = next((place for place, part in enumerate(parts) if part.isdigit()), None)
    return "" if number is None else ".".join(parts[: number + 1])

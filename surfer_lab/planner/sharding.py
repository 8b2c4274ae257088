"""How many GPUs of a kind would hold a step that one cannot, its states sharded over them (FSDP, ZeRO stage 3)?

    need(N) = max over the step's ops of [ states / N + working set + gathered ]     N >= 2
    states: parameters, gradients, optimizer state, and the optimizer's temporaries, which are made from shards
    working set: activations and other temporaries of this GPU's own samples, not sharded
    gathered: the weights of two blocks (the one computed and the one fetched ahead) and the gradients of one

Where that is too much, activations are recomputed block by block (checkpointing): what enters each block is kept, and
the activations of the largest one are there at a time. Blocks are the numbered parts of the model ("layers.12").
Rajbhandari et al., ZeRO (SC'20), stage 3, and PyTorch FSDP. Time on several GPUs is not said here. The batch is each
GPU's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.hardware.gpu import Gpu
from surfer_lab.planner.device_overhead import context_on, usable_bytes
from surfer_lab.trace.model import Trace
from surfer_lab.trace.tables import Phase, TensorRole, TensorTable

__all__ = ["ShardedNeed", "block_path", "sharded_bytes", "sharded_needs"]

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
    recomputes: bool = False  # activations, block by block in the backward pass


def sharded_needs(trace: Trace, gpus: Sequence[Gpu]) -> list[ShardedNeed | None]:
    """One a GPU, in order; None where 1,024 of them are too few even so, or nothing is known of tensors.

    Where the activations of one sample batch alone are too large, they are taken to be recomputed block by block.
    """
    if not len(trace.tensors):
        return [None for _ in gpus]
    blocks = _Blocks.of(trace)
    as_it_is = _Demand(trace, blocks)
    recomputing = _Demand(trace, blocks, recomputes=True)
    return [as_it_is.on(gpu) or recomputing.on(gpu) for gpu in gpus]


def sharded_bytes(trace: Trace, gpu: Gpu, gpu_count: int, *, recomputes: bool = False) -> int | None:
    """Bytes on each of so many, with what a card's driver takes; None where nothing is known of tensors."""
    if not len(trace.tensors):
        return None
    return _Demand(trace, _Blocks.of(trace), recomputes=recomputes).each(gpu_count) + context_on(gpu).bytes.likely


class _Demand:
    """Bytes that a step needs on each of N GPUs."""

    def __init__(self, trace: Trace, blocks: _Blocks, *, recomputes: bool = False) -> None:
        tensors, phases = trace.tensors, trace.ops.phase
        made = tensors.allocated_by
        in_optimizer = (made >= 0) & (phases[np.maximum(made, 0)] == Phase.OPTIMIZER)
        sharded = np.isin(tensors.role, _STATES) | in_optimizer
        beside = ~sharded & ~blocks.activations if recomputes else ~sharded
        count = len(trace.ops)
        self._states, self._working = _live(tensors, sharded, count), _live(tensors, beside, count)
        self._always = _GATHERED_BLOCKS * blocks.largest_parameter_bytes
        if recomputes:
            self._always += blocks.input_bytes + blocks.largest_activation_bytes
        self._recomputes = recomputes

    def each(self, gpu_count: int) -> int:
        """On each of that many."""
        return int(_BEYOND_TENSORS * (float((self._states / gpu_count + self._working).max()) + self._always))

    def on(self, gpu: Gpu) -> ShardedNeed | None:
        """The least number of these that hold it."""
        room = usable_bytes(gpu) - context_on(gpu).bytes.likely
        if self.each(MOST_GPUS) > room:
            return None
        low, high = 1, MOST_GPUS
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.each(middle) <= room else (middle, high)
        return ShardedNeed(gpu=gpu, gpu_count=high, bytes_each=self.each(high), recomputes=self._recomputes)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Blocks:
    """The numbered parts of the model: what their weights and activations take, and what goes into them."""

    largest_parameter_bytes: int  # of the largest single parameter where there are no such parts
    activations: NDArray[np.bool_]  # (tensors,): made inside one, kept for the backward pass
    largest_activation_bytes: int
    input_bytes: int  # of all of them: what checkpointing keeps

    @classmethod
    def of(cls, trace: Trace) -> _Blocks:
        """Read off which op of which module reads and makes what."""
        tensors, uses, ops = trace.tensors, trace.uses, trace.ops
        number: dict[str, int] = {}
        block_of_path = {
            path: number.setdefault(part, len(number)) if (part := block_path(path)) else -1
            for path in ops.module.values
        }
        block = ops.module.map(block_of_path.__getitem__, absent=-1, dtype=np.int64)
        sizes, count = tensors.size_bytes, len(number)
        is_parameter = tensors.role == TensorRole.PARAMETER
        made_in = np.where(tensors.allocated_by >= 0, block[np.maximum(tensors.allocated_by, 0)], -1)
        activations = (tensors.role == TensorRole.ACTIVATION) & (made_in >= 0)
        read = np.unique(np.stack((block[uses.op], uses.tensor)), axis=1) if len(uses) else np.zeros((2, 0), np.int64)
        reader, tensor = read[:, read[0] >= 0]
        weights = is_parameter[tensor]
        enters = (tensors.role[tensor] == TensorRole.ACTIVATION) & (made_in[tensor] != reader)
        kept = np.unique(tensor[enters])
        by_block = np.bincount(reader[weights], weights=sizes[tensor[weights]], minlength=max(1, count))
        of_activations = np.bincount(made_in[activations], weights=sizes[activations], minlength=max(1, count))
        return cls(
            largest_parameter_bytes=int(max(by_block.max(), sizes[is_parameter].max(initial=0))),
            activations=activations,
            largest_activation_bytes=int(of_activations.max()),
            input_bytes=int(sizes[kept].sum()),
        )


def _live(tensors: TensorTable, chosen: NDArray[np.bool_], op_count: int) -> I64:
    change = np.zeros(op_count + 2, dtype=np.int64)
    sizes = np.where(chosen, tensors.size_bytes, 0)
    np.add.at(change, np.clip(tensors.allocated_by, -1, op_count - 1) + 1, sizes)
    freed = tensors.freed_after >= 0
    np.subtract.at(change, np.minimum(tensors.freed_after[freed], op_count - 1) + 2, sizes[freed])
    live: I64 = np.cumsum(change)[: op_count + 1]
    return live


def block_path(path: str | None) -> str:
    """The numbered part that a path lies in, "layers.12" of "layers.12.attention.query"; "" outside such parts."""
    parts = (path or "").split(".")
    number = next((place for place, part in enumerate(parts) if part.isdigit()), None)
    return "" if number is None else ".".join(parts[: number + 1])

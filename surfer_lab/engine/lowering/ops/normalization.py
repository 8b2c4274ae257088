"""Batch, layer, group and RMS norm, forward and backward: how many passes over the tensor each needs.

A norm over a row that one block holds reads it once. A batch or group norm gathers its statistics in one pass and
applies them in another; a tensor that does not fit the L2 cache is therefore read twice, and counted so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from surfer_lab.engine.lowering.call import Call, Rule, numel, rate_class_of
from surfer_lab.engine.lowering.families import Family
from surfer_lab.engine.lowering.grid import REDUCTION_THREADS, pointwise_blocks, rows_blocks
from surfer_lab.engine.lowering.work import KernelWork

__all__ = ["NORMALIZATION_OPS", "Norm"]

# mean and variance (4), normalise (2), scale and shift (2) for each element; about twice as much backward
_FORWARD_FLOP: Final = 8.0
_BACKWARD_FLOP: Final = 16.0


@dataclass(frozen=True, kw_only=True)
class Norm:
    """`tensors` operands of the tensor's size are read `passes` times, `results` of that size written.

    `training` is the position of the flag without which a batch norm is one elementwise pass. `rows`: one block a row
    of the normalised shape (position `rows_of`), else one a channel.
    """

    family: Family
    tensors: int = 1
    passes: int = 1
    results: int = 1
    flop: float = _FORWARD_FLOP
    training: int = -1
    inference_when_unknown: bool = False
    launch_count: int = 1
    rows_of: int = -1
    first: int = 0

    def __call__(self, call: Call) -> tuple[KernelWork, ...]:
        shape = call.need(self.first, at_least=1)
        elements = numel(shape)
        if elements == 0:
            return ()
        moved = float(elements * call.itemsize(self.first))
        training = call.flag(self.training)
        assumed = ""
        if self.training >= 0 and training is None:
            training = not self.inference_when_unknown
            assumed = "training mode assumed: the flag was not recorded"
        applying_only = self.training >= 0 and not training
        passes = 1 if applying_only else self.passes
        return (
            KernelWork(
                family=self.family,
                flop=(self.flop / 2 if applying_only else self.flop) * elements,
                read_bytes=passes * self.tensors * moved,
                write_bytes=self.results * moved,
                rate_class=rate_class_of(call.dtype(self.first), matrix=False),
                blocks=pointwise_blocks(elements) if applying_only else self._blocks(call, elements),
                threads=REDUCTION_THREADS,
                launch_count=1 if applying_only else self.launch_count,
                reason=assumed,
            ),
        )

    def _blocks(self, call: Call, elements: int) -> int:
        shape = call.need(self.first)
        if self.rows_of < 0:
            return rows_blocks(shape[1] if len(shape) > 1 else shape[0])
        columns = call.ints(self.rows_of)
        width = numel(columns) if columns else shape[-1]
        return rows_blocks(elements // max(1, width))


_BATCH: Final = Norm(family=Family.BATCH_NORM, passes=2, training=5)
_BATCH_ALWAYS: Final = Norm(family=Family.BATCH_NORM, passes=2)
_BATCH_APPLY: Final = Norm(family=Family.BATCH_NORM, flop=_FORWARD_FLOP / 2)
_BATCH_BACKWARD: Final = Norm(family=Family.BATCH_NORM_BACKWARD, tensors=2, passes=2, flop=_BACKWARD_FLOP)
_LAYER: Final = Norm(family=Family.LAYER_NORM, rows_of=1)
# the gradients of weight and bias are a second kernel over both operands
_LAYER_BACKWARD: Final = Norm(
    family=Family.LAYER_NORM_BACKWARD, tensors=2, passes=2, flop=_BACKWARD_FLOP, launch_count=2, rows_of=2
)
_GROUP: Final = Norm(family=Family.GROUP_NORM, passes=2, launch_count=3)
_GROUP_BACKWARD: Final = Norm(
    family=Family.GROUP_NORM_BACKWARD, tensors=2, passes=2, flop=_BACKWARD_FLOP, launch_count=4
)

NORMALIZATION_OPS: Final[dict[str, Rule]] = {
    **dict.fromkeys(
        (
            "native_batch_norm", "cudnn_batch_norm", "miopen_batch_norm", "batch_norm", "_batch_norm_impl_index",
            "_native_batch_norm_legit", "_native_batch_norm_legit_functional",
        ),
        _BATCH,
    ),
    **dict.fromkeys(("_batch_norm_with_update", "_batch_norm_with_update_functional"), _BATCH_ALWAYS),
    **dict.fromkeys(
        ("_native_batch_norm_legit_no_training", "_batch_norm_no_update", "batch_norm_elemt"), _BATCH_APPLY
    ),
    **dict.fromkeys(
        (
            "native_batch_norm_backward", "cudnn_batch_norm_backward", "miopen_batch_norm_backward",
            "batch_norm_backward",
        ),
        _BATCH_BACKWARD,
    ),
    "_batch_norm_impl_index_backward": Norm(
        family=Family.BATCH_NORM_BACKWARD, tensors=2, passes=2, flop=_BACKWARD_FLOP, first=1
    ),
    # synchronised over ranks: statistics and application are ops of their own
    **dict.fromkeys(("batch_norm_stats", "batch_norm_update_stats"), Norm(family=Family.BATCH_NORM, results=0)),
    "batch_norm_backward_reduce": Norm(family=Family.BATCH_NORM_BACKWARD, tensors=2, results=0),
    "batch_norm_backward_elemt": Norm(family=Family.BATCH_NORM_BACKWARD, tensors=2),
    **dict.fromkeys(
        ("batch_norm_gather_stats", "batch_norm_gather_stats_with_counts"),
        Norm(family=Family.BATCH_NORM, results=0, first=1),
    ),
    "instance_norm": Norm(family=Family.BATCH_NORM, passes=2),
    **dict.fromkeys(("native_layer_norm", "layer_norm", "_fused_rms_norm", "rms_norm"), _LAYER),
    **dict.fromkeys(("native_layer_norm_backward", "_fused_rms_norm_backward"), _LAYER_BACKWARD),
    **dict.fromkeys(("native_group_norm", "group_norm"), _GROUP),
    "native_group_norm_backward": _GROUP_BACKWARD,
    "_weight_norm_interface": Norm(family=Family.LAYER_NORM),
    "_weight_norm_interface_backward": Norm(family=Family.LAYER_NORM_BACKWARD, tensors=2),
    **dict.fromkeys(("renorm", "renorm_", "embedding_renorm_"), Norm(family=Family.LAYER_NORM)),
}  # fmt: skip

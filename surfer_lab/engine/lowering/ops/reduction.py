"""Reductions, softmax, losses, scans and sorting: what is read and how much smaller the result is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from surfer_lab.engine.lowering.call import Call, Rule, Unrecorded, numel, rate_class_of
from surfer_lab.engine.lowering.families import Family
from surfer_lab.engine.lowering.grid import POINTWISE_THREADS, pointwise_blocks, softmax_blocks
from surfer_lab.engine.lowering.ops.streaming import TRANSCENDENTAL_FLOP, Moving, Pointwise, Reduction
from surfer_lab.engine.lowering.work import KernelWork

__all__ = ["REDUCTION_OPS"]

_SORT_PASSES: Final = 4  # CUB's onesweep radix sort moves 8 bits of a 32-bit key a pass
_INDEX_BYTES: Final = 8


@dataclass(frozen=True, kw_only=True)
class Softmax:
    """Rows along the dimension at `axis`; `operands` tensors of the same size read, one written.

    Columns beyond what a warp's registers hold are read twice (maximum and sum, then the quotient).
    """

    operands: int = 1
    axis: int = 1
    family: Family = Family.SOFTMAX

    def __call__(self, call: Call) -> tuple[KernelWork, ...]:
        shape = call.need(0)
        elements = numel(shape)
        if elements == 0:
            return ()
        axes = call.ints(self.axis)
        columns = shape[axes[0] % len(shape)] if axes and shape else shape[-1] if shape else 1
        moved = float(sum(call.bytes_of(position) for position in range(self.operands)))
        written = call.output_bytes()
        return (
            KernelWork(
                family=self.family,
                flop=(2.0 + TRANSCENDENTAL_FLOP) * elements,
                read_bytes=moved,
                write_bytes=float(written if written is not None else elements * call.itemsize(0)),
                rate_class=rate_class_of(call.dtype(0), matrix=False),
                blocks=softmax_blocks(elements // max(1, columns), columns),
                threads=POINTWISE_THREADS,
            ),
        )


def _extremum(call: Call) -> tuple[KernelWork, ...]:
    """Extremum: of two tensors, along a dimension (with indices), or of everything."""
    if call.shape(1) is not None:
        return Pointwise(family=Family.BINARY, operands=2)(call)
    return Reduction(index_result=call.ints(1) is not None)(call)


def _nll_forward(call: Call) -> tuple[KernelWork, ...]:
    """Picks one log-probability a row: reads the targets and as many values, writes one (or one a row)."""
    targets = call.shape(1)
    rows = numel(targets) if targets is not None else call.need(0, at_least=1)[0]
    return (
        KernelWork(
            family=Family.LOSS,
            flop=2.0 * rows,
            read_bytes=float(rows * (call.itemsize(0) + _INDEX_BYTES)),
            write_bytes=float(2 * call.itemsize(0)),
            rate_class=rate_class_of(call.dtype(0), matrix=False),
            blocks=1,  # PyTorch reduces in a single block
            threads=POINTWISE_THREADS,
        ),
    )


def _nll_backward(call: Call) -> tuple[KernelWork, ...]:
    """Zeros of the scores' size, then one value a row."""
    shape = call.need(1, at_least=1)
    moved = float(numel(shape) * call.itemsize(1))
    return (
        KernelWork(
            family=Family.LOSS,
            flop=float(shape[0]),
            read_bytes=float(call.bytes_of(2)),
            write_bytes=moved,
            rate_class=rate_class_of(call.dtype(1), matrix=False),
            blocks=pointwise_blocks(numel(shape)),
            threads=POINTWISE_THREADS,
            launch_count=2,
        ),
    )


@dataclass(frozen=True, kw_only=True)
class PointwiseLoss:
    """Elementwise loss, reduced unless the argument at `reduction` is 0; the reduced form also writes the elements."""

    operands: int = 2
    reduction: int = 2
    flop: float = 3.0

    def __call__(self, call: Call) -> tuple[KernelWork, ...]:
        shape = call.need(0)
        elements = numel(shape)
        if elements == 0:
            return ()
        read = float(sum(call.bytes_of(position) for position in range(self.operands)))
        whole = float(elements * call.itemsize(0))
        reduced = call.ints(self.reduction) != (0,)
        return (
            KernelWork(
                family=Family.LOSS,
                flop=(self.flop + 1.0) * elements,
                read_bytes=read + (whole if reduced else 0.0),
                write_bytes=whole,
                rate_class=rate_class_of(call.dtype(0), matrix=False),
                blocks=pointwise_blocks(elements),
                threads=POINTWISE_THREADS,
                launch_count=2 if reduced else 1,
            ),
        )


@dataclass(frozen=True, kw_only=True)
class Scan:
    """One pass reads, one writes; `results` tensors of the operand's size."""

    indices: bool = False

    def __call__(self, call: Call) -> tuple[KernelWork, ...]:
        shape = call.need(0)
        elements = numel(shape)
        size = call.itemsize(0)
        written = call.output_bytes()
        if written is None:
            written = elements * (size + (_INDEX_BYTES if self.indices else 0))
        return (
            KernelWork(
                family=Family.SCAN,
                flop=2.0 * elements,
                read_bytes=float(elements * size),
                write_bytes=float(written),
                rate_class=rate_class_of(call.dtype(0), matrix=False),
                blocks=pointwise_blocks(elements),
                threads=POINTWISE_THREADS,
                launch_count=2,
            ),
        )


@dataclass(frozen=True, kw_only=True)
class Sorting:
    """Radix sort of keys with indices: each pass reads and writes both. Top-k selects in as many reading passes."""

    selects: bool = False

    def __call__(self, call: Call) -> tuple[KernelWork, ...]:
        shape = call.need(0)
        elements = numel(shape)
        size = call.itemsize(0)
        passes = max(1, size * 8 // 8) if not self.selects else _SORT_PASSES
        written = call.output_bytes()
        pair = elements * (size + _INDEX_BYTES)
        read = passes * (elements * size if self.selects else pair)
        if written is None:
            written = pair if not self.selects else 0
        return (
            KernelWork(
                family=Family.SORT,
                flop=float(elements) * max(1.0, math.log2(max(2, elements))),
                read_bytes=float(read),
                write_bytes=float(written if self.selects else passes * pair),
                rate_class=rate_class_of(call.dtype(0), matrix=False),
                blocks=pointwise_blocks(elements),
                threads=POINTWISE_THREADS,
                launch_count=1 + passes,
            ),
        )


def _ctc(call: Call) -> tuple[KernelWork, ...]:
    """Forward or backward recursion over time, (t, n, labels); a sequential loop of t steps inside one kernel."""
    position = 0 if len(call.need(0)) == 3 else 1
    shape = call.need(position, at_least=3)
    moved = float(numel(shape) * call.itemsize(position))
    return (
        KernelWork(
            family=Family.LOSS,
            flop=2.0 * TRANSCENDENTAL_FLOP * numel(shape),
            read_bytes=2 * moved,
            write_bytes=moved,
            rate_class=rate_class_of(call.dtype(position), matrix=False),
            blocks=max(1, shape[1]),
            threads=POINTWISE_THREADS,
            launch_count=2,
        ),
    )


def _row_loss_read(call: Call) -> float:
    return float(call.bytes_of(0) + call.bytes_of(1))


def _row_loss_write(call: Call) -> float:
    shape = call.shape(0)
    if not shape:
        raise Unrecorded(f"{call.name}: no shape of argument 0 recorded")
    return float(shape[0] * call.itemsize(0))


_ONE_RESULT: Final = Reduction(axes=None)
_INDEXED: Final = Reduction(index_result=True)
_SORT: Final = Sorting()
_ROW_LOSS: Final = Moving(family=Family.LOSS, read=_row_loss_read, write=_row_loss_write, flop=3.0)
_ROW_LOSS_BACKWARD: Final = Moving(
    family=Family.LOSS,
    read=lambda call: float(call.bytes_of(1) + call.bytes_of(2)),
    write=lambda call: float(call.bytes_of(1)),
    flop=3.0,
)

REDUCTION_OPS: Final[dict[str, Rule]] = {
    **dict.fromkeys(
        (
            "sum", "nansum", "mean", "nanmean", "prod", "amax", "amin", "any", "all", "count_nonzero",
            "_is_all_true", "_is_any_true", "sum_to_size", "_grad_sum_to_size", "hash_tensor",
            "_sparse_sum", "_nested_sum_backward",
        ),
        Reduction(),
    ),
    **dict.fromkeys(("argmax", "argmin"), Reduction(index_result=True)),
    **dict.fromkeys(("norm", "linalg_vector_norm", "linalg__powsum", "native_norm"), Reduction(axes=2, flop=2.0)),
    "linalg_norm": Reduction(axes=2, flop=2.0),
    **dict.fromkeys(("logsumexp", "special_logsumexp"), Reduction(flop=TRANSCENDENTAL_FLOP, passes=2, launch_count=4)),
    **dict.fromkeys(("var", "std"), Reduction(flop=4.0)),
    **dict.fromkeys(("var_mean", "std_mean"), Reduction(flop=4.0)),
    **dict.fromkeys(("max", "min"), _extremum),
    **dict.fromkeys(("aminmax", "_aminmax"), Reduction(flop=2.0)),
    **dict.fromkeys(("equal", "allclose", "dist"), Reduction(operands=2, axes=None, flop=2.0)),
    **dict.fromkeys(("trace", "linalg_vecdot"), _ONE_RESULT),
    "segment_reduce": Reduction(),
    "_segment_reduce_backward": Pointwise(family=Family.BINARY, operands=3),
    # softmax
    **dict.fromkeys(
        ("_softmax", "_log_softmax", "softmax", "log_softmax", "_safe_softmax", "special_softmax"), Softmax()
    ),
    "_masked_softmax": Softmax(operands=2, axis=2),
    **dict.fromkeys(
        ("_softmax_backward_data", "_log_softmax_backward_data"),
        Softmax(operands=2, axis=2, family=Family.SOFTMAX_BACKWARD),
    ),
    "_masked_softmax_backward": Softmax(operands=3, axis=3, family=Family.SOFTMAX_BACKWARD),
    # losses
    **dict.fromkeys(("nll_loss_forward", "nll_loss2d_forward", "nll_loss", "nll_loss2d"), _nll_forward),
    **dict.fromkeys(("nll_loss_backward", "nll_loss2d_backward"), _nll_backward),
    **dict.fromkeys(("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss"), PointwiseLoss()),
    "kl_div": PointwiseLoss(flop=TRANSCENDENTAL_FLOP),
    "binary_cross_entropy": PointwiseLoss(reduction=3, flop=2 * TRANSCENDENTAL_FLOP),
    "binary_cross_entropy_with_logits": PointwiseLoss(reduction=4, flop=2 * TRANSCENDENTAL_FLOP),
    **dict.fromkeys(("_ctc_loss", "_cudnn_ctc_loss", "miopen_ctc_loss", "_ctc_loss_backward"), _ctc),
    **dict.fromkeys(("multi_margin_loss", "multilabel_margin_loss_forward", "multilabel_margin_loss"), _ROW_LOSS),
    **dict.fromkeys(("multi_margin_loss_backward", "multilabel_margin_loss_backward"), _ROW_LOSS_BACKWARD),
    # scans
    **dict.fromkeys(
        ("cumsum", "cumsum_", "cumprod", "cumprod_", "_logcumsumexp", "logcumsumexp", "_cumsum", "_cumprod"), Scan()
    ),
    **dict.fromkeys(("cummax", "cummin", "_cummax_helper", "_cummin_helper"), Scan(indices=True)),
    # sorting and selecting
    **dict.fromkeys(
        (
            "sort", "argsort", "msort", "unique_dim", "_unique", "_unique2", "unique_consecutive",
            "unique_dim_consecutive", "randperm",
        ),
        _SORT,
    ),
    **dict.fromkeys(
        ("topk", "kthvalue", "median", "nanmedian", "mode", "quantile", "nanquantile"), Sorting(selects=True)
    ),
    **dict.fromkeys(
        ("histc", "bincount", "histogram", "_histogramdd_from_bin_cts"),
        Moving(
            family=Family.SCATTER,
            read=lambda call: float(call.bytes_of(0)),
            write=lambda call: float(call.output_bytes() or 0),
            flop=2.0,
        ),
    ),
    **dict.fromkeys(("searchsorted", "bucketize"), Moving(
        family=Family.GATHER,
        read=lambda call: float(call.bytes_of(0) + call.bytes_of(1)),
        write=lambda call: float(call.output_bytes() or _INDEX_BYTES * numel(max((s for _, s in call.tensors(2)),
                                                                                 key=numel))),
        flop=16.0,
    )),
}  # fmt: skip

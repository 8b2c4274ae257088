"""Copies, casts, fills, random numbers, padding, concatenation, indexing: bytes and hardly any arithmetic.

Gathers read what they fetch, not the table they fetch from; scatters read and write what they touch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from surfer_lab.engine.lowering.call import Call, Rule, Unrecorded, broadcast, itemsize_of, numel
from surfer_lab.engine.lowering.families import Family
from surfer_lab.engine.lowering.ops.streaming import Moving, pointwise_work
from surfer_lab.engine.lowering.work import KernelWork
from surfer_lab.trace.tables import MemoryFormat

__all__ = ["MOVEMENT_OPS"]

_INDEX_BYTES: Final = 8
_RANDOM_FLOP: Final = 10.0  # Philox: ten rounds for four numbers, plus the distribution's transform


# -- how many bytes ------------------------------------------------------------------------------------------------
def _first(call: Call) -> float:
    return float(call.bytes_of(0))


def _second(call: Call) -> float:
    return float(call.bytes_of(1))


def _nothing(call: Call) -> float:
    return 0.0


def _result(call: Call) -> float:
    """The recorded outputs, else as much as the first operand."""
    written = call.output_bytes()
    return float(written if written is not None else call.bytes_of(0))


def _made(call: Call) -> float:
    """What a factory writes: its output, else the size its first argument names."""
    written = call.output_bytes()
    if written is not None:
        return float(written)
    if call.shape(0) is not None:
        return float(call.bytes_of(0))
    sizes = call.ints(0)
    if sizes is None:
        raise Unrecorded(f"{call.name}: neither its size nor its output was recorded")
    return float(numel(sizes) * 4)


@dataclass(frozen=True, kw_only=True)
class Copy:
    """`target` and `source` positions; a change of dtype makes it a cast, a strided source a change of layout."""

    source: int = 0
    target: int = -1
    layout: bool = False

    def __call__(self, call: Call) -> tuple[KernelWork, ...]:
        target = call.shape(self.target)
        source = call.shape(self.source)
        if source is None and target is None:
            raise Unrecorded(f"{call.name}: no shapes recorded")
        result = call.output() or target or source or ()
        from_dtype = call.dtype(self.source) if source is not None else None
        to_dtype = call.output_dtype() or call.dtype(self.target) or from_dtype
        elements = numel(result)
        if elements == 0:
            return ()
        read = numel(source) * itemsize_of(from_dtype) if source is not None else 0
        if from_dtype and to_dtype and from_dtype != to_dtype:
            family = Family.CAST
        elif self.layout or call.memory_format is MemoryFormat.OTHER:
            family = Family.LAYOUT
        else:
            family = Family.COPY
        return (
            pointwise_work(
                family,
                elements=elements,
                read_bytes=float(min(read, elements * itemsize_of(from_dtype))),
                write_bytes=float(elements * itemsize_of(to_dtype)),
                flop_per_element=0.0,
                dtype=to_dtype,
            ),
        )


def _list_bytes(call: Call) -> float:
    shapes = call.tensor_list(0)
    if shapes is None:
        written = call.output_bytes()
        if written is None:
            raise Unrecorded(f"{call.name}: shapes of its list of tensors were not recorded")
        return float(written)
    return float(sum(numel(shape) for shape in shapes) * call.itemsize(0))


def _repeated(call: Call) -> float:
    written = call.output_bytes()
    if written is not None:
        return float(written)
    repeats = call.ints(1)
    return float(call.bytes_of(0) * (numel(repeats) if repeats else 2))


def _padded(call: Call) -> float:
    """Output of a pad: (left, right) of the last dimension first, at position 1."""
    written = call.output_bytes()
    if written is not None:
        return float(written)
    shape, amounts = list(call.need(0)), call.ints(1) or ()
    for axis, (before, after) in enumerate(zip(amounts[::2], amounts[1::2], strict=False)):
        if axis < len(shape):
            shape[-1 - axis] = max(0, shape[-1 - axis] + before + after)
    return float(numel(tuple(shape)) * call.itemsize(0))


# -- gathers and scatters ------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class Gather:
    """Fetches as many elements as the result has; `index` is read besides. `rows_at`: one row of the table an index."""

    index: int
    rows: bool = False  # index -> a row of the table at 0 (embedding), else one element (gather)

    def __call__(self, call: Call) -> tuple[KernelWork, ...]:
        written = call.output_bytes()
        if written is None:
            index = call.need(self.index)
            table = call.need(0)
            width = numel(table[1:]) if self.rows else 1
            written = numel(index) * width * call.itemsize(0)
        elements = written // call.itemsize(0)
        if elements == 0:
            return ()
        return (
            pointwise_work(
                Family.GATHER,
                elements=elements,
                read_bytes=float(written + call.bytes_of(self.index)),
                write_bytes=float(written),
                flop_per_element=0.0,
                dtype=call.dtype(0),
            ),
        )


def _index_select(call: Call) -> tuple[KernelWork, ...]:
    """(self, dim, index): the dimension's size becomes the index's."""
    written = call.output_bytes()
    if written is None:
        shape, index = call.need(0), call.need(2)
        axes = call.ints(1) or (0,)
        along = shape[axes[0] % len(shape)] if shape else 1
        written = numel(shape) // max(1, along) * numel(index) * call.itemsize(0)
    return (
        pointwise_work(
            Family.GATHER, elements=max(1, written // call.itemsize(0)), read_bytes=float(written + call.bytes_of(2)),
            write_bytes=float(written), flop_per_element=0.0, dtype=call.dtype(0),
        ),
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Scatter:
    """Values at `values` go to places of the tensor at 0; what is there is read when added to.

    Out of place the whole tensor is copied first. `sorts`: duplicates are found by sorting the indices.
    """

    index: int
    values: int
    adds: bool = False
    sorts: bool = False

    def __call__(self, call: Call) -> tuple[KernelWork, ...]:
        target = call.shape(0)
        touched = float(call.bytes_of(self.values))
        if call.shape(self.values) is None and call.shape(self.index) is not None:
            touched = float(numel(call.need(self.index)) * call.itemsize(0))  # one value for all places
        if target is None and not touched:
            raise Unrecorded(f"{call.name}: no shapes recorded")
        copied = 0.0 if call.name.endswith("_") else float(call.bytes_of(0))
        elements = int(touched // call.itemsize(0))
        return (
            pointwise_work(
                Family.SCATTER,
                elements=max(1, elements),
                read_bytes=touched + copied + call.bytes_of(self.index) + (touched if self.adds else 0.0),
                write_bytes=touched + copied,
                flop_per_element=1.0 if self.adds else 0.0,
                dtype=call.dtype(0),
                launch_count=(6 if self.sorts else 1) + (1 if copied else 0),
            ),
        )


def _embedding_backward(call: Call) -> tuple[KernelWork, ...]:
    """(gradient, indices, rows of the table): zeros of the table's size, indices sorted, rows summed."""
    gradient = call.need(0, at_least=1)
    size = call.itemsize(0)
    written = call.output_bytes()
    if written is None:
        rows = call.ints(2)
        written = (rows[0] if rows else numel(call.need(1))) * gradient[-1] * size
    moved = float(call.bytes_of(0))
    indices = float(call.bytes_of(1))
    return (
        pointwise_work(
            Family.SCATTER, elements=max(1, numel(gradient)), read_bytes=moved + 4 * indices,
            write_bytes=float(written), flop_per_element=1.0, dtype=call.dtype(0), launch_count=6,
        ),
    )  # fmt: skip


def _embedding_bag(call: Call) -> tuple[KernelWork, ...]:
    """(table, indices, offsets): a row read for each index, a row written for each bag."""
    table, indices, offsets = call.need(0, at_least=2), call.need(1), call.need(2)
    row = table[1] * call.itemsize(0)
    bags = indices[0] if len(indices) == 2 else max(1, numel(offsets))
    return (
        pointwise_work(
            Family.GATHER, elements=max(1, bags * table[1]),
            read_bytes=float(numel(indices) * (row + _INDEX_BYTES)), write_bytes=float(bags * row),
            flop_per_element=numel(indices) / max(1, bags), dtype=call.dtype(0),
        ),
    )  # fmt: skip


def _embedding_bag_backward(call: Call) -> tuple[KernelWork, ...]:
    """(gradient of bags, indices, ...): a row read for each index; written: the table's gradient."""
    gradient, indices = call.need(0, at_least=2), call.need(1)
    row = gradient[1] * call.itemsize(0)
    written = call.output_bytes()
    return (
        pointwise_work(
            Family.SCATTER, elements=max(1, numel(indices) * gradient[1]), read_bytes=float(numel(indices) * row),
            write_bytes=float(written if written is not None else numel(indices) * row), flop_per_element=1.0,
            dtype=call.dtype(0), launch_count=6,
        ),
    )  # fmt: skip


def _masked_select(call: Call) -> tuple[KernelWork, ...]:
    """Data-dependent size: a count, a scan, a gather; half of the elements assumed where the output is unknown."""
    shape = broadcast([shape for _, shape in call.tensors(2)])
    written = call.output_bytes()
    assumed = "" if written is not None else "half of the elements assumed: the result depends on the data"
    size = call.itemsize(0)
    result = float(written if written is not None else numel(shape) * size // 2)
    return (
        pointwise_work(
            Family.GATHER, elements=max(1, numel(shape)), read_bytes=float(numel(shape) * (size + 1)),
            write_bytes=result, flop_per_element=1.0, dtype=call.dtype(0), launch_count=4, reason=assumed,
        ),
    )  # fmt: skip


# -- padding-like and the rest -------------------------------------------------------------------------------------
_FILL: Final = Moving(family=Family.FILL, read=_nothing, write=_first)
_MADE: Final = Moving(family=Family.FILL, read=_nothing, write=_made)
_RANDOM: Final = Moving(family=Family.RANDOM, read=_nothing, write=_first, flop=_RANDOM_FLOP)
_RANDOM_MADE: Final = Moving(family=Family.RANDOM, read=_nothing, write=_made, flop=_RANDOM_FLOP)
_CAT: Final = Moving(family=Family.CAT, read=_list_bytes, write=_list_bytes)
_PAD: Final = Moving(family=Family.LAYOUT, read=_first, write=_padded)
_PAD_BACKWARD: Final = Moving(family=Family.LAYOUT, read=_first, write=_second)
# the gradient of a slice: zeros of the whole, then the part
_PART_BACKWARD: Final = Moving(
    family=Family.LAYOUT, read=_first, write=lambda call: _result(call) + call.bytes_of(0), launch_count=2
)
_PART_SCATTER: Final = Moving(
    family=Family.LAYOUT, read=lambda call: float(call.bytes_of(0) + call.bytes_of(1)), write=_result, launch_count=2
)
_REARRANGE: Final = Moving(family=Family.LAYOUT, read=_first, write=_result)
_DROPOUT: Final = Moving(
    family=Family.DROPOUT,
    read=_first,
    write=lambda call: _first(call) + numel(call.need(0)),  # a mask of one byte beside the result
    flop=_RANDOM_FLOP,
)


def _unfolded(call: Call) -> float:
    """im2col (self, kernel, dilation, padding, stride): every tap of every position written out."""
    written = call.output_bytes()
    if written is not None:
        return float(written)
    kernel = call.ints(1)
    return float(call.bytes_of(0) * (numel(kernel) if kernel else 9))


MOVEMENT_OPS: Final[dict[str, Rule]] = {
    # copies
    **dict.fromkeys(("copy_", "copy"), Copy(source=1, target=0)),
    **dict.fromkeys(
        ("_to_copy", "clone", "_copy_from", "_lazy_clone", "_to_cpu", "_conj_copy", "_neg_view_copy", "alias_copy",
         "detach_copy", "expand_copy", "lift_fresh_copy", "narrow_copy", "slice_copy", "select_copy", "squeeze_copy",
         "unsqueeze_copy", "view_copy", "_reshape_copy", "as_strided_copy", "diagonal_copy", "unfold_copy",
         "view_as_real_copy", "view_as_complex_copy", "_cast_Float", "_cast_Half", "_autocast_to_reduced_precision",
         "_autocast_to_full_precision", "_saturate_weight_to_fp16", "_convert_weight_to_int4pack"),
        Copy(),
    ),
    **dict.fromkeys(("permute_copy", "transpose_copy", "t_copy"), Copy(layout=True)),
    **dict.fromkeys(
        ("flip", "roll", "rot90", "pixel_shuffle", "pixel_unshuffle", "channel_shuffle", "native_channel_shuffle",
         "diag_embed", "diagflat", "block_diag", "unbind_copy", "split_copy", "split_with_sizes_copy",
         "_cudnn_rnn_flatten_weight", "_pack_padded_sequence",
         "_pack_padded_sequence_backward", "_transform_bias_rescale_qkv", "to_dense", "_to_dense",
         "_nested_tensor_from_mask", "_nested_from_padded", "nested_to_padded_tensor", "to_padded_tensor",
         "_jagged_to_padded_dense_forward", "_padded_dense_to_jagged_forward", "_nested_from_padded_tensor",
         "_nested_from_padded_and_nested_example", "_nested_tensor_from_mask_left_aligned", "to_sparse", "_to_sparse",
         "sparse_mask", "_coalesce", "masked_scatter_backward", "_sparse_broadcast_to", "lu_unpack", "int_repr",
         "_to_sparse_semi_structured", "_sparse_semi_structured_tile", "_sparse_semi_structured_apply"),
        _REARRANGE,
    ),
    **dict.fromkeys(("repeat", "tile"), Moving(family=Family.LAYOUT, read=_first, write=_repeated)),
    **dict.fromkeys(("cat", "_cat", "concat", "concatenate", "stack", "_stack", "hstack", "vstack", "dstack",
                     "_chunk_cat", "cartesian_prod", "combinations", "pad_sequence", "_pack_sequence"), _CAT),
    # fills and random numbers
    **dict.fromkeys(("fill_", "zero_", "fill_diagonal_", "_no_grad_fill_", "_no_grad_zero_"), _FILL),
    **dict.fromkeys(
        ("zeros", "ones", "full", "zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full", "fill",
         "zero", "eye", "arange", "linspace", "logspace", "range", "tril_indices", "triu_indices", "scalar_tensor",
         "hann_window", "hamming_window", "blackman_window", "bartlett_window",
         "kaiser_window", "vander"),
        _MADE,
    ),
    **dict.fromkeys(
        ("normal_", "uniform_", "random_", "bernoulli_", "exponential_", "cauchy_", "geometric_", "log_normal_",
         "_fill_mem_eff_dropout_mask_", "_no_grad_normal_", "_no_grad_uniform_", "_philox_normal_",
         "_philox_uniform_"),
        _RANDOM,
    ),
    **dict.fromkeys(
        ("rand", "randn", "randint", "rand_like", "randn_like", "randint_like", "normal", "uniform", "bernoulli",
         "random", "exponential", "poisson", "binomial", "normal_functional", "_standard_gamma", "_sample_dirichlet",
         "multinomial", "_philox_normal", "_philox_uniform", "cauchy", "log_normal", "geometric",
         "_standard_gamma_grad", "_dirichlet_grad"),
        _RANDOM_MADE,
    ),
    **dict.fromkeys(("native_dropout", "_fused_dropout"), _DROPOUT),
    **dict.fromkeys(("dropout", "dropout_", "alpha_dropout", "feature_dropout"), _DROPOUT),
    # padding
    **dict.fromkeys(
        ("constant_pad_nd", "pad", "reflection_pad1d", "reflection_pad2d", "reflection_pad3d", "replication_pad1d",
         "replication_pad2d", "replication_pad3d", "_pad_circular"),
        _PAD,
    ),
    **dict.fromkeys(
        ("reflection_pad1d_backward", "reflection_pad2d_backward", "reflection_pad3d_backward",
         "replication_pad1d_backward", "replication_pad2d_backward", "replication_pad3d_backward"),
        _PAD_BACKWARD,
    ),
    **dict.fromkeys(("im2col",), Moving(family=Family.LAYOUT, read=_first, write=_unfolded)),
    "col2im": Moving(family=Family.LAYOUT, read=_first, write=_result),
    **dict.fromkeys(
        ("slice_backward", "select_backward", "diagonal_backward", "unfold_backward", "trace_backward",
         "index_select_backward", "value_selecting_reduction_backward", "masked_select_backward",
         "_nested_select_backward"),
        _PART_BACKWARD,
    ),
    **dict.fromkeys(
        ("slice_scatter", "select_scatter", "diagonal_scatter", "as_strided_scatter"), _PART_SCATTER
    ),
    # gathers
    **dict.fromkeys(("gather", "take_along_dim"), Gather(index=2)),
    "take": Gather(index=1),
    "embedding": Gather(index=1, rows=True),
    **dict.fromkeys(("index", "_unsafe_index", "_unsafe_masked_index"), Gather(index=1)),
    "index_select": _index_select,
    **dict.fromkeys(("embedding_bag", "_embedding_bag", "_embedding_bag_forward_only"), _embedding_bag),
    **dict.fromkeys(("masked_select", "nonzero", "nonzero_static", "argwhere"), _masked_select),
    "repeat_interleave": Moving(family=Family.GATHER, read=_result, write=_result, launch_count=2),
    "one_hot": Moving(family=Family.SCATTER, read=_first, write=_result, launch_count=2),
    # scatters
    **dict.fromkeys(("embedding_dense_backward", "embedding_backward"), _embedding_backward),
    **dict.fromkeys(("_embedding_bag_dense_backward", "_embedding_bag_backward"), _embedding_bag_backward),
    "_embedding_bag_per_sample_weights_backward": _embedding_bag_backward,
    **dict.fromkeys(("scatter", "scatter_", "index_copy", "index_copy_"), Scatter(index=2, values=3)),
    **dict.fromkeys(
        ("scatter_add", "scatter_add_", "index_add", "index_add_", "scatter_reduce", "scatter_reduce_",
         "index_reduce", "index_reduce_"),
        Scatter(index=2, values=3, adds=True),
    ),
    **dict.fromkeys(("index_fill", "index_fill_"), Scatter(index=2, values=-1)),
    **dict.fromkeys(
        ("index_put", "index_put_", "_index_put_impl_", "_index_put_impl", "_unsafe_index_put"),
        Scatter(index=1, values=2, adds=True, sorts=True),
    ),
    "_unsafe_masked_index_put_accumulate": Scatter(index=2, values=3, adds=True, sorts=True),
    **dict.fromkeys(("put", "put_"), Scatter(index=1, values=2)),
    **dict.fromkeys(("masked_scatter", "masked_scatter_"), Scatter(index=1, values=2)),
    # halves of a tensor as a gate
    "glu": Moving(
        family=Family.UNARY, read=_first, write=lambda call: float(call.output_bytes() or call.bytes_of(0) // 2),
        flop=10.0,
    ),
    "glu_backward": Moving(
        family=Family.BINARY, read=lambda call: float(call.bytes_of(0) + call.bytes_of(1)), write=_second, flop=20.0
    ),
}  # fmt: skip

"""The table as a whole: names that torch knows, overloads, standings, fallbacks, and properties of every rule."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from surfer_lab.engine.lowering import FAMILY_TRAITS, Family, KernelWork, Source, lower_op, traits
from surfer_lab.engine.lowering.op_table import RULES, OpStanding, plain_name, standing_of
from surfer_lab.engine.lowering.ops.costless import COMPOSITES, VIEWS

# ops of older torch (1.8 to 2.0) that recorded traces hold
GONE = frozenset(
    [
        "H",
        "T",
        "_cat",
        "_conv_depthwise2d_backward",
        "_cumprod",
        "_cumsum",
        "_s_where",
        "conv_depthwise3d_backward",
        "cudnn_convolution_backward",
        "cudnn_convolution_transpose_backward",
        "kl_div_backward",
        "l1_loss_backward",
        "miopen_convolution_backward",
        "miopen_convolution_transpose_backward",
        "miopen_depthwise_convolution_backward",
        "mkldnn_convolution_backward",
        "slow_conv3d_backward",
        "slow_conv_dilated2d_backward",
        "slow_conv_dilated3d_backward",
        "slow_conv_transpose2d_backward",
        "slow_conv_transpose3d_backward",
        "thnn_conv2d_backward",
        "thnn_conv2d_forward",
        "thnn_conv_depthwise2d",
        "thnn_conv_depthwise2d_backward",
        "thnn_conv_depthwise2d_forward",
        "record_param_comms",
    ]
)


def test_every_name_in_the_tables_is_an_op_of_some_torch() -> None:
    known = {schema.name.removeprefix("aten::") for schema in torch._C._jit_get_all_schemas()} | GONE
    names = {name for name in (*RULES, *VIEWS, *COMPOSITES) if ":" not in name}
    assert {name for name in names if name not in known and name.removesuffix("_") not in known} == set()


def test_every_op_that_autograd_knows_a_derivative_for_is_in_the_table() -> None:
    # an op of torch's with a backward op of its own is one that models use; the backward op must be there too
    names = {schema.name for schema in torch._C._jit_get_all_schemas()}
    # torch's own: what else is registered depends on what this process has imported
    known = {name.removeprefix("aten::") for name in names if name.startswith("aten::")}
    backward = {name for name in known if name.endswith("_backward") and not name.startswith(("_sparse", "_nested"))}
    missing = {name for name in backward if plain_name(f"aten::{name}") not in RULES and name not in COMPOSITES}
    assert missing <= {
        "lstm_mps_backward", "mps_convolution_backward", "mps_convolution_transpose_backward",  # Apple's
        "mkldnn_linear_backward_input", "_segment_reduce_backward", "_grid_sampler_2d_cpu_fallback_backward",
        "matmul_backward",  # nested tensors'
        "_gather_sparse_backward", "gather_backward", "to_dense_backward", "to_mkldnn_backward",
        "_embedding_bag_sparse_backward", "embedding_sparse_backward", "dist_backward", "_sparse_sum_backward",
        "matrix_exp_backward", "affine_grid_generator_backward", "cudnn_affine_grid_generator_backward",
        "fake_quantize_per_channel_affine_cachemask_backward", "fake_quantize_per_tensor_affine_cachemask_backward",
    }  # fmt: skip


def test_overloads_and_prefix_do_not_matter() -> None:
    assert plain_name("aten::add_.Tensor") == "add_"
    shapes, dtypes = ((4, 4), (4, 4)), ("float32", "float32")
    assert lower_op("aten::add.Tensor", shapes, dtypes) == lower_op("aten::add", shapes, dtypes)


@pytest.mark.parametrize(
    ("name", "standing"),
    [
        ("aten::convolution", OpStanding.ATOMIC),
        ("aten::cudnn_batch_norm", OpStanding.ATOMIC),
        ("aten::linear", OpStanding.COMPOSITE),
        ("aten::to", OpStanding.COMPOSITE),
        ("aten::view", OpStanding.COSTLESS),
        ("torchvision::nms", OpStanding.UNKNOWN_OP),
        ("mylib::fused_thing.default", OpStanding.UNKNOWN_OP),
        ("autograd::engine::evaluate_function: AddmmBackward0", OpStanding.FRAME),
        ("torch::autograd::AccumulateGrad", OpStanding.FRAME),
        ("ConvolutionBackward0", OpStanding.FRAME),
        ("Optimizer.step#SGD.step", OpStanding.FRAME),
        ("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", OpStanding.FRAME),
    ],
)
def test_names_stand_for_operators_or_for_frames_around_them(name: str, standing: OpStanding) -> None:
    assert standing_of(name) is standing


def test_an_op_outside_the_table_is_a_named_fallback_by_its_bytes() -> None:
    (work,) = lower_op("mylib::blend", ((8, 16), (16,)), ("float32", "float16"), ((8, 16),), output_dtypes=("float32",))
    assert (work.family, work.source) == (Family.OTHER, Source.FALLBACK)
    assert (work.read_bytes, work.write_bytes) == (4 * 128 + 2 * 16, 4 * 128)
    assert "mylib::blend" in work.reason


def test_an_op_outside_the_table_and_without_shapes_is_unknown_with_a_reason() -> None:
    (work,) = lower_op("mylib::blend", (None,))
    assert work.source is Source.NONE
    assert math.isnan(work.flop)
    assert "no shapes recorded" in work.reason


def test_every_family_has_traits() -> None:
    assert set(FAMILY_TRAITS) == set(Family)
    assert all(traits(family.value) is FAMILY_TRAITS[family] for family in Family)


# -- properties over all rules -----------------------------------------------------------------------------------------
_SIZES = st.integers(min_value=1, max_value=48)
_UNARY_RULES = sorted(
    name for name in RULES
    if name not in VIEWS and ":" not in name and not name.startswith(("_foreach", "_fused", "_amp", "_cudnn_rnn"))
)  # fmt: skip


def _sound(work: KernelWork) -> bool:
    if work.source is Source.NONE:
        return bool(work.reason) and math.isnan(work.flop)
    figures = (work.flop, work.read_bytes, work.write_bytes)
    return (
        all(math.isfinite(figure) and figure >= 0 for figure in figures)
        and work.blocks >= 0
        and work.launch_count >= 1
        and 0 < work.flop_fraction <= 1
    )


@settings(max_examples=150, deadline=None)
@given(
    name=st.sampled_from(_UNARY_RULES),
    shapes=st.lists(st.lists(_SIZES, max_size=5).map(tuple), min_size=1, max_size=6).map(tuple),
    outputs=st.none() | st.lists(st.lists(_SIZES, max_size=4).map(tuple), min_size=1, max_size=2).map(tuple),
    words=st.lists(st.sampled_from(("", "True", "False", "[1, 1]", "[2]", "0", "3", "0.5", "None", "[")), max_size=12),
)
def test_no_rule_breaks_on_shapes_it_did_not_expect(
    name: str,
    shapes: tuple[tuple[int, ...], ...],
    outputs: tuple[tuple[int, ...], ...] | None,
    words: list[str],
) -> None:
    works = lower_op(f"aten::{name}", shapes, ("float32",) * len(shapes), outputs, arguments=tuple(words))
    assert all(_sound(work) for work in works)


_GROWING = {
    "aten::mm": lambda a, b, c, d: ((a, b), (b, c)),
    "aten::addmm": lambda a, b, c, d: ((c,), (a, b), (b, c)),
    "aten::bmm": lambda a, b, c, d: ((d, a, b), (d, b, c)),
    "aten::convolution": lambda a, b, c, d: ((a, b, 8 + d, 8 + d), (c, b, 3, 3)),
    "aten::convolution_backward": lambda a, b, c, d: ((a, c, 8 + d, 8 + d), (a, b, 8 + d, 8 + d), (c, b, 3, 3)),
    "aten::_scaled_dot_product_flash_attention": lambda a, b, c, d: ((a, b, c, d), (a, b, c, d), (a, b, c, d)),
    "aten::add": lambda a, b, c, d: ((a, b, c, d), (a, b, c, d)),
    "aten::gelu": lambda a, b, c, d: ((a, b, c, d),),
    "aten::sum": lambda a, b, c, d: ((a, b, c, d),),
    "aten::_softmax": lambda a, b, c, d: ((a, b, c, d),),
    "aten::native_layer_norm": lambda a, b, c, d: ((a, b, c, d), None, (d,), (d,)),
    "aten::native_batch_norm": lambda a, b, c, d: ((a, b, c, d), (b,), (b,)),
    "aten::cat": lambda a, b, c, d: (((a, b), (a, c), (a, d)),),
    "aten::embedding": lambda a, b, c, d: ((1000, a), (b, c)),
    "aten::max_pool2d": lambda a, b, c, d: ((a, b, 2 * c, 2 * d),),
    "aten::_fused_adamw_": lambda a, b, c, d: (((a, b), (c, d)),) * 4,
}


@settings(max_examples=200, deadline=None)
@given(
    name=st.sampled_from(sorted(_GROWING)),
    sizes=st.tuples(*(st.integers(5, 40),) * 4),
    place=st.integers(0, 3),
    more=st.integers(1, 40),
)
def test_more_of_any_dimension_is_never_less_work(
    name: str, sizes: tuple[int, int, int, int], place: int, more: int
) -> None:
    def total(of: list[int]) -> tuple[float, float]:
        shapes = _GROWING[name](*of)  # type: ignore[no-untyped-call]
        works = lower_op(name, shapes, tuple("float32" if shape is not None else None for shape in shapes))
        return sum(work.flop for work in works), sum(work.bytes for work in works)

    larger = list(sizes)
    larger[place] += more
    small, large = total(list(sizes)), total(larger)
    assert large[0] >= small[0]
    assert large[1] >= small[1]

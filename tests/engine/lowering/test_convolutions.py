"""Convolutions: the published count of ResNet-50, both gradients, the kinds, and every spelling of the arguments."""

import math

import pytest

from surfer_lab.engine.lowering import Family, Gemm, KernelWork, Role, Tf32Switch, lower_op
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.trace.tables import MemoryFormat

F32 = "float32"
WINOGRAD = 1 / 2.25


def forward(
    x: tuple[int, ...], w: tuple[int, ...], stride: int = 1, padding: int = 0, groups: int = 1, dtype: str = F32
) -> tuple[KernelWork, ...]:
    rank = len(w) - 2
    arguments = (
        "",
        "",
        "",
        str([stride] * rank),
        str([padding] * rank),
        str([1] * rank),
        "False",
        "[0, 0]",
        str(groups),
    )
    return lower_op("aten::convolution", (x, w, None), (dtype, dtype, None), arguments=arguments)


def resnet50_convolutions() -> list[tuple[tuple[int, ...], tuple[int, ...], int, int]]:
    """Input, weight, stride, padding of the 53 convolutions (He et al. 2016, table 1; stride in the 3x3, as torch)."""
    layers: list[tuple[tuple[int, ...], tuple[int, ...], int, int]] = [((1, 3, 224, 224), (64, 3, 7, 7), 2, 3)]
    channels, size = 64, 56
    for blocks, width, first_stride in ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2)):
        for block in range(blocks):
            stride = first_stride if block == 0 else 1
            after = size // stride
            layers.append(((1, channels, size, size), (width, channels, 1, 1), 1, 0))
            layers.append(((1, width, size, size), (width, width, 3, 3), stride, 1))
            layers.append(((1, width, after, after), (4 * width, width, 1, 1), 1, 0))
            if block == 0:
                layers.append(((1, channels, size, size), (4 * width, channels, 1, 1), stride, 0))
            channels, size = 4 * width, after
    return layers


def test_resnet50_has_the_published_count_of_multiply_adds() -> None:
    # 4.09 GMAC a 224x224 image, 4.087 of them in the convolutions (2.05 M in the classifier); often quoted as 4.1
    layers = resnet50_convolutions()
    assert len(layers) == 53
    multiply_adds = sum(forward(x, w, stride, padding)[0].flop / 2 for x, w, stride, padding in layers)
    assert multiply_adds + 2048 * 1000 == pytest.approx(4.09e9, rel=2e-3)


def test_the_stem_by_hand() -> None:
    (work,) = forward((32, 3, 224, 224), (64, 3, 7, 7), stride=2, padding=3)
    assert work.flop == 2 * 32 * 64 * 112 * 112 * 3 * 49
    assert work.read_bytes == 4 * (32 * 3 * 224 * 224 + 64 * 3 * 49)
    assert work.write_bytes == 4 * 32 * 64 * 112 * 112
    assert work.gemm == Gemm(1, 32 * 112 * 112, 64, 3 * 49)
    assert (work.family, work.tf32, work.flop_fraction) == (Family.CONV_STEM, Tf32Switch.CONVOLUTION, 1.0)


@pytest.mark.parametrize(
    ("x", "w", "stride", "padding", "groups", "family"),
    [
        ((8, 64, 56, 56), (256, 64, 1, 1), 1, 0, 1, Family.CONV_1X1),
        ((8, 64, 56, 56), (64, 64, 3, 3), 1, 1, 1, Family.CONV_KXK),
        ((8, 3, 224, 224), (768, 3, 16, 16), 16, 0, 1, Family.CONV_PATCH),
        ((8, 96, 56, 56), (192, 96, 2, 2), 2, 0, 1, Family.CONV_PATCH),
        ((8, 64, 56, 56), (64, 16, 3, 3), 1, 1, 4, Family.CONV_GROUPED),
        ((8, 64, 56, 56), (64, 1, 7, 7), 1, 3, 64, Family.CONV_DEPTHWISE),
        ((8, 80, 3000), (384, 80, 3), 1, 1, 1, Family.CONV_KXK),
        ((2, 1, 16, 112, 112), (64, 1, 3, 7, 7), 1, 3, 1, Family.CONV_STEM),
    ],
)  # fmt: skip
def test_the_kind_follows_from_the_shapes(
    x: tuple[int, ...], w: tuple[int, ...], stride: int, padding: int, groups: int, family: Family
) -> None:
    assert forward(x, w, stride, padding, groups)[0].family is family


def test_groups_divide_the_work() -> None:
    (whole,) = forward((8, 64, 56, 56), (64, 64, 3, 3), 1, 1)
    (grouped,) = forward((8, 64, 56, 56), (64, 16, 3, 3), 1, 1, groups=4)
    assert grouped.flop * 4 == whole.flop
    assert grouped.gemm == Gemm(4, 8 * 56 * 56, 16, 16 * 9)


def test_depthwise_runs_on_the_vector_lanes_whatever_the_dtype() -> None:
    (work,) = forward((8, 64, 56, 56), (64, 1, 3, 3), 1, 1, 64, dtype="float16")
    assert (work.rate_class, work.tf32) == (RateClass.FP32, Tf32Switch.NONE)


def test_winograd_is_possible_for_float_3x3_of_stride_1_only() -> None:
    assert forward((8, 64, 56, 56), (64, 64, 3, 3), 1, 1)[0].flop_fraction == pytest.approx(WINOGRAD)
    assert forward((8, 64, 56, 56), (64, 64, 3, 3), 2, 1)[0].flop_fraction == 1
    assert forward((8, 64, 56, 56), (64, 64, 5, 5), 1, 2)[0].flop_fraction == 1
    assert forward((8, 64, 56, 56), (64, 64, 3, 3), 1, 1, dtype="float16")[0].flop_fraction == 1


def test_each_gradient_costs_what_the_forward_pass_costs() -> None:
    x, w = (32, 64, 56, 56), (128, 64, 3, 3)
    (ahead,) = forward(x, w, stride=2, padding=1)
    works = lower_op(
        "aten::convolution_backward",
        ((32, 128, 28, 28), x, w, None, None, None, None, None, None, None, None),
        (F32, F32, F32, *(None,) * 8),
        arguments=("", "", "", "[0]", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1", "[True, True, False]"),
    )
    assert [work.family for work in works] == [Family.DGRAD_KXK, Family.WGRAD_KXK]
    assert all(work.flop == ahead.flop for work in works)
    data, weight = works
    assert data.write_bytes == 4 * math.prod(x)
    assert weight.write_bytes == 4 * math.prod(w)


def test_a_bias_is_a_pass_over_the_output_forward_and_a_sum_backward() -> None:
    _, bias = lower_op("aten::convolution", ((8, 64, 56, 56), (64, 64, 1, 1), (64,)), (F32,) * 3)
    assert (bias.family, bias.role) == (Family.BINARY, Role.HELPER)
    assert bias.write_bytes == 4 * 8 * 64 * 56 * 56
    *_, gradient = lower_op(
        "aten::convolution_backward",
        ((8, 64, 56, 56), (8, 64, 56, 56), (64, 64, 1, 1)),
        (F32,) * 3,
        arguments=(*("",) * 10, "[True, True, True]"),
    )
    assert (gradient.family, gradient.role, gradient.write_bytes) == (Family.REDUCTION, Role.HELPER, 4 * 64)


def test_the_mask_or_the_outputs_say_which_gradients_are_wanted() -> None:
    shapes, dtypes = ((8, 64, 56, 56), (8, 3, 224, 224), (64, 3, 7, 7)), (F32,) * 3
    families = [work.family for work in lower_op("aten::convolution_backward", shapes, dtypes)]
    assert families == [Family.WGRAD_STEM]  # nothing recorded: an image needs no gradient
    outputs = ((8, 3, 224, 224), (64, 3, 7, 7), None)
    families = [work.family for work in lower_op("aten::convolution_backward", shapes, dtypes, outputs)]
    assert families == [Family.DGRAD_STEM, Family.WGRAD_STEM]


def test_a_transposed_convolution_is_a_data_gradient() -> None:
    # DCGAN's second layer: (64, 512, 4, 4) to (64, 256, 8, 8), 4x4 taps, stride 2, padding 1
    arguments = ("", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "True", "[0, 0]", "1")
    (work,) = lower_op(
        "aten::convolution", ((64, 512, 4, 4), (512, 256, 4, 4), None), (F32, F32, None), arguments=arguments
    )
    assert work.family is Family.DGRAD_KXK
    assert work.flop == 2 * 64 * 512 * 4 * 4 * 256 * 16
    assert work.write_bytes == 4 * 64 * 256 * 8 * 8
    named = lower_op(
        "aten::conv_transpose2d", ((64, 512, 4, 4), (512, 256, 4, 4), None), (F32, F32, None),
        arguments=("", "", "", "[2, 2]", "[1, 1]", "[0, 0]", "1", "[1, 1]"),
    )  # fmt: skip
    assert named == (work,)


@pytest.mark.parametrize(
    ("name", "shapes", "arguments"),
    [
        ("aten::cudnn_convolution", "xw", ("", "", "[1, 1]", "[2, 2]", "[1, 1]", "1", "False", "False", "True")),
        ("aten::miopen_convolution", "xwb", ("", "", "", "[1, 1]", "[2, 2]", "[1, 1]", "1", "False", "False")),
        ("aten::mkldnn_convolution", "xwb", ("", "", "", "[1, 1]", "[2, 2]", "[1, 1]", "1")),
        ("aten::conv2d", "xwb", ("", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "1")),
        ("aten::_slow_conv2d_forward", "xwnb", ("", "", "[3, 3]", "", "[2, 2]", "[1, 1]")),
        ("aten::cudnn_convolution_relu", "xwb", ("", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "1")),
    ],
)
def test_every_librarys_spelling_gives_the_same_output(name: str, shapes: str, arguments: tuple[str, ...]) -> None:
    known = {"x": (8, 64, 56, 56), "w": (128, 64, 3, 3), "b": None, "n": None}
    inputs = tuple(known[letter] for letter in shapes)
    (work,) = lower_op(name, inputs, tuple(F32 if entry else None for entry in inputs), arguments=arguments)
    assert work.write_bytes == 4 * 8 * 128 * 28 * 28
    assert work.reason == ""


def test_without_arguments_or_output_the_assumption_is_written_down() -> None:
    (work,) = lower_op("aten::cudnn_convolution", ((8, 64, 56, 56), (64, 64, 3, 3)), (F32, F32))
    assert work.write_bytes == 4 * 8 * 64 * 56 * 56
    assert "assumed" in work.reason


def test_halves_in_nchw_are_turned_around_for_the_tensor_cores() -> None:
    shapes, dtypes = ((8, 64, 56, 56), (64, 64, 3, 3), None), ("float16", "float16", None)
    main, layout = lower_op("aten::convolution", shapes, dtypes, memory_format=MemoryFormat.CONTIGUOUS)
    assert (layout.family, layout.role, layout.launch_count) == (Family.LAYOUT, Role.HELPER, 2)
    assert layout.read_bytes == layout.write_bytes == 2 * 2 * 8 * 64 * 56 * 56
    assert lower_op("aten::convolution", shapes, dtypes, memory_format=MemoryFormat.CHANNELS_LAST) == (main,)


def test_amds_library_copies_the_filter_too() -> None:
    shapes, dtypes = ((1, 64, 14, 14), (64, 64, 3, 3), None), ("float16", "float16", None)
    main, layout = lower_op("aten::convolution", shapes, dtypes, memory_format=MemoryFormat.CONTIGUOUS)
    maps, filters = 2 * 64 * 14 * 14, 64 * 64 * 3 * 3
    assert main.amd_bytes == 1.0
    assert layout.amd_bytes == pytest.approx((maps + filters) / maps)

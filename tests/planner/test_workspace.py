"""Scratch memory is what was measured where it was measured, and a range elsewhere."""

from __future__ import annotations

import dataclasses

import pytest

from surfer_lab.hardware.gpu import Vendor
from surfer_lab.planner.byte_range import NOTHING
from surfer_lab.planner.workspace import convolution_workspace, matmul_workspace
from surfer_lab.trace.tables import MemoryFormat
from tests.planner.predictions import gpu

MIB = 1 << 20
FORWARD = ("", "", "", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1")


def convolution(channels: int, side: int, *, dtype: str = "float32", layout: MemoryFormat = MemoryFormat.CONTIGUOUS):
    shape = (32, channels, side, side)
    return convolution_workspace(
        "aten::convolution",
        (shape, (channels, channels, 3, 3), None),
        (dtype, dtype, None),
        (shape,),
        arguments=FORWARD,
        memory_format=layout,
    )


@pytest.mark.parametrize(
    ("channels", "side", "measured"),
    [(512, 7, 56_623_104), (256, 14, 47_185_920), (64, 56, 116_195_328)],
)
def test_3_x_3_convolutions_in_fp32_take_what_the_v100_traces_show(channels: int, side: int, measured: int) -> None:
    assert convolution(channels, side).likely == measured


def test_a_workspace_above_1_mib_of_rest_is_what_the_trace_shows_in_blocks() -> None:
    # 128 channels at 28 x 28: 60,162,048 bytes asked, 60,817,408 in the trace: a rest of 640 KiB was not split off
    assert 0 <= 60_817_408 - convolution(128, 28).likely < MIB


def test_data_gradients_of_large_1_x_1_convolutions_copy_result_and_filter() -> None:
    # 256 of 512 channels at 28 x 28, batch 32: 51,911,680 in the trace, 7 kB of tables with it
    gradients = ((32, 256, 28, 28), (32, 512, 28, 28), (256, 512, 1, 1))
    found = convolution_workspace("aten::convolution_backward", gradients, ("float32",) * 3, ())
    assert found.likely == pytest.approx(51_911_680, rel=0.001)


def test_half_precision_changes_layout_unless_it_is_the_wanted_one() -> None:
    assert convolution(64, 56, dtype="float16").likely > 0
    assert convolution(64, 56, dtype="float16", layout=MemoryFormat.CHANNELS_LAST).likely == 0


def test_other_ops_and_missing_shapes_take_nothing() -> None:
    assert convolution_workspace("aten::relu", ((2, 3),), ("float32",), ((2, 3),)) == NOTHING
    assert convolution_workspace("aten::convolution", (None, None), (None,), ()) == NOTHING


def test_depthwise_and_transposed_convolutions_are_not_taken_for_winograd() -> None:
    shape = (2, 32, 8, 8)
    depthwise = convolution_workspace("aten::convolution", (shape, (32, 1, 3, 3)), ("float32",) * 2, (shape,))
    transposed = convolution_workspace(
        "aten::convolution",
        (shape, (32, 32, 3, 3)),
        ("float32",) * 2,
        (shape,),
        arguments=(*FORWARD[:6], "True", *FORWARD[7:]),
    )
    assert depthwise.likely == transposed.likely == 0


def test_the_matrix_library_keeps_a_buffer_a_handle() -> None:
    ampere = gpu("A")
    hopper = dataclasses.replace(ampere, compute_capability="9.0")
    amd = dataclasses.replace(ampere, vendor=Vendor.AMD, compute_capability="gfx942")
    assert matmul_workspace(ampere, is_training=False).likely == 8_519_680
    assert matmul_workspace(ampere, is_training=True).likely == 2 * 8_519_680
    assert matmul_workspace(hopper, is_training=False).likely == 32 * MIB
    assert matmul_workspace(amd, is_training=False).likely == 79_691_776

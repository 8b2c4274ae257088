"""Recorded kernels: shapes and names combined, by hand-made traces of what PyTorch and its libraries launch."""

import numpy as np
import pytest

from surfer_lab.engine.lowering import Lowered, Role, lower_kernels
from surfer_lab.trace.tables import KernelKind
from tests.engine.lowering.tables import KernelRow, OpRow, kernel_table, op_table

X, W, Y = (32, 64, 56, 56), (64, 64, 3, 3), (32, 64, 56, 56)
CONVOLUTION_FLOP = 2.0 * 32 * 64 * 56 * 56 * 64 * 9
DATA = "void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>(Params)"
FILTER = "void cudnn::winograd_nonfused::winogradForwardFilter4x4<float, float>(Params)"
OUTPUT = "void cudnn::winograd_nonfused::winogradForwardOutput4x4<float, float>(Params)"
WGRAD_DATA = "void cudnn::winograd_nonfused::winogradWgradData4x4<float, float>(Params)"
WGRAD_OUTPUT = "void cudnn::winograd_nonfused::winogradWgradOutput4x4<float, float>(Params)"
ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>, at::detail::Array<char*, 3> >"


def lowered(ops: list[OpRow], kernels: list[KernelRow]) -> Lowered:
    result = lower_kernels(kernel_table(kernels), op_table(ops))
    assert len(result) == len(kernels)
    assert result.kernel.tolist() == list(range(len(kernels)))
    assert result.launch_count.tolist() == [1] * len(kernels)
    return result


def test_one_kernel_of_one_op_does_all_of_its_work() -> None:
    row = lowered(
        [OpRow("aten::addmm", ((1000,), (32, 2048), (2048, 1000), None, None))],
        [KernelRow("volta_sgemm_32x128_tn", op=0, grid=(8, 1, 4), block=(256, 1, 1))],
    )
    assert row.flop.tolist() == [2.0 * 32 * 2048 * 1000]
    assert list(row.family) == ["mm"]
    assert list(row.source) == ["shapes"]
    assert list(row.rate_class) == ["fp32"]
    assert row.gemm.tolist() == [[1, 32, 1000, 2048]]
    assert (row.blocks.tolist(), row.threads.tolist()) == ([32], [256])  # as recorded


def test_the_kernels_own_arithmetic_wins_over_the_dtype() -> None:
    row = lowered(
        [OpRow("aten::cudnn_convolution", (X, (64, 64, 1, 1)))],
        [KernelRow("sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize64x64x64_stage4", op=0)],
    )
    assert list(row.rate_class) == ["tf32"]


def test_a_helper_beside_the_main_kernel_has_no_flops_and_unknown_bytes() -> None:
    row = lowered(
        [OpRow("aten::mm", ((512, 4096), (4096, 512)))],
        [
            KernelRow("volta_sgemm_128x64_nn", op=0),
            KernelRow("void splitKreduce_kernel<float, float, float, float, true, false, false>(Params)", op=0),
        ],
    )
    assert row.role.tolist() == [Role.MAIN, Role.HELPER]
    assert row.flop.tolist() == [2.0 * 512 * 512 * 4096, 0.0]
    assert np.isnan(row.bytes[1])
    assert row.memory_bound.tolist() == [False, True]
    assert list(row.source) == ["shapes", "name"]


def test_main_kernels_share_an_ops_work_by_measured_time() -> None:
    backward = [OpRow("aten::native_layer_norm_backward", ((8, 1024, 768), (8, 1024, 768), None))]
    names = ("layer_norm_grad_input_kernel<float, float>", "GammaBetaBackwardCUDAKernel<float, float>")
    row = lowered(backward, [KernelRow(names[0], op=0, duration_ns=300), KernelRow(names[1], op=0, duration_ns=100)])
    whole = 5 * 4 * 8 * 1024 * 768.0  # four reads and a write
    assert row.bytes.tolist() == [0.75 * whole, 0.25 * whole]
    equal = lowered(backward, [KernelRow(names[0], op=0, duration_ns=0), KernelRow(names[1], op=0, duration_ns=0)])
    assert equal.bytes.tolist() == [0.5 * whole, 0.5 * whole]


def test_a_plain_product_between_winograd_transforms_is_the_convolution() -> None:
    row = lowered(
        [OpRow("aten::cudnn_convolution", (X, W)), OpRow("aten::batch_norm", (Y, (64,)))],
        [KernelRow(name, op=0) for name in (DATA, FILTER, "volta_sgemm_64x64_nn", OUTPUT)],
    )
    assert row.flop.tolist() == [0, 0, CONVOLUTION_FLOP, 0]
    assert row.family[2] == "conv kxk"
    assert row.flop_fraction[2] == pytest.approx(0.25)  # F(4x4, 3x3)
    assert row.memory_bound.tolist() == [True, True, False, True]


def test_a_fused_winograd_kernel_does_four_ninths_and_a_direct_one_all() -> None:
    for name, fraction in (
        ("volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1", 16 / 36),
        ("volta_scudnn_128x64_relu_interior_nn_v1", 1.0),
    ):
        row = lowered([OpRow("aten::cudnn_convolution", (X, W))], [KernelRow(name, op=0)])
        assert row.flop_fraction.tolist() == [pytest.approx(fraction)]


GRADIENT = OpRow(
    "aten::convolution_backward", (Y, X, W, None, None, None, None, None, None, None, None),
    arguments=("", "", "", "[0]", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1", "[True, True, False]"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        # names that say so
        (("cudnn_infer_volta_scudnn_128x64_stridedB_interior_nn", "cudnn_train_volta_scudnn_128x64_stridedB_splitK_nn"),
         ("data", "weight")),
        # plain products: PyTorch computes the input's gradient first; the helper behind the second is the weight's
        (("volta_sgemm_32x128_nt", "volta_sgemm_64x64_tn", "void cudnn::cnn::reduce_wgrad_nchw_helper<float, float>()"),
         ("data", "weight", "reduction")),
        # transforms around each product tell whose it is
        ((DATA, FILTER, "volta_sgemm_64x64_nt", OUTPUT, WGRAD_DATA, "volta_sgemm_64x64_nt", WGRAD_OUTPUT),
         ("layout", "layout", "data", "layout", "layout", "weight", "layout")),
        # a memset is no main kernel
        (("volta_sgemm_64x64_nt", "Memset (Device)", "void wgrad_alg0_engine<float, 128, 6, 7, 3, 3, 5, false, 512>()"),
         ("data", "fill", "weight")),
        # MIOpen
        (("igemm_bwd_gtcx_nhwc_fp32_bx0", "igemm_wrw_gtcx_nhwc_fp32_bx0"), ("data", "weight")),
    ],
)  # fmt: skip
def test_a_gradient_ops_kernels_are_told_apart(names: tuple[str, ...], expected: tuple[str, ...]) -> None:
    row = lowered([GRADIENT], [KernelRow(name, op=0) for name in names])
    assert [family.split()[0] for family in row.family if family] == list(expected)
    assert np.nansum(row.flop) == 2 * CONVOLUTION_FLOP


def test_the_one_pass_ops_of_older_torch_take_their_shapes_from_the_op_around_them() -> None:
    ops = [
        OpRow("aten::cudnn_convolution_backward", (X, Y, W)),
        OpRow("aten::cudnn_convolution_backward_input", (None, Y, W), parent=0),
        OpRow("aten::cudnn_convolution_backward_weight", (None, Y, X), parent=0),
    ]
    row = lowered(ops, [KernelRow("volta_sgemm_64x64_nn", op=2), KernelRow("volta_sgemm_64x64_nn", op=1)])
    assert list(row.family) == ["weight gradient kxk", "data gradient kxk"]
    assert row.flop.tolist() == [CONVOLUTION_FLOP, CONVOLUTION_FLOP]


def test_without_shapes_the_ops_name_still_says_what_a_plain_product_is() -> None:
    ops = [OpRow("aten::convolution_backward"), OpRow("aten::cudnn_convolution"), OpRow("aten::mm")]
    names = ["ampere_sgemm_128x64_nn", "ampere_sgemm_128x64_tn"]
    kernels = [*(KernelRow(name, op=0) for name in names), *(KernelRow(names[0], op=op) for op in (1, 2))]
    row = lowered(ops, kernels)
    assert list(row.family) == ["data gradient", "weight gradient", "conv", "mm"]
    assert set(row.source) == {"name"}
    assert np.isnan(row.flop).all()


def test_the_output_of_an_old_convolution_is_found_in_its_backward_pass_or_in_the_next_op() -> None:
    strided, halved = (32, 64, 56, 56), (32, 64, 28, 28)
    kernel = [KernelRow("volta_scudnn_128x64_relu_interior_nn_v1", op=0)]
    convolution = OpRow("aten::cudnn_convolution", (strided, W))
    alone = lowered([convolution], kernel)
    assert alone.flop.tolist() == [CONVOLUTION_FLOP]
    assert "assumed" in (alone.reason[0] or "")
    for witness in (
        OpRow("aten::cudnn_convolution_backward", (strided, halved, W)),
        OpRow("aten::cudnn_batch_norm", (halved, (64,))),
    ):
        found = lowered([convolution, OpRow("aten::add_", ((), ())), witness], kernel)
        assert found.flop.tolist() == [CONVOLUTION_FLOP / 4]
        assert found.reason[0] is None


def test_kernels_of_a_frame_or_of_no_op_are_known_by_name() -> None:
    ops = [OpRow("CompiledFunction", (X, W)), OpRow("mylib::thing", (X,))]
    row = lowered(
        ops, [KernelRow("triton_poi_fused_add_0", op=0), KernelRow(ADD, op=-1), KernelRow("volta_sgemm_64x64_nn", op=1)]
    )
    assert list(row.family) == ["fused pointwise", "binary", "mm"]
    assert set(row.source) == {"name"}
    assert row.op.tolist() == [0, -1, 1]


def test_a_kernel_that_nothing_explains_is_a_fallback_with_a_reason() -> None:
    row = lowered([OpRow("mylib::thing", (X,))], [KernelRow("thing_kernel", op=0), KernelRow("other_kernel")])
    assert list(row.source) == ["fallback", "fallback"]
    assert list(row.family) == ["other", "other"]
    assert all("no table" in (reason or "") for reason in row.reason)


def test_an_unknown_name_under_a_known_op_takes_the_ops_work() -> None:
    row = lowered([OpRow("aten::add", (X, X))], [KernelRow("some_new_kernel", op=0)])
    assert list(row.family) == ["binary"]
    assert list(row.source) == ["shapes"]


def test_copies_and_memsets_move_what_they_say() -> None:
    row = lowered(
        [],
        [
            KernelRow("Memcpy HtoD (Pinned -> Device)", kind=KernelKind.MEMCPY, size_bytes=100),
            KernelRow("Memcpy DtoH (Device -> Pageable)", kind=KernelKind.MEMCPY, size_bytes=100),
            KernelRow("Memcpy DtoD (Device -> Device)", kind=KernelKind.MEMCPY, size_bytes=100),
            KernelRow("Memset (Device)", kind=KernelKind.MEMSET, size_bytes=100),
            KernelRow("ncclKernel_AllReduce_RING_LL_Sum_float()", kind=KernelKind.COMMUNICATION, size_bytes=100),
            KernelRow("ncclKernel_AllReduce_RING_LL_Sum_float()", kind=KernelKind.COMMUNICATION),
        ],
    )
    assert list(row.family) == ["memcpy", "memcpy", "copy", "fill", "communication", "communication"]
    assert row.read_bytes[:5].tolist() == [0, 100, 100, 0, 100]
    assert row.write_bytes[:5].tolist() == [100, 0, 100, 100, 0]
    assert np.isnan(row.bytes[5])
    assert row.flop.tolist() == [0.0] * 6


def test_a_bias_added_by_its_own_op_keeps_its_own_shapes() -> None:
    ops = [
        OpRow("aten::_convolution", (X, W, (64,))),
        OpRow("aten::cudnn_convolution", (X, W), parent=0),
        OpRow("aten::add_", (Y, (1, 64, 1, 1)), parent=0),
    ]
    row = lowered(ops, [KernelRow("volta_scudnn_128x64_relu_interior_nn_v1", op=1), KernelRow(ADD, op=2)])
    assert list(row.family) == ["conv kxk", "binary"]
    assert row.bytes[1] == 4 * (2 * 32 * 64 * 56 * 56 + 64)


def test_steps_that_repeat_cost_the_same_each_time() -> None:
    ops = [OpRow("aten::cudnn_convolution", (X, W)), OpRow("aten::cudnn_batch_norm", (Y, (64,)))] * 20
    kernels = [
        row
        for place in range(20)
        for row in (
            *(KernelRow(name, op=2 * place) for name in (DATA, "volta_sgemm_64x64_nn", OUTPUT)),
            KernelRow(
                "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512, true, 1, true>()", op=2 * place + 1
            ),
        )
    ]
    row = lowered(ops, kernels)
    assert np.array_equal(row.flop.reshape(20, 4), np.tile(row.flop[:4], (20, 1)))
    assert row.flop.sum() == 20 * (CONVOLUTION_FLOP + row.flop[3])


def test_a_trace_without_kernels_has_no_rows() -> None:
    assert len(lower_kernels(kernel_table([]), op_table([OpRow("aten::relu", (X,))]))) == 0

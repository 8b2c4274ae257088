"""Kernels by name alone: each library's convention, in names as profilers write them."""

import pytest

from surfer_lab.engine.lowering import Library, Role, Tf32Switch, Tile, classify_kernel
from surfer_lab.engine.lowering.kernel_names import NAME_PATTERNS

# name, family, library, rate, tile, memory bound
NAMES: list[tuple[str, str, Library, str | None, tuple[int, int, int] | None, bool]] = [
    # cuBLAS, from Maxwell to Hopper
    ("maxwell_sgemm_128x64_nn", "mm", Library.CUBLAS, "fp32", (128, 64, 0), False),
    ("volta_sgemm_128x32_sliced1x4_tn", "mm", Library.CUBLAS, "fp32", (128, 32, 0), False),
    ("volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nt", "mm", Library.CUBLAS, "fp16", (128, 128, 0), False),
    ("turing_fp16_s1688gemm_fp16_256x128_ldg8_f2f_tn", "mm", Library.CUBLAS, "fp16", (256, 128, 0), False),
    ("ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x4_tn", "mm", Library.CUBLAS, "fp16", (128, 64, 0), False),
    ("ampere_bf16_s16816gemm_bf16_256x128_ldg8_f2f_stages_64x3_nn", "mm", Library.CUBLAS, "bf16", (256, 128, 0), False),
    ("ampere_sgemm_32x128_nn", "mm", Library.CUBLAS, "fp32", (32, 128, 0), False),
    ("sgemm_128x128x8_NT_vec", "mm", Library.CUBLAS, "fp32", (128, 128, 8), False),
    ("volta_dgemm_64x64_nn", "mm", Library.CUBLAS, "fp64", (64, 64, 0), False),
    ("sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x16_stage4_warpsize2x2x1_tensor16x8x8_kernel", "mm",
     Library.CUBLAS, "tf32", (128, 128, 16), False),
    ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_exec_segment_k_off_kernel",
     "mm", Library.CUBLAS, "bf16", (128, 128, 64), False),
    ("sm80_xmma_gemm_i8i8_i8i32_f32_tn_n_tilesize256x128x64_stage3_warpsize4x2x1_tensor16x8x32", "mm", Library.CUBLAS,
     "int8", (256, 128, 64), False),
    ("sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n_tilesize128x128x128_cgasize1x1x1_stage3", "mm", Library.CUBLAS, "fp8",
     (128, 128, 128), False),
    ("nvjet_tst_128x256_64x4_2x1_v_bz_coopA_NNT", "mm", Library.CUBLAS, "bf16", (128, 256, 64), False),
    ("nvjet_hsh_192x192_64x3_1x2_h_bz_TNT", "mm", Library.CUBLAS, "fp16", (192, 192, 64), False),
    ("nvjet_qqtst_128x128_128x6_2x1_v_bz_TNT", "mm", Library.CUBLAS, "fp8", (128, 128, 128), False),
    ("void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4, 4, false, false>", "mm", Library.CUBLAS,
     "fp32", None, True),
    ("std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, __half, __half>(cublasGemvParams)", "mm",
     Library.CUBLAS, "fp16", None, True),
    ("void dot_kernel<float, 128, 0, cublasDotParams<cublasGemvTensor<float const>>>", "mm", Library.CUBLAS, "fp32",
     None, True),
    ("void magma_sgemmEx_kernel<float, float, float, true, false, 6, 4, 6, 3, 4>(int, int, int)", "mm", Library.CUBLAS,
     "fp32", None, False),
    # CUTLASS
    ("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_256x64_16x4_tn_align1>(Params)", "mm", Library.CUTLASS, "tf32",
     (256, 64, 16), False),
    ("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_64x6_tn_align8>(Params)", "mm",
     Library.CUTLASS, "bf16", (64, 64, 64), False),
    ("void cutlass::Kernel2<cutlass_75_tensorop_f16_s1688gemm_f16_128x128_32x2_nt_align8>(Params)", "mm",
     Library.CUTLASS, "fp16", (128, 128, 32), False),
    ("void cutlass::Kernel<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>(Params)", "mm", Library.CUTLASS, "fp32",
     (128, 32, 8), False),
    ("void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int>, cutlass::bfloat16_t>>", "mm",
     Library.CUTLASS, "bf16", None, False),
    # cuDNN convolutions
    ("volta_scudnn_128x64_relu_interior_nn_v1", "conv", Library.CUDNN, "fp32", (128, 64, 0), False),
    ("cudnn_infer_ampere_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1", "conv", Library.CUDNN, "fp32",
     (128, 128, 0), False),
    ("volta_fp16_s884cudnn_fp16_256x128_ldg8_relu_f2f_exp_interior_nhwc_tn_v1", "conv", Library.CUDNN, "fp16",
     (256, 128, 0), False),
    ("turing_fp16_s1688cudnn_fp16_128x128_ldg8_relu_f2f_exp_small_nhwc_tn_v1", "conv", Library.CUDNN, "fp16",
     (128, 128, 0), False),
    ("void implicit_convolve_sgemm<float, float, 1024, 6, 7, 3, 3, 5, 1, false, true, true>(int, int)", "conv",
     Library.CUDNN, "fp32", None, False),
    ("sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x128x16_stage4_warpsize2x2x1",
     "conv", Library.CUDNN, "tf32", (128, 128, 16), False),
    ("void cutlass_cudnn_infer::Kernel<cutlass_tensorop_s1688fprop_optimized_tf32_64x256_16x4_nhwc_align4>(Params)",
     "conv", Library.CUDNN, "tf32", (64, 256, 16), False),
    ("cudnn_infer_volta_scudnn_128x64_stridedB_interior_nn_v1", "data gradient", Library.CUDNN, "fp32", (128, 64, 0),
     False),
    ("void cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>(int, int, int)", "data gradient",
     Library.CUDNN, "fp32", None, False),
    ("cudnn_volta_scudnn_128x64_stridedB_splitK_xregs_large_nn_v1", "weight gradient", Library.CUDNN, "fp32",
     (128, 64, 0), False),
    ("sm80_xmma_wgrad_implicit_gemm_indexed_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x32", "weight gradient",
     Library.CUDNN, "fp16", (128, 128, 32), False),
    ("_ZN19cutlass_cudnn_train6KernelINS_4conv6kernel23ImplicitGemmConvolutionINS1_11threadblock22ImplicitGemmMulti"
     "stageINS_4gemm9GemmShapeILi64ELi128ELi32EEENS4_52Conv2dWgradOutputGradient", "weight gradient", Library.CUDNN,
     None, (64, 128, 32), False),
    ("void at::native::(anonymous namespace)::conv_depthwise2d_forward_kernel<3, float, int>", "conv depthwise",
     Library.PYTORCH, "fp32", None, True),
    ("void at::native::(anonymous namespace)::conv_depthwise2d_grad_weight_kernel<float, unsigned int>",
     "weight gradient depthwise", Library.PYTORCH, "fp32", None, True),
    # AMD: Tensile under rocBLAS and hipBLASLt, MIOpen, Composable Kernel
    ("Cijk_Ailk_Bljk_SB_MT64x64x16_MI32x32x2x1_SE_1LDSB0_APM1", "mm", Library.ROCBLAS, "fp32", (64, 64, 16), False),
    ("Cijk_Alik_Bljk_HHS_BH_MT128x128x32_MI32x32x8x1_SN", "mm", Library.ROCBLAS, "fp16", (128, 128, 32), False),
    ("Cijk_Alik_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs_MT256x224x64_MI16x16x1", "mm", Library.HIPBLASLT, "bf16",
     (256, 224, 64), False),
    ("Cijk_Alik_Bljk_S_B_Bias_HA_S_SAV_UserArgs_MT32x32x64_MI16x16x1", "mm", Library.HIPBLASLT, "fp32", (32, 32, 64),
     False),
    ("Cijk_Alik_Bljk_F8NBS_BH_Bias_UserArgs_MT256x256x128_MI16x16x1", "mm", Library.HIPBLASLT, "fp8", (256, 256, 128),
     False),
    ("miopenSp3AsmConv_v21_1_3_gfx9_fp32_f2x3_stride1", "conv", Library.MIOPEN, "fp32", None, False),
    ("igemm_fwd_gtcx_nhwc_fp16_bx0_ex1_bt256x128x32_wt32x32x8", "conv", Library.MIOPEN, "fp16", None, False),
    ("igemm_bwd_gtcx_nhwc_bf16_bx0_ex0_bt128x128x16", "data gradient", Library.MIOPEN, "bf16", None, False),
    ("igemm_wrw_gtcx_nhwc_fp32_bx0_ex0_bt128x128x16", "weight gradient", Library.MIOPEN, "fp32", None, False),
    ("void ck::kernel_grouped_conv_bwd_weight_xdl_cshuffle_v3<ck::tensor_operation, _Float16>", "weight gradient",
     Library.MIOPEN, None, None, False),
    ("MIOpenBatchNormFwdTrainSpatial", "batch norm", Library.CUDNN, "fp32", None, True),
    ("mloPoolingG", "pool", Library.PYTORCH, "fp32", None, True),
    # attention
    ("void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 4, cutlass::bfloat16_t>>",
     "attention", Library.FLASH_ATTENTION, "bf16", None, False),
    ("void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<64, 128, cutlass::half_t>>",
     "attention backward", Library.FLASH_ATTENTION, "fp16", None, False),
    ("fmha_cutlassF_f16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::half_t>::Params)",
     "attention", Library.FLASH_ATTENTION, "fp16", None, False),
    ("fmha_cutlassB_f32_aligned_64x64_k64_sm80(Params)", "attention backward", Library.FLASH_ATTENTION, "fp32", None,
     False),
    ("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1", "attention",
     Library.FLASH_ATTENTION, "fp16", (64, 128, 128), False),
    ("cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_bf16_knob_8_128x64x128", "attention backward",
     Library.FLASH_ATTENTION, "bf16", (128, 64, 128), False),
    ("attn_fwd", "attention", Library.FLASH_ATTENTION, None, None, False),
    # norms, pools, softmax
    ("void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512, true, 1, true>(cudnnTensorStruct)", "batch norm",
     Library.CUDNN, "fp32", None, True),
    ("void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 512, true, 1>(float, float)", "batch norm backward",
     Library.CUDNN, "fp32", None, True),
    ("void at::native::batch_norm_backward_kernel<float, float, float, int>(at::GenericPackedTensorAccessor)",
     "batch norm backward", Library.CUDNN, "fp32", None, True),
    ("void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int)", "layer norm",
     Library.PYTORCH, "fp32", None, True),
    ("void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernel<float, float>(long, long)",
     "layer norm backward", Library.PYTORCH, "fp32", None, True),
    ("void at::native::(anonymous namespace)::max_pool_backward_nchw<float, float>(float const*)", "pool backward",
     Library.PYTORCH, "fp32", None, True),
    ("void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, true, false>(float*)", "softmax",
     Library.PYTORCH, "fp32", None, True),
    ("void at::native::(anonymous namespace)::cunn_SoftMaxBackward<4, c10::Half, float, c10::Half>", "softmax backward",
     Library.PYTORCH, "fp32", None, True),
    ("void at::native::(anonymous namespace)::upsample_bilinear2d_out_frame<float, float>(int)", "interpolation",
     Library.PYTORCH, "fp32", None, True),
    # PyTorch's templates
    ("void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>, at::detail::Array<char*, 3> >",
     "binary", Library.PYTORCH, "fp32", None, True),
    ("void at::native::vectorized_elementwise_kernel<8, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, "
     "at::native::GeluType)::{lambda()#2}::operator()() const::{lambda()#4}, std::array<char*, 2ul> >", "unary",
     Library.PYTORCH, "fp32", None, True),
    ("void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::native::"
     "direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda(float)#1}>", "layout",
     Library.PYTORCH, "fp32", None, True),
    ("void at::native::vectorized_elementwise_kernel<4, at::native::bfloat16_copy_kernel_cuda(at::TensorIterator&)::"
     "{lambda(float)#1}, std::array<char*, 2ul> >", "cast", Library.PYTORCH, "fp32", None, True),
    ("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, at::detail::Array<char*, 1> >",
     "fill", Library.PYTORCH, "fp32", None, True),
    ("void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::masked_fill_kernel(at::"
     "TensorIterator&, c10::Scalar const&)::{lambda(float, bool)#1}, at::detail::Array<char*, 3> >", "binary",
     Library.PYTORCH, "fp32", None, True),
    ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<double, at::native::func_wrapper_t<double, sum> > >",
     "reduction", Library.PYTORCH, "fp64", None, True),
    ("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::"
     "FusedOptimizerTensorListMetadata<4>, FusedAdamMathFunctor<float, 4> >", "optimizer", Library.PYTORCH, "fp32",
     None, True),
    ("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<TensorListMetadata<1>, LpNormFunctor<float> >",
     "reduction", Library.PYTORCH, "fp32", None, True),
    ("void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 2, 128, 1>(float*)", "cat",
     Library.PYTORCH, "fp32", None, True),
    ("void at::native::(anonymous namespace)::indexSelectLargeIndex<float, long, unsigned int, 2, 2, -2, true>",
     "gather", Library.PYTORCH, "fp32", None, True),
    ("void at::native::_scatter_gather_elementwise_kernel<128, 4, at::native::_cuda_scatter_gather_internal_kernel<"
     "true, float> >", "scatter", Library.PYTORCH, "fp32", None, True),
    ("void at::native::_scatter_gather_elementwise_kernel<128, 4, at::native::_cuda_scatter_gather_internal_kernel<"
     "false, float> >", "gather", Library.PYTORCH, "fp32", None, True),
    ("void at::native::(anonymous namespace)::embedding_backward_feature_kernel<float, float, long>", "scatter",
     Library.PYTORCH, "fp32", None, True),
    ("void cub::DeviceRadixSortOnesweepKernel<cub::DeviceRadixSortPolicy<long, int, int>::Policy800>", "sort",
     Library.CUB, "fp32", None, True),
    ("void at::native::tensor_kernel_scan_innermost_dim<float, std::plus<float>>(float*)", "scan", Library.CUB, "fp32",
     None, True),
    ("void at::native::(anonymous namespace)::fused_dropout_kernel_vec<float, float, unsigned int, 1, 4, bool>",
     "dropout", Library.PYTORCH, "fp32", None, True),
    ("void at::native::(anonymous namespace)::distribution_elementwise_grid_stride_kernel<float, 4>", "random",
     Library.PYTORCH, "fp32", None, True),
    ("void regular_fft<512u, EPT<8u>, 32u, 32u, (padding_t)1, (twiddle_t)0>", "fft", Library.CUFFT, "fp32", None, True),
    ("void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d<float, float, long>", "loss",
     Library.PYTORCH, "fp32", None, True),
    # TorchInductor
    ("triton_poi_fused_add_cos_sin_0", "fused pointwise", Library.TRITON, "fp32", None, True),
    ("triton_per_fused_native_layer_norm_3", "fused reduction", Library.TRITON, "fp32", None, True),
    ("triton_red_fused__softmax_12", "fused reduction", Library.TRITON, "fp32", None, True),
    ("triton_tem_fused_mm_7", "mm", Library.TRITON, None, None, False),
    ("triton__0d1d2d3d4d", "fused pointwise", Library.TRITON, "fp32", None, True),
    # cuDNN's recurrent layers, collectives, copies
    ("void LSTM_elementWise_fp<float, float, float>(int, int, int, int, float const*)", "rnn", Library.CUDNN, "fp32",
     None, False),
    ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", "communication", Library.NCCL, "fp32", None, True),
    ("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevComm*, unsigned long, ncclWork*)", "communication",
     Library.NCCL, "fp32", None, True),
    ("Memcpy HtoD (Pinned -> Device)", "memcpy", Library.RUNTIME, "fp32", None, True),
    ("Memcpy DtoD (Device -> Device)", "copy", Library.RUNTIME, "fp32", None, True),
    ("Memset (Device)", "fill", Library.RUNTIME, "fp32", None, True),
    # recommendation models
    ("void split_embedding_codegen_forward_unweighted_kernel<float, float, float, long, 5ul>(at::Tensor)", "gather",
     Library.FBGEMM, "fp32", None, True),
    ("void split_embedding_backward_codegen_rowwise_adagrad_unweighted_kernel_warp_per_row_1<float, float>", "scatter",
     Library.FBGEMM, "fp32", None, True),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "family", "library", "rate", "tile", "bound"), NAMES, ids=[row[0][:50] for row in NAMES]
)
def test_a_name_tells_family_library_arithmetic_and_tile(
    name: str, family: str, library: Library, rate: str | None, tile: tuple[int, int, int] | None, bound: bool
) -> None:
    kernel = classify_kernel(name)
    assert kernel.family is not None
    assert (kernel.family.value, kernel.library) == (family, library)
    assert (kernel.rate_class.value if kernel.rate_class else None) == rate
    assert kernel.tile == (Tile(m=tile[0], n=tile[1], k=tile[2]) if tile else None)
    assert kernel.memory_bound is bound
    assert kernel.role is Role.MAIN


@pytest.mark.parametrize(
    "name",
    [
        "void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>(WinogradDataParams)",
        "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true, (cudnnKernelDataType_t)2>",
        "cask_cudnn::computeOffsetsKernel(cask_cudnn::ComputeOffsetsParams)",
        "void cudnn::winograd::generateWinogradTilesKernel<0, float, float>(Params)",
        "void cudnn::ops::scalePackedTensor_kernel<float, float>(long, float*, float)",
        "void cublasLt::splitKreduce_kernel<32, 16, int, float, float, float, float, true, true, false>(Params)",
        "void cudnn::cnn::reduce_wgrad_nchw_helper<float, float>(void*, void const*, float, int, int)",
        "void epilogue::impl::globalKernel<float, float, float, true, true>(int, int, long)",
        "void flash_bwd_dot_do_o_kernel<true, Flash_bwd_kernel_traits<64, 128, 128, 8>>",
        "void at::native::im2col_kernel<float>(long, float const*)",
        "batched_transpose_32x32_dword",
    ],
)
def test_what_stands_beside_the_main_kernel_is_a_helper_bound_by_memory(name: str) -> None:
    kernel = classify_kernel(name)
    assert (kernel.role, kernel.memory_bound, kernel.tile) == (Role.HELPER, True, None)


def test_float_kernels_say_which_flag_could_make_them_tf32() -> None:
    assert classify_kernel("volta_sgemm_128x64_nn").tf32 is Tf32Switch.MATMUL
    assert classify_kernel("volta_scudnn_128x64_relu_interior_nn_v1").tf32 is Tf32Switch.CONVOLUTION
    assert (
        classify_kernel("void wgrad_alg0_engine<float, 128, 6, 7, 3, 3, 5, false, 512>").tf32 is Tf32Switch.CONVOLUTION
    )
    assert classify_kernel("volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nt").tf32 is Tf32Switch.NONE


def test_winograd_is_seen() -> None:
    assert classify_kernel("volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1").winograd
    assert not classify_kernel("volta_scudnn_128x64_relu_interior_nn_v1").winograd


@pytest.mark.parametrize("name", ["", "my_kernel", "at::cuda::(anonymous namespace)::spin_kernel(long)", "x" * 10_000])
def test_a_name_of_no_convention_is_unknown_and_bound_by_nothing_known(name: str) -> None:
    kernel = classify_kernel(name)
    assert kernel.family is None
    assert (kernel.library, kernel.rate_class, kernel.memory_bound) == (Library.UNKNOWN, None, False)


def test_no_pattern_stands_in_the_table_twice() -> None:
    assert len({pattern.pattern for pattern in NAME_PATTERNS}) == len(NAME_PATTERNS)

"""The table of kernel names: patterns in order of precedence, the first that matches decides.

Kernels are named by convention, not by contract: each block names the library whose convention it is. Patterns are
searched anywhere in the name, case as written (folding it makes LAMB of lambda), so that they hold for demangled
templates, for mangled symbols and for the cut-off names that some recorders leave. Specific blocks stand before generic
ones: PyTorch's elementwise templates hold the names of what they apply, so they come last.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from surfer_lab.engine.lowering.families import Family
from surfer_lab.engine.lowering.identity import Library
from surfer_lab.engine.lowering.work import Role

__all__ = ["NAME_PATTERNS", "NamePattern"]


@dataclass(frozen=True)
class NamePattern:
    """`memory_bound` None: as the family's traits say. A helper stands beside the kernel that does an op's work."""

    pattern: str
    family: Family
    library: Library
    role: Role = Role.MAIN
    memory_bound: bool | None = None
    regex: re.Pattern[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "regex", re.compile(self.pattern))


_P = NamePattern
_HELP: Final = Role.HELPER

_RUNTIME: Final = (
    _P(r"^Memcpy DtoD|^Memcpy.*Device -> Device|CopyDeviceToDevice", Family.COPY, Library.RUNTIME),
    _P(r"^Memcpy|^Copy(HostTo|DeviceTo)|^MEMCPY|copyBuffer", Family.MEMCPY, Library.RUNTIME),
    _P(r"^Memset|^MEMSET|[fF]illBuffer", Family.FILL, Library.RUNTIME),
)

# NCCL and RCCL (ncclKernel_AllReduce_RING_LL_Sum_float, ncclDevKernel_...), and the collectives written beside them
_COLLECTIVES: Final = (
    _P(r"nccl(Dev)?Kernel|^nccl|rccl|msccl", Family.COMMUNICATION, Library.NCCL),
    _P(
        r"cross_device_reduce|one_shot_all_reduce|two_shot_all_reduce|multimem_all_reduce|all_reduce_kernel|"
        r"nvshmem|allreduce_fusion|all_gather_kernel|reduce_scatter_kernel",
        Family.COMMUNICATION,
        Library.NCCL,
    ),
)

# TorchInductor: triton_<kind>_fused_<ops>_<n>; kinds: poi(ntwise), red(uction), per(sistent reduction), tem(plate),
# for(each). Before torch 2.1 the kind is missing. User kernels keep their own names.
_TRITON: Final = (
    _P(r"triton_tem_.*(attention|flex)", Family.ATTENTION, Library.TRITON),
    _P(r"triton_tem_.*bmm", Family.BMM, Library.TRITON),
    _P(r"triton_tem_.*convolution", Family.CONV, Library.TRITON),
    _P(r"triton_tem_|triton_mm|triton_.*_mm_kernel", Family.MM, Library.TRITON),
    _P(r"triton_(red|per|spl|split_scan)_", Family.FUSED_REDUCTION, Library.TRITON),
    _P(r"triton_(poi|for|unk)_", Family.FUSED_POINTWISE, Library.TRITON),
    _P(
        r"triton_fused_.*(sum|mean|softmax|norm|var|amax|argmax|reduce)",
        Family.FUSED_REDUCTION,
        Library.TRITON,
    ),
    _P(r"^triton_", Family.FUSED_POINTWISE, Library.TRITON),
    _P(r"_0d1d\d*d?", Family.FUSED_POINTWISE, Library.TRITON),
)

_ATTENTION: Final = (
    _P(
        r"flash_bwd_(dot_do_o|convert_dq|convert_dkv|preprocess|postprocess)|FlashAttnBwd(Pre|Post)process|"
        r"flash_bwd_clear_dkvaccum|bwd_preprocess|fmha_bwd_dot_do_o|fmha_bwd_convert_dq|FmhaBwdOGradDotO|"
        r"FmhaBwdConvertQGrad|flash_fwd_splitkv_combine|fmha_cutlassB.*[pP]reprocess",
        Family.ATTENTION_BACKWARD,
        Library.FLASH_ATTENTION,
        _HELP,
        True,
    ),
    _P(
        r"flash_bwd|FlashAttnBwd|fmha_cutlassB|AttentionBackwardKernel|attention_backward|sdpa.*_?bprop|"
        r"sdpa_?bwd|fmha_bwd|FmhaBwd|_attn_bwd|attn_bwd|bwd_kernel_(dk_dv|dq|fuse)|fmhaBackward|_bwd_kernel_one_col",
        Family.ATTENTION_BACKWARD,
        Library.FLASH_ATTENTION,
    ),
    _P(
        r"flash_fwd|FlashAttnFwd|fmha_cutlassF|AttentionKernel<|attention_forward|cudnn.*sdpa|sdpa.*fprop|sdpa_?fwd|"
        r"fmha|Fmha|_?attn_fwd|flash_attn|flash_attention|mha_fwd|paged_attention|device_flash",
        Family.ATTENTION,
        Library.FLASH_ATTENTION,
    ),
)

# cuDNN and MIOpen recurrent layers, and PyTorch's own cells
_RECURRENT: Final = (
    _P(r"(LSTM|GRU|RNN)_elementWise_bp|elemWiseRNNcell.*bp|RNN_block\w*bp|persist\w*_bp|(lstm|gru)_cell_backward",
       Family.RNN_BACKWARD, Library.CUDNN),
    _P(r"(LSTM|GRU|RNN)_elementWise|elemWiseRNN|RNN_blockPersist|persistRNN|PersistRnn|(lstm|gru)_cell_forward|"
       r"LSTMCell|GRUCell|RNN_rowbatch|lstm_bidir|RnnKernel", Family.RNN, Library.CUDNN),
)  # fmt: skip

# Around a convolution: layout, offsets and transforms that cuDNN, CUTLASS and MIOpen launch beside the main kernel
_CONVOLUTION_HELPERS: Final = (
    _P(r"nchwToNhwc|nhwcToNchw|nchw2nhwc|nhwc2nchw|ncdhw|cudnn.*[tT]ranspose|nchwAddPadding|tensorTransform",
       Family.LAYOUT, Library.CUDNN, _HELP),
    _P(r"(?i:compute\w*offsets)|computeWgradSplitK|kern_precompute_indices|generateWinogradTiles|"
       r"flip_filter|pointer_indices|(?i:region_transform_ABC)|cudnn\w*::reorder", Family.LAYOUT, Library.CUDNN, _HELP),
    _P(r"winograd\w*(Data|Filter|Output|Delta)\d+x\d+|winograd_nonfused|Winograd\w*Xform|"
       r"(input|filter|output)_transform\w*winograd|winograd_?(xform|transform)",
       Family.LAYOUT, Library.CUDNN, _HELP, True),
    _P(r"scalePackedTensor|scaleTensor", Family.FILL, Library.CUDNN, _HELP),
    _P(r"im2col|Im2Col|Im2d2Col|col2im|Col2Im|vol2col|col2vol", Family.LAYOUT, Library.CUDNN, _HELP),
    _P(r"fft2d_[rc]2[rc]|fft1d_[rc]2[rc]|DSE::regular_fft_|DSE::vector_fft", Family.FFT, Library.CUDNN, _HELP),
    _P(r"reduce_wgrad|ReduceSplitK|splitK_reduce|splitKreduce|split_?k_reduce|reduceSplitK",
       Family.REDUCTION, Library.CUTLASS, _HELP),
    _P(r"batched_transpose_\d+x\d+|SubTensorOpWithScalar|SubTensorOpWithCast|transpose_NCHW|transpose_CNHW|"
       r"MIOpen.*[tT]ranspose|miopen.*transpose", Family.LAYOUT, Library.MIOPEN, _HELP),
)  # fmt: skip

_CONVOLUTIONS: Final = (
    # AMD: implicit GEMM assembly (igemm_fwd_gtcx, _bwd_, _wrw_), Composable Kernel, Winograd assembly, direct kernels
    _P(r"igemm_wrw|grouped_conv_bwd_weight|conv\w*_bwd_weight|BwdWeight|Bwd_?WrW|_wrw\d*|WrW", Family.WGRAD,
       Library.MIOPEN),
    _P(r"igemm_bwd|grouped_conv_bwd_data|conv\w*_bwd_data|BwdData|naive_conv_\w*_bwd", Family.DGRAD, Library.MIOPEN),
    _P(r"igemm_fwd|grouped_conv_fwd|miopenSp3AsmConv|Conv_Winograd|MIOpenConv|MIOpenNeuron.*Conv|naive_conv|"
       r"gridwise_convolution|miopenGcnAsmConv|conv\w*_fwd\w*_(xdl|wmma)|ConvForward", Family.CONV, Library.MIOPEN),
    # PyTorch's depthwise kernels
    _P(r"conv_depthwise[23]d?\w*grad_weight|conv_depthwise[23]\w*_weight|depthwise\w*wgrad|dwconv\w*wgrad",
       Family.WGRAD_DEPTHWISE, Library.PYTORCH),
    _P(r"conv_depthwise[23]d?_backward|conv_depthwise3d_cuda_backward_input|depthwise\w*dgrad",
       Family.DGRAD_DEPTHWISE, Library.PYTORCH),
    _P(r"conv_depthwise|dw_conv|depthwise\w*(fprop|conv|fwd)|DepthwiseConv", Family.CONV_DEPTHWISE, Library.PYTORCH),
    # NVIDIA: cuDNN's engines, xmma, CUTLASS's implicit GEMM; scudnn's "stridedB" kernels are gradients (of the weight
    # with splitK), as the V100 traces with op names show
    _P(r"wgrad|Wgrad|backward_?filter|BackwardFilter|stridedB_splitK", Family.WGRAD, Library.CUDNN),
    _P(r"dgrad|Dgrad|backward_?data|BackwardData|stridedB", Family.DGRAD, Library.CUDNN),
    _P(r"fprop|Fprop|convolve|scudnn|hcudnn|icudnn|\d{3,5}cudnn|implicit_gemm|ImplicitGemm|conv2d_grouped_direct|"
       r"conv2d_c1_k1|convolution_forward|cudnn\w*::cnn::|3dconv|conv_tbc|winograd|Winograd", Family.CONV,
       Library.CUDNN),
    _P(r"conv_transpose\w*_kernel|slow_conv", Family.CONV, Library.PYTORCH),
)  # fmt: skip

_PRODUCTS: Final = (
    _P(r"cublas\w*[sS]plit|cublasLt::epilogue|epilogue::impl::globalKernel|scal_kernel<|PostGSU|_PostGSU|"
       r"gemmkReduce|reduce_1Block_kernel|BetaOnly|Cijk_\w+_GB\b|Cijk_[A-Z]{1,4}(_GB)?$", Family.REDUCTION,
       Library.CUBLAS, _HELP),
    _P(r"bias_act_epilogue|add_bias_kernel|cublasLt\w*bias", Family.BINARY, Library.CUBLAS, _HELP),
    # matrix by vector: every weight is used once
    _P(r"gemv|dot_kernel|GEMV|rocblas_dot|ger_kernel|gemmSN|gemmk1", Family.MM, Library.CUBLAS, Role.MAIN, True),
    _P(r"gcgemm|[bB]atched[_A-Z]?[gG]emm|bgemm|batched_gemm|GemmBatched|gemm_batched|_bmm_|bmm_kernel|BatchedGemm",
       Family.BMM, Library.CUBLAS),
    _P(r"Cijk_.*UserArgs|hipblaslt", Family.MM, Library.HIPBLASLT),
    _P(r"^Cijk_|rocblas.*gemm|Tensile", Family.MM, Library.ROCBLAS),
    _P(r"ck::kernel_gemm|ck_tile.*[gG]emm|kernel_gemm\w*_xdl|DeviceGemm|kernel_grouped_gemm", Family.MM,
       Library.COMPOSABLE_KERNEL),
    _P(r"cutlass.*([gG]emm|Gemm)|^cutlass_\w*gemm|cutlass::device_kernel", Family.MM, Library.CUTLASS),
    _P(r"nvjet_", Family.MM, Library.CUBLAS),
    _P(r"magma_?\w*gemm", Family.MM, Library.CUBLAS),
    _P(r"gemm|Gemm|GEMM|_mm_kernel|matmul|MatMul|\btrmm|syrk", Family.MM, Library.CUBLAS),
)  # fmt: skip

_NORMALIZATION: Final = (
    _P(r"bn_bw|batch_?norm\w*_backward|batch_norm\w*bwd|BatchNorm\w*(Bwd|Backward)|bn_relu_bwd|nhwc_batch_norm_bwd|"
       r"cudnn::bn_bw|bnBwd|batchnorm_bwtr|batchnorm_bwd", Family.BATCH_NORM_BACKWARD, Library.CUDNN),
    _P(r"bn_fw|batch_?norm|BatchNorm|cudnn::bn|bn_addrelu|welford_kernel|bn_inf|batchnorm_fwtr", Family.BATCH_NORM,
       Library.CUDNN),
    _P(r"layer_norm_grad|GammaBetaBackward|LayerNormBackward|LayerNormGrad|layer_?norm\w*(_bwd|_backward)|ln_bwd|"
       r"cuCompute(Part)?Grad(GammaBeta|Input)|ln_parallel_residual_bwd|rms_?norm\w*(bwd|backward)|RMSNorm\w*Backward|"
       r"cuComputeGradInput|layer_norm_backward", Family.LAYER_NORM_BACKWARD, Library.PYTORCH),
    _P(r"layer_?norm|LayerNorm|RowwiseMoments|ln_fwd|cuApplyLayerNorm|cuApplyRMSNorm|rms_?norm|RMSNorm|weight_norm",
       Family.LAYER_NORM, Library.PYTORCH),
    _P(r"ComputeInternalGradients|GroupNorm\w*Backward|ComputeBackwardFusedParams|group_norm\w*(bwd|backward)|"
       r"Compute1dBackwardFusedParams", Family.GROUP_NORM_BACKWARD, Library.PYTORCH),
    _P(r"GroupNorm|group_?norm|ComputeFusedParams|Compute1dFusedParams", Family.GROUP_NORM, Library.PYTORCH),
)  # fmt: skip

_POOLING: Final = (
    _P(r"max_?pool\w*(backward|bwd|grad)|avg_?pool\w*(backward|bwd)|adaptive\w*(gradinput|backward|grad)|pooling_bw|"
       r"mloPooling\w*Bwd|pool\w*backward|MaxUnpool", Family.POOL_BACKWARD, Library.PYTORCH),
    _P(r"max_?pool|avg_?pool|adaptive_?average|adaptive_?max|pooling_fw|mloPooling|[pP]ool\w*forward|"
       r"MaxPool|AvgPool|poolingForward", Family.POOL, Library.PYTORCH),
    _P(r"upsample\w*_?(backward|bwd)|(bilinear|nearest|bicubic|trilinear|linear)\w*backward_?\w*(frame|kernel)|"
       r"grid_sampler\w*backward|RoIAlignBackward|roi_align\w*backward|ps_roi\w*backward", Family.INTERPOLATE_BACKWARD,
       Library.PYTORCH),
    _P(r"upsample|grid_sampler|roi_align|RoIAlign|ps_roi|roi_pool|affine_grid|deformable_im2col|ms_deform",
       Family.INTERPOLATE, Library.PYTORCH),
)  # fmt: skip

_SOFTMAX: Final = (
    _P(r"softmax\w*(_backward|_bwd)|SoftMaxBackward|cunn_SoftMaxBackward|softmax_?grad|softmax\w*_warp_backward|"
       r"cunn_SpatialSoftMaxBackward", Family.SOFTMAX_BACKWARD, Library.PYTORCH),
    _P(r"[sS]oft[mM]ax", Family.SOFTMAX, Library.PYTORCH),
    _P(r"nll_loss|NLLCriterion|ctc_loss|CTCLoss|compute_betas|compute_alphas|margin_?loss|MarginLoss|MarginCriterion|"
       r"cross_entropy|xentropy|SpatialClassNLL", Family.LOSS, Library.PYTORCH),
)  # fmt: skip

# FBGEMM's recommendation-model kernels and TorchRec's
_FBGEMM: Final = (
    _P(r"split_embedding\w*_backward|embedding\w*codegen\w*backward|grad_indice_weights", Family.SCATTER,
       Library.FBGEMM),
    _P(r"split_embedding|embedding\w*codegen\w*forward|lookup_kernel|lxu_cache|linearize_cache|lru_cache|direct_mapped",
       Family.GATHER, Library.FBGEMM),
    _P(r"(FP8|HFP8|hfp8|_float_to_\w*|_\w*_to_float|[qQ]uantize)\w*(cuda_)?kernel|fbgemm\w*::\w*quant|_hfp8_|"
       r"_float_to_hfp8|dequantize", Family.CAST, Library.FBGEMM),
    _P(r"permute_(pooled_embs|2D|1D|indices|sequence)\w*|recat_\w*copy|linearize_index|bounds_check_indices|"
       r"bucketize_sparse|block_bucketize|offsets_range|jagged|reorder_batched|batched_unary|segment_sum_csr|"
       r"permute\w*_kernel|expand_into_jagged|generate_vbe|pack_segments", Family.GATHER, Library.FBGEMM),
    _P(r"fbgemm_gpu::", Family.GATHER, Library.FBGEMM),
    _P(r"to_dense_representation|compute_cuda_kernel", Family.GATHER, Library.PYTORCH),
)  # fmt: skip

_INDEXING: Final = (
    _P(r"embedding_backward|indexing_backward|EmbeddingBag_accGradParameters|compute_grad_weight|sum_and_scatter|"
       r"krn_partial|compute_num_of_partial|partial_segment|segment_offsets|index_?[aA]dd|indexFunc|index_put|"
       r"scatter_gather_internal_kernel<true|scatter_gather\w*<true|[sS]catter(?!_?[gG]ather)|index_reduce|"
       r"index_copy|index_fill|indexAdd|masked_scatter|put_kernel|index_reduce", Family.SCATTER, Library.PYTORCH),
    _P(r"indexSelect|index_select|gather|Gather|index_elementwise|index_kernel|indexing|take_kernel|embedding|"
       r"Embedding|searchsorted|masked_select|nonzero|flag_kernel|write_indices|DeviceSelect|repeat_interleave",
       Family.GATHER, Library.PYTORCH),
    _P(r"CatArrayBatchedCopy|CatArray|chunk_cat|concat_kernel", Family.CAT, Library.PYTORCH),
    _P(r"split_with_sizes|triu_tril|roll_cuda_kernel|flip_kernel|reflection_pad|replication_pad|constant_pad|"
       r"pixel_shuffle|transpose_?(kernel|tile)|copyTranspose|kernel_transpose|tile_transpose", Family.LAYOUT,
       Library.PYTORCH),
)  # fmt: skip

_OPTIMIZER: Final = (
    _P(r"multi_tensor_apply\w*.*(LpNorm|L2Norm|MaxNorm)|lpnorm_cleanup", Family.REDUCTION, Library.PYTORCH),
    _P(r"multi_tensor_apply.*(CopyFunctor|Copy<)|foreach_copy", Family.COPY, Library.PYTORCH),
    _P(r"multi_tensor_apply|MultiTensorApply|[aA]dam_?[wW]?|AdamFunctor|lamb_|LAMB|fused_sgd|SGDFunctor|adagrad|"
       r"DistAdam|FusedOptimizer|amp_update_scale|amp_non_finite", Family.OPTIMIZER, Library.PYTORCH),
)  # fmt: skip

_RANDOM_SORT_SCAN: Final = (
    _P(r"fused_dropout|dropout_kernel|dropout_add|masked_scale|dropout", Family.DROPOUT, Library.PYTORCH),
    _P(r"distribution_(elementwise|binary|nullary)|curand|philox|Philox|random_kernel|randperm|bernoulli|multinomial|"
       r"sampleMultinomial|generate_seed_pseudo|rocrand", Family.RANDOM, Library.PYTORCH),
    _P(r"RadixSort|radix_sort|radixSort|MergeSort|merge_sort|bitonicSort|SegmentedSort|segmented_sort|topk|TopK|"
       r"gatherTopK|sortKeyValue|thrust\S*sort|unique|DeviceUnique|\bnms|nms_kernel|gatherMedian|gatherKthValue|"
       r"compute_mode|block_sort|onesweep|SortBlock", Family.SORT, Library.CUB),
    _P(r"DeviceScan|scan_innermost|scan_outer|InclusiveScan|ExclusiveScan|cumsum|scan_kernel|ScanTile|lookback_scan|"
       r"scan_by_key|init_lookback", Family.SCAN, Library.CUB),
    _P(r"DeviceReduce|ReduceByKey|DeviceSegmentedReduce|DeviceCompactInit|DeviceHistogram|kernelHistogram|histogram",
       Family.REDUCTION, Library.CUB),
    _P(r"regular_fft|vector_fft|cufft|multi_bluestein|bluestein|fft_rtc|real_post_process|real_pre_process|"
       r"hermitian|fft_\w*(fwd|back)|_fft_|postprocess_kernel|[cr]2[cr]_transform", Family.FFT, Library.CUFFT),
    _P(r"getrf|getrs|potrf|potrs|geqrf|syevd?|gesvd|trsm|trsv|ormqr|larf|cusolver|magma_(?!\w*gemm)|laswp|rocsolver|lu_kernel|"
       r"syevj|householder|steqr|stedc", Family.LINALG, Library.CUBLAS),
)  # fmt: skip

_REDUCTIONS: Final = (
    _P(r"reduce_kernel<|reduce_kernel|gridwise_generic_reduce|block_reduce|row_reduce|column_reduce|"
       r"aten\S*_reduce_|warp_reduce|blockReduce|_norm_kernel|renorm|sum_kernel|cdist|pdist", Family.REDUCTION,
       Library.PYTORCH),
)  # fmt: skip

# PyTorch's elementwise templates: what they apply is in the name; how many pointers they take tells unary from binary
_ELEMENTWISE: Final = (
    _P(r"FillFunctor|(?<!masked_)fill_kernel|arange_cuda|linspace|eye_kernel|elementwise_kernel_with_index",
       Family.FILL, Library.PYTORCH),
    _P(r"(bfloat16|float16|float8\w*|half)_copy_kernel|copy_kernel\S*LoadWithCast|LoadWithCast\S*copy_kernel|"
       r"copy_device_to_device.*LoadWithCast|direct_copy_kernel.*LoadWithCast|CopyFunctor\S*Cast", Family.CAST,
       Library.PYTORCH),
    _P(r"[^_]elementwise_kernel<\d+, \d+, \S*gpu_kernel_impl\S*<.*(direct_copy|copy_device_to_device)", Family.LAYOUT,
       Library.PYTORCH),
    _P(r"direct_copy_kernel|copy_device_to_device|copy_kernel|conj_kernel_cuda", Family.COPY, Library.PYTORCH),
    _P(r"(?:Array<char ?\*, ?|array<char ?\*, ?)(?:[3-9])", Family.BINARY, Library.PYTORCH),
    _P(r"(?:Array<char ?\*, ?|array<char ?\*, ?)2", Family.UNARY, Library.PYTORCH),
    _P(r"(?:Array<char ?\*, ?|array<char ?\*, ?)1", Family.FILL, Library.PYTORCH),
    _P(r"[AB]UnaryFunctor|MulScalar|CUDAFunctorOn|UnaryFunctor|_scalar_kernel|clamp_scalar|compare_scalar|ScalarFunctor",
       Family.UNARY, Library.PYTORCH),
    _P(r"BinaryFunctor|CUDAFunctor_add|AddFunctor|MulFunctor|DivFunctor|Compare\w*Functor|_backward|addcmul|addcdiv|"
       r"where_kernel|masked_fill|lerp|threshold_kernel|OpTensor|MIOpenAdd|logical_\w+_kernel|max_elementwise|"
       r"min_elementwise|mse_kernel|pow_tensor_tensor|atan2|maximum|minimum|bitwise", Family.BINARY, Library.PYTORCH),
    _P(r"elementwise_kernel|pointwise|Pointwise|elementWise|elementwise|Elementwise|kernelPointwiseApply|"
       r"_kernel_cuda|ActivationRunner|MIOpenActi|activation|op_tensor_\d", Family.UNARY, Library.PYTORCH),
)  # fmt: skip

NAME_PATTERNS: Final[tuple[NamePattern, ...]] = (
    *_RUNTIME,
    *_COLLECTIVES,
    *_TRITON,
    *_ATTENTION,
    *_RECURRENT,
    *_CONVOLUTION_HELPERS,
    *_CONVOLUTIONS,
    *_NORMALIZATION,
    *_POOLING,
    *_SOFTMAX,
    *_FBGEMM,
    *_OPTIMIZER,
    *_INDEXING,
    *_RANDOM_SORT_SCAN,
    *_PRODUCTS,
    *_REDUCTIONS,
    *_ELEMENTWISE,
)

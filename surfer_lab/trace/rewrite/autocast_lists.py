"""Which ops does `torch.autocast` run in lower precision, which in float32, and which in their widest operand's dtype?

As data, by the names that ops have once dispatched (composites taken apart: a linear layer is an addmm). Source: torch
2.13, aten/src/ATen/autocast_mode.h (CUDA: AT_FORALL_LOWER_PRECISION_FP, AT_FORALL_FP32, AT_FORALL_FP32_SET_OPT_DTYPE,
AT_FORALL_PROMOTE) and autocast_mode.cpp (CPU); the same lists as in the page "Automatic Mixed Precision package" of
torch's documentation. A test asks the torch at hand for the policy of each op. What is in no list runs in the dtypes
that it is given and promotes as it always does.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

__all__ = ["CPU_AUTOCAST", "CUDA_AUTOCAST", "STATISTICS_OPS", "AutocastRules", "CastPolicy"]


class CastPolicy(Enum):
    """What autocast does to an op's floating operands (float64 is never touched)."""

    LOWER = "lower"  # cast to the region's dtype
    FP32 = "float32"  # cast to float32
    FP32_RESULT = "float32 result"  # told to give float32; reads what there is, where a kernel can
    PROMOTE = "promote"  # cast to the widest operand's dtype
    AS_GIVEN = "as given"  # no cast


@dataclass(frozen=True, kw_only=True)
class AutocastRules:
    """The lists of one kind of device, by op name without "aten::".

    `separate_cast`: ops of policy FP32_RESULT for which a cast runs before them, by the dtype they are given.
    """

    device: str
    policies: dict[str, CastPolicy]
    separate_cast: dict[str, frozenset[str]]

    def policy(self, plain_name: str) -> CastPolicy:
        """The policy of an op; an in-place op has none of its own.

        >>> CUDA_AUTOCAST.policy("addmm"), CUDA_AUTOCAST.policy("relu_")
        (<CastPolicy.LOWER: 'lower'>, <CastPolicy.AS_GIVEN: 'as given'>)
        """
        return self.policies.get(plain_name, CastPolicy.AS_GIVEN)


_PRODUCTS: Final = """
    mm addmm bmm baddbmm addbmm matmul linear einsum linalg_vecdot chain_matmul linalg_multi_dot
    convolution _convolution cudnn_convolution conv1d conv2d conv3d conv_tbc
    conv_transpose1d conv_transpose2d conv_transpose3d
    scaled_dot_product_attention _scaled_dot_product_flash_attention _scaled_dot_product_efficient_attention
    _scaled_dot_product_cudnn_attention _scaled_dot_product_flash_attention_for_cpu
    _scaled_dot_product_fused_attention_overrideable
"""
_CUDA_LOWER: Final = (
    _PRODUCTS
    + """
    mv addmv addr prelu _prelu_kernel
    lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell _thnn_fused_lstm_cell _thnn_fused_gru_cell _cudnn_rnn miopen_rnn
"""
)
# mv and dot: matmul of vectors, taken apart; _cudnn_rnn: what a capture makes of mkldnn_rnn_layer
_CPU_LOWER: Final = _PRODUCTS + "mv prelu _prelu_kernel mkldnn_rnn_layer _cudnn_rnn _native_multi_head_attention"
_CUDA_FP32: Final = """
    acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow softplus
    layer_norm native_layer_norm rms_norm _fused_rms_norm group_norm native_group_norm frobenius_norm nuclear_norm
    cosine_similarity poisson_nll_loss cosine_embedding_loss nll_loss nll_loss2d nll_loss_forward nll_loss2d_forward
    hinge_embedding_loss kl_div l1_loss smooth_l1_loss huber_loss mse_loss margin_ranking_loss multilabel_margin_loss
    multilabel_margin_loss_forward soft_margin_loss triplet_margin_loss multi_margin_loss
    binary_cross_entropy_with_logits dist pdist _pdist_forward cdist _cdist_forward renorm logsumexp
    upsample_nearest1d _upsample_nearest_exact1d upsample_nearest2d _upsample_nearest_exact2d upsample_nearest3d
    _upsample_nearest_exact3d upsample_linear1d upsample_bilinear2d _upsample_bilinear2d_aa upsample_trilinear3d
    upsample_bicubic2d _upsample_bicubic2d_aa
"""
_CPU_FP32: Final = """
    avg_pool3d binary_cross_entropy grid_sampler grid_sampler_2d grid_sampler_3d polar prod quantile nanquantile stft
    cdist _cdist_forward trace view_as_complex cholesky cholesky_inverse cholesky_solve inverse lu_solve orgqr ormqr
    pinverse max_pool3d max_pool3d_with_indices max_unpool2d max_unpool3d adaptive_avg_pool3d _adaptive_avg_pool3d
    reflection_pad1d reflection_pad2d replication_pad1d replication_pad2d replication_pad3d
    mse_loss cosine_embedding_loss nll_loss nll_loss2d nll_loss_forward nll_loss2d_forward hinge_embedding_loss
    poisson_nll_loss smooth_l1_loss cross_entropy_loss l1_loss huber_loss margin_ranking_loss soft_margin_loss
    triplet_margin_loss multi_margin_loss ctc_loss kl_div multilabel_margin_loss multilabel_margin_loss_forward
    binary_cross_entropy_with_logits
"""
# cross_entropy is cast as a whole on a CPU: its log_softmax is taken to be part of it
_CPU_FP32_PARTS: Final = " _log_softmax "
_CUDA_FP32_RESULT: Final = """
    prod softmax log_softmax _softmax _log_softmax _safe_softmax cumprod cumsum linalg_vector_norm linalg_matrix_norm
    sum norm
"""
_CPU_PROMOTE: Final = "cat stack index_copy"
_CUDA_PROMOTE: Final = "addcdiv addcmul atan2 bilinear cross dot vdot grid_sampler index_put tensordot scatter_add"

# results after the first that are statistics in float32 whatever the operands: means, inverse deviations, log-sum-exps
_WITH_STATISTICS: Final = """
    native_batch_norm cudnn_batch_norm miopen_batch_norm _native_batch_norm_legit _batch_norm_with_update
    _native_batch_norm_legit_no_training native_layer_norm native_group_norm _fused_rms_norm
    _scaled_dot_product_flash_attention _scaled_dot_product_efficient_attention _scaled_dot_product_cudnn_attention
    _scaled_dot_product_flash_attention_for_cpu
"""
STATISTICS_OPS: Final = frozenset(_WITH_STATISTICS.split())


def _table(**lists: str) -> dict[str, CastPolicy]:
    return {name: CastPolicy[policy] for policy, names in lists.items() for name in names.split()}


CUDA_AUTOCAST: Final = AutocastRules(
    device="cuda",
    policies=_table(LOWER=_CUDA_LOWER, FP32=_CUDA_FP32, FP32_RESULT=_CUDA_FP32_RESULT, PROMOTE=_CUDA_PROMOTE),
    # the softmax kernel reads float16 and writes float32 itself, bfloat16 it does not (SoftMax.cpp: only Half)
    separate_cast=dict.fromkeys(("softmax", "log_softmax", "_softmax", "_log_softmax"), frozenset(("bfloat16",))),
)
CPU_AUTOCAST: Final = AutocastRules(
    device="cpu",
    policies=_table(LOWER=_CPU_LOWER, FP32=_CPU_FP32 + _CPU_FP32_PARTS, PROMOTE=_CPU_PROMOTE),
    separate_cast={},
)

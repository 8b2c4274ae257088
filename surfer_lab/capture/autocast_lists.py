"""Which ops does CUDA's autocast run in half precision, which in float32, which in the widest type? Data.

Source: torch 2.13, ATen/autocast_mode.h (AT_FORALL_LOWER_PRECISION_FP, _FP32, _FP32_SET_OPT_DTYPE, _PROMOTE), and in
autocast_mode.cpp the ops registered by hand (cat, stack). There by the name that the user calls; here by the name that
is dispatched below autograd, so "linear" is addmm or mm, "layer_norm" is native_layer_norm.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

__all__ = ["AutocastPolicy", "autocast_policy"]


class AutocastPolicy(Enum):
    LOWER = "inputs are cast to the half type"
    FP32 = "inputs are cast to float32"
    FP32_RESULT = "reads what it gets, computes and returns float32"
    PROMOTE = "inputs are cast to the widest type among them"
    FIRST = "result as the first argument; the others are statistics and weights in float32"
    AS_IS = "result by the usual type promotion"


_NAMES: Final[dict[AutocastPolicy, tuple[str, ...]]] = {
    AutocastPolicy.LOWER: (
        "convolution", "_convolution", "cudnn_convolution", "miopen_convolution", "conv_tbc", "_prelu_kernel", "addmm",
        "addmv", "addr", "mm", "mv", "addbmm", "baddbmm", "bmm", "linalg_vecdot", "linear", "_cudnn_rnn",
        "_thnn_fused_lstm_cell", "_thnn_fused_gru_cell", "_scaled_dot_product_flash_attention",
        "_scaled_dot_product_efficient_attention", "_scaled_dot_product_cudnn_attention",
    ),
    AutocastPolicy.FP32: (
        "acos", "asin", "cosh", "erfinv", "exp", "expm1", "log", "log10", "log2", "log1p", "reciprocal",
        "rsqrt", "sinh", "tan", "pow", "softplus", "native_layer_norm", "_fused_rms_norm", "native_group_norm",
        "nll_loss_forward", "nll_loss2d_forward", "smooth_l1_loss", "huber_loss", "mse_loss",
        "multilabel_margin_loss_forward", "soft_margin_loss", "multi_margin_loss",
        "binary_cross_entropy_with_logits", "dist", "_pdist_forward", "_cdist_forward", "renorm", "logsumexp",
        "upsample_nearest1d", "_upsample_nearest_exact1d", "upsample_nearest2d", "_upsample_nearest_exact2d",
        "upsample_nearest3d", "_upsample_nearest_exact3d", "upsample_linear1d", "upsample_bilinear2d",
        "_upsample_bilinear2d_aa", "upsample_trilinear3d", "upsample_bicubic2d", "_upsample_bicubic2d_aa",
    ),
    AutocastPolicy.FP32_RESULT: (
        "prod", "_softmax", "_log_softmax", "cumprod", "cumsum", "linalg_vector_norm", "sum", "norm", "_safe_softmax",
    ),
    AutocastPolicy.PROMOTE: (
        "addcdiv", "addcmul", "atan2", "bilinear", "linalg_cross", "dot", "vdot", "grid_sampler_2d", "grid_sampler_3d",
        "index_put", "tensordot", "scatter_add", "cat", "stack",
    ),
    AutocastPolicy.FIRST: (
        "native_batch_norm", "cudnn_batch_norm", "miopen_batch_norm", "_native_batch_norm_legit",
        "_batch_norm_with_update", "batch_norm_elemt", "native_dropout", "masked_fill", "index_fill", "clamp",
    ),
}  # fmt: skip

_POLICIES: Final = {f"aten::{name}": policy for policy, names in _NAMES.items() for name in names}


def autocast_policy(name: str) -> AutocastPolicy:
    """The policy of a forward op as it is dispatched, with or without the trailing underscore of in-place ops."""
    return _POLICIES.get(name) or _POLICIES.get(name.rstrip("_"), AutocastPolicy.AS_IS)

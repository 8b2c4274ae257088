"""Elementwise ops, forward and backward: how many operands each reads and what an element costs."""

from __future__ import annotations

from typing import Final

from surfer_lab.engine.lowering.call import Rule
from surfer_lab.engine.lowering.families import Family
from surfer_lab.engine.lowering.ops.streaming import TRANSCENDENTAL_FLOP, Pointwise

__all__ = ["POINTWISE_OPS"]

_CHEAP_UNARY: Final = (
    "abs absolute neg negative positive sign sgn ceil floor round trunc fix frac square reciprocal relu relu6 "
    "hardtanh hardsigmoid hardswish hardshrink softshrink threshold leaky_relu clamp clamp_min clamp_max clip "
    "nan_to_num deg2rad rad2deg conj_physical _conj_physical nextafter ldexp triu tril "
    "special_round rrelu"
)  # fmt: skip
_TRANSCENDENTAL_UNARY: Final = (
    "exp exp2 expm1 log log2 log10 log1p sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh "
    "arcsin arccos arctan arcsinh arccosh arctanh erf erfc erfinv lgamma digamma i0 sigmoid logit silu gelu mish selu "
    "elu celu softplus log_sigmoid sinc angle special_erf special_erfc special_erfinv special_expit special_expm1 "
    "special_exp2 special_log1p special_logit special_i0 special_i0e special_i1 special_i1e special_ndtri "
    "special_ndtr special_log_ndtr special_entr special_erfcx special_bessel_j0 special_bessel_j1 special_bessel_y0 "
    "special_bessel_y1 special_modified_bessel_i0 special_modified_bessel_i1 special_modified_bessel_k0 "
    "special_modified_bessel_k1 special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1 "
    "special_spherical_bessel_j0 special_airy_ai special_gammaln special_digamma mvlgamma polygamma special_sinc"
)  # fmt: skip
_TEST_UNARY: Final = "isnan isinf isfinite isposinf isneginf isreal signbit logical_not"
_CHEAP_BINARY: Final = (
    "add sub subtract rsub mul multiply maximum minimum fmax fmin bitwise_and bitwise_or bitwise_xor "
    "bitwise_not bitwise_left_shift bitwise_right_shift __and__ __or__ __xor__ __iand__ __ior__ __ixor__ __lshift__ "
    "__rshift__ __ilshift__ __irshift__ copysign _add_relu _prelu_kernel prelu heaviside gcd lcm"
)  # fmt: skip
_COSTLY_BINARY: Final = (
    "div divide true_divide floor_divide remainder fmod pow float_power atan2 arctan2 hypot logaddexp logaddexp2 xlogy "
    "special_xlogy special_xlog1py special_zeta igamma igammac polar complex"
)  # fmt: skip
_COMPARISON: Final = (
    "eq ne lt le gt ge not_equal less less_equal greater greater_equal logical_and logical_or "
    "logical_xor isclose isin"
)  # fmt: skip
_POLYNOMIALS: Final = (
    "special_chebyshev_polynomial_t special_chebyshev_polynomial_u special_chebyshev_polynomial_v "
    "special_chebyshev_polynomial_w special_hermite_polynomial_h special_hermite_polynomial_he "
    "special_laguerre_polynomial_l special_legendre_polynomial_p special_shifted_chebyshev_polynomial_t "
    "special_shifted_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_v "
    "special_shifted_chebyshev_polynomial_w special_gammainc special_gammaincc"
)
# (grad_output, saved): derivative of an activation
_CHEAP_BACKWARD: Final = (
    "threshold_backward hardtanh_backward leaky_relu_backward hardsigmoid_backward hardswish_backward "
    "hardshrink_backward softshrink_backward sigmoid_backward tanh_backward logit_backward"
)  # fmt: skip
_TRANSCENDENTAL_BACKWARD: Final = (
    "gelu_backward silu_backward mish_backward softplus_backward infinitely_differentiable_gelu_backward"
)
# elementwise halves of losses, written out in full (reduction "none" or the backward pass)
_LOSS_BACKWARD: Final = (
    "mse_loss_backward smooth_l1_loss_backward huber_loss_backward soft_margin_loss_backward kl_div_backward "
    "l1_loss_backward"
)


def _table() -> dict[str, Rule]:
    rules: dict[str, Rule] = {}

    def enter(names: str, rule: Rule) -> None:
        for name in names.split():
            rules[name] = rule
            rules[f"{name}_"] = rule  # the in-place form; `Pointwise` tells it by the name

    enter(_CHEAP_UNARY, Pointwise(family=Family.UNARY, operands=1))
    enter(_TRANSCENDENTAL_UNARY, Pointwise(family=Family.UNARY, operands=1, flop=TRANSCENDENTAL_FLOP))
    enter(_TEST_UNARY, Pointwise(family=Family.UNARY, operands=1, result_itemsize=1))
    enter(_CHEAP_BINARY, Pointwise(family=Family.BINARY, operands=2))
    enter(_COSTLY_BINARY, Pointwise(family=Family.BINARY, operands=2, flop=TRANSCENDENTAL_FLOP))
    enter(_COMPARISON, Pointwise(family=Family.BINARY, operands=2, result_itemsize=1))
    enter(_CHEAP_BACKWARD, Pointwise(family=Family.BINARY, operands=2, flop=2.0))
    enter(_TRANSCENDENTAL_BACKWARD, Pointwise(family=Family.BINARY, operands=2, flop=2.0 * TRANSCENDENTAL_FLOP))
    enter(_LOSS_BACKWARD, Pointwise(family=Family.BINARY, operands=3, flop=3.0))
    # the operand stands behind the activation's constants
    rules["elu_backward"] = Pointwise(
        family=Family.BINARY, operands=1, flop=2.0 * TRANSCENDENTAL_FLOP, extra_reads=(5,)
    )
    enter(_POLYNOMIALS, Pointwise(family=Family.BINARY, operands=2, flop=5 * TRANSCENDENTAL_FLOP))
    enter("frexp", Pointwise(family=Family.UNARY, operands=1, results=2))
    enter("rrelu_with_noise_functional", Pointwise(family=Family.UNARY, operands=1, results=2))
    enter("_fused_moving_avg_obs_fq_helper", Pointwise(family=Family.UNARY, operands=1, flop=6.0, results=2))
    enter(
        "_fake_quantize_learnable_per_tensor_affine_backward _fake_quantize_learnable_per_channel_affine_backward",
        Pointwise(family=Family.BINARY, operands=2, flop=6.0),
    )
    enter("addcmul addcdiv", Pointwise(family=Family.BINARY, operands=3, flop=3.0))
    enter("lerp", Pointwise(family=Family.BINARY, operands=3, flop=3.0))
    enter("where _s_where", Pointwise(family=Family.BINARY, operands=3))
    enter("masked_fill", Pointwise(family=Family.BINARY, operands=2))
    enter("log_sigmoid_forward", Pointwise(family=Family.UNARY, operands=1, flop=TRANSCENDENTAL_FLOP, results=2))
    enter("log_sigmoid_backward", Pointwise(family=Family.BINARY, operands=3, flop=TRANSCENDENTAL_FLOP))
    enter("rrelu_with_noise", Pointwise(family=Family.UNARY, operands=1, results=2))
    enter("rrelu_with_noise_backward", Pointwise(family=Family.BINARY, operands=3))
    enter("_prelu_kernel_backward", Pointwise(family=Family.BINARY, operands=3, flop=3.0, results=2))
    enter("binary_cross_entropy_backward", Pointwise(family=Family.BINARY, operands=4, flop=5.0))
    enter("native_dropout_backward _masked_scale", Pointwise(family=Family.DROPOUT, operands=2, flop=2.0))
    enter(
        "_fake_quantize_learnable_per_tensor_affine _fake_quantize_learnable_per_channel_affine",
        Pointwise(family=Family.UNARY, operands=1, flop=4.0),
    )
    enter(
        "fake_quantize_per_tensor_affine_cachemask fake_quantize_per_channel_affine_cachemask "
        "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
        Pointwise(family=Family.UNARY, operands=1, flop=4.0, results=2),
    )
    enter(
        "quantize_per_tensor quantize_per_channel quantize_per_tensor_dynamic",
        Pointwise(family=Family.CAST, operands=1, flop=2.0, result_itemsize=1),
    )
    enter("dequantize", Pointwise(family=Family.CAST, operands=1, flop=2.0, result_itemsize=4))
    return rules


POINTWISE_OPS: Final[dict[str, Rule]] = _table()

"""Optimizer steps over lists of parameters: fused, foreach, and the gradient scaler's ops."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from surfer_lab.engine.lowering.call import Call, Rule, itemsize_of, numel
from surfer_lab.engine.lowering.families import Family
from surfer_lab.engine.lowering.ops.streaming import Foreach, pointwise_work
from surfer_lab.engine.lowering.work import KernelWork

__all__ = ["OPTIMIZER_OPS"]

# foreach names by how many lists are read for each that is written
_ONE: Final = (
    "abs neg sign reciprocal round floor ceil trunc frac exp expm1 log log2 log10 log1p sqrt rsqrt sigmoid sin cos tan "
    "tanh sinh cosh asin acos atan erf erfc lgamma"
)
_ONE_OR_TWO: Final = "add sub mul div maximum minimum clamp_max clamp_min pow"
_THREE: Final = "addcmul addcdiv"


def _binary(call: Call) -> tuple[KernelWork, ...]:
    """With a second list it is read too; with a scalar, a list of scalars or one small tensor it is not."""
    lists = 2 if call.tensor_list(1) is not None else 1
    return Foreach(read=float(lists), write=1.0, flop=1.0, lists=lists + _fresh(call))(call)


def _lerp(call: Call) -> tuple[KernelWork, ...]:
    lists = 3 if call.tensor_list(2) is not None else 2
    return Foreach(read=float(lists), write=1.0, flop=3.0, lists=lists + _fresh(call))(call)


def _fresh(call: Call) -> int:
    """A list more where results go to new tensors."""
    return 0 if call.name.endswith("_") else 1


def _fused(read: float, write: float, flop: float, lists: int) -> Rule:
    return Foreach(read=read, write=write, flop=flop, lists=lists)


def _fused_sgd(call: Call) -> tuple[KernelWork, ...]:
    """Parameters and gradients; momentum where its list is given."""
    momentum = call.tensor_list(2) is not None
    lists = 3 if momentum else 2
    return Foreach(read=float(lists), write=float(lists - 1), flop=4.0 if momentum else 2.0, lists=lists)(call)


def _unscale(call: Call) -> tuple[KernelWork, ...]:
    """Gradients divided by the scale in place, and searched for infinities."""
    return Foreach(read=1.0, write=1.0, flop=2.0, lists=1)(call)


def _small(call: Call) -> tuple[KernelWork, ...]:
    """A few scalars: one launch."""
    return (
        pointwise_work(
            Family.OPTIMIZER, elements=1, read_bytes=16.0, write_bytes=8.0, flop_per_element=4.0, dtype="float32"
        ),
    )


def _copy(call: Call) -> tuple[KernelWork, ...]:
    """From the second list to the first, casting on the way."""
    targets = call.need_list(0)
    elements = sum(numel(shape) for shape in targets)
    source = itemsize_of(call.dtype(1) or call.dtype(0))
    cast = call.dtype(1) not in (None, call.dtype(0))
    base = Foreach(read=0.0, write=1.0, flop=0.0, lists=2, family=Family.CAST if cast else Family.COPY)(call)[0]
    return (replace(base, read_bytes=float(elements * source)),)


OPTIMIZER_OPS: Final[dict[str, Rule]] = {
    **{
        f"_foreach_{name}{suffix}": Foreach(read=1.0, write=1.0, flop=2.0, lists=1 if suffix else 2)
        for name in _ONE.split()
        for suffix in ("", "_")
    },
    **{f"_foreach_{name}{suffix}": _binary for name in _ONE_OR_TWO.split() for suffix in ("", "_")},
    **{
        f"_foreach_{name}{suffix}": Foreach(read=3.0, write=1.0, flop=3.0, lists=3 if suffix else 4)
        for name in _THREE.split()
        for suffix in ("", "_")
    },
    **dict.fromkeys(("_foreach_lerp", "_foreach_lerp_"), _lerp),
    **dict.fromkeys(("_foreach_zero_", "_foreach_zero"), Foreach(read=0.0, write=1.0, flop=0.0, lists=1)),
    **dict.fromkeys(("_foreach_copy_", "_foreach_copy", "_foreach_clone"), _copy),
    # each tensor's norm: partial sums, then a small second kernel
    **dict.fromkeys(
        ("_foreach_norm", "_foreach_max", "_foreach_powsum"),
        Foreach(read=1.0, write=0.0, flop=2.0, lists=1, family=Family.REDUCTION),
    ),
    # parameters, gradients, moments: four lists read, three written
    **dict.fromkeys(("_fused_adam_", "_fused_adamw_", "_fused_adam", "_fused_adamw"), _fused(4.0, 3.0, 14.0, 4)),
    **dict.fromkeys(("_fused_adagrad_", "_fused_adagrad"), _fused(3.0, 2.0, 6.0, 3)),
    **dict.fromkeys(("_fused_sgd_", "_fused_sgd"), _fused_sgd),
    **dict.fromkeys(
        ("_amp_foreach_non_finite_check_and_unscale_", "_amp_foreach_non_finite_check_and_unscale"), _unscale
    ),
    **dict.fromkeys(("_amp_update_scale_", "_amp_update_scale"), _small),
}

"""Which arithmetic may a step be asked about, and which GPUs cannot do it?

A GPU without units for a dtype is not given a speed-up that it does not have: the question is refused for it, with the
reason. TF32 is different: torch's flag lets float32 work run on it where there is any, so a GPU without it computes in
float32, as it would.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.gpu import Gpu

__all__ = ["Precision", "precision_blocker", "precision_note"]


class Precision(Enum):
    """The values are the words of the vocabulary (`--precision`)."""

    AS_RUN = "as-run"  # the same program with the same flags
    FP32 = "fp32"  # float32 on the FP32 lanes, TF32 off
    TF32 = "tf32"  # float32 tensors, products and convolutions on TF32 where there is any
    AMP_FP16 = "amp-fp16"  # autocast to float16, gradients scaled
    AMP_BF16 = "amp-bf16"
    BF16 = "bf16"  # parameters, gradients, optimizer state and activations in bfloat16

    @property
    def half(self) -> str | None:
        """The half-precision dtype that it computes in, torch's name; None: none."""
        return _HALF.get(self)

    @property
    def is_autocast(self) -> bool:
        return self in (Precision.AMP_FP16, Precision.AMP_BF16)


_HALF: Final = {Precision.AMP_FP16: "float16", Precision.AMP_BF16: "bfloat16", Precision.BF16: "bfloat16"}
_NEEDED: Final = {
    Precision.AMP_FP16: RateClass.FP16,
    Precision.AMP_BF16: RateClass.BF16,
    Precision.BF16: RateClass.BF16,
}
_WITHOUT: Final = {
    RateClass.FP16: "no usable fp16 units (its fp16 rate is a fraction of its fp32 rate): fp16 would not be faster",
    RateClass.BF16: "no bf16 tensor cores: torch would emulate it",
}


def precision_blocker(gpu: Gpu, precision: Precision) -> str | None:
    """Why this GPU cannot be asked about this precision; None where it can."""
    needed = _NEEDED.get(precision)
    if needed is None or needed in gpu.sustained or needed in gpu.peak_flop_per_s:
        return None
    return f"{gpu.name} has {_WITHOUT[needed]}"


def precision_note(gpu: Gpu, precision: Precision) -> str | None:
    """What to know about this precision on this GPU, though it runs; None: nothing."""
    if precision is Precision.TF32 and RateClass.TF32 not in gpu.sustained:
        return f"{gpu.name} has no TF32: it computes in float32"
    return None

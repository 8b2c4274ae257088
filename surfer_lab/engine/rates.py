"""At what rates does a GPU do the arithmetic of an item, and move its bytes?

Sustained rates, not peaks. A dtype without units of its own runs on those that emulate it (bfloat16 on Volta: FP32).
Arithmetic on matrix units is worth a family's share of the sustained matrix rate (`matrix_gain`), never less than the
FP32 lanes; work that no matrix unit does (pointwise, reductions) runs on the FP32 lanes whatever its dtype.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.lowering import Tf32Switch
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.gpu import Gpu, RateOrigin

__all__ = [
    "CLASS_INDEX",
    "RATE_CLASSES",
    "GpuRates",
    "class_on",
    "effective_rate",
    "has_tf32",
    "on_matrix_units",
    "rates_of",
    "used_class",
]

F64 = NDArray[np.float64]
I8 = NDArray[np.int8]
B = NDArray[np.bool_]

RATE_CLASSES: Final = tuple(RateClass)
CLASS_INDEX: Final = {rate_class: index for index, rate_class in enumerate(RATE_CLASSES)}
_FP32: Final = CLASS_INDEX[RateClass.FP32]
_TF32: Final = CLASS_INDEX[RateClass.TF32]
_FP64: Final = CLASS_INDEX[RateClass.FP64]

# what stands in for a dtype that the GPU has no units for, first that it has
_STAND_INS: Final[dict[RateClass, tuple[RateClass, ...]]] = {
    RateClass.TF32: (RateClass.FP32,),
    RateClass.FP16: (RateClass.FP32,),
    RateClass.BF16: (RateClass.FP32,),
    RateClass.FP8: (RateClass.FP16, RateClass.FP32),
    RateClass.INT8: (RateClass.FP8, RateClass.FP16, RateClass.FP32),
}
# FP64 has no measured rate anywhere: 0.9 of the rated peak, as for FP32 matrix products, or, where no peak is known,
# the 1/32 of FP32 of NVIDIA's cards without FP64 units (CUDA C programming guide, throughput of native arithmetic)
_FP64_OF_PEAK: Final = 0.9
_FP64_OF_FP32: Final = 1 / 32
_MATRIX_CLASSES: Final = tuple(
    CLASS_INDEX[one] for one in (RateClass.TF32, RateClass.FP16, RateClass.BF16, RateClass.FP8, RateClass.INT8)
)


@dataclass(frozen=True, kw_only=True, eq=False)
class GpuRates:
    """Rates of several GPUs as arrays, (gpus,) and (gpus, rate classes)."""

    flop_per_s: F64
    bytes_per_s: F64
    l2_bytes: F64  # 0: not known
    sm_count: F64
    rate_is_typical: B  # (gpus, rate classes): an architecture-typical fraction of the peak, not measured
    class_used: I8  # (gpus, rate classes): the class that does the work of each; itself where the GPU has units for it
    bandwidth_is_typical: B
    has_tf32: B

    def __len__(self) -> int:
        return len(self.bytes_per_s)


def has_tf32(gpu: Gpu) -> bool:
    """Whether FP32 arithmetic can run on this GPU's matrix units."""
    return RateClass.TF32 in gpu.sustained


def rates_of(gpus: Sequence[Gpu]) -> GpuRates:
    """The arrays of `GpuRates` for a list of GPUs."""
    rates = [[_rate(gpu, rate_class) for rate_class in RATE_CLASSES] for gpu in gpus]
    table = np.array(rates, dtype=np.float64).reshape(len(gpus), len(RATE_CLASSES), 3)
    flop_per_s, class_used = table[:, :, 0], table[:, :, 2].astype(np.int8)
    return GpuRates(
        flop_per_s=flop_per_s,
        class_used=class_used,
        bytes_per_s=np.array([gpu.sustained_bandwidth.per_s for gpu in gpus], dtype=np.float64),
        l2_bytes=np.array([gpu.l2_bytes or 0 for gpu in gpus], dtype=np.float64),
        sm_count=np.array([gpu.sm_count for gpu in gpus], dtype=np.float64),
        rate_is_typical=table[:, :, 1] > 0,
        bandwidth_is_typical=np.array(
            [gpu.sustained_bandwidth.origin is RateOrigin.TYPICAL for gpu in gpus], dtype=bool
        ),
        has_tf32=np.array([has_tf32(gpu) for gpu in gpus], dtype=bool),
    )


def _rate(gpu: Gpu, rate_class: RateClass) -> tuple[float, bool, int]:
    """FLOP/s, whether it is only typical, and the class that stands in."""
    for candidate in (rate_class, *_STAND_INS.get(rate_class, ())):
        rate = gpu.sustained.get(candidate)
        if rate is not None:
            return rate.per_s, rate.origin is RateOrigin.TYPICAL, CLASS_INDEX[candidate]
    peak = gpu.peak_flop_per_s.get(rate_class)
    if peak is not None:
        return _FP64_OF_PEAK * peak, True, CLASS_INDEX[rate_class]
    return _FP64_OF_FP32 * gpu.sustained[RateClass.FP32].per_s, True, CLASS_INDEX[rate_class]


def class_on(base: I8, tf32: I8, rates: GpuRates, *, convolution_tf32: bool, matmul_tf32: bool) -> I8:
    """Rate class of each item on each GPU, (gpus, items): FP32 becomes TF32 where hardware and flags let it.

    `base` is the class by dtype, `tf32` the Tf32Switch that decides for the item; (items,) each.
    """
    allowed = np.zeros(len(Tf32Switch), dtype=bool)
    allowed[Tf32Switch.CONVOLUTION] = convolution_tf32
    allowed[Tf32Switch.MATMUL] = matmul_tf32
    moves = (base == _FP32) & allowed[tf32]
    return used_class(rates, np.where(rates.has_tf32[:, None] & moves, np.int8(_TF32), base))


def used_class(rates: GpuRates, classes: I8) -> I8:
    """The class that does the work of each item's class, (gpus, items): bfloat16 without units for it runs as FP32."""
    used: I8 = np.take_along_axis(rates.class_used, classes.astype(np.int64), axis=1)
    return used


def on_matrix_units(classes: I8, arithmetic: B) -> B:
    """Whether items' arithmetic is done on matrix units, (gpus, items); `classes` are used classes."""
    on_units: B = np.isin(classes, _MATRIX_CLASSES) & arithmetic
    return on_units


def effective_rate(rates: GpuRates, classes: I8, arithmetic: B, matrix_gain: F64) -> F64:
    """FLOP/s that items can count on, (gpus, items); `classes` (gpus, items), the others (items,)."""
    lanes = rates.flop_per_s[:, _FP32, None]
    own = np.take_along_axis(rates.flop_per_s, classes.astype(np.int64), axis=1)
    on_units = on_matrix_units(classes, arithmetic)
    rate = np.where(on_units, np.maximum(lanes, matrix_gain * own), own)
    effective: F64 = np.where(arithmetic | (classes == _FP64), rate, lanes)
    return effective

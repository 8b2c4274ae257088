"""Where do a step and its parts lie under a GPU's roofline? FLOPs by byte moved, and the FLOP/s that come of it.

Work and bytes are those of shapes (naive FLOPs: a Winograd convolution may lie above the roof), times are predicted.
What has no shapes has no place: `known_fraction` says for how much of the time work is known, and below half of it
there are no rates. Collectives are apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.estimate import PredictionSet
from surfer_lab.engine.lowering.families import Family
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.gpu import Gpu
from surfer_lab.planner.operations import counted_items
from surfer_lab.units import NS_PER_S

__all__ = ["Part", "RooflinePosition", "WorkPart", "roof_flop_per_s", "roofline_position"]

B = NDArray[np.bool_]
_ENOUGH_KNOWN: Final = 0.5


class Part(Enum):
    """What a step's work is told apart into; the value is its name."""

    CONVOLUTION = "convolutions"
    PRODUCT = "matrix products"
    ATTENTION = "attention"
    RECURRENT = "recurrent layers"
    NORM = "norms"
    POINTWISE = "pointwise"
    REDUCTION = "reductions, losses"
    POOL = "pooling, interpolation"
    MOVEMENT = "copies, casts, layout"
    TABLE = "lookups, scatters"
    OPTIMIZER = "optimizer"
    FUSED = "fused by the compiler"
    OTHER = "other"


_OF_FAMILY: Final[Mapping[Family, Part]] = MappingProxyType(
    {
        **{family: Part.CONVOLUTION for family in Family if family.value.startswith(("conv", "data gr", "weight gr"))},
        **dict.fromkeys((Family.MM, Family.BMM, Family.LINALG), Part.PRODUCT),
        **dict.fromkeys((Family.ATTENTION, Family.ATTENTION_BACKWARD), Part.ATTENTION),
        **dict.fromkeys((Family.RNN, Family.RNN_BACKWARD), Part.RECURRENT),
        **{family: Part.NORM for family in Family if " norm" in family.value},
        **dict.fromkeys((Family.UNARY, Family.BINARY, Family.DROPOUT, Family.RANDOM, Family.FILL), Part.POINTWISE),
        **dict.fromkeys(
            (Family.REDUCTION, Family.SCAN, Family.SOFTMAX, Family.SOFTMAX_BACKWARD, Family.LOSS, Family.SORT),
            Part.REDUCTION,
        ),
        **dict.fromkeys(
            (Family.POOL, Family.POOL_BACKWARD, Family.INTERPOLATE, Family.INTERPOLATE_BACKWARD), Part.POOL
        ),
        **dict.fromkeys((Family.CAST, Family.COPY, Family.LAYOUT, Family.CAT, Family.MEMCPY), Part.MOVEMENT),
        **dict.fromkeys((Family.GATHER, Family.SCATTER), Part.TABLE),
        Family.OPTIMIZER: Part.OPTIMIZER,
        **dict.fromkeys((Family.FUSED_POINTWISE, Family.FUSED_REDUCTION), Part.FUSED),
    }
)
_BY_WORD: Final = {family.value: part for family, part in _OF_FAMILY.items()}


@dataclass(frozen=True, kw_only=True)
class WorkPart:
    """A part of a step, or the whole: work of one step and the GPU time that it takes."""

    name: str
    time_ns: float
    share_fraction: float  # of the step's GPU time
    flop: float  # of what has shapes
    bytes: float
    known_fraction: float  # of its time

    @property
    def intensity(self) -> float | None:
        """FLOPs by byte; None where too little is known."""
        return self.flop / self.bytes if self._is_known and self.bytes > 0 else None

    @property
    def flop_per_s(self) -> float | None:
        """Achieved; None where too little is known."""
        return self.flop / (self.time_ns * self.known_fraction) * NS_PER_S if self._is_known else None

    @property
    def bytes_per_s(self) -> float | None:
        """Likewise, of memory."""
        return self.bytes / (self.time_ns * self.known_fraction) * NS_PER_S if self._is_known else None

    @property
    def _is_known(self) -> bool:
        return self.known_fraction >= _ENOUGH_KNOWN and self.time_ns > 0


@dataclass(frozen=True, kw_only=True)
class RooflinePosition:
    """A step on one GPU: the whole, and its parts with the longest first."""

    gpu: Gpu
    whole: WorkPart
    parts: tuple[WorkPart, ...]
    kernel_count: float  # launched in a step
    matrix_class: RateClass  # what most of its products and convolutions are computed in

    @property
    def mean_kernel_ns(self) -> float:
        """GPU time by launch."""
        return self.whole.time_ns / self.kernel_count if self.kernel_count else 0.0

    def share_of(self, *parts: Part) -> float:
        """Of the GPU time."""
        names = {part.value for part in parts}
        return sum(one.share_fraction for one in self.parts if one.name in names)

    @property
    def memory_bound_fraction(self) -> float:
        """Share of the GPU time in parts that no matrix unit helps."""
        return 1.0 - self.share_of(Part.CONVOLUTION, Part.PRODUCT, Part.ATTENTION, Part.RECURRENT)


def roof_flop_per_s(gpu: Gpu, rate_class: RateClass, intensity: float) -> float:
    """The roof over an intensity: what the card is rated at, by arithmetic or by memory. FLOP/s."""
    peak = gpu.peak_flop_per_s.get(rate_class) or gpu.peak_flop_per_s.get(RateClass.FP32)
    top = peak if peak else gpu.sustained[RateClass.FP32].per_s
    return min(top, intensity * gpu.bandwidth_bytes_per_s)


def roofline_position(prediction: PredictionSet, gpu_index: int) -> RooflinePosition:
    """The step's place under the roof of the GPU of that row."""
    items = prediction.items
    in_steps, step_count = counted_items(prediction)
    counted = in_steps & ~items.family.map(
        lambda family: family == Family.COMMUNICATION.value, absent=False, dtype=np.bool_
    )
    steps = max(1, step_count)
    time = prediction.duration_ns[gpu_index] / steps
    has_work = np.isfinite(items.flop) & np.isfinite(items.bytes)
    flop, size = (np.where(has_work, values, 0.0) / steps for values in (items.flop, items.bytes))
    whole_ns = float(time[counted].sum())
    number_of = {part: number for number, part in enumerate(Part)}
    part_of = items.family.map(
        lambda family: number_of[_BY_WORD.get(family or "", Part.OTHER)],
        absent=number_of[Part.OTHER],
        dtype=np.int64,
    )

    def made(name: str, chosen: B) -> WorkPart:
        total = float(time[chosen].sum())
        known = float(time[chosen & has_work].sum())
        return WorkPart(
            name=name,
            time_ns=total,
            share_fraction=total / whole_ns if whole_ns > 0 else 0.0,
            flop=float(flop[chosen].sum()),
            bytes=float(size[chosen].sum()),
            known_fraction=known / total if total > 0 else 0.0,
        )

    parts = [made(part.value, counted & (part_of == number)) for part, number in number_of.items()]
    return RooflinePosition(
        gpu=prediction.gpus[gpu_index],
        whole=made("whole step", counted),
        parts=tuple(sorted((part for part in parts if part.time_ns > 0), key=lambda part: -part.time_ns)),
        kernel_count=float(items.launch_count[counted].sum()) / steps,
        matrix_class=_matrix_class(prediction, gpu_index, counted, time, part_of, number_of),
    )


def _matrix_class(
    prediction: PredictionSet,
    gpu_index: int,
    counted: B,
    time: NDArray[np.float64],
    part_of: NDArray[np.int64],
    number_of: Mapping[Part, int],
) -> RateClass:
    """Of most of the time in products and convolutions; fp32 where there are none. TF32 on a GPU without it is fp32."""
    wanted = [number_of[part] for part in (Part.CONVOLUTION, Part.PRODUCT, Part.ATTENTION, Part.RECURRENT)]
    chosen = counted & np.isin(part_of, wanted)
    items, gpu = prediction.items, prediction.gpus[gpu_index]
    number = {one.value: at for at, one in enumerate(RateClass)}
    code = items.rate_class.map(lambda rate: number.get(rate, -1), absent=-1, dtype=np.int64)
    sums = {one: float(time[chosen & (code == number[one.value])].sum()) for one in RateClass}
    most = max(sums, key=lambda one: sums[one])
    if sums[most] <= 0 or most not in gpu.peak_flop_per_s:
        return RateClass.FP32
    is_convolutions = float(time[chosen & (part_of == number_of[Part.CONVOLUTION])].sum()) > sums[most] / 2
    if most is RateClass.FP32 and is_convolutions and RateClass.TF32 in gpu.peak_flop_per_s:
        return RateClass.TF32  # torch's default for convolutions
    return most

"""What may be chosen for a prediction: how kernels are scaled, which flags hold, how fast the target host launches."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from surfer_lab.engine.compilation import CompileMode
from surfer_lab.engine.precision import Precision
from surfer_lab.engine.ranges import LEVELS
from surfer_lab.errors import OptionError

__all__ = ["EngineOptions", "ScalingMethod", "scaling_method"]


class ScalingMethod(Enum):
    """How a measured kernel's time is carried to another GPU; the literal forms are baselines to compare with."""

    SUSTAINED = "default"  # sustained rates, the split fixed at the origin, a latency floor
    LITERAL = "literal"  # Yu et al., ATC'21, equation 1: exact waves, rated bandwidth and clock
    LITERAL_MANY_WAVES = "literal-many-waves"  # their equation 2


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """Choices of one prediction.

    `host_factor`: how fast the target host launches against the recorded one; 2 = twice as fast. The TF32 flags are
    torch's; None = as recorded where the origin has TF32, else torch's defaults (convolutions yes, matrix products no).
    `learned`: use the learned predictors where `engine.learned.routes` says so; `without_die`: those that never saw
    this die, for evaluations.
    `blended`: draw an origin's times to what is predicted without it (`engine.blending`); False is a baseline.
    `range_level`: the share of cases that ranges are to hold, 0.8 or 0.9.
    `verified_factor`: what held the steps that this user verified, in place of the fitted factor of a step; at least 1.
    `precision` and `compile` are what-ifs (`engine.whatif`), applied in this order before anything is predicted.
    """

    method: ScalingMethod = ScalingMethod.SUSTAINED
    host_factor: float = 1.0
    convolution_tf32: bool | None = None
    matmul_tf32: bool | None = None
    learned: bool = True
    without_die: str = ""
    blended: bool = True
    range_level: float = LEVELS[0]
    verified_factor: float | None = None
    precision: Precision = Precision.AS_RUN
    compile: CompileMode = CompileMode.OFF

    def __post_init__(self) -> None:
        if not 0.0 < self.host_factor < float("inf"):
            raise OptionError(
                f"a host factor of {self.host_factor} is no speed",
                remedy="a number above 0; 2 = launches twice as fast",
            )
        if self.verified_factor is not None and not 1.0 <= self.verified_factor < float("inf"):
            raise OptionError(f"a range of factor {self.verified_factor} is none", remedy="a number from 1 on, or None")
        if self.range_level not in LEVELS:
            raise OptionError(
                f"ranges that hold {self.range_level} of all cases were not fitted",
                remedy=" or ".join(str(level) for level in LEVELS),
            )


def scaling_method(named: ScalingMethod | str) -> ScalingMethod:
    """The method of a name; OptionError lists the names.

    >>> scaling_method("literal")
    <ScalingMethod.LITERAL: 'literal'>
    """
    known = {method.value: method for method in ScalingMethod}
    if isinstance(named, ScalingMethod):
        return named
    if named not in known:
        raise OptionError(f"{named!r} is no scaling method", remedy=" or ".join(known))
    return known[named]

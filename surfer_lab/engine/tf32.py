"""Does float32 arithmetic run as TF32 on a GPU that has it? "As run" is the same program with the same flags.

By torch's defaults convolutions may (torch.backends.cudnn.allow_tf32) and matrix products may not. A recording on a GPU
with TF32 shows what the program does, kernel by kernel; one on an older GPU cannot.
"""

from __future__ import annotations

from dataclasses import dataclass

from surfer_lab.engine.options import EngineOptions
from surfer_lab.engine.rates import has_tf32
from surfer_lab.hardware.gpu import Gpu

__all__ = ["Tf32Flags", "tf32_flags"]


@dataclass(frozen=True, kw_only=True)
class Tf32Flags:
    """Whether FP32 work may run as TF32 on GPUs that have it; `as_recorded`: each kernel as it ran at the origin."""

    convolution: bool
    matmul: bool
    as_recorded: bool


def tf32_flags(origin: Gpu | None, options: EngineOptions) -> Tf32Flags:
    """The flags of the recorded program: as told, else as seen where the origin has TF32, else torch's defaults."""
    told = options.convolution_tf32 is not None or options.matmul_tf32 is not None
    return Tf32Flags(
        convolution=options.convolution_tf32 is not False,
        matmul=options.matmul_tf32 is True,
        as_recorded=origin is not None and has_tf32(origin) and not told,
    )

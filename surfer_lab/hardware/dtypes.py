"""Names of arithmetic: tensor dtypes, and the class of rate with which a GPU computes on them.

`RateClass` is what a rate in the catalogue is keyed by. TF32 is a rate, not a dtype: fp32 tensors computed on
tensor cores with 10-bit mantissas (NVIDIA A100 whitepaper).
"""

from __future__ import annotations

from enum import Enum
from typing import Final

__all__ = ["BYTES_BY_DTYPE", "RateClass"]


class RateClass(Enum):
    """Which unit of a GPU does the arithmetic; the value is the key used in data files."""

    FP64 = "fp64"
    FP32 = "fp32"
    TF32 = "tf32"
    FP16 = "fp16"
    BF16 = "bf16"
    FP8 = "fp8"
    INT8 = "int8"


# torch's dtype names without the "torch." prefix; bytes an element
BYTES_BY_DTYPE: Final[dict[str, int]] = {
    "float64": 8, "float32": 4, "float16": 2, "bfloat16": 2,
    "float8_e4m3fn": 1, "float8_e5m2": 1, "float8_e4m3fnuz": 1, "float8_e5m2fnuz": 1,
    "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8, "bool": 1,
    "complex32": 4, "complex64": 8, "complex128": 16,
}  # fmt: skip

"""How do thousands of numbers fit into a notebook? Packed into base64 text: floats, small whole numbers, log codes.

A log code keeps a positive number to (high / low) ** (0.5 / 65534): 0.02 % over nine powers of ten, less than three
digits show. nan is kept by all kinds.
"""

from __future__ import annotations

import base64
import math
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from surfer_lab.view.detail_model import Packed

__all__ = ["pack_floats", "pack_logs", "pack_whole", "three_digits", "unpack"]

F64 = NDArray[np.float64]

_CODES: Final = 65_534  # codes 1 to 65,535; 0 is "not known"
_WHOLE: Final = {"u8": "u1", "u16": "<u2"}
_UNKNOWN: Final = {"u8": 255, "u16": 65_535}


def pack_floats(values: ArrayLike) -> Packed:
    """As 32-bit floats: seven digits."""
    return Packed(kind="f32", data=_text(np.asarray(values, dtype="<f4")))


def pack_whole(values: ArrayLike) -> Packed:
    """Whole numbers as bytes, or pairs of bytes where they are larger; nan and negative ones are "not known".

    Refused (OverflowError): above 65,534.
    """
    numbers = np.asarray(values, dtype=np.float64)
    known = np.isfinite(numbers) & (numbers >= 0)
    largest = int(numbers[known].max()) if known.any() else 0
    if largest >= _UNKNOWN["u16"]:
        raise OverflowError(f"{largest} does not fit into two bytes")
    kind: Literal["u8", "u16"] = "u8" if largest < _UNKNOWN["u8"] else "u16"
    whole = np.where(known, numbers, _UNKNOWN[kind]).astype(_WHOLE[kind])
    return Packed(kind=kind, data=_text(whole))


def pack_logs(values: ArrayLike) -> Packed:
    """Positive numbers as log codes; what is not positive and finite becomes "not known"."""
    numbers = np.asarray(values, dtype=np.float64)
    known = np.isfinite(numbers) & (numbers > 0)
    logs = np.log(np.where(known, numbers, 1.0))
    low, high = (float(logs[known].min()), float(logs[known].max())) if known.any() else (0.0, 0.0)
    width = high - low
    codes = 1 + np.rint((logs - low) / width * _CODES) if width > 0 else np.ones_like(logs)
    return Packed(kind="log16", data=_text(np.where(known, codes, 0).astype("<u2")), log_low=low, log_high=high)


def unpack(packed: Packed) -> F64:
    """The numbers, flat; nan where not known.

    >>> unpack(pack_logs([1.0, float("nan"), 1000.0])).round(6).tolist()
    [1.0, nan, 1000.0]
    """
    raw = base64.b64decode(packed.data, validate=True)
    if packed.kind == "f32":
        return np.frombuffer(raw, dtype="<f4").astype(np.float64)
    if packed.kind != "log16":
        whole = np.frombuffer(raw, dtype=_WHOLE[packed.kind]).astype(np.float64)
        whole[whole == _UNKNOWN[packed.kind]] = math.nan
        return whole
    codes = np.frombuffer(raw, dtype="<u2").astype(np.float64)
    numbers: F64 = np.exp(packed.log_low + (codes - 1) / _CODES * (packed.log_high - packed.log_low))
    numbers[codes == 0] = math.nan
    return numbers


def three_digits(values: F64) -> F64:
    """The numbers with three significant digits: what a log code keeps exactly, once it is rounded to them again."""
    safe = np.where(values > 0, values, 1.0)
    scale = 10.0 ** (2 - np.floor(np.log10(safe)))
    return np.where(values > 0, np.rint(safe * scale) / scale, 0.0)


def _text(values: NDArray[np.generic]) -> str:
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode("ascii")

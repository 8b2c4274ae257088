"""How is a number or a kind worded? The only place where raw numbers become text.

Three significant digits, a unit always, a direction in words ("3.7x faster"); what is not known is an en dash, not 0.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from surfer_lab.engine.compilation import CompileMode
from surfer_lab.engine.estimate import Limit, Method
from surfer_lab.engine.precision import Precision
from surfer_lab.planner.advice import Bound
from surfer_lab.planner.memory import Fit
from surfer_lab.trace.tables import Phase
from surfer_lab.units import BYTES_PER_GB, NS_PER_HOUR, NS_PER_MS, NS_PER_S, NS_PER_US
from surfer_lab.view.model import Quantity, Verdict

__all__ = [
    "BOUND_WORDS",
    "COMPILE_WORDS",
    "LIMIT_WORDS",
    "METHOD_WORDS",
    "PART_WORDS",
    "PHASE_WORDS",
    "PRECISION_WORDS",
    "UNKNOWN",
    "VERDICT_OF",
    "TimeUnit",
    "bytes_quantity",
    "duration_text",
    "faster_quantity",
    "is_point",
    "long_time_quantity",
    "methods_text",
    "name_text",
    "percent_text",
    "rate_quantity",
    "rounded",
    "share_words",
    "significant",
    "time_quantity",
    "time_unit",
    "unit_named",
]  # fmt: skip

UNKNOWN: Final = "–"
_NS_PER_MINUTE: Final = 60 * NS_PER_S
_POINT_FRACTION: Final = 1e-3  # a stored view's packing moves the ends of a range by less than this

METHOD_WORDS: Final[Mapping[Method, str]] = {
    Method.MEASURED: "measured",
    Method.WAVE: "wave scaling",
    Method.LEARNED: "learned model",
    Method.BLEND: "learned and measured, blended",
    Method.ROOFLINE: "roofline",
    Method.NAMED: "scaled by kernel name",
    Method.FALLBACK: "generic scaling",
    Method.COMMUNICATION: "communication model",
    Method.HOST: "host time",
    Method.UNSCALED: "not scaled",
}
LIMIT_WORDS: Final[Mapping[Limit, str]] = {
    Limit.UNKNOWN: UNKNOWN,
    Limit.COMPUTE: "compute",
    Limit.MEMORY: "memory bandwidth",
    Limit.LATENCY: "latency (small kernels)",
    Limit.COMMUNICATION: "communication",
    Limit.HOST: "host",
}
PHASE_WORDS: Final[Mapping[Phase, str]] = {
    Phase.OTHER: "other",
    Phase.FORWARD: "forward",
    Phase.BACKWARD: "backward",
    Phase.OPTIMIZER: "optimizer",
    Phase.COMMUNICATION: "communication",
}
BOUND_WORDS: Final[Mapping[Bound, str]] = {
    Bound.COMPUTE: "compute bound",
    Bound.MEMORY: "memory-bandwidth bound",
    Bound.LATENCY: "bound by small kernels",
    Bound.GPU: "GPU bound",
    Bound.LAUNCH: "launch bound",
    Bound.INPUT: "input bound",
    Bound.SYNCHRONIZATION: "bound by synchronisation",
    Bound.COMMUNICATION: "communication bound",
}
PART_WORDS: Final[Mapping[str, str]] = {
    "gpu_busy": "GPU busy",
    "launch_bound": "waiting for launches",
    "input_wait": "waiting for input",
    "synchronization": "synchronising",
    "communication": "communication",
}
PRECISION_WORDS: Final[Mapping[Precision, str]] = {
    Precision.AS_RUN: "as run",
    Precision.FP32: "fp32",
    Precision.TF32: "TF32",
    Precision.AMP_FP16: "AMP fp16",
    Precision.AMP_BF16: "AMP bf16",
    Precision.BF16: "pure bf16",
}
COMPILE_WORDS: Final[Mapping[CompileMode, str]] = {
    CompileMode.OFF: "not compiled",
    CompileMode.DEFAULT: "compiled",
    CompileMode.REDUCE_OVERHEAD: "compiled, CUDA graphs",
}
VERDICT_OF: Final[Mapping[Fit, Verdict]] = {
    Fit.FITS: Verdict.FITS,
    Fit.TIGHT: Verdict.TIGHT,
    Fit.DOES_NOT_FIT: Verdict.DOES_NOT_FIT,
    Fit.UNKNOWN: Verdict.UNKNOWN,
}


@dataclass(frozen=True, kw_only=True)
class TimeUnit:
    """A unit that a column of times shares."""

    name: str
    ns: int


_UNITS: Final = (
    TimeUnit(name="µs", ns=NS_PER_US),
    TimeUnit(name="ms", ns=NS_PER_MS),
    TimeUnit(name="s", ns=NS_PER_S),
)
MILLISECONDS: Final = _UNITS[1]


def significant(value: float, digits: int = 3) -> str:
    """`value` with that many significant digits, thousands grouped, never in scientific form.

    >>> significant(126.4), significant(0.30712), significant(12345.6), significant(0.0)
    ('126', '0.307', '12,346', '0')
    """
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else UNKNOWN
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    rounded = round(value, decimals)
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(rounded)))) if rounded else decimals
    return f"{rounded:,.{min(decimals, 9)}f}"


def time_unit(durations_ns: Iterable[float]) -> TimeUnit:
    """The unit in which most of these durations read well: the median lies in [1, 1000) of it, s at most."""
    known = sorted(value for value in durations_ns if value > 0 and math.isfinite(value))
    if not known:
        return MILLISECONDS
    median = known[len(known) // 2]
    return next((unit for unit in _UNITS if median < 1000 * unit.ns), _UNITS[-1])


def unit_named(name: str) -> TimeUnit:
    """The unit of that name, as quantities carry it: "µs", "ms", "s"."""
    return next(unit for unit in _UNITS if unit.name == name)


def duration_text(duration_ns: float) -> str:
    """A duration on its own, in the unit that suits it.

    >>> duration_text(126_400_000), duration_text(41 * 60 * 1e9), duration_text(4320 * 1e9), duration_text(850)
    ('126 ms', '41 min', '1 h 12 min', '0.850 µs')
    """
    if not math.isfinite(duration_ns):
        return UNKNOWN
    if duration_ns >= 100 * NS_PER_HOUR:
        return f"{significant(duration_ns / NS_PER_HOUR)} h"
    minutes = round(duration_ns / _NS_PER_MINUTE)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min" if minutes % 60 else f"{minutes // 60} h"
    if duration_ns >= 10 * _NS_PER_MINUTE:
        return f"{minutes} min"
    if duration_ns >= 2 * _NS_PER_MINUTE:
        return f"{duration_ns / _NS_PER_MINUTE:.1f} min"
    unit = time_unit([duration_ns])
    return f"{significant(duration_ns / unit.ns)} {unit.name}"


def time_quantity(
    duration_ns: float | None,
    *,
    low_ns: float | None = None,
    high_ns: float | None = None,
    unit: TimeUnit | None = None,
) -> Quantity:
    """A time with its range, all in one unit (that of the column, or the value's own)."""
    if duration_ns is None or not math.isfinite(duration_ns):
        return Quantity(text=UNKNOWN, unit=(unit or MILLISECONDS).name)
    chosen = unit or time_unit([duration_ns])
    value = rounded(duration_ns / chosen.ns)
    low, high = (None if bound is None else rounded(bound / chosen.ns) for bound in (low_ns, high_ns))
    return Quantity(
        text=f"{significant(value)} {chosen.name}",
        unit=chosen.name,
        value=value,
        low=low,
        high=high,
        range_text=_range_text(low, high, chosen.name),
    )


def _range_text(low: float | None, high: float | None, unit: str) -> str:
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return ""
    return "" if is_point(low, high) else f"{significant(low)} to {significant(high)} {unit}"


def is_point(low: float, high: float) -> bool:
    """Whether a range has no width: what was measured or counted exactly. Any other is worded, even where both ends
    read alike.

    >>> is_point(40.0, 40.0), is_point(40.01, 40.04), is_point(40.0, 40.1)
    (True, True, False)
    """
    return abs(high - low) <= _POINT_FRACTION * max(abs(low), abs(high))


def long_time_quantity(duration_ns: float, *, low_ns: float | None = None, high_ns: float | None = None) -> Quantity:
    """A time of minutes or hours, worded as people say it; the raw number is in seconds."""
    low, high = (None if bound is None else bound / NS_PER_S for bound in (low_ns, high_ns))
    span = ""
    if low_ns is not None and high_ns is not None and not is_point(low_ns, high_ns):
        span = f"{duration_text(low_ns)} to {duration_text(high_ns)}"
    return Quantity(
        text=duration_text(duration_ns),
        unit="s",
        value=rounded(duration_ns / NS_PER_S),
        low=None if low is None else rounded(low),
        high=None if high is None else rounded(high),
        range_text=span,
    )


def faster_quantity(speedup: float | None) -> Quantity:
    """A ratio of times with its direction in words.

    >>> faster_quantity(3.71).text, faster_quantity(0.5).text, faster_quantity(1.004).text
    ('3.71x faster', '2.00x slower', 'equally fast')
    """
    if speedup is None or not math.isfinite(speedup) or speedup <= 0:
        return Quantity(text=UNKNOWN, unit="x")
    if abs(speedup - 1) < 0.01:
        text = "equally fast"
    elif speedup > 1:
        text = f"{significant(speedup)}x faster"
    else:
        text = f"{significant(1 / speedup)}x slower"
    return Quantity(text=text, unit="x", value=rounded(speedup))


def bytes_quantity(size_bytes: float | None, *, low: float | None = None, high: float | None = None) -> Quantity:
    """Memory in GB (10^9 bytes, as printed on cards), with its range."""
    if size_bytes is None or not math.isfinite(size_bytes):
        return Quantity(text=UNKNOWN, unit="GB")
    value = rounded(size_bytes / BYTES_PER_GB)
    least, most = (None if bound is None else rounded(bound / BYTES_PER_GB) for bound in (low, high))
    return Quantity(
        text=f"{_gigabytes(value)} GB",
        unit="GB",
        value=value,
        low=least,
        high=most,
        range_text=""
        if least is None or most is None or is_point(least, most)
        else f"{_gigabytes(least)} to {_gigabytes(most)} GB",
    )


def _gigabytes(value: float) -> str:
    if 0 < value < 0.001:  # less than a megabyte says nothing on a card of gigabytes
        return "<0.001"
    return significant(value).removesuffix(".0").removesuffix(".00")


def rate_quantity(per_s: float | None, *, low: float | None = None, high: float | None = None) -> Quantity:
    """Samples a second."""
    if per_s is None:
        return Quantity(text=UNKNOWN, unit="samples/s")
    return Quantity(
        text=f"{significant(per_s)} samples/s",
        unit="samples/s",
        value=rounded(per_s),
        low=None if low is None else rounded(low),
        high=None if high is None else rounded(high),
        range_text=_range_text(low, high, "samples/s"),
    )


def percent_text(fraction: float) -> str:
    """A share in percent; a share above 0 never reads 0.

    >>> percent_text(0.786), percent_text(0.002), percent_text(0.0), percent_text(1.0)
    ('79 %', '<1 %', '0 %', '100 %')
    """
    if 0 < fraction <= 0.005:
        return "<1 %"
    if 0.995 <= fraction < 1:
        return ">99 %"
    return f"{100 * fraction:.0f} %"


def methods_text(shares: Mapping[Method, float]) -> str:
    """Shares of GPU time by method, largest first: "61 % wave scaling, 35 % roofline, 4 % not scaled"."""
    return share_words({METHOD_WORDS[method]: share for method, share in shares.items()})


def share_words(shares: Mapping[str, float]) -> str:
    """Shares by label, largest first."""
    ordered = sorted(shares.items(), key=lambda item: -item[1])
    return ", ".join(f"{percent_text(share)} {label}" for label, share in ordered if share > 0) or UNKNOWN


def name_text(name: str, *, longest: int = 120) -> str:
    r"""A name from a trace as it may be shown: one line, no control or direction-changing characters, not endless.

    >>> name_text("a\x1b[31m\u202eb\n" + "x" * 200, longest=12)
    'a�[31m�b�xx…'
    """
    clean = "".join(
        character if _is_shown(character) else "\N{REPLACEMENT CHARACTER}" for character in name[: 4 * longest]
    )
    return clean if len(name) <= longest else clean[: longest - 1] + "…"


def _is_shown(character: str) -> bool:
    return unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Zl", "Zp"}


def rounded(value: float, digits: int = 6) -> float:
    """A raw number with as many digits as anybody can use; keeps the JSON small."""
    return float(f"{value:.{digits}g}")

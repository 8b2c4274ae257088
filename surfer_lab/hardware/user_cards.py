"""Is this row of a user's own GPU sound, and what card does it describe?

A row is a mapping of the fields below (a TOML file `gpus/<name>.toml` of the configuration folder, or a dict). Five are
needed; peaks left out follow from what cards of the same compute capability have: fp32 = 2 x SMs x lanes x clock,
tensor rates by the usual ratio to fp32, both said in the card's notes. Fields `sustained_...` are the user's own
measurements. Anything else is refused with an error that names the field, what was seen and what is expected.
"""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from surfer_lab.errors import GpuError
from surfer_lab.hardware.cards import BANDWIDTH, PEAK_COLUMNS, Card, Kind, Measurement, Segment
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.gpu import Vendor
from surfer_lab.hardware.limits import limits_of
from surfer_lab.hardware.naming import compact

__all__ = ["MAX_NAME_LENGTH", "REQUIRED_FIELDS", "card_from_row", "row_text"]

MAX_NAME_LENGTH: Final = 60  # characters: even in four bytes each, a file can be called so


@dataclass(frozen=True)
class _Field:
    """What a field must hold: said in an error, checked by `fits`."""

    expected: str
    example: str
    fits: Callable[[object], bool]


def _number(low: float, high: float, unit: str, example: str) -> _Field:
    def fits(value: object) -> bool:
        return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high

    return _Field(f"a number of {unit} from {low:g} to {high:g}", example, fits)


def _integer(low: int, high: int, example: str) -> _Field:
    def fits(value: object) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high

    return _Field(f"a whole number from {low} to {high}", example, fits)


def _is_name(value: object) -> bool:
    return (
        isinstance(value, str)
        and 0 < len(value.strip()) <= MAX_NAME_LENGTH
        and value.isprintable()
        and "," not in value
        and compact(value) != ""
    )


def _is_names(value: object) -> bool:
    return isinstance(value, list | tuple) and all(_is_name(one) for one in value)


def _choice(values: Iterable[str]) -> _Field:
    allowed = tuple(values)
    return _Field(f"one of {', '.join(allowed)}", f'"{allowed[0]}"', lambda value: value in allowed)


_TEXT: Final = _Field("text of one line", '"some text"', lambda value: isinstance(value, str) and value.isprintable())
_TFLOPS: Final = _number(0.001, 1e6, "TFLOP/s", "30.6")
_GB_PER_S: Final = _number(0.1, 1e6, "GB/s", "912")

FIELDS: Final[Mapping[str, _Field]] = {
    "name": _Field(f"a name without commas, at most {MAX_NAME_LENGTH} characters", '"My GPU"', _is_name),
    "aliases": _Field("a list of names", '["NVIDIA My GPU"]', _is_names),
    "vendor": _choice(vendor.value for vendor in Vendor),
    "architecture": _TEXT,
    "die": _TEXT,
    "segment": _choice(segment.value for segment in Segment),
    "compute_capability": _Field('text such as "8.6" or "gfx90a"', '"8.6"', lambda value: isinstance(value, str)),
    "sm_count": _integer(1, 4096, "70"),
    "fp32_lanes_per_sm": _integer(1, 1024, "128"),
    "clock_mhz": _number(50, 10_000, "MHz", "1710"),
    "memory_gb": _number(0.1, 100_000, "GB (10^9 bytes, as printed on the card)", "12"),
    "bandwidth_gb_per_s": _GB_PER_S,
    "l2_mb": _number(0.01, 10_000, "MB", "6"),
    "tdp_w": _number(1, 10_000, "W", "350"),
    "nvlink_gb_per_s_both_ways": _number(0, 1e6, "GB/s, both ways, all links", "600"),
    "pcie_generation": _integer(1, 10, "4"),
    "release_year": _integer(2000, 2100, "2022"),
    "source": _TEXT,
    "notes": _TEXT,
    **dict.fromkeys(PEAK_COLUMNS, _TFLOPS),
    **{f"sustained_{column}": _TFLOPS for column in PEAK_COLUMNS},
    "sustained_bandwidth_gb_per_s": _GB_PER_S,
}
REQUIRED_FIELDS: Final = ("name", "compute_capability", "sm_count", "memory_gb", "bandwidth_gb_per_s")

EXAMPLE: Final = (
    'a row with name = "My GPU", compute_capability = "8.6", sm_count = 70, memory_gb = 12, '
    "bandwidth_gb_per_s = 912, fp32_tflops = 30.6"
)


def card_from_row(
    row: Mapping[str, object], known: Sequence[Card], where: str = "the GPU's row"
) -> tuple[Card, tuple[Measurement, ...]]:
    """The card and the user's own measurements of it; GpuError names `where` and the field of a mistake."""
    _check(row, where)
    capability = str(row["compute_capability"]).split(":")[0].strip()
    try:
        limits_of(capability)
    except GpuError as error:
        raise GpuError(f"{where}: {error.seen}", remedy=error.remedy) from error
    vendor = _vendor(row, capability, where)
    kin = [card for card in known if card.compute_capability == capability and not card.user_defined]
    nearest = kin or [card for card in known if card.vendor is vendor]
    segment = Segment(str(row.get("segment", _segment(row, nearest))))
    nearest = [card for card in nearest if card.segment is segment] or nearest
    peaks, notes = _peaks(row, nearest, where)
    name = str(row["name"]).strip()
    source = str(row.get("source", "the user's row"))
    card = Card(
        name=name,
        aliases=tuple(str(alias).strip() for alias in _items(row.get("aliases", ()))),
        vendor=vendor,
        architecture=str(row.get("architecture", nearest[0].architecture)),
        die=str(row.get("die", name)),
        segment=segment,
        compute_capability=capability,
        sm_count=_int(row["sm_count"]),
        fp32_lanes_per_sm=_int(row.get("fp32_lanes_per_sm", nearest[0].fp32_lanes_per_sm)),
        clock_mhz=_optional(row, "clock_mhz"),
        memory_gb=_float(row["memory_gb"]),
        bandwidth_gb_per_s=_float(row["bandwidth_gb_per_s"]),
        l2_mb=_optional(row, "l2_mb"),
        tdp_w=_optional(row, "tdp_w"),
        peak_tflops=peaks,
        fp32_matrix_tflops=_fp32_matrix_tflops(peaks[RateClass.FP32], nearest),
        fp16_is_vector=nearest[0].fp16_is_vector,
        half_rate_tensor=nearest[0].half_rate_tensor,
        nvlink_gb_per_s_both_ways=_optional(row, "nvlink_gb_per_s_both_ways"),
        pcie_generation=_int(row["pcie_generation"]) if "pcie_generation" in row else None,
        release_year=_int(row["release_year"]) if "release_year" in row else None,
        source=source,
        notes="; ".join(filter(None, (str(row.get("notes", "")), *notes))),
        user_defined=True,
    )
    return card, tuple(_own_measurements(row, name, source))


def row_text(row: Mapping[str, object]) -> str:
    """The row as TOML, one line a field; a checked row reads back as itself.

    >>> print(row_text({"name": "My GPU", "sm_count": 70, "aliases": ["a"]}), end="")
    name = "My GPU"
    sm_count = 70
    aliases = ["a"]
    """
    # JSON's text, numbers and lists of text are TOML's too, characters beyond ASCII included
    return "".join(f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in row.items())


def _check(row: Mapping[str, object], where: str) -> None:
    for key, value in row.items():
        field = FIELDS.get(key)
        if field is None:
            near = difflib.get_close_matches(str(key), FIELDS, n=1)
            hint = f"{near[0]}?" if near else f"one of {', '.join(FIELDS)}"
            raise GpuError(f"{where} has the field {key!r}, which no GPU has", remedy=hint)
        if not field.fits(value) or (isinstance(value, float) and not math.isfinite(value)):
            raise GpuError(f"{where}: {key} is {value!r}, expected {field.expected}", remedy=f"{key} = {field.example}")
    for key in REQUIRED_FIELDS:
        if key not in row:
            raise GpuError(f"{where} lacks the field {key}: {FIELDS[key].expected}", remedy=EXAMPLE)


def _vendor(row: Mapping[str, object], capability: str, where: str) -> Vendor:
    vendor = Vendor.AMD if capability.startswith("gfx") else Vendor.NVIDIA
    if row.get("vendor", vendor.value) != vendor.value:
        raise GpuError(
            f"{where}: vendor is {row['vendor']!r}, but compute_capability {capability!r} is one of {vendor.value}",
            remedy='NVIDIA with "8.6", AMD with "gfx90a"',
        )
    return vendor


def _segment(row: Mapping[str, object], nearest: Sequence[Card]) -> str:
    name = str(row["name"]).lower()
    if any(word in name for word in ("geforce", "gtx", "titan")):
        return Segment.GEFORCE.value
    return nearest[0].segment.value


def _peaks(
    row: Mapping[str, object], kin: Sequence[Card], where: str
) -> tuple[dict[RateClass, float], tuple[str, ...]]:
    peaks = {rate: _float(row[column]) for column, rate in PEAK_COLUMNS.items() if column in row}
    notes: list[str] = []
    if RateClass.FP32 not in peaks:
        if "clock_mhz" not in row:
            raise GpuError(f"{where} lacks fp32_tflops, and clock_mhz to work it out", remedy=EXAMPLE)
        lanes = _int(row.get("fp32_lanes_per_sm", kin[0].fp32_lanes_per_sm))
        peaks[RateClass.FP32] = 2 * _int(row["sm_count"]) * lanes * _float(row["clock_mhz"]) / 1e6  # MHz to TFLOP/s
        notes.append("fp32 peak = 2 x SMs x lanes x clock")
    for rate in PEAK_COLUMNS.values():
        ratios = [card.peak_tflops[rate] / card.peak_tflops[RateClass.FP32] for card in kin if rate in card.peak_tflops]
        if rate not in peaks and ratios:
            peaks[rate] = peaks[RateClass.FP32] * median(ratios)
            notes.append(f"{rate.value} peak = {median(ratios):.3g} x fp32, as on {len(ratios)} cards of its kind")
    return peaks, tuple(notes)


def _fp32_matrix_tflops(fp32_tflops: float, nearest: Sequence[Card]) -> float | None:
    ratios = [
        card.fp32_matrix_tflops / card.peak_tflops[RateClass.FP32]
        for card in nearest
        if card.fp32_matrix_tflops is not None
    ]
    return fp32_tflops * median(ratios) if ratios else None


def _own_measurements(row: Mapping[str, object], name: str, source: str) -> Iterable[Measurement]:
    quantities = {f"sustained_{column}": rate.value for column, rate in PEAK_COLUMNS.items()}
    for key, quantity in {**quantities, "sustained_bandwidth_gb_per_s": BANDWIDTH}.items():
        if key in row:
            yield Measurement(
                gpu=name, quantity=quantity, value=_float(row[key]), kind=Kind.OWN, how_measured=key, source=source
            )


def _items(value: object) -> Sequence[object]:
    return value if isinstance(value, list | tuple) else ()


def _float(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.nan


def _int(value: object) -> int:
    return value if isinstance(value, int) else 0


def _optional(row: Mapping[str, object], key: str) -> float | None:
    return _float(row[key]) if key in row else None

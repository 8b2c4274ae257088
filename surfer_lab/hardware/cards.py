"""What do the catalogue's data files say, row by row?

Opens gpus.csv, sustained.csv and spellings.csv beside it and turns each row into a record of plain facts, blank cells
into None. Nothing is chosen or computed here: `sustained` chooses rates, `catalog` builds the Gpus. The files are made
from tables of facts by tools/build_catalogue.py; each number's source is in its row.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Final

from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.gpu import Vendor

__all__ = [
    "BANDWIDTH",
    "DATA_FOLDER",
    "PEAK_COLUMNS",
    "Card",
    "Kind",
    "Measurement",
    "Segment",
    "Spelling",
    "read_cards",
    "read_measurements",
    "read_spellings",
]

DATA_FOLDER: Final = Path(__file__).with_name("data")

BANDWIDTH: Final = "bandwidth"  # a quantity beside the values of RateClass; GB/s

PEAK_COLUMNS: Final[Mapping[str, RateClass]] = {
    "fp32_tflops": RateClass.FP32,
    "tf32_tflops": RateClass.TF32,
    "fp16_tflops": RateClass.FP16,
    "bf16_tflops": RateClass.BF16,
    "fp8_tflops": RateClass.FP8,
}


class Segment(Enum):
    """What a card is sold as; cooling, power limit and the tensor accumulate rate go with it."""

    GEFORCE = "geforce"
    WORKSTATION = "workstation"
    DATACENTRE = "datacentre"


class Kind(Enum):
    """How a rate was measured, which decides what it is good for (see `sustained`)."""

    MATMUL = "matmul"  # large matrix multiplications as a program would run them
    SEARCH = "search"  # the best shape out of a search, or a vendor's max-achievable figure: optimistic
    FMA_LOOP = "fma_loop"  # vector units, no matrix multiplication
    STREAM = "stream"  # reading and writing hundreds of MB
    SMALL_COPY = "small_copy"  # a few tens of MB: partly launch time, partly cache
    UNSPECIFIED = "unspecified"  # measured, method not recorded
    ADDS_ONLY = "adds_only"  # counts additions only: never mixed with the rest
    DATA_SHEET = "data_sheet"  # repeats the vendor's figure: not a measurement
    DOUBTFUL = "doubtful"  # contradicted by its own note
    OWN = "own"  # stated by the user in the card's row


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One measured figure of one card: TFLOP/s for arithmetic, GB/s for "bandwidth"."""

    gpu: str
    quantity: str  # a RateClass value, "bandwidth" or "fp32_add_only"
    value: float
    kind: Kind
    how_measured: str
    source: str
    date: str = ""
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Card:
    """One card's stated facts, in the units of data sheets. None: no figure that could be sourced."""

    name: str
    aliases: tuple[str, ...]
    vendor: Vendor
    architecture: str
    die: str
    segment: Segment
    compute_capability: str
    sm_count: int
    fp32_lanes_per_sm: int
    clock_mhz: float | None
    memory_gb: float
    bandwidth_gb_per_s: float
    l2_mb: float | None
    tdp_w: float | None
    peak_tflops: Mapping[RateClass, float]
    fp32_matrix_tflops: float | None = None  # where fp32 matrices have their own unit (CDNA)
    fp16_is_vector: bool = False  # fast fp16 without tensor cores (P100)
    half_rate_tensor: bool = False  # fp32 accumulation at half of the fp16 one's rate (GeForce): power never limits it
    nvlink_gb_per_s_both_ways: float | None = None
    pcie_generation: int | None = None
    release_year: int | None = None
    source: str
    sources: Mapping[str, str] = field(default_factory=dict)  # by field, where not `source`
    notes: str = ""
    user_defined: bool = False
    estimated: bool = False


@dataclass(frozen=True, kw_only=True)
class Spelling:
    """How a body of measured data spells a GPU; `gpu` is "" for one outside the catalogue."""

    where: str
    name: str
    gpu: str
    note: str


def read_cards(folder: Path = DATA_FOLDER) -> list[Card]:
    """All cards of gpus.csv, in its order."""
    return [_card(row) for row in _rows(folder / "gpus.csv")]


def read_measurements(folder: Path = DATA_FOLDER) -> list[Measurement]:
    """All rows of sustained.csv, used or not."""
    return [
        Measurement(
            gpu=row["gpu"],
            quantity=row["quantity"],
            value=float(row["value"]),
            kind=Kind(row["kind"]),
            how_measured=row["how_measured"],
            source=row["source"],
            date=row["date"],
            note=row["note"],
        )
        for row in _rows(folder / "sustained.csv")
    ]


def read_spellings(folder: Path = DATA_FOLDER) -> list[Spelling]:
    """How the measured data (kernels, end to end, timm, ...) spell their GPUs."""
    return [Spelling(**row) for row in _rows(folder / "spellings.csv")]


def _card(row: Mapping[str, str]) -> Card:
    peaks = {rate: float(row[column]) for column, rate in PEAK_COLUMNS.items() if row[column]}
    vector_fp16 = _number(row["fp16_vector_tflops"])
    if vector_fp16 is not None:
        peaks[RateClass.FP16] = vector_fp16
    own_sources = {
        "aliases": row["alias_source"],
        "nvlink_gb_per_s_both_ways": row["nvlink_source"],
        "die": row["die_source"],
    }
    return Card(
        name=row["name"],
        aliases=tuple(alias for alias in row["aliases"].split(";") if alias),
        vendor=Vendor(row["vendor"]),
        architecture=row["architecture"],
        die=row["die"],
        segment=Segment(row["segment"]),
        compute_capability=row["compute_capability"],
        sm_count=int(row["sm_count"]),
        fp32_lanes_per_sm=int(row["fp32_lanes_per_sm"]),
        clock_mhz=_number(row["clock_mhz"]),
        memory_gb=float(row["memory_gb"]),
        bandwidth_gb_per_s=float(row["bandwidth_gb_per_s"]),
        l2_mb=_number(row["l2_mb"]),
        tdp_w=_number(row["tdp_w"]),
        peak_tflops=peaks,
        fp32_matrix_tflops=_number(row["fp32_matrix_tflops"]),
        fp16_is_vector=vector_fp16 is not None,
        half_rate_tensor="half of" in row["fp16_accumulate"],
        nvlink_gb_per_s_both_ways=_number(row["nvlink_gb_per_s_both_ways"]),
        pcie_generation=int(row["pcie_generation"]) if row["pcie_generation"] else None,
        release_year=int(row["release_year"]) if row["release_year"] else None,
        source=row["source"],
        sources={field_name: text for field_name, text in own_sources.items() if text},
        notes=row["notes"],
    )


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _number(text: str) -> float | None:
    return float(text) if text else None

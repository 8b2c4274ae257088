"""How does a view travel to a browser and stay in a notebook? As a `StoredView`: the ViewModel, each fact once.

Numbers without their wording (a reader's own locale words them), strings that repeat in tables, what a division or a
price times hours gives left out. `view.stored` makes it from a ViewModel and makes the ViewModel from it again.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from surfer_lab.view.detail_model import GridView, ModuleTree, Packed, Provenance, RooflineView, TimelineView
from surfer_lab.view.model import (
    BlockedRow,
    Choice,
    CoverageShares,
    GroupRow,
    Here,
    MemoryView,
    Sentence,
)
from surfer_lab.view.scaling_model import ScalingView

__all__ = [
    "STORED_SCHEMA_VERSION", "PriceGround", "StoredAlternative", "StoredCurve", "StoredOperation", "StoredRows",
    "StoredView",
]  # fmt: skip

STORED_SCHEMA_VERSION: Final = 2


class PriceGround(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an hourly price rests on."""

    note: str  # "median of 5 offers, $1.99 to 3.50, on demand, 2025-08"
    as_of: str = ""
    source: str = ""


class StoredRows(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The step on each GPU, as it was asked about: one column a fact, one entry a GPU, in order of step time.

    u8 columns index the tables of the StoredView; all others are f32. Left out, for they follow: samples/s = batch
    size / step; USD per 1,000 steps = USD per hour x step in hours x 1,000; an epoch = ceil(data set / batch) steps.
    """

    gpu: list[str]
    vendor: Packed
    architecture: Packed
    release_year: Packed
    memory_gb: Packed
    verdict: Packed
    step_ms: Packed
    low_ms: Packed
    high_ms: Packed
    busy_ms: Packed
    parts_ms: Packed  # (gpus, part_labels)
    bound: Packed
    method_share: Packed  # (gpus, method_labels), of the GPU time
    usd_per_hour: Packed  # what must be paid, for `sold_by` GPUs together
    sold_by: Packed
    price: Packed  # of the table `prices`
    spot_sold_by: Packed | None = None
    origin: int = -1  # place of the GPU that was recorded on
    faster: Packed | None = None  # times as fast as recorded
    spot_usd_per_hour: Packed | None = None
    spot_price: Packed | None = None
    needed_gb: Packed | None = None
    needed_low_gb: Packed | None = None
    needed_high_gb: Packed | None = None
    needed_is_measured: bool = False
    largest_batch: Packed | None = None
    cell_s: Packed | None = None  # the whole cell, there
    cell_low_s: Packed | None = None
    cell_high_s: Packed | None = None


class StoredOperation(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One group of operations; its times on the GPUs are packed in the StoredView, in this order."""

    name: str
    phase: str
    launches: float
    share: float
    here_ms: float | None = None
    source: str = ""
    module: str = ""
    note: str = ""


class StoredCurve(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The batch curve of the GPU shown first; columns, f32 unless said."""

    gpu: str
    batch_size: Packed
    step_ms: Packed
    low_ms: Packed
    high_ms: Packed
    memory_gb: Packed
    verdict: Packed  # u8
    marks: dict[str, str]  # place -> "knee", "largest that fits"
    largest_fitting: int


class StoredAlternative(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The step on the GPU shown first in another precision, or compiled; without numbers `blocker` says why."""

    precision: str
    compile: str
    label: str
    step_ms: float | None = None
    low_ms: float | None = None
    high_ms: float | None = None
    faster: float | None = None
    memory_gb: float | None = None
    verdict: int = 3
    is_shown: bool = False
    blocker: str = ""


class StoredView(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything shown of one prediction. `shortlist` and `focus` are places among the rows.

    `operation_ms`, `operation_low_ms`, `operation_high_ms`: log16, (rows, operations), 0 is "not known";
    `operation_kind`: u8, method x 16 + limit.
    """

    schema_version: int
    provenance: Provenance
    name: str
    title: str
    sentences: list[Sentence]
    here: Here | None
    choices: list[Choice]
    rows: StoredRows
    shortlist: list[int]
    shows_all: bool
    focus: int  # -1: no GPU
    shows_busy: bool
    time_unit: str  # in which the step times of this view read well: "µs", "ms" or "s"
    vendors: list[str]
    architectures: list[str]
    verdicts: list[str]
    bounds: list[str]
    prices: list[PriceGround]
    part_labels: list[str]
    limit_labels: list[str]
    method_labels: list[str]
    operations: list[StoredOperation]
    operation_ms: Packed
    operation_low_ms: Packed
    operation_high_ms: Packed
    operation_kind: Packed
    families: list[GroupRow]
    phases: list[GroupRow]
    warnings: list[str]
    assumptions: list[str]
    range_note: str
    price_note: str
    environment: dict[str, str]
    command: str
    version: str
    accuracy: list[str] = []  # how such predictions did on measured cases
    batch_size: int | None = None
    dataset_size: int | None = None
    alternatives: list[StoredAlternative] = []
    alternatives_note: str = ""
    memory: MemoryView | None = None
    blocked: list[BlockedRow] = []
    coverage: CoverageShares | None = None
    curve: StoredCurve | None = None
    grid: GridView | None = None
    modules: ModuleTree | None = None
    roofline: RooflineView | None = None
    timeline: TimelineView | None = None
    scaling: ScalingView | None = None
    scaling_links: list[ScalingView] = []

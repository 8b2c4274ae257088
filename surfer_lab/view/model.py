"""What is a person shown? `ViewModel`: rows, figures, sentences and warnings, rounded and worded, ready for JSON.

Every host (cell output, terminal, report, panel) draws this record and adds no number and no word of its own. Beside
each wording stands the raw number in the unit named. Names that come from a trace are text, never markup.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from msgspec import Struct

from surfer_lab.view.detail_model import GridView, ModuleTree, Provenance, RooflineView, TimelineView
from surfer_lab.view.scaling_model import ScalingView

__all__ = [
    "VIEW_SCHEMA_VERSION", "AlternativeRow", "BlockedRow", "Choice", "CoverageShares", "CurveFigure", "CurvePoint",
    "Figure", "GpuRow", "GroupRow", "Here", "MemoryPartRow", "MemoryView", "OperationRow", "Part", "PartitionBar",
    "PartitionFigure", "Quantity", "RangeBar", "RangeFigure", "Role", "ScatterFigure", "ScatterPoint", "Sentence",
    "TableTwin", "Verdict", "ViewModel",
]  # fmt: skip

VIEW_SCHEMA_VERSION: Final = 1


class Role(Enum):
    """What a sentence or a choice is about; hosts order and mark by it."""

    STEP = "step"
    BOUND = "bound"
    FASTEST = "fastest"
    CHEAPEST = "cheapest"
    ADVICE = "advice"
    CELL = "cell"
    HERE = "here"
    MEMORY = "memory"
    BATCH = "batch"
    SHARDED = "sharded"
    COVERAGE = "coverage"


class Verdict(Enum):
    """Whether the step fits into a card's memory."""

    FITS = "fits"
    TIGHT = "tight"
    DOES_NOT_FIT = "does not fit"
    UNKNOWN = "not known"


class Quantity(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A number, worded. `value`, `low` and `high` are in `unit`; without a `value` it is not known and reads "–"."""

    text: str
    unit: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    range_text: str = ""


class Sentence(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One sentence for people; `label` is its short lead ("Fastest")."""

    role: Role
    label: str
    text: str


class Part(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One part of the step's wall time."""

    key: str
    label: str
    value_ms: float
    share: float
    text: str


class Here(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The step as it was recorded."""

    device: str
    step: Quantity
    busy: Quantity | None  # GPU busy time, where a GPU was recorded
    how: str  # "median of 6 steps, by ProfilerStep marks"
    is_gpu: bool
    parts: list[Part]


class GpuRow(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The step on one GPU. `parts_ms` follows `part_labels` of the ViewModel; `methods`: shares of GPU time, sum 1."""

    gpu: str
    vendor: str
    architecture: str
    release_year: int | None
    memory: Quantity
    verdict: Verdict
    step: Quantity
    busy: Quantity
    faster: Quantity  # times as fast as recorded; worded with its direction
    usd_per_hour: Quantity  # what must be paid, for `sold_by` GPUs together
    usd_per_1000_steps: Quantity
    bound: str
    parts_ms: list[float]
    methods: dict[str, float]
    methods_text: str
    is_origin: bool = False
    memory_note: str = ""
    needed: Quantity | None = None  # memory of the step there, with its range; None where not known
    largest_batch: int | None = None  # that fits there; 0: not one sample; None: not known
    samples_per_s: Quantity | None = None
    needed_is_measured: bool = False
    sold_by: int = 1  # rented out only this many at once
    price_note: str = ""
    price_as_of: str = ""
    price_source: str = ""
    spot_usd_per_hour: Quantity | None = None  # interruptible; None: no offer
    spot_sold_by: int = 1
    spot_note: str = ""
    spot_as_of: str = ""
    spot_source: str = ""
    epoch: Quantity | None = None
    usd_per_epoch: Quantity | None = None
    cell: Quantity | None = None
    usd_per_cell: Quantity | None = None


class OperationRow(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One of the costliest groups of operations of a step; `on_*` have one entry a row of the ViewModel, same order.

    `on_limit` and `on_method` index the ViewModel's `limit_labels` and `method_labels`.
    """

    name: str
    phase: str
    launches: float
    launches_text: str
    here: Quantity
    share: float  # of the GPU time here; on the first GPU, where nothing was measured
    share_text: str
    on_ms: list[float]
    on_low_ms: list[float]
    on_high_ms: list[float]
    on_text: list[str]
    on_range: list[str]
    on_share_text: list[str]
    on_limit: list[int]
    on_method: list[int]
    source: str = ""
    module: str = ""
    note: str = ""


class GroupRow(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A share of the GPU time by some grouping."""

    label: str
    share: float
    text: str


class Choice(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One of the few GPUs to decide between."""

    role: Role
    label: str
    gpu: str
    headline: str
    lines: list[str]


class TableTwin(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A figure's numbers as a table."""

    columns: list[str]
    rows: list[list[str]]


class RangeBar(Struct, frozen=True, kw_only=True, omit_defaults=True):
    label: str
    value: float
    low: float
    high: float
    text: str
    note: str
    is_origin: bool


class RangeFigure(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="range", tag_field="kind"):
    """Step time and its range by GPU, shortest first."""

    title: str
    description: str
    unit: str
    bars: list[RangeBar]
    reference: float | None  # the recorded step, in the same unit
    reference_label: str
    table: TableTwin


class PartitionBar(Struct, frozen=True, kw_only=True, omit_defaults=True):
    label: str
    total_text: str
    parts: list[Part]


class PartitionFigure(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="partition", tag_field="kind"):
    """Where the wall time of a step goes, here and on a few GPUs."""

    title: str
    description: str
    bars: list[PartitionBar]
    table: TableTwin


class ScatterPoint(Struct, frozen=True, kw_only=True, omit_defaults=True):
    label: str
    x: float
    y: float
    text: str
    on_front: bool
    is_origin: bool


class ScatterFigure(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="scatter", tag_field="kind"):
    """Cost against time; the front are GPUs that none beats in both."""

    title: str
    description: str
    x_label: str
    y_label: str
    points: list[ScatterPoint]
    table: TableTwin


class CurvePoint(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A step at one batch size. `mark` says what is special about it ("knee", "largest that fits"), else ""."""

    batch_size: int
    step: Quantity
    samples_per_s: Quantity
    memory: Quantity
    verdict: Verdict
    mark: str = ""


class CurveFigure(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="curve", tag_field="kind"):
    """Throughput and step time by batch size on one GPU."""

    title: str
    description: str
    gpu: str
    x_label: str
    y_label: str
    points: list[CurvePoint]
    largest_fitting: int
    table: TableTwin


Figure = RangeFigure | PartitionFigure | ScatterFigure | CurveFigure


class AlternativeRow(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The step in another precision or compiled, on the GPU shown first; without an answer `blocker` says why."""

    precision: str  # the vocabulary's word
    compile: str
    label: str
    step: Quantity
    faster: Quantity  # against the step as run, not compiled, on the same GPU
    memory: Quantity
    verdict: Verdict
    is_shown: bool = False  # what the rest of the view is about
    blocker: str = ""


class MemoryPartRow(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One part of the step's memory, and where its number comes from."""

    label: str
    amount: Quantity
    source: str


class MemoryView(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where the step's memory goes on one GPU: the parts with bytes, and the sums. `measured`: the recorded peak."""

    gpu: str
    parts: list[MemoryPartRow]
    allocated: Quantity
    reserved: Quantity
    device: Quantity
    when: str  # "in the backward pass": where the peak is
    measured: str = ""


class BlockedRow(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A GPU that was asked about and has no answer."""

    gpu: str
    why: str


class CoverageShares(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Shares by knowing the operation's family, by generic fallback, not scaled: of operations, and of time."""

    gpu: str
    item_count: int
    family_of_items: float
    fallback_of_items: float
    unscaled_of_items: float
    family_of_time: float
    fallback_of_time: float
    unscaled_of_time: float
    text: str


class ViewModel(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything shown of one prediction. `rows` is in order of step time; `shortlist` and `focus` name rows."""

    schema_version: int
    name: str
    title: str
    sentences: list[Sentence]
    here: Here | None
    choices: list[Choice]
    rows: list[GpuRow]
    shortlist: list[str]
    shows_all: bool
    focus: str
    shows_busy: bool  # host times carry the profiler's slow-down: GPU busy stands beside each step
    operations: list[OperationRow]
    families: list[GroupRow]
    phases: list[GroupRow]
    figures: list[Figure]
    part_labels: list[str]
    limit_labels: list[str]
    method_labels: list[str]
    warnings: list[str]
    assumptions: list[str]
    range_note: str
    price_note: str
    environment: dict[str, str]
    command: str
    version: str
    alternatives: list[AlternativeRow] = []
    alternatives_note: str = ""
    memory: MemoryView | None = None
    blocked: list[BlockedRow] = []
    coverage: CoverageShares | None = None
    accuracy: list[str] = []  # how such predictions did on measured cases
    batch_size: int | None = None
    dataset_size: int | None = None
    provenance: Provenance | None = None
    grid: GridView | None = None
    modules: ModuleTree | None = None
    roofline: RooflineView | None = None
    timeline: TimelineView | None = None
    scaling: ScalingView | None = None
    scaling_links: list[ScalingView] = []  # the same step where other links connect the GPUs

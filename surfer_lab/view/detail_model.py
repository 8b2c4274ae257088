"""What is shown when somebody looks closer? Grid, module tree, roofline, timeline, operations, provenance.

Numbers come in columns, many of them packed into text, so that a cell's output stays small; `view.packed` packs and
unpacks. Nothing here is worded: labels stand in tables, numbers have the unit of their name.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

__all__ = [
    "GridView", "ModuleTree", "OperationLine", "Packed", "Provenance", "RooflineView", "SourceKind", "TimelineLane",
    "TimelineView",
]  # fmt: skip

SourceKind = Literal["cell", "file", "model", "python"]


class Packed(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Numbers as base64 of little-endian bytes, row-major.

    `f32`: IEEE floats, nan is "not known". `u8`, `u16`: whole numbers, the largest is "not known". `log16`: unsigned
    16-bit codes c; 0 is "not known", else exp(log_low + (c - 1) / 65534 x (log_high - log_low)).
    """

    kind: Literal["f32", "u8", "u16", "log16"]
    data: str
    log_low: float = 0.0
    log_high: float = 0.0


class GridView(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Outcomes by (gpu, batch, precision, compile, count). GPUs are the rows of the view, in their order.

    `step_ms` log16; `low_ratio`, `high_ratio` log16, times the step; `busy_ratio` too, where it is known. Memory by
    (gpu, batch, precision), log16; `fit` u8, an index into `fits`. By (gpu, precision): `largest_batch` f32, and
    `reason` u8, an index into `reasons` where there is no answer.
    """

    batch_sizes: list[int]
    precisions: list[str]  # the vocabulary's words; "amp" is bf16 where a GPU has units for it, else fp16
    precision_labels: list[str]
    compiles: list[str]
    compile_labels: list[str]
    counts: list[int]  # GPUs used together
    own: list[int]  # place of the prediction itself on the four axes; -1 where it is not among them
    step_ms: Packed
    low_ratio: Packed
    high_ratio: Packed
    busy_ratio: Packed | None = None
    memory_gb: Packed | None = None
    memory_high_gb: Packed | None = None
    fit: Packed | None = None
    fits: list[str] = []
    largest_batch: Packed | None = None
    reason: Packed | None = None
    reasons: list[str] = []
    notes: list[str] = []
    gpus: list[str] = []  # of a slice: its GPUs by name, where they are not the view's rows


class ModuleTree(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The step's GPU time by module path; a node's time holds its children's. Columns, one entry a node.

    A parent stands before its children; node 0 is the whole step. `left` and `right` place it in [0, 1] by its time at
    the origin, else on the GPU shown first (`is_measured` says which). `times_ms`: log16, (gpus, nodes).
    """

    name: list[str]  # last part of the path; the whole path is the names from node 0 down
    parent: Packed  # u16; of node 0 not known
    share: Packed  # f32, of the step's GPU time
    left: Packed  # f32
    right: Packed  # f32
    is_measured: bool
    times_ms: Packed
    here_ms: Packed | None = None  # f32
    source: list[str] = []  # the user's line that has most of its time; "" not known
    note: str = ""


class RooflineView(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Work of each operation group of the view, same order, and the roofs of each GPU row, same order.

    Intensity is flop / bytes; what is reached is flop / time. `classes` are kinds of arithmetic ("fp32", "bf16", ...).
    """

    gflop: Packed  # f32, a step; nan: not known
    gbyte: Packed  # f32, moved to and from device memory
    rate_class: Packed  # u8, of `classes`
    classes: list[str]
    tflop_per_s: Packed  # f32, (gpus, classes): what each sustains; nan: has no units for it
    gb_per_s: Packed  # f32, (gpus,)
    note: str = ""


class TimelineLane(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One lane: a thread of the host, waits for input, a stream of the GPU, idle stretches of the GPU."""

    key: Literal["host", "input", "gpu", "idle"]
    label: str


class TimelineView(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One step as stretches of time, neighbours merged until they are few enough. Packed columns, one entry a stretch.

    Times in ms from the start of the step. `filled`: percent of a stretch that is really taken.
    """

    step_ms: float
    start_ms: float  # of the window shown
    end_ms: float
    lanes: list[TimelineLane]
    names: list[str]
    lane: Packed  # u8
    begin_ms: Packed  # f32
    length_ms: Packed  # f32
    name: Packed  # u16, the one with most of the time
    count: Packed  # f32, events merged
    filled: Packed  # u8
    is_measured: bool
    on: str  # the GPU whose times these are
    note: str = ""


class OperationLine(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One row of the operations table on one GPU. `faster`: origin's time over the time there."""

    name: str
    on_ms: float  # a step
    low_ms: float
    high_ms: float
    share: float
    launches: float
    limit: int = -1  # of the labels of the view; -1: several
    method: int = -1
    phase: str = ""
    here_ms: float | None = None
    faster: float | None = None
    source: str = ""
    module: str = ""
    note: str = ""


class Provenance(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a prediction comes from. `id` is the same in output, history and messages; `made_at` ISO 8601, UTC."""

    id: str
    made_at: str = ""
    source: SourceKind = "python"
    notebook: str = ""
    cell: str = ""  # id of the notebook's cell
    file: str = ""  # name of the trace file
    cells: dict[str, str] = {}  # "In[3]", as in source lines -> id of the cell

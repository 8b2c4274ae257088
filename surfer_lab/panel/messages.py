"""What do the panel and a kernel say to each other? Every message of the comm `surfer_lab`, typed and versioned.

A request carries an id of the asker's choosing and is answered exactly once, by an answer or a failure of that id;
notices of progress may come before. Announcements carry no id. Each message is one JSON object with a `kind`. The
protocol's number grows when a message changes its meaning; a field may be added under the same number.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from msgspec import Struct

from surfer_lab.view.detail_model import GridView, OperationLine, Provenance, TimelineView
from surfer_lab.view.stored_model import StoredView
from surfer_lab.view.training_model import TrainingView

__all__ = [
    "MOST_BYTES", "PROTOCOL_VERSION", "TARGET_NAME", "Announcement", "Answer", "AskCompare", "AskFigures",
    "AskForget", "AskGrid", "AskHello", "AskHistory", "AskOperations", "AskPrice", "AskTimeline", "AskTrace",
    "AskView", "Cancel", "Cancelled", "Comparison", "ComparisonRow", "Done", "Entry", "Failure", "FigureItem",
    "Figures", "Forgotten", "GridReady", "GridSlice", "Hello", "History", "OperationsSlice", "Predicted",
    "Progress", "Request", "TimelineSlice", "Training", "ViewAnswer",
]  # fmt: skip

TARGET_NAME: Final = "surfer_lab"
PROTOCOL_VERSION: Final = 1
MOST_BYTES: Final = 2_000_000  # of one message, either way; what is larger is refused by a Failure of kind "too-large"

By = Literal["operation", "kind", "phase", "module"]


class _Ask(Struct, frozen=True, kw_only=True, tag_field="kind", forbid_unknown_fields=False):
    """What every request has."""

    id: str


class AskHello(_Ask, tag="hello", frozen=True, kw_only=True):
    """First message from a front end. `notebook` is its path on the server, for the history; "" is not known."""

    protocol: int
    version: str
    schema_version: int
    notebook: str = ""


class AskHistory(_Ask, tag="history", frozen=True, kw_only=True):
    """The predictions that this kernel can tell of."""


class AskView(_Ask, tag="view", frozen=True, kw_only=True):
    """The whole view of a prediction."""

    prediction: str


class AskGrid(_Ask, tag="grid", frozen=True, kw_only=True):
    """Outcomes that the stored grid lacks: these GPUs (all when empty), batch sizes, precisions, compile modes."""

    prediction: str
    gpus: list[str] = []
    batch_sizes: list[int] = []
    precisions: list[str] = []
    compiles: list[str] = []


class AskPrice(_Ask, tag="price", frozen=True, kw_only=True):
    """An own price for a GPU in this prediction; null takes it back. Answered by the view with it."""

    prediction: str
    gpu: str
    usd_per_hour: float | None


class AskTimeline(_Ask, tag="timeline", frozen=True, kw_only=True):
    """A window of the step, in more detail. `end_ms` 0: to the end of the step; `gpu`: where nothing was measured."""

    prediction: str
    start_ms: float = 0.0
    end_ms: float = 0.0
    most: int = 300
    gpu: str = ""


class AskOperations(_Ask, tag="operations", frozen=True, kw_only=True):
    """Rows of the operations table on one GPU, by falling time there; `find` filters by text."""

    prediction: str
    gpu: str
    by: By = "operation"
    first: int = 0
    count: int = 200
    find: str = ""


class AskFigures(_Ask, tag="figures", frozen=True, kw_only=True):
    """Figures by name as Bokeh JSON items with their data; all when empty. `gpu` "": the one shown first."""

    prediction: str
    names: list[str] = []
    gpu: str = ""


class AskForget(_Ask, tag="forget", frozen=True, kw_only=True):
    """Forget a prediction, in this kernel and on disk."""

    prediction: str


class AskTrace(_Ask, tag="trace", frozen=True, kw_only=True):
    """Read a trace file, seen from the kernel's folder, and predict it. Progress comes on the way; may be cancelled."""

    path: str
    origin: str = ""  # the GPU that it was recorded on, where the file does not say so


class AskCompare(_Ask, tag="compare", frozen=True, kw_only=True):
    """Several predictions side by side, on the GPUs that all of them have."""

    predictions: list[str]


class Cancel(_Ask, tag="cancel", frozen=True, kw_only=True):
    """Stop the work of a request. It is still answered: by a Failure of kind "cancelled", or as done."""

    request: str


Request = (
    AskHello
    | AskHistory
    | AskView
    | AskGrid
    | AskPrice
    | AskTimeline
    | AskOperations
    | AskFigures
    | AskForget
    | AskTrace
    | AskCompare
    | Cancel
)


class Entry(Struct, frozen=True, kw_only=True):
    """A prediction in the history. Where `is_live`, the kernel holds it and answers slices; else its view alone."""

    provenance: Provenance
    name: str
    title: str
    headline: str  # the sentence of the step
    is_live: bool


class _Answer(Struct, frozen=True, kw_only=True, tag_field="kind"):
    """What every answer has: the id of its request."""

    id: str


class Hello(_Answer, tag="hello", frozen=True, kw_only=True):
    """Who answers. `gpu`: name of the first GPU that the kernel sees, "" for none or where torch is not loaded."""

    protocol: int
    version: str
    schema_version: int
    has_torch: bool
    gpu: str
    entries: list[Entry]


class History(_Answer, tag="history", frozen=True, kw_only=True):
    """Newest last."""

    entries: list[Entry]


class ViewAnswer(_Answer, tag="view", frozen=True, kw_only=True):
    """A view."""

    view: StoredView


class GridSlice(_Answer, tag="grid", frozen=True, kw_only=True):
    """Part of a grid."""

    prediction: str
    grid: GridView


class TimelineSlice(_Answer, tag="timeline", frozen=True, kw_only=True):
    """A window of the step."""

    prediction: str
    timeline: TimelineView


class OperationsSlice(_Answer, tag="operations", frozen=True, kw_only=True):
    """Rows `first` and on, of `total`."""

    prediction: str
    gpu: str
    by: By
    first: int
    total: int
    lines: list[OperationLine]


class FigureItem(Struct, frozen=True, kw_only=True):
    """A figure as Bokeh's json_item, and its numbers as a table."""

    name: str
    title: str
    item: dict[str, Any]
    columns: list[str]
    rows: list[list[str]]


class Figures(_Answer, tag="figures", frozen=True, kw_only=True):
    """Figures, in the order of the page."""

    prediction: str
    figures: list[FigureItem]


class ComparisonRow(Struct, frozen=True, kw_only=True):
    """One GPU: the step in each prediction, ms with low and high; the ratio of the first to each."""

    gpu: str
    step_ms: list[tuple[float, float, float]]
    faster: list[float]
    usd_per_1000_steps: list[float | None]


class Comparison(_Answer, tag="compare", frozen=True, kw_only=True):
    """Predictions side by side; `missing`: GPUs that some of them lack."""

    entries: list[Entry]
    rows: list[ComparisonRow]
    missing: list[str]


class Cancelled(_Answer, tag="cancelled", frozen=True, kw_only=True):
    """Whether there was anything left to stop."""

    was_running: bool


class Done(_Answer, tag="done", frozen=True, kw_only=True):
    """It is done; the history after it."""

    entries: list[Entry]


FailureKind = Literal["refused", "unknown", "too-large", "cancelled", "version", "fault"]


class Failure(_Answer, tag="failure", frozen=True, kw_only=True):
    """Instead of an answer: what was seen, and what to do. `fault`: of the program itself; `detail` is to be copied.

    `gpus`: the trace does not say which GPU it was recorded on, and may be asked about again with one of these.
    """

    error: FailureKind
    seen: str
    remedy: str
    detail: str = ""
    gpus: list[str] = []


Answer = (
    Hello
    | History
    | ViewAnswer
    | GridSlice
    | TimelineSlice
    | OperationsSlice
    | Figures
    | Comparison
    | Cancelled
    | Done
    | Failure
)


class Progress(_Answer, tag="progress", frozen=True, kw_only=True):
    """How far a request is, before its answer. `total` 0: not known."""

    done: int
    total: int
    text: str


class Predicted(Struct, frozen=True, kw_only=True, tag_field="kind", tag="predicted"):
    """A prediction was made, or made anew, in this kernel."""

    entry: Entry
    view: StoredView


class GridReady(Struct, frozen=True, kw_only=True, tag_field="kind", tag="grid-ready"):
    """The grid of a prediction is there; its view in the notebook's output holds it now too."""

    prediction: str
    grid: GridView


class Forgotten(Struct, frozen=True, kw_only=True, tag_field="kind", tag="forgotten"):
    """A prediction was forgotten."""

    prediction: str


class Training(Struct, frozen=True, kw_only=True, tag_field="kind", tag="training"):
    """How a training run does that is tuned in this kernel: sent anew, whole, as it goes on, and once it has ended."""

    view: TrainingView


Announcement = Predicted | GridReady | Forgotten | Training

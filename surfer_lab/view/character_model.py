"""What is a person shown of characterised workloads? Records ready for JSON: raw numbers, and tables of words."""

from __future__ import annotations

from msgspec import Struct

from surfer_lab.view.model import TableTwin

__all__ = [
    "CharacterPage", "CharacterSentence", "CharacterTable", "CharacterView", "EfficiencyFigure", "EfficiencyLine",
    "MapAxis", "MapFigure", "MapPoint", "PlacedPoint", "RoofLine", "RooflineFigure",
]  # fmt: skip


class CharacterSentence(Struct, frozen=True, kw_only=True):
    """A fact with its heading."""

    label: str
    text: str


class CharacterTable(Struct, frozen=True, kw_only=True):
    """A table with its title and what to know of it."""

    key: str  # "roofline", "scaling", ...: stable, for those who read the JSON
    title: str
    table: TableTwin
    notes: list[str]


class PlacedPoint(Struct, frozen=True, kw_only=True):
    """A point under the roof. `kind`: part, whole, amp, kernel_fp32, kernel_fp16."""

    label: str
    kind: str
    flop_per_byte: float
    tflop_per_s: float
    share: float | None = None  # of the step's GPU time


class RoofLine(Struct, frozen=True, kw_only=True):
    """A roof: what the card is rated at."""

    label: str
    peak_tflop_per_s: float
    gb_per_s: float


class RooflineFigure(Struct, frozen=True, kw_only=True):
    """FLOP/s over FLOPs by byte, both axes logarithmic."""

    title: str
    description: str
    gpu: str
    roofs: list[RoofLine]
    points: list[PlacedPoint]


class EfficiencyLine(Struct, frozen=True, kw_only=True):
    """Scaling efficiency by number of GPUs on one topology, and what a GPU sends."""

    label: str
    gpus: list[int]
    efficiency: list[float]
    step_ms: list[float]
    exposed_ms: list[float]
    bus_gb_per_s: list[float]


class EfficiencyFigure(Struct, frozen=True, kw_only=True):
    """All topologies of one kind of GPU."""

    title: str
    description: str
    gpu: str
    lines: list[EfficiencyLine]


class CharacterPage(Struct, frozen=True, kw_only=True):
    """One workload's."""

    name: str
    title: str
    sentences: list[CharacterSentence]
    roofline: RooflineFigure | None
    scaling: list[EfficiencyFigure]
    tables: list[CharacterTable]
    notes: list[str]


class MapPoint(Struct, frozen=True, kw_only=True):
    """A workload or kernel on the plane. `group`: reference, own, kernel."""

    label: str
    group: str
    x: float
    y: float
    nearest: str


class MapAxis(Struct, frozen=True, kw_only=True):
    """What an axis explains, and which characteristics make it."""

    label: str
    explained: float
    made_of: str


class MapFigure(Struct, frozen=True, kw_only=True):
    """Which workloads are alike."""

    title: str
    description: str
    axes: list[MapAxis]
    points: list[MapPoint]
    table: TableTwin
    loadings: TableTwin
    notes: list[str]


class CharacterView(Struct, frozen=True, kw_only=True):
    """All of it; `comparison` and `alike` where there is something to compare with."""

    title: str
    pages: list[CharacterPage]
    comparison: CharacterTable | None
    alike: MapFigure | None
    version: str
    command: str

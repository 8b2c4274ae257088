"""What is shown of a step on several GPUs: a row a number of GPUs, its numbers and its words."""

from __future__ import annotations

from msgspec import Struct

__all__ = ["ScalingPiece", "ScalingRow", "ScalingView"]


class ScalingRow(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One number of GPUs; times are of one step. Without a value: not known."""

    gpus: int
    nodes: int
    step_ms: float
    low_ms: float
    high_ms: float
    efficiency: float  # 1: n times one GPU's throughput
    compute_ms: float  # the step less its exposed communication
    exposed_ms: float
    hidden_ms: float  # communication behind compute
    sent_gb: float  # by one GPU in a step
    samples_per_s: float | None = None
    memory_gb: float | None = None  # on each GPU
    usd_per_1000_steps: float | None = None
    verdict: str = "not known"  # whether it fits


class ScalingPiece(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Some work of one step: what, on which lane, from when to when."""

    name: str
    lane: str  # "compute", "communication"
    start_ms: float
    end_ms: float


class ScalingView(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A machine's curve. `columns` and `table` are the rows as a table of words."""

    title: str
    gpu: str
    machine: str
    link: str
    strategy: str
    rows: list[ScalingRow]
    columns: list[str]
    table: list[list[str]]
    notes: list[str] = []
    timeline: list[ScalingPiece] = []  # of the first rank on the most GPUs; empty where it has too many pieces

"""What happened, in one record: `Trace`. Live recordings, profiler files and captures without a GPU all end here.

It knows no GPU but the recorded one, and nothing of the recorder's environment beyond an allow-list of versions
(public traces were found to hold tokens, hosts and user names: USERS complaint 18).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

import numpy as np

from surfer_lab.trace.tables import (
    HostCallTable,
    KernelTable,
    MemoryTable,
    OpTable,
    SpanTable,
    StepSource,
    StepTable,
    TensorTable,
    TensorUseTable,
)

__all__ = ["SCHEMA_VERSION", "CellRecord", "RecordedDevice", "Trace", "TraceOrigin", "TraceWarning"]

SCHEMA_VERSION: Final = 1


class TraceOrigin(Enum):
    """How the trace was made; decides what its times mean."""

    PROFILER = "profiler"  # GPU kernels with measured times
    CPU_RUN = "cpu-run"  # ops really ran on the CPU: op times are the CPU's, no kernels
    SYMBOLIC = "symbolic"  # shapes only: op times are 0


@dataclass(frozen=True, kw_only=True)
class RecordedDevice:
    """The device as the recording named it; looked up in the catalogue elsewhere. Unknown facts are None."""

    name: str | None
    sm_count: int | None = None
    memory_bytes: int | None = None
    compute_capability: str | None = None
    count: int = 1  # devices of this kind listed by the recording


@dataclass(frozen=True, kw_only=True)
class TraceWarning:
    """Something missing or doubtful: what was seen, and what that switches off."""

    seen: str
    consequence: str


@dataclass(frozen=True, kw_only=True)
class CellRecord:
    """The whole cell or recorded block around the profiled window."""

    wall_ns: int
    step_count: int  # steps run in all, profiled or not
    profiled_step_count: int
    unprofiled_step_ns: int | None  # median of steps outside the window, warm-up left out


@dataclass(frozen=True, kw_only=True, eq=False)
class Trace:
    """One recording. See `tables` for units and index rules, `invariants` for what always holds."""

    origin: TraceOrigin
    device: RecordedDevice | None
    ops: OpTable
    host_calls: HostCallTable
    kernels: KernelTable
    spans: SpanTable
    steps: StepTable
    step_source: StepSource
    memory: MemoryTable
    tensors: TensorTable
    wall_ns: int
    batch_size: int | None = None
    cell: CellRecord | None = None
    peak_allocated_bytes: int | None = None
    peak_reserved_bytes: int | None = None
    uses: TensorUseTable = field(default_factory=TensorUseTable.none)  # captures without a GPU
    environment: Mapping[str, str] = field(default_factory=dict)  # allow-listed keys only: torch, cuda, ...
    warnings: tuple[TraceWarning, ...] = ()
    schema_version: int = SCHEMA_VERSION

    @property
    def step_ns(self) -> int:
        """Median duration of the complete steps; of all steps where none is complete; the wall time where none is."""
        steps = self.steps
        durations = steps.end_ns - steps.start_ns
        if steps.complete.any():
            durations = durations[steps.complete]
        return int(np.median(durations)) if len(durations) else self.wall_ns

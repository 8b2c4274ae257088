"""What would the whole cell have taken and cost on another GPU?

    there = rest + steps x step_there,   rest = cell - plain steps x their time - slow steps x the recorded step's

Slow are the steps that were recorded, and the first: cold, and watched by a recording that waits for the second. The
rest (imports, data, compilation) is taken to be the host's and to stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from surfer_lab.trace.model import CellRecord, Trace
from surfer_lab.units import NS_PER_HOUR

__all__ = ["CellOutcome", "cell_outcome", "rest_of_cell_ns"]

# of the cell's time; below it the recording itself took most of the cell
_LEAST_PLAIN_FRACTION: Final = 0.25
_LEAST_PLAIN_STEPS: Final = 5


@dataclass(frozen=True, kw_only=True)
class CellOutcome:
    """The cell on one GPU, ns and USD; `usd` is None without a price."""

    wall_ns: float
    low_ns: float
    high_ns: float
    usd: float | None


def rest_of_cell_ns(trace: Trace, cell: CellRecord) -> float:
    """Time of the cell that is not in its steps, at least 0."""
    plain_ns = float(cell.unprofiled_step_ns if cell.unprofiled_step_ns is not None else trace.step_ns)
    slow_count = min(cell.step_count, cell.profiled_step_count + 1)
    in_steps = (cell.step_count - slow_count) * plain_ns + slow_count * max(plain_ns, float(trace.step_ns))
    return max(0.0, float(cell.wall_ns) - in_steps)


def _is_mostly_steps(cell: CellRecord) -> bool:
    """Whether enough of the cell are steps that nothing slowed, so that the rest says something of the cell itself."""
    plain_count = cell.step_count - cell.profiled_step_count - 1
    plain_ns = cell.unprofiled_step_ns or 0
    return plain_count >= _LEAST_PLAIN_STEPS and plain_count * plain_ns >= _LEAST_PLAIN_FRACTION * cell.wall_ns


def cell_outcome(
    trace: Trace, *, step_ns: float, low_ns: float, high_ns: float, usd_per_hour: float | None
) -> CellOutcome | None:
    """The recorded cell with its steps replaced by another GPU's; None where no cell of many steps was recorded."""
    cell = trace.cell
    if cell is None or not _is_mostly_steps(cell):
        return None
    rest = rest_of_cell_ns(trace, cell)
    wall = rest + cell.step_count * step_ns
    return CellOutcome(
        wall_ns=wall,
        low_ns=rest + cell.step_count * low_ns,
        high_ns=rest + cell.step_count * high_ns,
        usd=None if usd_per_hour is None else usd_per_hour * wall / NS_PER_HOUR,
    )

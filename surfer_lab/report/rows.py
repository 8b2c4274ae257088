"""Which raw numbers does a table of outcomes have? One flat row a GPU, a unit in every name: for CSV and pandas.

Numbers have six significant digits: more than any prediction is worth, and few enough to read.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from surfer_lab.planner.byte_range import ByteRange
from surfer_lab.planner.graph_memory import MemoryEstimate
from surfer_lab.planner.outcome import Outcome
from surfer_lab.planner.what_ifs import BatchCurve, Blocked
from surfer_lab.units import BYTES_PER_GB, NS_PER_HOUR, NS_PER_MS, NS_PER_S
from surfer_lab.view.wording import METHOD_WORDS, rounded

__all__ = ["csv_of", "curve_rows", "flat_rows", "memory_rows"]

Cell = str | float | int | bool | None


def flat_rows(outcomes: Sequence[Outcome], blocked: Sequence[Blocked] = ()) -> list[dict[str, Cell]]:
    """Fastest first, then GPUs without an answer. None where a number is not known; `share_by_method` is worded."""
    rows = [_short(_row(outcome)) for outcome in sorted(outcomes, key=lambda outcome: outcome.step_ns)]
    nothing: dict[str, Cell] = dict.fromkeys(rows[0]) if rows else {}
    return rows + [
        {
            **nothing,
            "gpu": one.gpu.name,
            "memory_gb": one.gpu.memory_bytes / BYTES_PER_GB,
            "architecture": one.gpu.architecture,
            "blocker": one.why,
        }
        for one in blocked
    ]


def _short(row: dict[str, Cell]) -> dict[str, Cell]:
    return {name: rounded(value) if isinstance(value, float) else value for name, value in row.items()}


def _row(outcome: Outcome) -> dict[str, Cell]:
    parts, price, epoch, cell = outcome.parts, outcome.scenario.price, outcome.epoch, outcome.cell
    need = outcome.memory
    shares = sorted(outcome.share_by_method.items(), key=lambda item: -item[1])
    return {
        "gpu": outcome.gpu.name,
        "is_origin": outcome.is_origin,
        "step_ms": parts.step_ns / NS_PER_MS,
        "step_low_ms": parts.low_ns / NS_PER_MS,
        "step_high_ms": parts.high_ns / NS_PER_MS,
        "speedup": outcome.speedup,
        "samples_per_s": outcome.samples_per_s,
        "usd_per_hour": outcome.usd_per_hour,
        "usd_per_1000_steps": outcome.usd_per_1000_steps,
        "usd_per_1000_steps_low": outcome.usd_per_1000_steps_low,
        "usd_per_1000_steps_high": outcome.usd_per_1000_steps_high,
        "price_kind": price.kind.value if price is not None else None,
        "price_as_of": price.as_of if price is not None else None,
        "price_source": price.source if price is not None else None,
        "memory_gb": outcome.gpu.memory_bytes / BYTES_PER_GB,
        "memory_needed_gb": need.likely_bytes / BYTES_PER_GB if need is not None else None,
        "memory_needed_low_gb": need.low_bytes / BYTES_PER_GB if need is not None else None,
        "memory_needed_high_gb": need.high_bytes / BYTES_PER_GB if need is not None else None,
        "fits": outcome.fit.value,
        "gpu_busy_ms": parts.gpu_busy_ns / NS_PER_MS,
        "launch_bound_ms": parts.launch_bound_ns / NS_PER_MS,
        "input_wait_ms": parts.input_wait_ns / NS_PER_MS,
        "synchronization_ms": parts.synchronization_ns / NS_PER_MS,
        "communication_ms": parts.communication_ns / NS_PER_MS,
        "epoch_s": epoch.duration_ns / NS_PER_S if epoch is not None else None,
        "usd_per_epoch": epoch.usd if epoch is not None else None,
        "cell_s": cell.wall_ns / NS_PER_S if cell is not None else None,
        "usd_per_cell": cell.usd if cell is not None else None,
        "architecture": outcome.gpu.architecture,
        "share_by_method": ", ".join(f"{METHOD_WORDS[method]} {share:.3f}" for method, share in shares),
        "blocker": None,
    }


def curve_rows(curve: BatchCurve, usd_per_hour: float | None) -> list[dict[str, Cell]]:
    """One row a batch size; the knee and the largest that fits are marked."""
    rows: list[dict[str, Cell]] = [
        {
            "batch_size": point.batch_size,
            "step_ms": point.step_ns / NS_PER_MS,
            "step_low_ms": point.low_ns / NS_PER_MS,
            "step_high_ms": point.high_ns / NS_PER_MS,
            "samples_per_s": point.samples_per_s,
            "usd_per_million_samples": None
            if usd_per_hour is None
            else usd_per_hour * 1e6 / point.samples_per_s * NS_PER_S / NS_PER_HOUR,
            "memory_gb": None if point.memory_bytes is None else point.memory_bytes / BYTES_PER_GB,
            "memory_high_gb": None if point.memory_high_bytes is None else point.memory_high_bytes / BYTES_PER_GB,
            "fits": point.fit.value,
            "is_knee": point.batch_size == curve.knee,
            "is_largest_fitting": point.batch_size == curve.largest_fitting,
        }
        for point in curve.points
    ]
    return [_short(row) for row in rows]


def memory_rows(estimate: MemoryEstimate) -> list[dict[str, Cell]]:
    """The parts, and the sums: allocated, reserved, on the device."""

    def row(part: str, amount: ByteRange, source: str) -> dict[str, Cell]:
        likely, low, high = (value / BYTES_PER_GB for value in (amount.likely, amount.low, amount.high))
        return _short({"part": part, "likely_gb": likely, "low_gb": low, "high_gb": high, "source": source})

    return [
        *(row(one.part.value, one.bytes, one.source) for one in estimate.rows),
        row("allocated", estimate.allocated, "the sum to rounding: torch.cuda.max_memory_allocated"),
        row("reserved", estimate.reserved, "with what is cached: torch.cuda.max_memory_reserved"),
        row("device", estimate.device, "with the context: what nvidia-smi shows"),
    ]


def csv_of(outcomes: Sequence[Outcome], blocked: Sequence[Blocked] = ()) -> str:
    """The rows as CSV with a header."""
    rows = flat_rows(outcomes, blocked)
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]) if rows else ["gpu"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()

"""Which raw numbers does a table of outcomes have? One flat row a GPU, a unit in every name: for CSV and pandas."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from surfer_lab.planner.outcome import Outcome
from surfer_lab.units import BYTES_PER_GB, NS_PER_MS, NS_PER_S
from surfer_lab.view.wording import METHOD_WORDS

__all__ = ["csv_of", "flat_rows"]

Cell = str | float | int | bool | None


def flat_rows(outcomes: Sequence[Outcome]) -> list[dict[str, Cell]]:
    """Fastest first. None where a number is not known; `share_by_method` is worded."""
    return [_row(outcome) for outcome in sorted(outcomes, key=lambda outcome: outcome.step_ns)]


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
    }


def csv_of(outcomes: Sequence[Outcome]) -> str:
    """The rows as CSV with a header."""
    rows = flat_rows(outcomes)
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]) if rows else ["gpu"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()

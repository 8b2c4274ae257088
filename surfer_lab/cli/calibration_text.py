"""What did `surfer calibrate` measure, beside what was used before?"""

from __future__ import annotations

from pathlib import Path

from surfer_lab.hardware.cards import BANDWIDTH
from surfer_lab.hardware.machines import Link
from surfer_lab.report.text import Ink, Paint
from surfer_lab.training.calibrate import CalibrationRun
from surfer_lab.units import BYTES_PER_GB, FLOPS_PER_TFLOPS, NS_PER_US
from surfer_lab.view.wording import UNKNOWN, significant

__all__ = ["calibration_text", "link_text"]


def calibration_text(run: CalibrationRun, *, paint: Paint) -> str:
    """A row a quantity, what could not be measured, and where the figures are kept."""
    lines = [paint(f"Sustained rates of {run.device}, measured in {run.seconds:.0f} s", Ink.TITLE)]
    lines.append(paint(f"  {'':<12}{'measured':>16}{'before':>16}", Ink.FAINT))
    for one in run.measured:
        before = run.before.get(one.quantity)
        was = _rate(one.quantity, before.per_s) if before is not None else UNKNOWN
        lines.append(f"  {one.quantity:<12}{_rate(one.quantity, one.value_per_s):>16}{was:>16}")
    lines += [f"  {quantity:<12}not measured: {why}" for quantity, why in run.skipped.items()]
    if run.gpu is None:
        lines.append("No GPU of the catalogue has this name, so no prediction uses these figures yet.")
    if run.saved_to is not None:
        lines.append(paint(f"Kept in {run.saved_to}; predictions for this GPU use them from now on.", Ink.FAINT))
    return "\n".join(lines)


def _rate(quantity: str, per_s: float) -> str:
    if quantity == BANDWIDTH:
        return f"{significant(per_s / BYTES_PER_GB)} GB/s"
    return f"{significant(per_s / FLOPS_PER_TFLOPS)} TFLOP/s"


def link_text(link: Link, saved_to: Path | None, *, worst_error: float | None = None) -> str:
    """What a sweep of all-reduces shows of a link, and where it is kept."""
    rate = significant(link.bus_bytes_per_s(link.group_count) / BYTES_PER_GB)
    lines = [f"{link.name}: bus {rate} GB/s, {significant(link.hop_latency_ns / NS_PER_US)} µs a hop"]
    if worst_error is not None:
        lines.append(f"The fit is off by {100 * worst_error:.0f} % at most over the sizes measured.")
    if saved_to is not None:
        lines.append(f'Kept in {saved_to}; --link "{link.name}" names it.')
    return "\n".join(lines)

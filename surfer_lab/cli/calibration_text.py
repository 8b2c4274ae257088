"""What did `surfer calibrate` measure, beside what was used before?"""

from __future__ import annotations

from surfer_lab.hardware.cards import BANDWIDTH
from surfer_lab.report.text import Ink, Paint
from surfer_lab.training.calibrate import CalibrationRun
from surfer_lab.units import BYTES_PER_GB, FLOPS_PER_TFLOPS
from surfer_lab.view.wording import UNKNOWN, significant

__all__ = ["calibration_text"]


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

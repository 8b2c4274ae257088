"""What did `surfer calibrate` measure on this user's machines, and how is it kept?

One JSON file, `calibrations.json`, in the configuration folder: one figure for each GPU and quantity, the newest wins.
Values are FLOP/s, for "bandwidth" bytes/s. Relies on the caller for the date. A file that is broken raises GpuError
naming file and entry; `catalog` turns that into a warning.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from surfer_lab.errors import GpuError
from surfer_lab.hardware.cards import BANDWIDTH
from surfer_lab.hardware.configuration import configuration_folder, read_text, write_text
from surfer_lab.hardware.dtypes import RateClass

__all__ = ["CALIBRATIONS_FILE", "Calibration", "load_calibrations", "save_calibrations"]

CALIBRATIONS_FILE: Final = "calibrations.json"
FORMAT_VERSION: Final = 1
QUANTITIES: Final = (BANDWIDTH, *(rate.value for rate in RateClass))


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """One measured sustained rate. `gpu` is the catalogue's name, or the device's own where it is not in there."""

    gpu: str
    quantity: str  # a RateClass value, or "bandwidth"
    value_per_s: float
    measured_on: str  # ISO date
    how: str


def load_calibrations(folder: Path | None = None) -> tuple[Calibration, ...]:
    """All saved calibrations; none where there is no file."""
    path = (folder or configuration_folder()) / CALIBRATIONS_FILE
    if not path.exists():
        return ()
    try:
        content = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise GpuError(
            f"{path} is not valid JSON: {error.msg} (line {error.lineno})", remedy="run `surfer calibrate` anew"
        ) from error
    rows = content.get("calibrations") if isinstance(content, dict) else None
    if not isinstance(rows, list):
        raise GpuError(f"{path} has no list named calibrations", remedy="run `surfer calibrate` anew")
    return tuple(_calibration(row, f"{path}, entry {number}") for number, row in enumerate(rows, start=1))


def save_calibrations(new: Iterable[Calibration], folder: Path | None = None) -> Path:
    """Add to the user's file, replacing older figures of the same GPU and quantity; the path of the file."""
    where = folder or configuration_folder()
    merged = {(one.gpu, one.quantity): one for one in (*load_calibrations(where), *new)}
    content = {"version": FORMAT_VERSION, "calibrations": [asdict(one) for one in merged.values()]}
    path = where / CALIBRATIONS_FILE
    write_text(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    return path


def _calibration(row: object, where: str) -> Calibration:
    if not isinstance(row, dict):
        raise GpuError(f"{where} is no object", remedy="run `surfer calibrate` anew")
    for key in ("gpu", "quantity", "measured_on", "how"):
        if not isinstance(row.get(key), str):
            raise GpuError(f"{where}: {key} is {row.get(key)!r}, expected text", remedy="run `surfer calibrate` anew")
    value = row.get("value_per_s")
    if isinstance(value, bool) or not isinstance(value, int | float) or not (0 < value < math.inf):
        raise GpuError(
            f"{where}: value_per_s is {value!r}, expected a positive number", remedy="run `surfer calibrate` anew"
        )
    if row["quantity"] not in QUANTITIES:
        raise GpuError(f"{where}: quantity is {row['quantity']!r}", remedy=f"one of {', '.join(QUANTITIES)}")
    return Calibration(
        gpu=row["gpu"],
        quantity=row["quantity"],
        value_per_s=float(value),
        measured_on=row["measured_on"],
        how=row["how"],
    )

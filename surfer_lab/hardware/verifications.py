"""How far off were predictions that this user verified, and how is that kept?

One JSON file, `verifications.json`, in the configuration folder, newest last. From four on (nine for the 90 % range)
the user's own conformal quantile takes the place of the fitted one in a step's range: his models on his cards.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from surfer_lab.errors import GpuError
from surfer_lab.hardware.configuration import configuration_folder, read_text, write_text

__all__ = ["VERIFICATIONS_FILE", "Verification", "add_verification", "load_verifications", "verified_factor"]

VERIFICATIONS_FILE: Final = "verifications.json"
FORMAT_VERSION: Final = 1
KEPT: Final = 1_000  # the newest: the file stays small


@dataclass(frozen=True, kw_only=True)
class Verification:
    """One prediction beside its measurement; ms of a step."""

    gpu: str
    model: str
    predicted_ms: float
    measured_ms: float
    measured_on: str  # ISO date

    @property
    def error(self) -> float:
        """Predicted over measured, less one."""
        return self.predicted_ms / self.measured_ms - 1.0


def load_verifications(folder: Path | None = None) -> tuple[Verification, ...]:
    """All that are kept, oldest first; none where there is no file. GpuError names what is broken."""
    path = (folder or configuration_folder()) / VERIFICATIONS_FILE
    if not path.exists():
        return ()
    remedy = "remove the file; verify anew"
    try:
        content = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise GpuError(f"{path} is not valid JSON: {error.msg} (line {error.lineno})", remedy=remedy) from error
    rows = content.get("verifications") if isinstance(content, dict) else None
    if not isinstance(rows, list):
        raise GpuError(f"{path} has no list named verifications", remedy=remedy)
    return tuple(_verification(row, f"{path}, entry {number}") for number, row in enumerate(rows, start=1))


def add_verification(new: Verification, folder: Path | None = None) -> Path:
    """Keep one more; the path of the file."""
    where = folder or configuration_folder()
    kept = [*load_verifications(where), new][-KEPT:]
    path = where / VERIFICATIONS_FILE
    content = {"version": FORMAT_VERSION, "verifications": [asdict(one) for one in kept]}
    write_text(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    return path


def verified_factor(verified: Sequence[Verification], level: float) -> float | None:
    """The factor that the next case is within with that probability; None where there are too few to say.

    >>> one = Verification(gpu="T4", model="m", predicted_ms=11.0, measured_ms=10.0, measured_on="2025-01-01")
    >>> verified_factor([one] * 4, 0.8)
    1.1
    >>> verified_factor([one] * 3, 0.8) is None
    True
    """
    sizes = sorted(abs(math.log(one.predicted_ms / one.measured_ms)) for one in verified)
    rank = math.ceil((len(sizes) + 1) * level - 1e-9)
    return round(math.exp(sizes[rank - 1]), 6) if 0 < rank <= len(sizes) else None


def _verification(row: object, where: str) -> Verification:
    remedy = "remove the file; verify anew"
    if not isinstance(row, dict):
        raise GpuError(f"{where} is no object", remedy=remedy)
    for key in ("gpu", "model", "measured_on"):
        if not isinstance(row.get(key), str):
            raise GpuError(f"{where}: {key} is {row.get(key)!r}, expected text", remedy=remedy)
    for key in ("predicted_ms", "measured_ms"):
        value = row.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
            raise GpuError(f"{where}: {key} is {value!r}, expected a positive number", remedy=remedy)
    return Verification(
        gpu=row["gpu"], model=row["model"], predicted_ms=float(row["predicted_ms"]),
        measured_ms=float(row["measured_ms"]), measured_on=row["measured_on"],
    )  # fmt: skip

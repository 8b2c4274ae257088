"""Writes the characteristics of the reference workloads, which maps of what is alike are drawn with.

    python -m tools.write_reference_workloads

To be run again whenever the shipped predictor changes: a test says when. Takes a few minutes: each is captured.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from surfer_lab.planner.characterise.characteristics import REFERENCE_GPU, workload_characteristics
from surfer_lab.planner.characterise.similarity import PointGroup
from surfer_lab.report.characterised import CharacterOptions
from surfer_lab.report.reference_workloads import FILE, ReferenceTable, ReferenceWorkload
from surfer_lab.workloads.characterised import REFERENCE_BATCHES, characterise_workload

TARGET: Final = Path(__file__).parents[1] / "surfer_lab" / "report" / "assets" / FILE
DIGITS: Final = 5
TOO_SMALL: Final = {"lenet"}  # its step is launches and little else: it would make an axis of the map by itself


def main() -> None:
    """Capture, characterise, write."""
    options = CharacterOptions(on=(REFERENCE_GPU,), counts=(1, 8))
    rows = []
    for name, batch in REFERENCE_BATCHES.items():
        if name in TOO_SMALL:
            continue
        found = workload_characteristics(characterise_workload(name, options), PointGroup.REFERENCE)
        if found is None:
            print(f"{name}: left out")
            continue
        values = {key: float(f"{value:.{DIGITS}g}") for key, value in found.values.items()}
        rows.append(ReferenceWorkload(name=name, batch_size=batch, values=values))
        print(f"{name}: {values}", flush=True)
    table = ReferenceTable(gpu=REFERENCE_GPU, made_by="python -m tools.write_reference_workloads", workloads=rows)
    TARGET.write_bytes(msgspec.json.format(msgspec.json.encode(table), indent=1) + b"\n")
    print(TARGET)


if __name__ == "__main__":
    main()

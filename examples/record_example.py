"""How was the bundled example recorded? ResNet-50 (He et al. 2016), a training step of batch 32, on a CPU.

    python examples/record_example.py

Writes the recording that `surfer predict --example` answers from.
"""

from __future__ import annotations

from pathlib import Path

import surfer_lab
from surfer_lab import report, workloads
from surfer_lab.report.example import EXAMPLE_FILE

BATCH_SIZE = 32
STEPS = 3  # the second is recorded: optimizer state is there by then


def main() -> None:
    """Run the steps, keep the recording."""
    work = workloads.build("resnet50", device="cpu")
    batch = work.example_inputs(BATCH_SIZE)
    with surfer_lab.record() as recording:
        for _ in range(STEPS):
            work.step(batch)
    target = Path(report.__file__).parent / "examples" / EXAMPLE_FILE
    target.parent.mkdir(exist_ok=True)
    surfer_lab.save_trace(recording.trace, target)
    print(f"{target.name}: {target.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()

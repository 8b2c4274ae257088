"""How near is the predicted speed-up of a ResNet-50 training step from V100 to A100 to the published one?

The two public V100 traces (FP32, four loader workers and none) are predicted on an A100 with TF32; their ratio of GPU
busy times is held against NVIDIA's published training throughputs of one GPU of each (DeepLearningExamples, ResNet-50
v1.5: FP32 on V100, TF32 on A100). Then the parts of the step on four GPUs, in ms.

    python -m tools.check_resnet --data FOLDER
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import Final

from surfer_lab.engine import predict
from surfer_lab.engine.estimate import Method, StepTimes
from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.trace import read
from surfer_lab.units import NS_PER_MS

README: Final = "PyTorch/Classification/ConvNets/resnet50v1.5/README.md"
PUBLISHED: Final = {
    "A100": ("DGX A100 (8x A100 80GB)", "Throughput - TF32"),
    "V100": ("DGX-1 16GB (8x V100 16GB)", "Throughput - FP32"),
}
TRACES: Final = {
    "4 workers": "kineto_v100_resnet50_num_workers_4.json.gz",
    "no workers": "kineto_v100_resnet50_num_workers_0.json.gz",
}
GPUS: Final = ("V100 SXM2 32GB", "A100 SXM4 80GB", "T4", "RTX 2080 Ti", "H100 SXM5")


def published_images_per_s(folder: Path) -> dict[str, float]:
    """Training throughput of one GPU of each kind, from the rows whose GPU count is 1."""
    with (folder / "scaling" / "deeplearningexamples.csv").open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["path"] == README]
    single = {row["line"] for row in rows if row["column"] == "GPUs" and row["value"] == "1"}
    return {
        name: float(row["value"].split()[0])
        for name, (hardware, column) in PUBLISHED.items()
        for row in rows
        if row["line"] in single and row["hardware"] == hardware and row["column"] == column
    }


def parts(times: StepTimes, row: int) -> str:
    """One GPU's step and its parts as text."""
    columns = {
        "step": times.step_ns, "busy": times.gpu_busy_ns, "launch": times.launch_bound_ns,
        "input": times.input_wait_ns, "sync": times.synchronization_ns, "comm": times.communication_ns,
    }  # fmt: skip
    text = "  ".join(f"{name} {column[row] / NS_PER_MS:6.1f}" for name, column in columns.items())
    shares = {method.name: times.share_by_method[row, method] for method in (Method.UNSCALED, Method.FALLBACK)}
    return text + "  " + "  ".join(f"{name} {share:.1%}" for name, share in shares.items())


def main() -> None:
    """Print ratios and tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    folder: Path = parser.parse_args().data
    catalog = load_catalog()
    images_per_s = published_images_per_s(folder)
    published = images_per_s["A100"] / images_per_s["V100"]
    for name, file in TRACES.items():
        trace = read(folder / "traces" / file)
        said = predict(trace, [catalog.find(gpu) for gpu in GPUS], origin=catalog.find(GPUS[0]))
        busy = said.steps.gpu_busy_ns
        ratio = float(busy[0] / busy[1])
        print(f"{name}: V100 to A100 {ratio:.2f} times; published {published:.2f}; error {ratio / published - 1:+.1%}")
        for row, gpu in enumerate(GPUS):
            print(f"  {gpu:16} {parts(said.steps, row)}")


if __name__ == "__main__":
    main()

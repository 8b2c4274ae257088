"""Writes the table of DeepBench's kernels that characterisations are drawn against, from a folder of measured data.

    python -m tools.write_deepbench --data FOLDER

Cards whose workbooks hold both precisions (V100, T4): forward times of products, convolutions and recurrent layers.
FLOPs as DeepBench counts them (a recurrent layer's are those of its recurrent products); elements are inputs, weights
and outputs, each moved once. Kernels that are listed several times keep the mean of their times.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from surfer_lab.hardware.cards import DATA_FOLDER
from surfer_lab.hardware.kernel_benchmarks import FILE

COLUMNS: Final = ("gpu", "kind", "shape", "flop", "elements", "fp32_ms", "fp16_ms")
_GPUS: Final = {"V100": "V100 SXM2 16GB", "T4": "T4"}
_GATES: Final = {"vanilla": 1, "gru": 3, "lstm": 4}
_FP32: Final = "fp32"
_FP16: Final = "fp16 inputs, fp16 mul, fp32 add"

Key = tuple[str, str, str, int, int]


def main() -> None:
    """Read, pair by precision, write."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    arguments.add_argument("--data", type=Path, required=True, help="folder that holds deepbench/kernels.csv")
    rows = _paired(arguments.parse_args().data / "deepbench" / "kernels.csv")
    target = DATA_FOLDER / FILE
    with target.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(rows)
    print(f"{len(rows)} kernels: {target}")


def _paired(file: Path) -> list[list[str]]:
    times: dict[Key, dict[str, list[float]]] = {}
    with file.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            if row["mode"] != "train" or row["gpu"] not in _GPUS or row["precision"] not in (_FP32, _FP16):
                continue
            if not row["fwd_ms"]:
                continue
            for key in _key(row):
                times.setdefault(key, {}).setdefault(row["precision"], []).append(float(row["fwd_ms"]))
    return [
        [_GPUS[key[0]], *map(str, key[1:]), *(_mean(by[precision]) for precision in (_FP32, _FP16))]
        for key, by in sorted(times.items())
        if len(by) == 2
    ]


def _mean(values: list[float]) -> str:
    return f"{sum(values) / len(values):.4g}"


def _key(row: Mapping[str, str]) -> Iterator[Key]:
    """The kernel with its work; nothing for what is no kernel of one card."""

    def number(name: str) -> int:
        return int(float(row[name]))

    if row["kind"] == "gemm":
        m, n, k = (number(name) for name in "mnk")
        shape = f"{m} x {n} x {k}{' A' * (row['a_trans'] == 'T')}{' B' * (row['b_trans'] == 'T')}"
        yield row["gpu"], "product", shape, 2 * m * n * k, m * k + k * n + m * n
    elif row["kind"] == "conv":
        w, h, c, n, k, r, s = (number(name) for name in "whcnkrs")
        p = (h + 2 * number("pad_h") - r) // number("stride_h") + 1
        q = (w + 2 * number("pad_w") - s) // number("stride_w") + 1
        shape = f"{n} x {c} x {h} x {w}, {k} of {r} x {s}, stride {number('stride_h')}"
        elements = n * c * h * w + k * c * r * s + n * k * p * q
        yield row["gpu"], "convolution", shape, 2 * n * k * p * q * c * r * s, elements
    elif row["kind"] == "rnn":
        hidden, n, steps, gates = number("hidden"), number("n"), number("timesteps"), _GATES[row["cell"]]
        shape = f"{row['cell']}, {hidden} wide, batch {n}, {steps} steps"
        elements = gates * hidden * hidden + 2 * hidden * n * steps
        yield row["gpu"], "recurrent", shape, 2 * gates * hidden * hidden * n * steps, elements


if __name__ == "__main__":
    main()

"""How far off is each way of predicting an item, on measured operations between GPUs of different dies?

Every pair (origin, destination) of GPUs of different dies in the data: operations measured on both are predicted from
the origin's times by the engine, as recorded (WAVE), with shapes withheld (NAMED), and from shapes alone (ROOFLINE). No
row of the destination's die is used, and nothing is fitted here. Printed: the error factor k = max(p/m, m/p) at 50, 80
and 90 %, by method and kind of work; `RANGE_FACTORS` in surfer_lab/engine/ranges.py is its 80 % column, rounded up.
Then the same for whole models, summed over their operations, with how often the measured sum lies in the range: all
cases, and those without P4 and without runs whose operations do not add up to their end-to-end time.

The roofline's utilisations were fitted over all dies at once (one number a family): their 80 % includes that advantage.

    python -m tools.fit_ranges --data FOLDER
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine import EngineOptions, ScalingMethod
from surfer_lab.engine.item_times import item_times
from surfer_lab.engine.work_items import work_of
from surfer_lab.hardware.catalog import Catalog, load_catalog
from tools.measured_work import (
    OPERATIONS,
    MeasuredModel,
    MeasuredOp,
    deepbench,
    kernel_timings,
    models,
    trace_of,
)

MOVING: Final = ("add", "mul", "relu", "gelu", "tanh")
REDUCING: Final = ("ln", "softmax")
QUANTILES: Final = (0.5, 0.8, 0.9)
# models whose summed operations are further from their end-to-end time than this ran under other clocks in one of them
HEALTHY: Final = (0.8, 1.25)
THROTTLED_GPU: Final = "Tesla P4"
# cuDNN may use TF32 by torch's defaults; it was off in the data
AS_MEASURED: Final = EngineOptions(convolution_tf32=False, matmul_tf32=False)
LITERAL: Final = EngineOptions(method=ScalingMethod.LITERAL, convolution_tf32=False, matmul_tf32=False)
METHODS: Final = {
    "WAVE": (AS_MEASURED, True, True), "NAMED": (AS_MEASURED, True, False), "ROOFLINE": (AS_MEASURED, False, True),
    "literal": (LITERAL, True, True),
}  # fmt: skip

F64 = NDArray[np.float64]


def kind_of(operation: str) -> str:
    """The kind of work of an operation of the data."""
    return "moving" if operation in MOVING else "reducing" if operation in REDUCING else "product"


def pairs(by_gpu: dict[str, list[MeasuredOp]], catalog: Catalog) -> Iterator[tuple[str, str, list[MeasuredOp], F64]]:
    """(origin, destination, operations with the origin's times, the destination's times) of different dies."""
    for origin, measured in by_gpu.items():
        for destination, there in by_gpu.items():
            if catalog.find(origin).die == catalog.find(destination).die:
                continue
            times = {op.key: op.duration_ns for op in there}
            common = [op for op in measured if op.key in times]
            if common:
                yield origin, destination, common, np.array([times[op.key] for op in common])


def error_factors(predicted: F64, measured: F64) -> F64:
    """How many times too long or too short each prediction is, at least 1."""
    ratio = predicted / measured
    return np.maximum(ratio, 1.0 / ratio)


def operation_errors(
    tables: dict[str, dict[str, list[MeasuredOp]]], catalog: Catalog
) -> dict[tuple[str, str], list[F64]]:
    """Error factors of single operations by (method, kind of work) and by (method, table)."""
    found: dict[tuple[str, str], list[F64]] = defaultdict(list)
    for table, by_gpu in tables.items():
        for origin, destination, ops, measured in pairs(by_gpu, catalog):
            for name in METHODS:
                if table == "deepbench" and name == "NAMED":
                    continue  # its kernels have no names
                errors = error_factors(predicted(ops, origin, destination, name, catalog)[0], measured)
                found[name, kind_of(table)].append(errors)
                found[name, f"  {table}"].append(errors)
    return found


def predicted(
    ops: Sequence[MeasuredOp], origin: str, destination: str, method: str, catalog: Catalog
) -> tuple[F64, F64, F64]:
    """Time, low and high of each operation on the destination."""
    options, with_kernels, with_shapes = METHODS[method]
    work = work_of(trace_of(ops, with_kernels=with_kernels, with_shapes=with_shapes))
    measured_on = catalog.find(origin) if with_kernels else None
    times = item_times(work, measured_on, [catalog.find(destination)], options)
    low, middle, high = (
        np.bincount(work.items.op, weights=column[0], minlength=len(ops)).astype(np.float64)
        for column in (times.low_ns, times.duration_ns, times.high_ns)
    )
    return middle, low, high


def is_healthy(case: MeasuredModel) -> bool:
    """Whether a case's operations and its end-to-end time speak of the same clocks; P4's products were throttled."""
    total = sum(op.duration_ns * count for op, count in zip(case.ops, case.repeats, strict=True))
    return case.gpu != THROTTLED_GPU and HEALTHY[0] <= total / case.end_to_end_ns <= HEALTHY[1]


def model_errors(cases: Sequence[MeasuredModel], catalog: Catalog) -> dict[str, tuple[list[float], list[bool]]]:
    """By method: signed relative errors of the summed operations, and whether the measured sum lies in the range."""
    found: dict[str, tuple[list[float], list[bool]]] = {name: ([], []) for name in METHODS if name != "NAMED"}
    for case in cases:
        for other in cases:
            if other.key != case.key or catalog.find(other.gpu).die == catalog.find(case.gpu).die:
                continue
            there = {op.key: op.duration_ns for op in other.ops}
            chosen = [(op, count) for op, count in zip(case.ops, case.repeats, strict=True) if op.key in there]
            repeats = np.array([count for _, count in chosen], dtype=np.float64)
            measured = float(np.sum(repeats * [there[op.key] for op, _ in chosen]))
            for name, (errors, inside) in found.items():
                sums = [
                    float(np.sum(repeats * column))
                    for column in predicted([op for op, _ in chosen], case.gpu, other.gpu, name, catalog)
                ]
                errors.append(sums[0] / measured - 1.0)
                inside.append(sums[1] <= measured <= sums[2])
    return found


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    folder: Path = parser.parse_args().data
    catalog = load_catalog()
    tables = {operation: kernel_timings(folder, catalog, operation) for operation in OPERATIONS}
    tables["deepbench"] = deepbench(folder, catalog)
    for (name, kind), errors in sorted(operation_errors(tables, catalog).items()):
        every = np.concatenate(errors)
        text = "  ".join(f"{quantile:.0%} {np.quantile(every, quantile):5.2f}" for quantile in QUANTILES)
        print(f"{name:9} {kind:12} {text}   n {len(every):7,} in {len(errors)} pairs")
    cases = models(folder, catalog)
    for which, chosen in (("all", cases), ("healthy", [case for case in cases if is_healthy(case)])):
        for name, (relative, inside) in model_errors(chosen, catalog).items():
            size = np.abs(relative)
            print(
                f"{name:9} models, {which:8} mean {size.mean():.1%}  median {np.median(size):.1%}  "
                f"worst {size.max():.1%}  in the range {np.mean(inside):.0%} of {len(inside)}"
            )


if __name__ == "__main__":
    main()

"""What fraction of a GPU's sustained rates does each family of work reach in the data?

Prints, by family, medians over measured operations of FLOPs / (time x rate) where arithmetic takes three times what
memory does (on FP32 lanes: compute; on matrix units: matrix) and of bytes / (time x bandwidth) where it is the other
way round; then, for layers that DeepBench ran in fp32 and fp16 on one GPU, what moving to matrix units gained, as a
fraction of the ratio of rates. Read into surfer_lab/engine/utilisation.py by hand: few rows want judgement.

    python -m tools.fit_utilisation --data FOLDER
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.rates import CLASS_INDEX, class_on, rates_of
from surfer_lab.engine.wave_scaling import KERNEL_FLOOR_NS, drawn_bandwidth, memory_share
from surfer_lab.engine.work_items import Work, work_of
from surfer_lab.errors import SurferError
from surfer_lab.hardware.catalog import Catalog, load_catalog
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.gpu import Gpu
from surfer_lab.trace import read
from surfer_lab.units import NS_PER_S
from tools.measured_work import OPERATIONS, MeasuredOp, deepbench, kernel_timings, trace_of

DOMINATES: Final = 3.0  # one of arithmetic and memory over the other
FEWEST: Final = 5
SHORTEST_NS: Final = 3 * KERNEL_FLOOR_NS

F64 = NDArray[np.float64]
Samples = dict[tuple[str, str], list[F64]]


def gather(samples: Samples, work: Work, gpu: Gpu, source: str) -> None:
    """Add the fractions that the kernels of one GPU reach."""
    rates = rates_of([gpu])
    ran = np.where(work.ran_tf32, np.int8(CLASS_INDEX[RateClass.TF32]), work.base_class)
    classes = class_on(ran, work.tf32, rates, convolution_tf32=False, matmul_tf32=False)[0]
    rate = rates.flop_per_s[0, classes]
    seconds = (work.measured_ns - KERNEL_FLOOR_NS) / NS_PER_S
    arithmetic = work.items.flop / rate
    memory = work.items.bytes / drawn_bandwidth(rates.bytes_per_s, work.threads)[0]
    known = (work.measured_ns > SHORTEST_NS) & ~work.by_name & ~work.by_fallback & ~work.unscaled
    lanes = classes == CLASS_INDEX[RateClass.FP32]
    columns = {
        "compute": (known & lanes & (arithmetic > DOMINATES * memory), arithmetic / seconds),
        "matrix": (known & ~lanes & (arithmetic > DOMINATES * memory), arithmetic / seconds),
        "memory": (known & (memory > DOMINATES * arithmetic), memory / seconds),
    }
    for code, family in enumerate(work.family):
        if family is None:
            continue
        for column, (chosen, fraction) in columns.items():
            rows = chosen & (work.family_code == code)
            if rows.any():
                samples.setdefault((family.value, f"{column} {source}"), []).append(fraction[rows])


def matrix_gains(by_gpu: dict[str, list[MeasuredOp]], catalog: Catalog) -> dict[str, list[float]]:
    """By family: gain of the arithmetic part from FP32 lanes to half precision, over the ratio of the rates."""
    gains: dict[str, list[float]] = defaultdict(list)
    for name, ops in by_gpu.items():
        gpu = catalog.find(name)
        if RateClass.FP16 not in gpu.sustained:
            continue
        half = {op.shapes + op.arguments: op.duration_ns for op in ops if op.dtypes[0] == "float16"}
        single = [op for op in ops if op.dtypes[0] == "float32" and op.shapes + op.arguments in half]
        if not single:
            continue
        work = work_of(trace_of(single))
        rate, bandwidth = gpu.sustained[RateClass.FP32].per_s, gpu.sustained_bandwidth.per_s
        share = memory_share(work.items.flop, work.items.bytes, rate, bandwidth)
        ratio = gpu.sustained[RateClass.FP16].per_s / rate
        for item, op_row in enumerate(work.items.op):
            op = single[op_row]
            family = work.family[work.family_code[item]]
            rest = half[op.shapes + op.arguments] - 0.5 * share[item] * op.duration_ns  # half the bytes
            if family is not None and rest > 0:
                gains[family.value].append(float((1.0 - share[item]) * op.duration_ns / rest / ratio))
    return gains


def main() -> None:
    """Print the two tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    folder: Path = parser.parse_args().data
    catalog = load_catalog()
    samples: Samples = {}
    bench = deepbench(folder, catalog)
    for operation in OPERATIONS:
        for name, ops in kernel_timings(folder, catalog, operation).items():
            gather(samples, work_of(trace_of(ops)), catalog.find(name), "K")
    for name, ops in bench.items():
        gather(samples, work_of(trace_of(ops)), catalog.find(name), "D")
    for path in sorted((folder / "traces").glob("*.json.gz")):
        try:
            trace = read(path)
            gpu = catalog.find_device(trace.device) if trace.device is not None else None
        except SurferError:
            continue
        if gpu is not None:
            gather(samples, work_of(trace), gpu, "T")
    for (family, column), parts in sorted(samples.items()):
        every = np.concatenate(parts)
        if len(every) >= FEWEST:
            low, middle, high = np.quantile(every, [0.2, 0.5, 0.8])
            print(f"{family:24} {column:10} {middle:5.2f}  (20-80 %: {low:.2f} to {high:.2f})  n {len(every)}")
    for family, gained in sorted(matrix_gains(bench, catalog).items()):
        low, middle, high = np.quantile(gained, [0.2, 0.5, 0.8])
        print(f"{family:24} gain       {middle:5.2f}  (20-80 %: {low:.2f} to {high:.2f})  n {len(gained)}")


if __name__ == "__main__":
    main()

"""How long does it take to predict 10,000 kernels on every GPU of the catalogue, replay included?"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.figure import Figure, best_of_s
from surfer_lab.engine import ScalingMethod, predict
from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.trace import read
from surfer_lab.trace.model import Trace
from surfer_lab.units import NS_PER_MS
from tools.measured_work import MeasuredOp, trace_of

KERNELS: Final = 10_000
TARGET_S: Final = 1.0
RECORDED: Final = "kineto_v100_resnet50_num_workers_4.json.gz"
ORIGIN: Final = "V100 SXM2 32GB"
ADD: Final = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>"


def made_up() -> Trace:
    """Kernels of a thousand distinct shapes, as a training step has them: products, norms, pointwise."""
    ops = []
    for number in range(KERNELS):
        rows = 64 * (1 + number % 1000)
        name, shapes, kernel = (
            ("aten::mm", ((rows, 1024), (1024, 1024)), "volta_sgemm_128x64_nn"),
            ("aten::add", ((rows, 1024), (rows, 1024)), ADD),
        )[number % 2]
        ops.append(
            MeasuredOp(
                key=(number,), name=name, shapes=shapes, dtypes=("float32", "float32"), arguments=(),
                duration_ns=(0.05 + 1e-4 * (number % 97)) * NS_PER_MS, kernel_name=kernel, grid=(rows // 8, 1, 1),
                block=(256, 1, 1),
            )
        )  # fmt: skip
    return trace_of(ops)


def figures() -> Iterator[Figure]:
    """The default method, the published one on the same kernels beside it; a recorded trace where data is at hand."""
    catalog = load_catalog()
    gpus, origin, trace = catalog.all(), catalog.find(ORIGIN), made_up()
    yield Figure(
        name=f"{KERNELS:,} kernels predicted and replayed on {len(gpus)} GPUs",
        measured=best_of_s(lambda: predict(trace, gpus, origin=origin), repeats=3),
        unit="s",
        target=TARGET_S,
        peer_name="the published method, exact waves",
        peer=best_of_s(lambda: predict(trace, gpus, origin=origin, method=ScalingMethod.LITERAL), repeats=3),
    )
    folder = os.environ.get("SURFER_LAB_DATA", "")
    path = Path(folder) / "traces" / RECORDED
    if folder and path.is_file():
        recorded = read(path)
        yield Figure(
            name=f"a recorded ResNet-50 trace of {len(recorded.kernels):,} kernels on {len(gpus)} GPUs",
            measured=best_of_s(lambda: predict(recorded, gpus, origin=origin), repeats=3),
            unit="s",
            target=TARGET_S,
        )

"""Which products and convolutions did DeepBench time on matrix units? Items of the engine, and their times.

Forward, data gradient and weight gradient apart, in half precision on V100 and T4: evidence of single operations beside
timm's sums, and of two more dies. Its FP32 products and plain 3x3 convolutions join the timings of kernels/.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from surfer_lab.engine.learned.facts import facts_of
from surfer_lab.engine.learned.form import LearnedFamily
from surfer_lab.engine.work_items import work_of
from surfer_lab.hardware.catalog import Catalog
from surfer_lab.hardware.gpu import Gpu
from surfer_lab.trace.tables import ArgShapes
from surfer_lab.training.evaluate.listed_ops import captured
from surfer_lab.training.fit.micro_benchmarks import Timings

__all__ = ["DeepBenchOp", "SingleOps", "deepbench_ops", "single_ops", "table_of_deepbench", "with_deepbench"]

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

_FLOOR_MS: Final = 0.005  # of the harness's launch in each timing
_SHORTEST_MS: Final = 0.02  # below it a timing is mostly launch
_DTYPES: Final = {"fp32": "float32", "fp16 inputs, fp16 mul, fp32 add": "float16"}
_HALF: Final = "float16"
_SINGLE: Final = "float32"
_ONES: Final = "[1, 1]"  # stride, and padding, of a plain 3x3 convolution


@dataclass(frozen=True, kw_only=True)
class DeepBenchOp:
    """One timing, as torch would call the operation."""

    key: tuple[object, ...]  # equal for the same operation on several GPUs
    name: str
    shapes: ArgShapes
    dtype: str
    arguments: tuple[str, ...]
    time_ms: float  # without the harness's launch


@dataclass(frozen=True, kw_only=True, eq=False)
class SingleOps:
    """Operations that were timed alone, each one item: facts (ops, facts), GPUs as indices, times in ms, names."""

    facts: F64
    gpus: tuple[Gpu, ...]
    gpu: I64
    measured_ms: F64
    name: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.gpu)


def table_of_deepbench(data: Path) -> Path:
    """Where a data folder keeps them."""
    return data / "deepbench" / "kernels.csv"


def single_ops(data: Path, catalog: Catalog) -> SingleOps | None:
    """The half-precision timings on GPUs of the catalogue, in the table's order; None without the table."""
    if not table_of_deepbench(data).is_file():
        return None
    gpus: list[Gpu] = []
    facts, gpu, measured, names = [], [], [], []
    for card, ops in deepbench_ops(data, catalog).items():
        half = [op for op in ops if op.dtype == _HALF]
        if half:
            gpus.append(catalog.find(card))
        for op in half:
            items = facts_of(work_of(captured([(op.name, op.shapes)], op.dtype, arguments=[op.arguments])))
            if len(items) == 1:
                facts.append(items)
                gpu.append(len(gpus) - 1)
                measured.append(op.time_ms)
                names.append(op.name)
    if not facts:
        return None
    return SingleOps(
        facts=np.concatenate(facts), gpus=tuple(gpus), gpu=np.array(gpu, dtype=np.int64),
        measured_ms=np.array(measured), name=tuple(names),
    )  # fmt: skip


def with_deepbench(timings: Timings, data: Path, catalog: Catalog) -> Timings:
    """FP32 operations of the family behind the timings, on their GPUs and others; as they are where there are none."""
    gpus, gpu, shapes, measured = list(timings.gpus), [], [], []
    found = deepbench_ops(data, catalog) if table_of_deepbench(data).is_file() else {}
    for card, ops in found.items():
        for op in ops:
            shape = _shape(op, timings.family) if op.dtype == _SINGLE else None
            if shape is not None:
                one = catalog.find(card)
                if one not in gpus:
                    gpus.append(one)
                gpu.append(gpus.index(one))
                shapes.append(shape)
                measured.append(op.time_ms)
    count = len(gpu)
    return Timings(
        family=timings.family, gpus=tuple(gpus), gpu=np.concatenate([timings.gpu, np.array(gpu, dtype=np.int64)]),
        shapes=np.concatenate([timings.shapes, np.array(shapes, dtype=np.float64).reshape(count, 4)]),
        measured_ms=np.concatenate([timings.measured_ms, np.array(measured)]),
        floor_ms=np.concatenate([timings.floor_ms, np.zeros(count)]),
        is_model_sized=np.concatenate([timings.is_model_sized, np.zeros(count, dtype=bool)]),
        is_deepbench=np.concatenate([timings.is_deepbench, np.ones(count, dtype=bool)]),
    )  # fmt: skip


def _shape(op: DeepBenchOp, family: LearnedFamily) -> tuple[int, int, int, int] | None:
    """Its columns where it is of the family (`engine.learned.form.COLUMNS`)."""
    sizes = [size for shape in op.shapes if shape is not None for size in shape if isinstance(size, int)]
    if family is LearnedFamily.LINEAR and op.name == "aten::mm":
        return 1, sizes[0], sizes[1], sizes[3]
    if family is not LearnedFamily.CONV or op.name != "aten::conv2d" or op.arguments[3:5] != (_ONES, _ONES):
        return None
    images, inputs, height, width, outputs, _, *taps = sizes
    return (images, inputs, outputs, width) if taps == [3, 3] and height == width else None


def deepbench_ops(data: Path, catalog: Catalog) -> dict[str, list[DeepBenchOp]]:
    """Training GEMMs and convolutions by GPU name, in FP32 and half precision; of repeated rows the last."""
    table = pd.read_csv(table_of_deepbench(data), low_memory=False)
    table = table[(table["mode"] == "train") & table["kind"].isin(["gemm", "conv"])]
    table = table[table["precision"].isin(list(_DTYPES))]
    found: dict[str, list[DeepBenchOp]] = {}
    for row in table.itertuples():
        gpu = catalog.find_spelling("deepbench", str(row.gpu))
        if gpu is not None:
            found.setdefault(gpu.name, []).extend(_ops(row))
    return {name: list({op.key: op for op in ops}.values()) for name, ops in found.items()}


def _ops(row: Any) -> Iterator[DeepBenchOp]:
    dtype = _DTYPES[row.precision]
    if row.kind == "gemm":
        m, n, k = int(row.m), int(row.n), int(row.k)
        product = ("gemm", dtype, m, n, k, row.a_trans, row.b_trans)
        yield from _op(product, "aten::mm", ((m, k), (k, n)), dtype, (), float(row.fwd_ms))
        return
    image = (int(row.n), int(row.c), int(row.h), int(row.w))
    weight = (int(row.k), int(row.c), int(row.r), int(row.s))
    strides, paddings = (int(row.stride_h), int(row.stride_w)), (int(row.pad_h), int(row.pad_w))
    sides = [
        (side + 2 * padding - kernel) // stride + 1
        for side, padding, kernel, stride in zip(image[2:], paddings, weight[2:], strides, strict=True)
    ]
    output = (image[0], weight[0], *sides)
    key = ("conv", dtype, image, weight, strides, paddings)
    settings = (_printed(strides), _printed(paddings), "[1, 1]")
    forward = ("", "", "", *settings, "1")
    yield from _op((*key, "forward"), "aten::conv2d", (image, weight, None), dtype, forward, float(row.fwd_ms))
    for which, mask, time_ms in (
        ("data", "[True, False, False]", row.bwd_inputs_ms),
        ("weight", "[False, True, False]", row.bwd_params_ms),
    ):
        arguments = ("", "", "", "[0]", *settings, "False", "[0, 0]", "1", mask)
        shapes = (output, image, weight)
        yield from _op((*key, which), "aten::convolution_backward", shapes, dtype, arguments, float(time_ms))


def _printed(pair: tuple[int, int]) -> str:
    return f"[{pair[0]}, {pair[1]}]"


def _op(
    key: tuple[object, ...], name: str, shapes: ArgShapes, dtype: str, arguments: tuple[str, ...], time_ms: float
) -> Iterator[DeepBenchOp]:
    if time_ms >= _SHORTEST_MS:
        yield DeepBenchOp(
            key=key, name=name, shapes=shapes, dtype=dtype, arguments=arguments, time_ms=time_ms - _FLOOR_MS
        )

"""Which products and convolutions did DeepBench time on matrix units? Items of the engine, and their times.

Forward, data gradient and weight gradient apart, in half precision on V100 and T4: evidence of single operations beside
timm's sums, and of two more dies. `deepbench_ops` reads the table's FP32 rows too, which other parts are judged by.
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
from surfer_lab.engine.work_items import work_of
from surfer_lab.hardware.catalog import Catalog
from surfer_lab.hardware.gpu import Gpu
from surfer_lab.trace.tables import ArgShapes
from surfer_lab.training.evaluate.listed_ops import captured

__all__ = ["DeepBenchOp", "SingleOps", "deepbench_ops", "single_ops", "table_of_deepbench"]

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

_FLOOR_MS: Final = 0.005  # of the harness's launch in each timing
_SHORTEST_MS: Final = 0.02  # below it a timing is mostly launch
_DTYPES: Final = {"fp32": "float32", "fp16 inputs, fp16 mul, fp32 add": "float16"}
_HALF: Final = "float16"


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

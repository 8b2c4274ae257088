"""Which measured operations does a data folder hold, as traces that the engine predicts?

Reads the tables of kernel timings (`kernels/*.parquet`), DeepBench (`deepbench/kernels.csv`) and whole models
(`e2e/`). A measured time has a floor of launch and event: the 0.5 % quantile of its operation on its GPU, of which nine
tenths are taken off (DeepBench: 5 us, models: 8 us); timings shorter than twice the floor say nothing and are left out.
P4's linear rows are left out: throttled.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from surfer_lab.hardware.catalog import Catalog
from surfer_lab.trace.columns import Interned
from surfer_lab.trace.model import RecordedDevice, Trace, TraceOrigin
from surfer_lab.trace.tables import (
    ArgShapes,
    HostCallKind,
    HostCallTable,
    KernelTable,
    MemoryTable,
    OpTable,
    SpanTable,
    StepSource,
    StepTable,
    TensorTable,
)
from surfer_lab.training.fit.deepbench import deepbench_ops
from surfer_lab.units import NS_PER_MS

__all__ = ["MeasuredModel", "MeasuredOp", "deepbench", "kernel_timings", "models", "trace_of"]

ROWS_PER_TABLE: Final = 6_000
FLOOR_QUANTILE: Final = 0.005
FLOOR_TAKEN: Final = 0.9
MODEL_FLOOR_MS: Final = 0.008


@dataclass(frozen=True, kw_only=True)
class MeasuredOp:
    """One timing: what ran, how long, and the kernel where its name and grid are known."""

    key: tuple[object, ...]  # equal for the same operation on several GPUs
    name: str
    shapes: ArgShapes
    dtypes: tuple[str | None, ...]
    arguments: tuple[str, ...]
    duration_ns: float
    kernel_name: str
    grid: tuple[int, int, int] = (0, 0, 0)
    block: tuple[int, int, int] = (0, 0, 0)


def _convolution(row: Any) -> tuple[str, ArgShapes, tuple[str, ...]]:
    image = (row.b, row.in_ch, row.in_size, row.in_size)
    weight = (row.out_ch, row.in_ch, row.ksize, row.ksize)
    stride, padding = f"[{row.stride}, {row.stride}]", f"[{row.padding}, {row.padding}]"
    return "aten::conv2d", (image, weight, None), ("", "", "", stride, padding, "[1, 1]", "1")


def _elementwise(name: str, operands: int) -> Callable[[Any], tuple[str, ArgShapes, tuple[str, ...]]]:
    return lambda row: (name, ((row.b, row.h),) * operands, ())


OPERATIONS: Final[dict[str, Callable[[Any], tuple[str, ArgShapes, tuple[str, ...]]]]] = {
    "bmm": lambda row: ("aten::bmm", ((row.b, row.m, row.k_reduce), (row.b, row.k_reduce, row.n_out)), ()),
    "linear": lambda row: ("aten::addmm", ((row.n_out,), (row.m, row.k_reduce), (row.k_reduce, row.n_out)), ()),
    "conv": _convolution,
    "add": _elementwise("aten::add", 2),
    "mul": _elementwise("aten::mul", 2),
    "relu": _elementwise("aten::relu", 1),
    "gelu": _elementwise("aten::gelu", 1),
    "tanh": _elementwise("aten::tanh", 1),
    "ln": lambda row: ("aten::native_layer_norm", ((row.b, row.h), None, (row.h,), (row.h,)), ()),
    "softmax": lambda row: ("aten::_softmax", ((row.b, row.h),), ()),
}


def kernel_timings(folder: Path, catalog: Catalog, operation: str) -> dict[str, list[MeasuredOp]]:
    """Timings of one operation by GPU name, at most `ROWS_PER_TABLE` shapes, the same ones on every GPU."""
    table = pd.read_parquet(folder / "kernels" / f"{operation}.parquet")
    if operation == "linear":
        table = table[table.gpu != "P4"]
    names = list(table.columns)
    dims = names[names.index("dtype") + 1 : names.index("time_ms")]
    shapes = table[dims].drop_duplicates()
    shapes = shapes.sample(min(len(shapes), ROWS_PER_TABLE), random_state=0)
    floor = table.gpu.map(table.groupby("gpu").time_ms.quantile(FLOOR_QUANTILE))
    table = table.assign(time_ms=table.time_ms - FLOOR_TAKEN * floor)[table.time_ms > 2 * floor]
    table = table.merge(shapes, on=dims).drop_duplicates(["gpu", *dims])
    found: dict[str, list[MeasuredOp]] = {}
    for spelled, rows in table.groupby("gpu"):
        gpu = catalog.find_spelling("kernels e2e", str(spelled))
        if gpu is not None:
            found[gpu.name] = [_timing(operation, dims, row) for row in rows.itertuples()]
    return found


def _timing(operation: str, dims: Sequence[str], row: Any) -> MeasuredOp:
    name, shapes, arguments = OPERATIONS[operation](row)
    return MeasuredOp(
        key=(operation, *(getattr(row, dim) for dim in dims)),
        name=name,
        shapes=shapes,
        dtypes=tuple("float32" if shape is not None else None for shape in shapes),
        arguments=arguments,
        duration_ns=row.time_ms * NS_PER_MS,
        kernel_name=row.kernel_name,
        grid=(row.grid_x, row.grid_y, row.grid_z),
        block=(row.block_x, row.block_y, row.block_z),
    )


def deepbench(folder: Path, catalog: Catalog) -> dict[str, list[MeasuredOp]]:
    """Training GEMMs and convolutions by GPU name: forward, data gradient and weight gradient apart; fp32 and fp16."""
    return {
        name: [
            MeasuredOp(
                key=op.key, name=op.name, shapes=op.shapes, arguments=op.arguments, kernel_name="",
                dtypes=tuple(op.dtype if shape is not None else None for shape in op.shapes),
                duration_ns=op.time_ms * NS_PER_MS,
            )
            for op in ops
        ]
        for name, ops in deepbench_ops(folder, catalog).items()
    }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class MeasuredModel:
    """One model's forward pass on one GPU: its operations with how often each occurs, and its time end to end."""

    key: tuple[object, ...]  # model, sequence length, batch
    gpu: str
    ops: tuple[MeasuredOp, ...]
    repeats: tuple[int, ...]
    end_to_end_ns: float


def models(folder: Path, catalog: Catalog) -> list[MeasuredModel]:
    """The eager inference cases of `e2e/` whose operations were timed. Operations that only view are left out."""
    index = pd.read_csv(folder / "e2e" / "index.csv")
    index = index[(index["mode"] == "inf") & index.option.isna() & index.trace_path.notna()]
    found = []
    for row in index.itertuples():
        case: Any = row
        gpu = catalog.find_spelling("kernels e2e", str(case.gpu))
        table = pd.read_parquet(folder / "e2e" / str(case.trace_path))
        table = table[table.fw_ms > 2 * MODEL_FLOOR_MS]
        timed = [(op, int(case.num_layer) if row.in_repeated_layer else 1)
                 for row in table.itertuples() if (op := _model_op(row)) is not None]  # fmt: skip
        if gpu is not None:
            found.append(
                MeasuredModel(
                    key=(case.model, case.seq, case.batch), gpu=gpu.name, ops=tuple(op for op, _ in timed),
                    repeats=tuple(count for _, count in timed), end_to_end_ns=float(case.e2e_ms) * NS_PER_MS,
                )
            )  # fmt: skip
    return found


MODEL_OPERATIONS: Final[dict[str, str]] = {
    "VECadd": "aten::add", "VECmul": "aten::mul", "VECdiv": "aten::div", "VECaddu": "aten::add", "VECmulu": "aten::mul",
    "VECdivu": "aten::div", "VECpowu": "aten::pow", "VECrelu": "aten::relu", "VECgelu": "aten::gelu",
    "VECtanh": "aten::tanh", "VECsoftmax": "aten::_softmax", "contiguous": "aten::clone",
}  # fmt: skip


def _model_op(row: Any) -> MeasuredOp | None:
    """What an FX node of a model's trace ran; None where the tables of ops have no such work."""
    inputs = [tuple(shape) for shape in ast.literal_eval(row.input_shapes)]
    output = tuple(ast.literal_eval(row.output_shape))
    name, shapes, kind = "", tuple(inputs), str(row.op_kind)
    if kind == "Linear" and len(inputs) == 3:
        name = "aten::addmm"
    elif kind == "Linear":
        rows = math.prod(inputs[0][:-1])
        name, shapes = "aten::addmm", ((output[-1],), (rows, inputs[0][-1]), (inputs[0][-1], output[-1]))
    elif kind == "BMM":
        left, right = inputs[:2]
        name = "aten::bmm"
        shapes = ((math.prod(left[:-2]), *left[-2:]), (math.prod(right[:-2]), *right[-2:]))
    elif kind == "VECln":
        name, shapes = "aten::layer_norm", (inputs[0], (inputs[0][-1],), (inputs[0][-1],))
    elif kind == "where":
        name = "aten::where"
    elif kind in MODEL_OPERATIONS:
        name, shapes = MODEL_OPERATIONS[kind], tuple(shape for shape in inputs if shape != (1,))
    if not name:
        return None
    return MeasuredOp(
        key=(row.idx,), name=name, shapes=shapes, dtypes=("float32",) * len(shapes), arguments=(), kernel_name="",
        duration_ns=(row.fw_ms - MODEL_FLOOR_MS) * NS_PER_MS,
    )  # fmt: skip


def trace_of(ops: Sequence[MeasuredOp], *, with_kernels: bool = True, with_shapes: bool = True) -> Trace:
    """The operations one after the other, a kernel each; without kernels, a capture that ran on no GPU."""
    count = len(ops)
    start = np.arange(count, dtype=np.int64) * NS_PER_MS
    row = np.arange(count, dtype=np.int32)
    nothing = np.full(count, -1, dtype=np.int32)
    table = OpTable(
        name=Interned.of([op.name for op in ops]),
        phase=np.zeros(count, np.int8),
        start_ns=start,
        duration_ns=np.full(count, 10_000, np.int64),
        thread=np.zeros(count, np.int32),
        parent=nothing,
        input_shapes=Interned.of([op.shapes if with_shapes else None for op in ops]),
        input_dtypes=Interned.of([op.dtypes if with_shapes else None for op in ops]),
        output_shapes=Interned.absent(count),
        output_dtypes=Interned.absent(count),
        arguments=Interned.of([op.arguments if with_shapes else None for op in ops]),
        memory_format=np.zeros(count, np.int8),
        module=Interned.absent(count),
        source=Interned.absent(count),
        sequence=np.full(count, -1, np.int64),
        forward_op=nothing,
    )
    kernels = ops if with_kernels else []
    launched = row if with_kernels else row[:0]
    return Trace(
        origin=TraceOrigin.PROFILER if with_kernels else TraceOrigin.SYMBOLIC,
        device=RecordedDevice(name=None) if with_kernels else None,
        ops=table,
        host_calls=HostCallTable(
            name=Interned.of(["cudaLaunchKernel" for _ in kernels]),
            kind=np.full(len(kernels), HostCallKind.LAUNCH, np.int8),
            start_ns=start[: len(kernels)],
            duration_ns=np.full(len(kernels), 5_000, np.int64),
            thread=np.zeros(len(kernels), np.int32),
            op=launched,
            stream=np.full(len(kernels), 7, np.int64),
            waits_for=np.full(len(kernels), -1, np.int32),
        ),
        kernels=KernelTable(
            name=Interned.of([op.kernel_name for op in kernels]),
            kind=np.zeros(len(kernels), np.int8),
            start_ns=start[: len(kernels)] + 10_000,
            duration_ns=np.array([round(op.duration_ns) for op in kernels], np.int64),
            device=np.zeros(len(kernels), np.int16),
            stream=np.full(len(kernels), 7, np.int64),
            grid=np.array([op.grid for op in kernels], np.int32).reshape(-1, 3),
            block=np.array([op.block for op in kernels], np.int32).reshape(-1, 3),
            regs_per_thread=np.full(len(kernels), -1, np.int32),
            smem_bytes=np.full(len(kernels), -1, np.int64),
            op=launched,
            host_call=launched,
            size_bytes=np.full(len(kernels), -1, np.int64),
            group_size=np.full(len(kernels), -1, np.int32),
            collective=Interned.absent(len(kernels)),
        ),
        spans=SpanTable(
            name=Interned.absent(0), kind=np.empty(0, np.int8), start_ns=start[:0], duration_ns=start[:0],
            thread=row[:0],
        ),
        steps=StepTable(
            number=np.zeros(1, np.int64),
            start_ns=np.zeros(1, np.int64),
            end_ns=np.array([count * NS_PER_MS], np.int64),
            complete=np.ones(1, bool),
        ),
        step_source=StepSource.SPAN,
        memory=MemoryTable(
            time_ns=start[:0], delta_bytes=start[:0], allocated_bytes=start[:0], reserved_bytes=start[:0],
            device=np.empty(0, np.int16), op=row[:0],
        ),
        tensors=TensorTable(
            size_bytes=start[:0], role=np.empty(0, np.int8), dtype=Interned.absent(0), allocated_by=row[:0],
            last_used_by=row[:0], freed_after=row[:0],
        ),
        wall_ns=count * NS_PER_MS,
    )  # fmt: skip

"""How long does an answer take: 1,000 operations on every GPU of the catalogue, in one pass?

Processor time of the thread that asks, the least of several passes: what a clock shows where nothing else runs, and no
part of another program's load. Operations are all distinct, so that nothing is answered from what was answered before:
by each learned family alone, and by the whole engine (work counted from shapes, networks, ranges, replay) on a mix of
products, convolutions, norms and pointwise work.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine import EngineOptions, predict
from surfer_lab.engine.learned import LearnedFamily, predict_times
from surfer_lab.hardware.catalog import Catalog, load_catalog
from surfer_lab.trace.columns import Interned
from surfer_lab.trace.model import Trace
from surfer_lab.trace.tables import ArgShapes
from surfer_lab.training.evaluate.cases import Case, Evaluation, Table
from surfer_lab.training.evaluate.listed_ops import captured

__all__ = ["ENGINE", "NETWORK", "OPS", "evaluate_speed"]

OPS: Final = 1_000
NETWORK: Final = "learned family alone"
ENGINE: Final = "the whole engine"
_PASSES: Final = 7
_MS_A_SECOND: Final = 1e3
# TF32 off: convolutions then go to their network
_FP32: Final = EngineOptions(convolution_tf32=False, matmul_tf32=False)
Progress = Callable[[str, int, int], None]


def evaluate_speed(
    *, sample: int | None = None, progress: Progress | None = None, catalog: Catalog | None = None
) -> Evaluation:
    """`sample`: so many operations instead of `OPS`."""
    gpus, count = (catalog or load_catalog()).all(), sample or OPS
    asked: list[tuple[str, str, Callable[[], object]]] = [
        (NETWORK, family.value, partial(predict_times, family, _shapes(family, count), gpus))
        for family in LearnedFamily
    ]
    asked += [
        (ENGINE, f"a mix in {dtype}", partial(predict, _mix(count, dtype), gpus, options=_FP32))
        for dtype in ("float32", "float16")
    ]
    cases = []
    for number, (method, what, answer) in enumerate(asked):
        cases.append(Case(method=method, model=what, columns={"ops": count, "gpus": len(gpus), "ms": _best_ms(answer)}))
        if progress is not None:
            progress(what, number + 1, len(asked))
    rows = tuple((one.method, one.model, count, len(gpus), round(float(one.columns["ms"] or 0), 1)) for one in cases)
    table = Table(
        title="speed: one pass over operations and GPUs",
        columns=("what", "operations", "count", "GPUs", "ms"),
        rows=rows,
        notes=(f"processor time of the thread that asks, the least of {_PASSES} passes",),
    )
    return Evaluation(name="speed", cases=tuple(cases), tables=(table,))


def _best_ms(answer: Callable[[], object]) -> float:
    found = []
    answer()  # weights are read once
    for _ in range(_PASSES):
        before = time.thread_time()
        answer()
        found.append(_MS_A_SECOND * (time.thread_time() - before))
    return min(found)


def _shapes(family: LearnedFamily, count: int) -> NDArray[np.float64]:
    number = np.arange(1, count + 1, dtype=np.float64)
    some = {
        LearnedFamily.LINEAR: (np.ones(count), 64 * number, np.full(count, 1024.0), 512 + 8 * (number % 97)),
        LearnedFamily.BMM: (15 + number, np.full(count, 128.0), np.full(count, 64.0), 64 + number % 193),
        LearnedFamily.CONV: (1 + number % 64, 32 + 8 * (number % 61), 64 + 4 * (number % 53), 7 + number % 56),
    }
    return np.stack(some[family], axis=1)


def _mix(count: int, dtype: str) -> Trace:
    """As a capture has them: each operation with the shapes that it takes and gives."""
    ops: list[tuple[str, ArgShapes, tuple[int, ...]]] = []
    for number in range(1, count // 5 + 2):
        rows, width, batch, channels = 64 * number, 512 + 8 * number, 16 + number, 64 + number // 4
        images = 8 + number % 32
        ops += [
            ("aten::mm", ((rows, 1024), (1024, width)), (rows, width)),
            ("aten::bmm", ((batch, 128, 64), (batch, 64, 128 + number)), (batch, 128, 128 + number)),
            ("aten::conv2d", ((images, channels, 28, 28), (64, channels, 3, 3), None), (images, 64, 26, 26)),
            ("aten::gelu", ((rows, 1024),), (rows, 1024)),
            ("aten::layer_norm", ((rows, 1024), (1024,), (1024,)), (rows, 1024)),
        ]
    trace = captured([(name, inputs) for name, inputs, _ in ops[:count]], dtype)
    outputs: list[ArgShapes | None] = [(output,) for *_, output in ops[:count]]
    return replace(trace, ops=replace(trace.ops, output_shapes=Interned.of(outputs)))

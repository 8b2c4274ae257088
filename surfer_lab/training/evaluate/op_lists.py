"""Does a capture from shapes see the same operations as a program that really runs? Op by op, on the workloads.

Each reference workload, at sizes that keep its structure and run on a CPU in a moment, is recorded while it runs and
captured without running: names, phases, shapes and dtypes of all ops, in order.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import zip_longest
from typing import Any, Final

from surfer_lab.errors import SurferError
from surfer_lab.trace.model import Trace
from surfer_lab.training.evaluate.cases import Case, Cell, Evaluation, Table

__all__ = ["evaluate_op_lists"]

COMPARED: Final = "captured from shapes against a run on the CPU"
_STEPS: Final = 3  # the second is the steady state
_BATCH: Final = 2
Progress = Callable[[str, int, int], None]
_Row = tuple[object, ...]


def evaluate_op_lists(*, sample: int | None = None, progress: Progress | None = None) -> Evaluation:
    """Training and inference of every workload, or of the first `sample` of them."""
    from surfer_lab import workloads

    names = workloads.names()[:sample]
    cases: list[Case] = []
    for number, name in enumerate(names):
        cases += [_compared(name, mode) for mode in ("train", "infer")]
        if progress is not None:
            progress(name, number + 1, len(names))
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (case.model, case.mode, case.columns.get("ops_run"), case.columns.get("ops_captured"), case.reason or "equal")
        for case in cases
    )
    table = Table(
        title="op lists: captured from shapes, and really run",
        columns=("workload", "mode", "ops run", "ops captured", "result"),
        rows=rows,
    )
    equal = sum(1 for case in cases if not case.reason)
    return Evaluation(
        name="op lists", cases=tuple(cases), tables=(table,), facts={"compared": len(cases), "equal": equal}
    )  # fmt: skip


def _compared(name: str, mode: str) -> Case:
    import torch

    from surfer_lab.capture import record, trace_symbolic

    base = Case(model=name, mode=mode, batch=_BATCH, method=COMPARED)
    step = _train if mode == "train" else _infer
    try:
        torch.manual_seed(0)
        made = _build(name)
        with record() as recording:
            for _ in range(_STEPS):
                step(made)
        ran = _rows(recording.trace)
        captured = _rows(trace_symbolic(step if mode == "train" else _three_times, build=lambda: _build(name)))
    except SurferError as error:
        return Case(model=name, mode=mode, batch=_BATCH, method=COMPARED, reason=str(error))
    return Case(
        model=base.model, mode=base.mode, batch=base.batch, method=base.method, reason=_difference(ran, captured),
        columns={"ops_run": len(ran), "ops_captured": len(captured)},
    )  # fmt: skip


def _build(name: str) -> Any:
    from surfer_lab import workloads

    work = workloads.build(name, tiny=True)
    return work, work.example_inputs(_BATCH)


def _train(made: Any) -> None:
    work, batch = made
    work.step(batch)


def _infer(made: Any) -> None:
    work, batch = made
    work.infer(batch)


def _three_times(made: Any) -> None:
    for _ in range(_STEPS):
        _infer(made)


def _rows(trace: Trace) -> list[_Row]:
    ops = trace.ops
    columns = (ops.name, ops.phase.tolist(), ops.input_shapes, ops.input_dtypes, ops.output_shapes, ops.output_dtypes)
    return list(zip(*columns, strict=True))


def _difference(ran: list[_Row], captured: list[_Row]) -> str:
    """The first place where they differ; empty where they do not."""
    for at, (one, other) in enumerate(zip_longest(ran, captured)):
        if one != other:
            names = [str(row[0]) if row is not None else "nothing" for row in (one, other)]
            return f"op {at}: ran {names[0]}, captured {names[1]}"
    return ""

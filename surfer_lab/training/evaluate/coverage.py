"""How much of what networks run is in the tables of operations? Shares of ops and of predicted time, by network.

Every network is captured from shapes: timm's with a row in the benchmark table (training and inference), Transformers
architectures at small size and the reference workloads. Ops are those that do work (views and allocations have none).
An op that nothing can be said of is UNSCALED; one estimated by its operands' bytes alone is FALLBACK, counted by its
predicted time on one GPU.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from surfer_lab.engine import predict
from surfer_lab.engine.estimate import Method
from surfer_lab.errors import OptionError, SurferError
from surfer_lab.hardware.catalog import Catalog, load_catalog
from surfer_lab.hardware.gpu import Gpu
from surfer_lab.trace.model import Trace
from surfer_lab.training.evaluate.cases import Case, Cell, Evaluation, Table
from surfer_lab.training.timm_table.make import make_captures
from surfer_lab.training.timm_table.rows import RENAMED, keys_of, read_rows
from surfer_lab.training.timm_table.store import CaptureStore, cache_folder

__all__ = ["evaluate_coverage"]

CAPTURED: Final = "captured from shapes"
SOURCES: Final = ("timm", "transformers", "workloads")
_GPU: Final = "A100 SXM4 80GB"  # whose times weigh the shares
Progress = Callable[[str, int, int], None]
# a network, what is done with it, its captured step or why there is none
_Captured = tuple[str, str, "Trace | None", str]


def evaluate_coverage(
    data: Path | None = None,
    *,
    cache: Path | None = None,
    sample: int | None = None,
    workers: int = 1,
    sources: tuple[str, ...] = SOURCES,
    progress: Progress | None = None,
    catalog: Catalog | None = None,
) -> Evaluation:
    """All networks of the sources, or `sample` of each, drawn evenly. timm's need `data` for their table."""
    gpu = (catalog or load_catalog()).find(_GPU)
    cases: list[Case] = []
    for source in sources:
        if source == "timm":
            if data is None:
                continue
            found = _timm(data, CaptureStore(cache or cache_folder()), sample, workers, progress)
        elif source == "transformers":
            found = _transformers(sample)
        elif source == "workloads":
            found = _workloads(sample)
        else:
            raise OptionError(f"no source of networks is called {source!r}", remedy=", ".join(SOURCES))
        for number, (name, mode, trace, reason) in enumerate(found):
            cases.append(_case(source, name, mode, trace, reason, gpu))
            if progress is not None:
                progress(f"{source} {name}", number + 1, number + 1)
    return Evaluation(name="coverage", cases=tuple(cases), tables=_tables(cases), facts={"weighed on": gpu.name})


def _case(source: str, name: str, mode: str, trace: Trace | None, reason: str, gpu: Gpu) -> Case:
    base: dict[str, Any] = {"gpu": gpu.name, "model": name, "mode": mode, "method": CAPTURED}
    if trace is None:
        return Case(**base, reason=reason, columns={"source": source})
    try:
        said = predict(trace, [gpu])
    except SurferError as error:
        return Case(**base, reason=str(error), columns={"source": source})
    unscaled = np.unique(said.items.op[said.method[0] == Method.UNSCALED])
    fallback = np.unique(said.items.op[said.method[0] == Method.FALLBACK])
    missing = sorted({trace.ops.name[int(op)] or "" for op in (*unscaled, *fallback)})
    columns: dict[str, Cell] = {
        "source": source, "ops": len(trace.ops), "unscaled_ops": len(unscaled),
        "unscaled_share": len(unscaled) / max(1, len(trace.ops)),
        "fallback_time_share": float(said.steps.share_by_method[0, Method.FALLBACK]),
        "not_in_tables": ", ".join(missing),
    }  # fmt: skip
    return Case(**base, columns=columns)


# -- where networks come from ------------------------------------------------------------------------------------------


def _timm(
    data: Path, store: CaptureStore, sample: int | None, workers: int, progress: Progress | None
) -> Iterator[_Captured]:
    rows = read_rows(data)
    chosen = _evenly(sorted(set(rows["arch"].tolist()) - set(RENAMED)), sample)
    keys = keys_of(rows, chosen)
    make_captures(keys, store, workers=workers, progress=progress)
    for key in keys:
        yield f"{key.arch} {key.name}", key.mode, store.trace(key), store.failure(key) or ""


def _transformers(sample: int | None) -> Iterator[_Captured]:
    import torch

    from surfer_lab.training.evaluate.hf_architectures import ARCHITECTURES, build_architecture

    def build(name: str, *, is_training: bool) -> Any:
        model, batch = build_architecture(name)
        model.train(is_training)
        return model, torch.optim.AdamW(model.parameters(), lr=1e-4), batch

    def train(made: Any) -> None:
        model, optimizer, batch = made
        optimizer.zero_grad()
        model(**batch).loss.backward()
        optimizer.step()

    def infer(made: Any) -> None:
        model, _, batch = made
        with torch.no_grad():
            for _ in range(3):  # steps of inference are told by their calls
                model(**batch)

    for name in _evenly(list(ARCHITECTURES), sample):
        for mode, step in (("train", train), ("infer", infer)):
            yield _symbolic(name, mode, step, partial(build, name, is_training=mode == "train"))


def _workloads(sample: int | None) -> Iterator[_Captured]:
    from surfer_lab import workloads

    def build(name: str) -> Any:
        work = workloads.build(name)
        return work, work.example_inputs()

    def train(made: Any) -> None:
        work, batch = made
        work.step(batch)

    def infer(made: Any) -> None:
        work, batch = made
        for _ in range(3):
            work.infer(batch)

    for name in _evenly(list(workloads.names()), sample):
        for mode, step in (("train", train), ("infer", infer)):
            yield _symbolic(name, mode, step, partial(build, name))


def _symbolic(name: str, mode: str, step: Callable[[Any], None], build: Callable[[], Any]) -> _Captured:
    from surfer_lab.capture import trace_symbolic

    try:
        return name, mode, trace_symbolic(step, build=build), ""
    except SurferError as error:
        return name, mode, None, str(error)


def _evenly(names: list[str], sample: int | None) -> list[str]:
    if sample is None or sample >= len(names):
        return names
    return [names[at] for at in np.linspace(0, len(names) - 1, max(1, sample)).round().astype(int)]


# -- summary -----------------------------------------------------------------------------------------------------------


def _tables(cases: list[Case]) -> tuple[Table, ...]:
    groups: dict[tuple[str, str], list[Case]] = {}
    for case in cases:
        groups.setdefault((str(case.columns["source"]), str(case.mode)), []).append(case)
    rows: list[tuple[Cell, ...]] = []
    for (source, mode), group in groups.items():
        known = [case for case in group if not case.reason]
        ops, unscaled = (_sum(known, name) for name in ("ops", "unscaled_ops"))
        shares = [float(case.columns["fallback_time_share"] or 0.0) for case in known]
        rows.append(
            (
                source, mode, len(group), len(group) - len(known), int(ops), _percent(unscaled, ops),
                round(100.0 * float(np.mean(shares)), 2) if shares else None,
                round(100.0 * max(shares), 2) if shares else None,
            )
        )  # fmt: skip
    failed = tuple(
        (str(case.columns["source"]), case.model, case.mode, case.reason) for case in cases if case.reason
    )  # fmt: skip
    absent = tuple(
        (str(case.columns["source"]), case.model, case.mode, case.columns["not_in_tables"])
        for case in cases
        if case.columns.get("not_in_tables")
    )
    tables = [
        Table(
            title="coverage: shares of ops and of predicted time",
            columns=(
                "source", "mode", "captures", "failed", "ops", "unscaled %", "fallback time %", "worst network %",
            ),
            rows=tuple(rows),
        )
    ]  # fmt: skip
    if failed:
        tables.append(
            Table(title="coverage: not captured", columns=("source", "network", "mode", "why"), rows=failed)
        )  # fmt: skip
    if absent:
        tables.append(
            Table(title="coverage: ops in no table", columns=("source", "network", "mode", "ops"), rows=absent)
        )  # fmt: skip
    return tuple(tables)


def _sum(cases: list[Case], column: str) -> float:
    return float(sum(float(case.columns[column] or 0) for case in cases))


def _percent(part: float, whole: float) -> float | None:
    share = 100.0 * part / whole if whole else math.nan
    return round(share, 3) if math.isfinite(share) else None

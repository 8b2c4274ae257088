"""What is each measured step of timm's benchmark made of? Items of all rows, in one small table.

    <cache>/steps-<version>-<hash of the rows>.npz

Captures are read once: a fit then takes seconds to load what thousands of captured steps hold. Equal items of a step
are one row with a count. Compiled rows hold fused items, by the engine's own rule. Rows without a capture have no step.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from surfer_lab.engine.compilation import CompileMode
from surfer_lab.engine.learned.facts import COLUMNS_OF_FACTS, facts_of
from surfer_lab.engine.options import EngineOptions
from surfer_lab.engine.whatif.asked import asked
from surfer_lab.engine.work_items import work_of
from surfer_lab.errors import SurferError
from surfer_lab.planner.batch import BatchScaling
from surfer_lab.training.timm_table.layout import in_layout
from surfer_lab.training.timm_table.precision import in_precision
from surfer_lab.training.timm_table.rows import RENAMED, CaptureKey, key_of, read_rows
from surfer_lab.training.timm_table.store import CaptureStore

__all__ = ["StepTable", "collect_steps", "table_path"]

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
Progress = Callable[[str, int, int], None]  # what is read, how many rows are done, of how many

VERSION: Final = 1  # raised when the same captures give other items
COMPILE_MODES: Final = {"none": CompileMode.OFF, "dynamo": CompileMode.DEFAULT}
_COLUMNS: Final = ("gpu", "mode", "precision", "layout", "compile", "torch", "arch", "img_size", "batch")


@dataclass(frozen=True, kw_only=True, eq=False)
class StepTable:
    """Items of steps: those of step `s` are rows `start[s]` to `start[s + 1]` of `facts`, each `count` times.

    `step` and `family` are by row of the benchmark's table; -1 and "" where there is no capture.
    """

    facts: F64  # (items, COLUMNS_OF_FACTS)
    count: F64
    start: I64
    step: I64
    family: tuple[str, ...]

    def items_of(self, steps: I64) -> tuple[I64, I64]:
        """Rows of `facts` of some steps, and for each the place of its step in `steps`."""
        length = self.start[steps + 1] - self.start[steps]
        place = np.repeat(np.arange(len(steps)), length)
        before = np.cumsum(length) - length
        rows = np.arange(int(length.sum())) - before[place] + self.start[steps][place]
        return rows, place


def table_path(rows: pd.DataFrame, cache: Path) -> Path:
    """Where the table of these rows is kept."""
    words = rows[list(_COLUMNS)].to_csv(index=False).encode()
    return cache / f"steps-{VERSION}-{hashlib.sha256(words).hexdigest()[:16]}.npz"


def collect_steps(
    data: Path, cache: Path, *, workers: int = 1, progress: Progress | None = None
) -> tuple[pd.DataFrame, StepTable]:
    """The benchmark's rows and their items: from `cache`, else from the captures there, and then kept."""
    rows = read_rows(data).reset_index(drop=True)
    path = table_path(rows, cache)
    if path.is_file():
        with np.load(path) as stored:
            return rows, StepTable(
                facts=stored["facts"], count=stored["count"], start=stored["start"], step=stored["step"],
                family=tuple(str(name) for name in stored["family"]),
            )  # fmt: skip
    table = _collected(rows, cache, workers, progress)
    if (table.step >= 0).any():
        cache.mkdir(parents=True, exist_ok=True)
        whole = path.with_suffix(f".{os.getpid()}.npz")
        np.savez_compressed(
            whole, facts=table.facts, count=table.count, start=table.start, step=table.step,
            family=np.array(table.family),
        )  # fmt: skip
        whole.replace(path)
    return rows, table


Keyed = tuple[CaptureKey, str, str, int, int]  # with precision, compile mode, batch and row


@dataclass(frozen=True, kw_only=True, eq=False)
class _Found:
    """One step, and the rows that measured it."""

    rows: list[int]
    family: str
    facts: F64
    count: F64


def _collected(rows: pd.DataFrame, folder: Path, workers: int, progress: Progress | None) -> StepTable:
    keyed: list[Keyed] = sorted(
        (key_of(row), str(row.precision), str(row.compile), int(row.batch), at)  # type: ignore[arg-type] # pandas
        for at, row in enumerate(rows.itertuples())
    )
    by_arch = [list(group) for _, group in groupby(keyed, key=lambda entry: entry[0].arch)]
    found: list[_Found] = []
    done = 0
    for group, of_arch in zip(by_arch, _in_processes(by_arch, folder, workers), strict=True):
        found += of_arch
        done += len(group)
        if progress is not None:
            progress(group[0][0].arch, done, len(rows))
    step = np.full(len(rows), -1, dtype=np.int64)
    family = [""] * len(rows)
    for number, one in enumerate(found):
        step[one.rows] = number
        for row in one.rows:
            family[row] = one.family
    lengths = [len(one.count) for one in found]
    return StepTable(
        facts=np.concatenate([one.facts for one in found]) if found else np.empty((0, COLUMNS_OF_FACTS)),
        count=np.concatenate([one.count for one in found]) if found else np.empty(0),
        start=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        step=step,
        family=tuple(family),
    )


def _in_processes(groups: list[list[Keyed]], folder: Path, workers: int) -> Iterator[list[_Found]]:
    """The steps of each group, in order."""
    if workers < 2 or len(groups) < 2:
        yield from (_steps_of_arch(group, folder) for group in groups)
        return
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(_steps_of_arch, groups, [folder] * len(groups), chunksize=4)


def _steps_of_arch(group: list[Keyed], folder: Path) -> list[_Found]:
    store, found = CaptureStore(folder), []
    for (key, precision, mode), same in groupby(group, key=lambda entry: entry[:3]):
        rows_at: dict[int, list[int]] = {}
        for *_, batch, row in same:
            rows_at.setdefault(batch, []).append(row)
        for batch, items in _steps_of(store, key, precision, mode, sorted(rows_at)):
            distinct, count = np.unique(items, axis=0, return_counts=True)
            family = store.family(key.arch) or key.arch
            found.append(_Found(rows=rows_at[batch], family=family, facts=distinct, count=count.astype(np.float64)))
    return found


def _steps_of(
    store: CaptureStore, key: CaptureKey, precision: str, mode: str, batches: list[int]
) -> Iterator[tuple[int, F64]]:
    if key.arch in RENAMED or mode not in COMPILE_MODES or store.failure(key) is not None:
        return
    capture = store.trace(key)
    if capture is None:
        return
    options = EngineOptions(compile=COMPILE_MODES[mode])
    try:
        whole = in_precision(in_layout(capture, key.layout), precision, is_training=key.mode == "train")
        scaling = BatchScaling.of_prime(whole, whole.batch_size)
        for batch in batches:
            trace, _, _ = asked(scaling.at(batch), options)
            yield batch, facts_of(work_of(trace))
    except SurferError:
        return

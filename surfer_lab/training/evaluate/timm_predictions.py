"""What does the engine say of each row of timm's tables? One captured step a row, reshaped, lowered and predicted.

Rows that share a capture and a batch are predicted together, on all their GPUs in one pass. A row that cannot be
predicted gets the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

import pandas as pd

from surfer_lab.engine import EngineOptions, predict
from surfer_lab.engine.compilation import CompileMode
from surfer_lab.engine.estimate import Method, PredictionSet
from surfer_lab.errors import OptionError, SurferError
from surfer_lab.hardware.catalog import Catalog
from surfer_lab.hardware.gpu import Gpu
from surfer_lab.planner.batch import BatchScaling
from surfer_lab.trace.model import Trace
from surfer_lab.training.evaluate.plain_roofline import plain_roofline_ns
from surfer_lab.training.timm_table.fractions import StepTerms, terms_of
from surfer_lab.training.timm_table.layout import in_layout
from surfer_lab.training.timm_table.precision import in_precision
from surfer_lab.training.timm_table.rows import RENAMED, CaptureKey, key_of
from surfer_lab.training.timm_table.store import CaptureStore
from surfer_lab.units import NS_PER_MS

__all__ = ["RowPrediction", "predict_rows"]

Progress = Callable[[int, int], None]  # rows done, of how many
# what the tables call it, and the what-if that it is: TorchInductor in its default mode
_COMPILE_MODES: Final = {"none": CompileMode.OFF, "dynamo": CompileMode.DEFAULT}


@dataclass(frozen=True, kw_only=True)
class RowPrediction:
    """One row: `row` is its index in the table. Times in ms; reason where there is none."""

    row: int
    family: str = ""
    predicted_ms: float | None = None
    low_ms: float | None = None
    high_ms: float | None = None
    simple_ms: float | None = None  # the larger of FLOPs over rate and bytes over bandwidth, summed: a plain roofline
    fallback_share: float = 0.0
    unscaled_share: float = 0.0
    terms: StepTerms | None = None  # what its families of work take: for fitting their fractions
    reason: str = ""


def predict_rows(
    rows: pd.DataFrame, store: CaptureStore, catalog: Catalog, *, progress: Progress | None = None
) -> Iterator[RowPrediction]:
    """Each row's prediction, in no particular order."""
    keyed = sorted(
        (_keyed(row) for row in rows.itertuples()),
        key=lambda entry: entry[:4],
    )
    done = 0
    for key, of_key in groupby(keyed, key=lambda entry: entry[0]):
        group = list(of_key)
        reason = RENAMED.get(key.arch) or store.failure(key)
        capture = None if reason else store.trace(key)
        if capture is None:
            for *_, row in group:
                yield RowPrediction(row=int(row.Index), reason=reason or "its step is not captured yet")
        else:
            yield from _of_capture(
                in_layout(capture, key.layout), group, store.family(key.arch) or key.arch, catalog, key.mode == "train"
            )
        done += len(group)
        if progress is not None:
            progress(done, len(keyed))


def _keyed(row: Any) -> tuple[CaptureKey, str, str, int, Any]:
    return (key_of(row), str(row.precision), str(row.compile), int(row.batch), row)


def _of_capture(
    capture: Trace, group: list[Any], family: str, catalog: Catalog, is_training: bool
) -> Iterator[RowPrediction]:
    for (precision, compile_mode), rows in groupby(group, key=lambda entry: (entry[1], entry[2])):
        try:
            step = in_precision(capture, precision, is_training=is_training)
            scaling = BatchScaling.of_prime(step, step.batch_size)
        except SurferError as error:
            for *_, row in rows:
                yield RowPrediction(row=int(row.Index), family=family, reason=str(error))
            continue
        for batch, same in groupby(rows, key=lambda entry: entry[3]):
            yield from _at_batch(scaling.at(batch), compile_mode, [row for *_, row in same], family, catalog)


def _at_batch(
    trace: Trace, compile_mode: str, rows: list[Any], family: str, catalog: Catalog
) -> Iterator[RowPrediction]:
    known = []
    for row in rows:
        try:
            known.append((row, catalog.find(str(row.gpu))))
        except SurferError as error:
            yield RowPrediction(row=int(row.Index), family=family, reason=str(error))
    if not known:
        return
    gpus = tuple({gpu.name: gpu for _, gpu in known}.values())
    try:
        prediction = _predicted(trace, gpus, compile_mode)
    except SurferError as error:
        for row, _ in known:
            yield RowPrediction(row=int(row.Index), family=family, reason=str(error))
        return
    simple = plain_roofline_ns(prediction)
    place = {gpu.name: at for at, gpu in enumerate(gpus)}
    for row, gpu in known:
        at = place[gpu.name]
        steps = prediction.steps
        yield RowPrediction(
            row=int(row.Index),
            family=family,
            predicted_ms=float(steps.step_ns[at]) / NS_PER_MS,
            low_ms=float(steps.low_ns[at]) / NS_PER_MS,
            high_ms=float(steps.high_ns[at]) / NS_PER_MS,
            simple_ms=float(simple[at]) / NS_PER_MS,
            fallback_share=float(steps.share_by_method[at, Method.FALLBACK]),
            unscaled_share=float(steps.share_by_method[at, Method.UNSCALED]),
            terms=terms_of(prediction, at),
        )


def _predicted(trace: Trace, gpus: tuple[Gpu, ...], compile_mode: str) -> PredictionSet:
    if compile_mode not in _COMPILE_MODES:
        raise OptionError(f"the row was compiled by {compile_mode!r}", remedy=", ".join(_COMPILE_MODES))
    return predict(trace, gpus, options=EngineOptions(compile=_COMPILE_MODES[compile_mode], learned=False))

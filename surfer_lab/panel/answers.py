"""What does the kernel answer to each request? From the book of predictions; no comm, no thread of its own.

Errors leave as SurferError; whoever answers words them as a Failure.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from surfer_lab import __version__
from surfer_lab.engine.compilation import CompileMode
from surfer_lab.engine.precision import Precision
from surfer_lab.errors import OptionError, OriginError
from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.panel import kept_views
from surfer_lab.panel.book import Book, entry_of
from surfer_lab.panel.messages import (
    PROTOCOL_VERSION,
    Answer,
    AskCompare,
    AskFigures,
    AskForget,
    AskGrid,
    AskHello,
    AskHistory,
    AskOperations,
    AskPrice,
    AskTimeline,
    AskTrace,
    AskView,
    Comparison,
    ComparisonRow,
    Done,
    Failure,
    FigureItem,
    Figures,
    GridSlice,
    Hello,
    History,
    OperationsSlice,
    Request,
    TimelineSlice,
    ViewAnswer,
)
from surfer_lab.planner.grid import AMP, GridPrecision
from surfer_lab.report.prediction import Prediction, predict
from surfer_lab.view.figure_data import FIGURE_TITLES, figure_data
from surfer_lab.view.grid_view import grid_view
from surfer_lab.view.model import ViewModel
from surfer_lab.view.operation_lines import operation_lines
from surfer_lab.view.selection import Choosing
from surfer_lab.view.stored import restored, stored
from surfer_lab.view.stored_model import STORED_SCHEMA_VERSION
from surfer_lab.view.timeline_view import timeline_view

__all__ = ["LONG_REQUESTS", "Asked", "answer"]

# those that compute for long: answered by the worker, the others where they arrive
LONG_REQUESTS: Final = (AskGrid, AskPrice, AskTimeline, AskOperations, AskFigures, AskTrace)
_MOST_CELLS: Final = 50_000  # of a grid slice: what a message holds
_MOST_LINES: Final = 1_000
_MOST_COMPARED: Final = 6


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What an answer may use: the book, the notebook that asks, a word of progress, and a breath between passes."""

    book: Book
    notebook: str
    progress: Callable[[int, int, str], None]
    breathe: Callable[[], None]


def answer(request: Request, asked: Asked) -> Answer:
    """The one answer to a request. Cancel is not among them: whoever keeps the jobs answers it."""
    book = asked.book
    if isinstance(request, AskHello):
        return _hello(request, asked)
    if isinstance(request, AskHistory):
        return History(id=request.id, entries=book.entries())
    if isinstance(request, AskView):
        return ViewAnswer(id=request.id, view=book.get(request.prediction).view)
    if isinstance(request, AskGrid):
        return _grid(request, asked)
    if isinstance(request, AskPrice):
        return _price(request, asked)
    if isinstance(request, AskTimeline):
        return _timeline(request, asked)
    if isinstance(request, AskOperations):
        return _operations(request, asked)
    if isinstance(request, AskFigures):
        return _figures(request, asked)
    if isinstance(request, AskForget):
        book.forget(request.prediction)
        kept_views.forget(request.prediction, asked.notebook)
        return Done(id=request.id, entries=book.entries())
    if isinstance(request, AskTrace):
        return _trace(request, asked)
    if isinstance(request, AskCompare):
        return _compare(request, asked)
    raise OptionError(f"{type(request).__name__} is nothing that is answered here", remedy="ask again")


def _hello(request: AskHello, asked: Asked) -> Hello:
    asked.book.add_earlier(kept_views.kept(asked.notebook))
    return Hello(
        id=request.id,
        protocol=PROTOCOL_VERSION,
        version=__version__,
        schema_version=STORED_SCHEMA_VERSION,
        has_torch="torch" in sys.modules,
        gpu=_gpu_name(),
        entries=asked.book.entries(),
    )


def _gpu_name() -> str:
    """The first GPU, where torch is loaded and has started CUDA: a greeting must not start it."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return ""
    return str(torch.cuda.get_device_name(0))


def _grid(request: AskGrid, asked: Asked) -> GridSlice:
    prediction = asked.book.live(request.prediction)
    precisions = [_precision(word) for word in request.precisions]
    compiles = [_compile(word) for word in request.compiles]
    cells = (len(request.gpus) or len(prediction.gpus)) * max(1, len(request.batch_sizes))
    if cells * max(1, len(precisions)) * max(1, len(compiles)) > _MOST_CELLS or len(request.batch_sizes) > 64:
        raise OptionError(f"a slice of {cells:,} GPUs and batch sizes is too large", remedy="ask for fewer at once")
    if any(size < 1 for size in request.batch_sizes):
        raise OptionError("a batch size below 1", remedy="whole numbers of 1 or more")
    passes = 0

    def between() -> None:
        nonlocal passes
        passes += 1
        asked.progress(passes, 0, "computing outcomes")
        asked.breathe()

    grid = prediction.grid(
        gpus=request.gpus,
        batch_sizes=sorted(set(request.batch_sizes)),
        precisions=precisions,
        compiles=compiles,
        between=between,
    )
    view = grid_view(
        grid,
        own_batch=prediction.question.step.batch_size,
        own_precision=prediction.options.precision,
        own_compile=prediction.options.compile,
        with_parts=True,
        names_gpus=True,
    )
    return GridSlice(id=request.id, prediction=request.prediction, grid=view)


def _precision(word: str) -> GridPrecision:
    if word == AMP.value:
        return AMP
    try:
        return Precision(word)
    except ValueError:
        known = ", ".join([*(one.value for one in Precision), AMP.value])
        raise OptionError(f"{word!r:.40} is no precision", remedy=known) from None


def _compile(word: str) -> CompileMode:
    try:
        return CompileMode(word)
    except ValueError:
        known = ", ".join(one.value for one in CompileMode)
        raise OptionError(f"{word!r:.40} is no compile mode", remedy=known) from None


def _price(request: AskPrice, asked: Asked) -> ViewAnswer:
    prediction = asked.book.live(request.prediction)
    name = prediction.on(request.gpu).gpu.name
    prices = {gpu: usd for gpu, usd in prediction.options.prices.items() if gpu != name}
    if request.usd_per_hour is not None:
        prices[name] = request.usd_per_hour
    priced = prediction.with_prices(prices)
    view = stored(priced.view_with_grid)
    asked.book.add(view, priced)
    return ViewAnswer(id=request.id, view=view)


def _timeline(request: AskTimeline, asked: Asked) -> TimelineSlice:
    prediction = asked.book.live(request.prediction)
    shown = timeline_view(
        prediction.times,
        _row(prediction, request.gpu),
        start_ms=request.start_ms,
        end_ms=request.end_ms,
        most=request.most,
    )
    if shown is None:
        raise OptionError("there is nothing in this window of the step", remedy="a window inside the step")
    return TimelineSlice(id=request.id, prediction=request.prediction, timeline=shown)


def _row(prediction: Prediction, gpu: str) -> int:
    """The GPU's row in the prediction; without a name, that of the one shown first."""
    name = prediction.on(gpu or prediction.view.focus).gpu.name
    return [one.name for one in prediction.times.gpus].index(name)


def _operations(request: AskOperations, asked: Asked) -> OperationsSlice:
    prediction = asked.book.live(request.prediction)
    row = _row(prediction, request.gpu)
    lines = operation_lines(prediction.times, row, by=request.by)
    wanted = request.find.strip().casefold()
    if wanted:
        lines = [line for line in lines if wanted in f"{line.name} {line.module} {line.source} {line.phase}".casefold()]
    first = max(0, request.first)
    return OperationsSlice(
        id=request.id,
        prediction=request.prediction,
        gpu=prediction.times.gpus[row].name,
        by=request.by,
        first=first,
        total=len(lines),
        lines=lines[first : first + max(0, min(request.count, _MOST_LINES))],
    )


def _figures(request: AskFigures, asked: Asked) -> Figures:
    kept = asked.book.get(request.prediction)
    view = restored(kept.view)
    names = [row.gpu for row in view.rows]
    gpu = request.gpu or view.focus
    if gpu not in names:
        raise OptionError(f"{gpu!r:.60} is not among the GPUs of this prediction", remedy=", ".join(names[:4]))
    unknown = [name for name in request.names if name not in FIGURE_TITLES]
    if unknown:
        raise OptionError(f"{unknown[0]!r:.60} is no figure", remedy=", ".join(FIGURE_TITLES))
    return Figures(
        id=request.id,
        prediction=request.prediction,
        figures=_figure_items(view, names.index(gpu), request.names or list(FIGURE_TITLES)),
    )


def _figure_items(view: ViewModel, gpu: int, names: list[str]) -> list[FigureItem]:
    from bokeh.embed import json_item  # a kernel whose front end draws from templates never needs Bokeh

    from surfer_lab.view.bokeh_figures import TOKENS, filled_figure

    choosing = Choosing(view)
    items = []
    for name in names:
        data = figure_data(name, choosing, gpu)
        if data is not None:
            items.append(
                FigureItem(
                    name=name,
                    title=FIGURE_TITLES[name],
                    item=dict(json_item(filled_figure(name, data, TOKENS))),
                    columns=list(data.columns),
                    rows=[list(row) for row in data.rows],
                )
            )
    return items


def _trace(request: AskTrace, asked: Asked) -> ViewAnswer | Failure:
    def progress(done: int, total: int) -> None:
        asked.progress(done, total, f"reading {Path(request.path).name}")
        asked.breathe()

    try:
        prediction = predict(request.path, origin=request.origin or None, progress=progress)
    except OriginError as error:
        known = [gpu.name for gpu in load_catalog().all()]
        likely = [name for name in error.candidates if name in known]
        return Failure(
            id=request.id,
            error="refused",
            seen=error.seen,
            remedy="choose the GPU that it was recorded on",
            gpus=[*likely, *(name for name in known if name not in likely)],
        )
    asked.progress(0, 0, "predicting")
    asked.breathe()
    view = stored(prediction.view_with_grid)
    asked.book.add(view, prediction)
    return ViewAnswer(id=request.id, view=view)


def _compare(request: AskCompare, asked: Asked) -> Comparison:
    if not 2 <= len(request.predictions) <= _MOST_COMPARED:
        raise OptionError(
            f"{len(request.predictions)} predictions to compare", remedy=f"two to {_MOST_COMPARED} of them"
        )
    kept = [asked.book.get(name) for name in request.predictions]
    opened = [Choosing(restored(one.view)) for one in kept]
    places = [{row.gpu: place for place, row in enumerate(one.view.rows)} for one in opened]
    everywhere = [gpu for gpu in places[0] if all(gpu in one for one in places)]
    rows = []
    for gpu in everywhere:
        chosen = [one.at(place[gpu]) for one, place in zip(opened, places, strict=True)]
        rows.append(
            ComparisonRow(
                gpu=gpu,
                step_ms=[(one.step_ms, one.low_ms, one.high_ms) for one in chosen],
                faster=[chosen[0].step_ms / one.step_ms if one.step_ms > 0 else 1.0 for one in chosen],
                usd_per_1000_steps=[one.usd_per_1000_steps for one in chosen],
            )
        )
    missing = sorted({gpu for one in places for gpu in one} - set(everywhere))
    return Comparison(id=request.id, entries=[entry_of(one) for one in kept], rows=rows, missing=missing)

"""How does a prediction reach people while it is still being worked out? As run at once, its grid and what-ifs behind.

Where a front end listens, the worker finishes it and the cell is over; where none does (a notebook run headless), it is
finished before the cell ends, for nothing could be told afterwards. An interrupt leaves what is shown already.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from surfer_lab.panel import kept_views
from surfer_lab.panel.kernel_end import KernelEnd
from surfer_lab.panel.messages import GridReady, Predicted, Training
from surfer_lab.panel.worker import Duty, Job, Stopped
from surfer_lab.report.bundle import mime_bundle
from surfer_lab.report.prediction import Prediction
from surfer_lab.view.model import ViewModel
from surfer_lab.view.stored import stored
from surfer_lab.view.training_model import TrainingView
from surfer_lab.view.training_view import shortened

__all__ = ["Show", "publish", "publish_in_steps", "publish_training"]

Show = Callable[[dict[str, Any]], object]  # puts a MIME bundle where the one before it was
_LOG: Final = logging.getLogger(__name__)


def publish(end: KernelEnd, prediction: Prediction, view: ViewModel | None = None) -> None:
    """Put it into the book, and tell all front ends; as far as it is worked out, or as `view` has it."""
    kept = stored(prediction.view if view is None else view)
    entry = end.book.add(kept, prediction)
    end.announce(Predicted(entry=entry, view=kept))
    if kept.grid is not None:
        kept_views.keep(kept, kept.provenance.notebook)


def publish_training(end: KernelEnd, view: TrainingView) -> None:
    """Tell all front ends how a training run does; nothing is held of it, for the cell's output has the same."""
    end.announce(Training(view=shortened(view)))


def publish_in_steps(end: KernelEnd, prediction: Prediction, show: Show, first: Mapping[str, Any]) -> None:
    """Show it as run (`first`, its bundle); then, here or behind the cell, with its grid, then with all what-ifs."""
    show(dict(first))
    publish(end, prediction, prediction.first_view)
    if end.is_watched:
        end.worker.submit(Duty.FINISHING, lambda job: _finish(end, prediction, show, job))
        return
    try:
        _finish(end, prediction, show, None)
    except KeyboardInterrupt:
        _LOG.info("interrupted: %s stays as it is shown", prediction.name)


def _finish(end: KernelEnd, prediction: Prediction, show: Show, job: Job | None) -> None:
    def between() -> None:
        if job is not None:
            end.worker.breathe(job)

    try:
        between()
        grid = prediction.compute_grid(between)
        view = msgspec.structs.replace(prediction.first_view, grid=grid)
        show(mime_bundle(view))
        publish(end, prediction, view)
        between()
        view = msgspec.structs.replace(prediction.view, grid=grid)
        show(mime_bundle(view))
        publish(end, prediction, view)
        end.announce(GridReady(prediction=view.provenance.id if view.provenance else "", grid=grid))
    except Stopped:
        return
    except Exception:  # noqa: BLE001 # a fault of ours must not end the worker: what is shown already stays
        _LOG.exception("finishing %s failed", prediction.name)

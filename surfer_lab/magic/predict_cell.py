"""How does a cell under `%%predict` become an answer? Checked, run once and observed, predicted, shown, kept."""

from __future__ import annotations

import importlib.util
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from IPython.core.interactiveshell import InteractiveShell
from IPython.display import DisplayHandle, display

from surfer_lab.errors import CaptureError, SurferError
from surfer_lab.magic.history import history
from surfer_lab.magic.run_cell import flush_figures, run_cell_plainly
from surfer_lab.panel.cells import cell_id
from surfer_lab.panel.publishing import Show, publish, publish_in_steps
from surfer_lab.panel.registration import register
from surfer_lab.planner.captured_step import CapturedStep
from surfer_lab.planner.options import PredictOptions, options_line
from surfer_lab.report.bundle import mime_bundle
from surfer_lab.report.prediction import check_names, predict_as_asked
from surfer_lab.report.provenance import new_provenance
from surfer_lab.trace.model import Trace
from surfer_lab.view.detail_model import Provenance

if TYPE_CHECKING:
    from surfer_lab.capture import Observer

__all__ = ["checked_options", "predict_cell"]


def checked_options(options: PredictOptions) -> PredictOptions:
    """The options, refused before the cell runs where a name is not known or there is no torch to observe."""
    if importlib.util.find_spec("torch") is None:
        raise CaptureError(
            "torch is not installed in this kernel, and %%predict observes what torch runs",
            remedy="%pip install torch, then restart the kernel",
        )
    check_names(options)
    return options


def predict_cell(shell: InteractiveShell, cell: str, options: PredictOptions) -> None:
    """Run the cell once; show what was predicted. The cell's own error leaves as it is, without an answer.

    A loop that the user interrupts is answered from the steps that ran, then interrupted as in a plain cell. With
    `--no-run` the cell is not run: it is captured from shapes, in a namespace of its own.
    """
    if options.no_run:
        from surfer_lab.magic.unrun_cell import UnrunCell  # imports torch

        unrun = UnrunCell(shell, cell, label=lambda filename: _cell_name(shell, filename))
        _answer(shell, lambda: unrun.captured(options.batch_size), options)
        return
    from surfer_lab.capture import observe  # imports torch, which may not be there

    observer = observe(label=lambda filename: _cell_name(shell, filename))
    try:
        with register(shell).end.worker.quiet(), observer:
            run_cell_plainly(shell, cell)
    except KeyboardInterrupt:
        _answer(shell, lambda: _observed(observer), options)
        raise
    _answer(shell, lambda: _observed(observer), options)


def _observed(observer: Observer) -> CapturedStep:
    observation = observer.result()
    for notice in observation.notices:
        _tell(notice)
    return CapturedStep(trace=observation.trace, scaling=None)


def _answer(shell: InteractiveShell, capture: Callable[[], CapturedStep], options: PredictOptions) -> None:
    """Predict what was captured, show it below the cell's own outputs and keep it; a failure is told, not raised."""
    flush_figures()
    handle: DisplayHandle | None = None
    try:
        captured = capture()
        if hasattr(shell, "kernel"):  # a terminal would keep the passing line
            handle = display({"text/plain": "Predicting ..."}, raw=True, display_id=True)
        command = f"%%predict {options_line(options)}".rstrip()
        prediction = predict_as_asked(
            captured.trace,
            options,
            name=history.free_name(),
            command=command,
            scaling=captured.scaling,
            notes=captured.notes,
            provenance=_provenance(shell, captured.trace),
        )
        first = prediction.first_view if handle is not None else prediction.view
        bundle = mime_bundle(first)
    except Exception as error:  # noqa: BLE001 # a fault of ours must not stop a notebook whose own work is done
        failure = f"Surfer Lab cannot predict this cell: {_told(error)}"
        if handle is not None:
            handle.update({"text/plain": failure}, raw=True)
        else:
            _tell(failure)
        return
    history.add(prediction)
    end = register(shell).end
    if handle is not None:
        publish_in_steps(end, prediction, _updates_of(shell, handle), bundle)
    else:
        display(bundle, raw=True)
        publish(end, prediction, first)


def _updates_of(shell: InteractiveShell, handle: DisplayHandle) -> Show:
    """What puts a bundle where the display is, from any thread, also while a later cell captures its own displays."""
    publisher = shell.display_pub
    return lambda bundle: publisher.publish(bundle, transient={"display_id": handle.display_id}, update=True)


def _provenance(shell: InteractiveShell, trace: Trace) -> Provenance:
    """This cell, and the cells that the trace's source lines name."""
    panel = register(shell)
    named = {source.partition(":")[0] for source in trace.ops.source.values}
    return new_provenance(
        "cell",
        notebook=panel.end.notebook,
        cell=cell_id(shell),
        cells={name: found for name, found in panel.cells.known().items() if name in named},
    )


def _told(error: Exception) -> SurferError:
    """The error as one sentence; of one that nobody foresaw, what a report of it needs."""
    if isinstance(error, SurferError):
        return error
    place = traceback.extract_tb(error.__traceback__)[-1]
    seen = (
        f"{type(error).__name__} ({error}) at {Path(place.filename).name}:{place.lineno}, a fault of Surfer Lab's own"
    )
    return SurferError(seen, remedy="report this line; the cell itself ran as it should")


def _tell(line: str) -> None:
    print(line)  # noqa: T201 # part of the cell's output


def _cell_name(shell: InteractiveShell, filename: str) -> str | None:
    """A notebook cell's file as people know it: "In[3]"."""
    named = shell.compile.format_code_name(filename)
    return named[1] if named else None

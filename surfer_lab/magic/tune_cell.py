"""How does a cell under `%%tune` become a tuned run? Run as it is, then its factory is tuned, shown live, and kept.

The output is one element that is redrawn after every phase and decision: plan, losses by wall time, workers, staleness,
decisions. Interrupting the kernel ends the run with the best so far.
"""

from __future__ import annotations

import importlib.util
import time
from typing import Any, Final

from IPython.core.interactiveshell import InteractiveShell
from IPython.display import DisplayHandle, display

from surfer_lab.errors import OptionError, SurferError
from surfer_lab.magic.run_cell import flush_figures, run_cell_plainly
from surfer_lab.planner.convergence.tune_options import TuneOptions
from surfer_lab.planner.convergence.tuned_run import TunedRun
from surfer_lab.report.training_report import training_html, training_text
from surfer_lab.view.training_view import TrainingView, tuned_view

__all__ = ["last_tuned", "tune_cell"]

_REDRAWN_EVERY_S: Final = 0.5
_kept: list[tuple[TunedRun, TrainingView]] = []


def last_tuned() -> tuple[TunedRun, TrainingView]:
    """The newest tuned run and its view; OptionError where there is none."""
    if not _kept:
        raise OptionError("nothing was tuned in this kernel", remedy="%%tune FACTORY --target LOSS")
    return _kept[-1]


def tune_cell(shell: InteractiveShell, cell: str, name: str, options: TuneOptions) -> None:
    """Run the cell, tune what its factory makes; what cannot be tuned is told in a sentence."""
    for package in ("ray", "torch"):
        if importlib.util.find_spec(package) is None:
            raise OptionError(f"{package} is not installed", remedy='%pip install "surfer-lab[cluster]"')
    run_cell_plainly(shell, cell)
    flush_figures()
    from surfer_lab.distributed.tune import tune

    factory: Any = shell.user_ns.get(name)
    if not callable(factory):
        raise OptionError(
            f"the notebook has no function {name}", remedy="def it in the cell: it returns (model, data set)"
        )
    live = _Live(name, options)
    try:
        run = tune(factory, options, changed=live.changed)
    except SurferError as error:
        live.say(str(error))
        return
    live.show(run, is_final=True)
    _kept.append((run, live.view(run, is_final=True)))


class _Live:
    """The cell's one output."""

    def __init__(self, name: str, options: TuneOptions) -> None:
        self._title = f"Tuning {name}"
        self._target = options.target_loss
        self._drawn_s = 0.0
        waiting = {"text/plain": f"Starting {options.workers} workers ..."}
        self._handle: DisplayHandle | None = display(waiting, raw=True, display_id=True)

    def view(self, run: TunedRun, *, is_final: bool) -> TrainingView:
        """What is shown."""
        return tuned_view(run, title=self._title, target_loss=self._target, is_final=is_final)

    def changed(self, run: TunedRun) -> None:
        """After a phase: redrawn, but not more often than an eye can follow."""
        now = time.monotonic()
        if now - self._drawn_s >= _REDRAWN_EVERY_S:
            self._drawn_s = now
            self.show(run, is_final=False)

    def show(self, run: TunedRun, *, is_final: bool) -> None:
        """Redraw."""
        view = self.view(run, is_final=is_final)
        self._update({"text/html": str(training_html(view)), "text/plain": training_text(view)})

    def say(self, sentence: str) -> None:
        """A sentence instead."""
        self._update({"text/plain": f"Surfer Lab cannot tune this: {sentence}"})

    def _update(self, bundle: dict[str, str]) -> None:
        if self._handle is not None:
            self._handle.update(bundle, raw=True)

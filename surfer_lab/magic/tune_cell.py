"""How does a cell under `%%tune` become a tuned run? Run as it is, then its factory is tuned, shown live, and kept.

The output is one element that is redrawn as the run goes on: plan, losses by wall time, workers, staleness, decisions.
Its JSON goes to the panel at the same time, and stays in the notebook. Interrupting the kernel ends the run with the
best so far.
"""

from __future__ import annotations

import importlib.util
import time
import uuid
from typing import Any, Final

import msgspec
from IPython.core.interactiveshell import InteractiveShell
from IPython.display import DisplayHandle, display

from surfer_lab.errors import OptionError, SurferError
from surfer_lab.magic.run_cell import flush_figures, run_cell_plainly
from surfer_lab.panel.publishing import publish_training
from surfer_lab.panel.registration import register
from surfer_lab.planner.convergence.run_record import PhaseStatus
from surfer_lab.planner.convergence.setting import Setting
from surfer_lab.planner.convergence.tune_options import TuneOptions
from surfer_lab.planner.convergence.tuned_run import TunedRun
from surfer_lab.report.bundle import training_bundle
from surfer_lab.view.training_model import TrainingView
from surfer_lab.view.training_view import running_phase, tuned_view

__all__ = ["last_tuned", "tune_cell"]

_REDRAWN_EVERY_S: Final = 1.0
_NOTHING_YET: Final = TunedRun(
    setting=None, state=None, is_reached=False, is_interrupted=False, seconds=0.0, tuning_s=0.0, phases=(),
    decisions=(), times=None, plan=None,
)  # fmt: skip
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
    live = _Live(shell, name, options)
    try:
        run = tune(factory, options, told=live.told, changed=live.changed)
    except SurferError as error:
        live.fail(str(error))
        return
    except BaseException as error:
        live.fail(f"{type(error).__name__} while it was tuned")
        raise
    live.end(run)
    _kept.append((run, live.view))


class _Live:
    """The run as far as it is known: in the cell's one output, and in the panels that listen."""

    def __init__(self, shell: InteractiveShell, name: str, options: TuneOptions) -> None:
        self._end = register(shell).end
        self._id = uuid.uuid4().hex
        self._title = f"Tuning {name}"
        self._target = options.target_loss
        self._drawn_s = -_REDRAWN_EVERY_S
        self._run = _NOTHING_YET
        self._revision = 0
        self.view = self._viewed(_NOTHING_YET, is_final=False)
        waiting = {"text/plain": f"Starting {options.workers} workers ..."}
        self._handle: DisplayHandle | None = display(waiting, raw=True, display_id=True)

    def told(self, role: str, setting: Setting, status: PhaseStatus) -> None:
        """While a phase runs."""
        if self._is_due():
            view = self._viewed(self._run, is_final=False)
            self._show(msgspec.structs.replace(view, running=running_phase(role, setting, status)))

    def changed(self, run: TunedRun) -> None:
        """After a phase."""
        self._run = run
        if self._is_due():
            self._show(self._viewed(run, is_final=False))

    def end(self, run: TunedRun) -> None:
        """What came of it, shown whenever the last drawing was."""
        self._show(self._viewed(run, is_final=True))

    def fail(self, sentence: str) -> None:
        """A sentence instead; the panel keeps what was found until then."""
        told = f"Surfer Lab cannot tune this: {sentence}"
        view = self._viewed(self._run, is_final=True)
        self.view = msgspec.structs.replace(view, state="failed", recommendation=told)
        publish_training(self._end, self.view)
        self._update({"text/plain": told})

    def _viewed(self, run: TunedRun, *, is_final: bool) -> TrainingView:
        view = tuned_view(run, title=self._title, target_loss=self._target, is_final=is_final)
        self._revision += 1
        return msgspec.structs.replace(view, id=self._id, revision=self._revision)

    def _is_due(self) -> bool:
        """Not more often than an eye can follow, whatever the phases do."""
        now = time.monotonic()
        is_due = now - self._drawn_s >= _REDRAWN_EVERY_S
        self._drawn_s = now if is_due else self._drawn_s
        return is_due

    def _show(self, view: TrainingView) -> None:
        self.view = view
        publish_training(self._end, view)
        self._update(training_bundle(view))

    def _update(self, bundle: dict[str, Any]) -> None:
        if self._handle is not None:
            self._handle.update(bundle, raw=True)

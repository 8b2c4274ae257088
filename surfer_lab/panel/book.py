"""Which predictions can this kernel tell of? Those it holds, and views of earlier ones that were kept for the notebook.

One lock guards all of it: cells, subshells and the worker come from threads of their own.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Final

from surfer_lab.errors import OptionError
from surfer_lab.panel.messages import Entry
from surfer_lab.report.prediction import Prediction
from surfer_lab.view.model import Role
from surfer_lab.view.stored_model import StoredView

__all__ = ["Book", "Kept", "entry_of"]

_MOST_LIVE: Final = 20  # predictions hold their trace
_MOST_VIEWS: Final = 40


@dataclass(frozen=True, kw_only=True)
class Kept:
    """A view, and the prediction that it is of where this kernel made it."""

    view: StoredView
    prediction: Prediction | None = None


class Book:
    """Predictions by id, newest last."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._kept: dict[str, Kept] = {}

    def add(self, view: StoredView, prediction: Prediction | None = None) -> Entry:
        """Keep it as the newest; of one that is known, its view is replaced where it stands."""
        name = view.provenance.id
        with self._lock:
            known = self._kept.get(name)
            live = prediction if prediction is not None else known.prediction if known is not None else None
            self._kept[name] = Kept(view=view, prediction=live)
            self._forget_oldest()
            return entry_of(self._kept[name])

    def add_earlier(self, views: list[StoredView]) -> None:
        """Views of an earlier kernel: before all that this one made, none twice."""
        with self._lock:
            earlier = {view.provenance.id: Kept(view=view) for view in views if view.provenance.id not in self._kept}
            self._kept = {**earlier, **self._kept}
            self._forget_oldest()

    def get(self, name: str) -> Kept:
        """OptionError where none has this id."""
        with self._lock:
            found = self._kept.get(name)
        if found is None:
            raise OptionError("this prediction is not known here", remedy="run its cell again")
        return found

    def live(self, name: str) -> Prediction:
        """The prediction itself; OptionError where only its view is left."""
        found = self.get(name).prediction
        if found is None:
            raise OptionError(
                "only the view of this prediction is left: it was made before this kernel started",
                remedy="run its cell again",
            )
        return found

    def forget(self, name: str) -> None:
        """Drop it; nothing where it is not known."""
        with self._lock:
            self._kept.pop(name, None)

    def entries(self) -> list[Entry]:
        """All of them, newest last."""
        with self._lock:
            return [entry_of(kept) for kept in self._kept.values()]

    def _forget_oldest(self) -> None:
        while len(self._kept) > _MOST_VIEWS:
            del self._kept[next(iter(self._kept))]
        live = [name for name, kept in self._kept.items() if kept.prediction is not None]
        for name in live[:-_MOST_LIVE]:
            self._kept[name] = Kept(view=self._kept[name].view)


def entry_of(kept: Kept) -> Entry:
    """What a list of predictions shows of one."""
    view = kept.view
    return Entry(
        provenance=view.provenance,
        name=view.name,
        title=view.title,
        headline=next((sentence.text for sentence in view.sentences if sentence.role is Role.STEP), view.title),
        is_live=kept.prediction is not None,
    )

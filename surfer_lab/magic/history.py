"""Which predictions were made in this kernel? Kept by name, newest last; the same name again replaces the older one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from surfer_lab.errors import OptionError
from surfer_lab.planner.options import near_matches
from surfer_lab.report.prediction import Prediction

__all__ = ["History", "history", "last"]

# predictions hold their trace: enough to compare by hand, not enough to fill a kernel's memory
_KEPT: Final = 20


class History:
    """The predictions of one kernel."""

    def __init__(self) -> None:
        self._predictions: dict[str, Prediction] = {}

    def __len__(self) -> int:
        return len(self._predictions)

    def __iter__(self) -> Iterator[Prediction]:
        return iter(list(self._predictions.values()))

    def free_name(self) -> str:
        """A name that none has yet: "prediction 1", "prediction 2", ..."""
        number = 1
        while f"prediction {number}" in self._predictions:
            number += 1
        return f"prediction {number}"

    def add(self, prediction: Prediction) -> None:
        """Keep it as the newest."""
        self._predictions.pop(prediction.name, None)
        self._predictions[prediction.name] = prediction
        while len(self._predictions) > _KEPT:
            del self._predictions[next(iter(self._predictions))]

    def get(self, name: str | None = None) -> Prediction:
        """The newest, or the one of that name; OptionError where there is none."""
        if not self._predictions:
            raise OptionError(
                "nothing was predicted in this notebook yet",
                remedy="put %%predict at the top of the cell that runs the training loop",
            )
        if name is None:
            return next(reversed(self._predictions.values()))
        found = self._predictions.get(name)
        if found is None:
            near = near_matches(name, self._predictions) or list(self._predictions)
            raise OptionError(f"no prediction is called {name!r}", remedy=" or ".join(near))
        return found


history: Final = History()


def last(name: str | None = None) -> Prediction:
    """The newest prediction made by `%%predict` in this kernel, or the one of that name."""
    return history.get(name)

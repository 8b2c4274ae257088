"""What does `%surfer WORD ...` answer? Text to be printed, or a Prediction, so that `p = %surfer last` assigns it."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Final

from surfer_lab.errors import OptionError
from surfer_lab.magic.history import history
from surfer_lab.planner.options import near_matches
from surfer_lab.report.gpu_text import gpu_text, gpus_text
from surfer_lab.report.prediction import Prediction

__all__ = ["answer"]


def answer(line: str, *, help_text: str) -> Prediction | str:
    """Do what the line says; OptionError with the nearest words where it says nothing known."""
    try:
        word, *rest = shlex.split(line) or ["help"]
    except ValueError as error:
        raise OptionError(f"the line cannot be read ({error})", remedy="close the quotes") from error
    if word.lstrip("-") in {"help", "h", "?"}:
        return help_text
    ask = _WORDS.get(word.lower())
    if ask is None:
        near = near_matches(word, _WORDS) or list(_WORDS)
        raise OptionError(f"%surfer knows no {word!r}", remedy="%surfer " + " or ".join(near))
    return ask(" ".join(rest))


def _last(name: str) -> Prediction:
    return history.get(name or None)


def _list(_nothing: str) -> str:
    history.get()  # where there is none, its error says what to do
    return "\n".join(f"{prediction.view.name}: {prediction.view.sentences[0].text}" for prediction in history)


def _gpus(name: str) -> str:
    return gpu_text(name) if name else gpus_text()


def _report(file: str) -> str:
    prediction = history.get()
    return f"Written: {prediction.report(file or _file_of(prediction))}"


def _file_of(prediction: Prediction) -> str:
    """A file in this folder, whatever the prediction is called."""
    kept = "".join(one if one.isalnum() or one in " ._-" else "_" for one in prediction.view.name)
    return f"{kept.strip(' .') or 'prediction'}.html"


_WORDS: Final[dict[str, Callable[[str], Prediction | str]]] = {
    "last": _last,
    "list": _list,
    "gpus": _gpus,
    "report": _report,
}

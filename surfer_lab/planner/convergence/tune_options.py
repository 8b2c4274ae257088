"""Which words may a user say to `tune`? One table for the magic; the command line declares the same."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from surfer_lab.errors import OptionError
from surfer_lab.planner.options import near_matches

__all__ = ["TUNE_USAGE", "TuneOptions", "parse_tune_line"]


@dataclass(frozen=True, kw_only=True)
class TuneOptions:
    """What was asked for, checked."""

    target_loss: float
    batch_size: int = 64
    workers: int = 4
    window: int = 20
    max_seconds: float = 3600.0
    seed: int = 0
    address: str | None = None
    folder: Path | None = None
    resume: bool = False
    checkpoint_s: float = 10.0
    merge_head: bool = False
    gpus_per_worker: float = 0.0
    usd_per_worker_hour: float | None = None

    def __post_init__(self) -> None:
        for word, count in (("batch", self.batch_size), ("workers", self.workers), ("window", self.window)):
            if count < 1:
                raise OptionError(f"{word}: {count}", remedy="1 or more")
        if self.batch_size < self.workers:
            raise OptionError(
                f"a batch of {self.batch_size} for {self.workers} workers", remedy="a sample for each worker at least"
            )
        if not self.max_seconds > 0 or not self.checkpoint_s >= 0:
            raise OptionError("a time limit or interval that is not positive", remedy="seconds")
        if self.usd_per_worker_hour is not None and not 0.0 <= self.usd_per_worker_hour < math.inf:
            raise OptionError(f"price: {self.usd_per_worker_hour:g}", remedy="USD of a worker and hour, 0 or more")
        if self.resume and self.folder is None:
            raise OptionError("nothing to resume from", remedy="--folder of the earlier run")


_VALUES: Final[dict[str, tuple[str, Callable[[str], Any], str]]] = {
    "--target": ("target_loss", float, "LOSS"),
    "--batch-size": ("batch_size", int, "N"),
    "--workers": ("workers", int, "N"),
    "--window": ("window", int, "N"),
    "--max-seconds": ("max_seconds", float, "S"),
    "--seed": ("seed", int, "N"),
    "--address": ("address", str, "HOST:PORT"),
    "--folder": ("folder", Path, "DIR"),
    "--checkpoint-seconds": ("checkpoint_s", float, "S"),
    "--gpus-per-worker": ("gpus_per_worker", float, "N"),
    "--price": ("usd_per_worker_hour", float, "USD"),
}
_SWITCHES: Final = {"--resume": "resume", "--merge-head": "merge_head"}
TUNE_USAGE: Final = " ".join(
    [
        "FACTORY --target LOSS",
        *(f"[{word} {metavar}]" for word, (_, _, metavar) in _VALUES.items() if word != "--target"),
        *(f"[{word}]" for word in _SWITCHES),
    ]
)


def parse_tune_line(line: str) -> tuple[str, TuneOptions]:
    """(the factory's name, options) of a line; OptionError with the nearest word where one is not known.

    >>> parse_tune_line("make --target 0.2 --workers 2")[0]
    'make'
    """
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise OptionError(f"the line cannot be read ({error})", remedy="close the quotes") from error
    found: dict[str, Any] = {}
    names: list[str] = []
    at = 0
    while at < len(words):
        word, equals, value = words[at].partition("=")
        at += 1
        if not word.startswith("--"):
            names.append(words[at - 1])
        elif word in _SWITCHES:
            found[_SWITCHES[word]] = True
        elif word in _VALUES:
            if not equals:
                if at == len(words):
                    raise OptionError(f"{word} has no value", remedy=f"{word} {_VALUES[word][2]}")
                value, at = words[at], at + 1
            found[_VALUES[word][0]] = _parsed(word, value)
        else:
            near = near_matches(word, [*_VALUES, *_SWITCHES])
            raise OptionError(f"tune knows no {word}", remedy=" or ".join(near) or TUNE_USAGE)
    if len(names) != 1:
        raise OptionError(
            "no factory is named" if not names else f"several factories are named: {', '.join(names)}",
            remedy="the name of one function that returns (model, data set) or (model, data set, loss)",
        )
    if "target_loss" not in found:
        raise OptionError("no loss to reach is named", remedy="--target LOSS")
    return names[0], TuneOptions(**found)


def _parsed(word: str, value: str) -> Any:
    _, parse, metavar = _VALUES[word]
    try:
        return parse(value)
    except ValueError as error:
        raise OptionError(f"{word} {value!r} is no {metavar}", remedy=f"{word} {metavar}, a number") from error

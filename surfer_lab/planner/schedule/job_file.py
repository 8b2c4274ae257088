"""What does a jobs file say? Tables of a TOML file, read into what each job is to be; nothing is predicted here.

    [[job]]
    name = "vision"
    hours = {1 = 10.0, 2 = 6.0, 4 = 3.5}        # times that are known
    memory_gb = 14                              # of each GPU; or by count: {1 = 30, 2 = 17}
    deadline = 24                               # hours from the begin; so is release
    after = ["pretraining"]

    [[job]]
    name = "translation"
    model = "surfer_lab.workloads:transformer"  # or trace = "step.json.gz", and `from` its GPU: predicted
    batch_size = 64                             # of one GPU
    epochs = 10                                 # with dataset_size; or steps (of one GPU's batch), or samples
    dataset_size = 4_500_000
    scaling = "weak"                            # the batch of each GPU stays; "strong": that of all together
    counts = [1, 2, 4, 8]

Where machines differ, known times are said for each: hours_on = {"DGX A100" = {1 = 5.0}, "p3.16xlarge" = {1 = 9.0}}.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from surfer_lab.errors import OptionError
from surfer_lab.planner.scaling.curve import FixedBatch

__all__ = ["JobSpec", "job_specs"]

_TABLE: Final = "job"
_EXAMPLE: Final = '[[job]] with name = "vision" and hours = {1 = 10.0, 2 = 6.0, 4 = 3.5}'
_FIELDS: Final = (
    "name", "hours", "hours_on", "model", "trace", "from", "batch_size", "precision", "compile", "strategy", "scaling",
    "steps", "samples", "epochs", "dataset_size", "counts", "memory_gb", "deadline", "release", "weight", "after",
)  # fmt: skip
_PREDICTED_ONLY: Final = (
    "from", "batch_size", "precision", "compile", "strategy", "scaling", "steps", "samples", "epochs", "dataset_size",
)  # fmt: skip
_SCALINGS: Final = {"weak": FixedBatch.PER_GPU, "strong": FixedBatch.GLOBAL}
_MOST: Final = 1e15
_SECONDS_PER_HOUR: Final = 3600.0


@dataclass(frozen=True, kw_only=True)
class JobSpec:
    """A job as written. Times in seconds; `hours_on` are seconds by machine and count, "" for every machine.

    Of `hours_on`, `model` and `trace` exactly one is there. Work is `samples`, or `steps` of one GPU's batch.
    """

    name: str
    hours_on: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    model: str | None = None
    trace: str | None = None
    origin: str | None = None
    batch_size: int | None = None
    precision: str | None = None
    compile: str | None = None
    strategy: str | None = None
    fixed: FixedBatch = FixedBatch.PER_GPU
    steps: float | None = None
    samples: float | None = None
    counts: tuple[int, ...] = ()
    memory_gb: Mapping[int, float] = field(default_factory=dict)  # by count; 0: whatever the count
    deadline_s: float | None = None
    release_s: float = 0.0
    weight: int = 1
    after: tuple[str, ...] = ()

    @property
    def is_predicted(self) -> bool:
        """Whether its times come from a step on one GPU."""
        return self.model is not None or self.trace is not None


def job_specs(content: Mapping[str, Any], *, where: str) -> tuple[JobSpec, ...]:
    """The jobs of a file's tables; OptionError names the job and the field of a mistake.

    >>> job_specs({"job": [{"name": "a", "hours": {"1": 2.0}}]}, where="jobs.toml")[0].hours_on[""][1]
    7200.0
    """
    rows = content.get(_TABLE)
    if not isinstance(rows, list) or not rows or not all(isinstance(row, Mapping) for row in rows):
        found = ", ".join(content) or "nothing"
        raise OptionError(f"{where} has no [[{_TABLE}]] table ({found})", remedy=_EXAMPLE)
    if others := [name for name in content if name != _TABLE]:
        raise OptionError(f"{where} has {others[0]!r} outside of [[{_TABLE}]]", remedy=_EXAMPLE)
    return tuple(_spec(row, number, where) for number, row in enumerate(rows, start=1))


def _spec(row: Mapping[str, Any], number: int, where: str) -> JobSpec:
    name = row.get("name")
    if not isinstance(name, str) or not name.strip():
        raise OptionError(f"{where}, job {number} has no name", remedy='name = "vision"')
    at = f"{where}, job {name!r}"
    for word in row:
        if word not in _FIELDS:
            near = difflib.get_close_matches(word, _FIELDS, n=2) or list(_FIELDS)
            raise OptionError(f"{at} has a field {word!r}", remedy=", ".join(near))
    _check_source(row, at)
    steps, samples = _work(row, at)
    return JobSpec(
        name=name.strip(),
        hours_on=_hours(row, at),
        model=_text(row, "model", at),
        trace=_text(row, "trace", at),
        origin=_text(row, "from", at),
        batch_size=None if row.get("batch_size") is None else _whole(row["batch_size"], "batch_size", at),
        precision=_text(row, "precision", at),
        compile=_text(row, "compile", at),
        strategy=_text(row, "strategy", at),
        fixed=_fixed(row, at),
        steps=steps,
        samples=samples,
        counts=tuple(sorted({_whole(one, "counts", at) for one in _list(row, "counts", at)})),
        memory_gb=_by_count(row.get("memory_gb"), "memory_gb", at),
        deadline_s=None
        if row.get("deadline") is None
        else _number(row["deadline"], "deadline", at) * _SECONDS_PER_HOUR,
        release_s=_number(row.get("release", 0.0), "release", at) * _SECONDS_PER_HOUR,
        weight=_whole(row.get("weight", 1), "weight", at),
        after=tuple(str(one) for one in _list(row, "after", at)),
    )


def _check_source(row: Mapping[str, Any], at: str) -> None:
    """Exactly one of the ways to know the time, and no word of another one."""
    given = [word for word in ("hours", "hours_on", "model", "trace") if row.get(word) is not None]
    if len(given) != 1:
        seen = " and ".join(given) if given else "no time and nothing to predict it from"
        raise OptionError(f"{at} has {seen}", remedy="one of hours, hours_on, model or trace")
    if given[0] in ("hours", "hours_on"):
        unused = [word for word in _PREDICTED_ONLY if row.get(word) is not None]
        if unused:
            raise OptionError(
                f"{at} has {unused[0]} beside {given[0]}", remedy="it is for model and trace: leave it out"
            )


def _work(row: Mapping[str, Any], at: str) -> tuple[float | None, float | None]:
    """(steps, samples) to run, one of them; both None where the time is given."""
    if row.get("model") is None and row.get("trace") is None:
        return None, None
    given = [word for word in ("steps", "samples", "epochs") if row.get(word) is not None]
    if len(given) != 1:
        seen = " and ".join(given) if given else "no amount of work"
        raise OptionError(f"{at} has {seen}", remedy="one of steps, samples, or epochs with dataset_size")
    amount = _number(row[given[0]], given[0], at)
    if amount <= 0:
        raise OptionError(f"{at}: {given[0]} is {amount:g}", remedy="a number above 0")
    if given[0] == "steps":
        return amount, None
    if given[0] == "samples":
        return None, amount
    if row.get("dataset_size") is None:
        raise OptionError(
            f"{at} has epochs, but no dataset_size", remedy="dataset_size = 1_281_167, samples of an epoch"
        )
    return None, amount * _whole(row["dataset_size"], "dataset_size", at)


def _hours(row: Mapping[str, Any], at: str) -> dict[str, dict[int, float]]:
    """Seconds by machine and count."""
    if row.get("hours") is not None:
        found = {"": _by_count(row["hours"], "hours", at)}
    else:
        by_machine = row.get("hours_on") or {}
        if not isinstance(by_machine, Mapping):
            raise OptionError(f"{at}: hours_on is {by_machine!r}", remedy='hours_on = {"DGX A100" = {1 = 5.0}}')
        found = {str(machine): _by_count(hours, f"hours_on {machine}", at) for machine, hours in by_machine.items()}
    for by_count in found.values():
        for count, hours in by_count.items():
            if count < 1 or hours <= 0:
                raise OptionError(
                    f"{at} takes {hours:g} hours" + (f" on {count} GPUs" if count else ""),
                    remedy="hours = {1 = 10.0, 2 = 6.0}: hours above 0 by number of GPUs",
                )
    return {
        machine: {count: hours * _SECONDS_PER_HOUR for count, hours in by_count.items()}
        for machine, by_count in found.items()
    }


def _by_count(value: Any, word: str, at: str) -> dict[int, float]:
    """Numbers by number of GPUs; a single number stands under 0."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        return {0: _number(value, word, at)}
    if not value:
        raise OptionError(f"{at}: {word} is empty", remedy=f"{word} = {{1 = 10.0, 2 = 6.0}}")
    return {_whole(count, f"{word}, GPUs", at): _number(one, word, at) for count, one in value.items()}


def _fixed(row: Mapping[str, Any], at: str) -> FixedBatch:
    word = str(row.get("scaling", "weak")).strip().lower()
    if word not in _SCALINGS:
        raise OptionError(f"{at}: scaling is {word!r}", remedy=" or ".join(_SCALINGS))
    return _SCALINGS[word]


def _text(row: Mapping[str, Any], word: str, at: str) -> str | None:
    value = row.get(word)
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip():
        raise OptionError(f"{at}: {word} is {value!r}", remedy="a text in quotes")
    return value.strip()


def _list(row: Mapping[str, Any], word: str, at: str) -> list[Any]:
    value = row.get(word, [])
    if isinstance(value, str) or not isinstance(value, list | tuple):
        raise OptionError(f"{at}: {word} is {value!r}", remedy=f"a list: {word} = [...]")
    return list(value)


def _number(value: Any, word: str, at: str) -> float:
    number = float("nan") if isinstance(value, bool) else _float(value)
    if not 0 <= number <= _MOST:
        raise OptionError(f"{at}: {word} is {value!r}", remedy="a number of 0 or more")
    return number


def _float(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def _whole(value: Any, word: str, at: str) -> int:
    number = _number(value, word, at)
    if number != int(number) or number < 1:
        raise OptionError(f"{at}: {word} is {value!r}", remedy="a whole number above 0")
    return int(number)

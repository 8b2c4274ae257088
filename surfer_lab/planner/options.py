"""Which words may a user say to `predict`, and what do they mean? One vocabulary for magic, command line and Python.

The table `PREDICT_FLAGS` is the vocabulary; the magic parses a line by it, the command line declares its options from
it. A word that is not in it, or a value that cannot be meant, is refused with the nearest that can (OptionError).
"""

from __future__ import annotations

import difflib
import math
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, TypeVar

from surfer_lab.engine.compilation import CompileMode
from surfer_lab.engine.precision import Precision
from surfer_lab.errors import OptionError
from surfer_lab.planner.parallelism import Strategy, strategy_of

__all__ = [
    "ALL_GPUS",
    "PREDICT_FLAGS",
    "CompileMode",
    "Flag",
    "Precision",
    "PredictOptions",
    "near_matches",
    "options_line",
    "parse_predict_line",
    "predict_options",
]

ALL_GPUS: Final = "all"
MOST_GPUS: Final = 65_536
MOST_SAMPLES: Final = 10**15  # above it, counts stop being numbers that anybody means, and floats stop counting
_MOST_USD_PER_HOUR: Final = 1e6
_MOST_FACTOR: Final = 1e3  # of one host's speed against another's, either way


Choice = TypeVar("Choice", bound=Enum)


@dataclass(frozen=True, kw_only=True)
class PredictOptions:
    """What was asked for, checked; names of GPUs are looked up later, against the catalogue."""

    on: tuple[str, ...] = ()  # empty: every GPU, a short list of them shown; (ALL_GPUS,): every GPU shown
    origin: str | None = None  # `--from`
    batch_size: int | None = None  # samples in the recorded step
    batch_sizes: tuple[int, ...] = ()  # what-if: the step at these; empty: some around its own
    precision: Precision = Precision.AS_RUN
    compile: CompileMode = CompileMode.OFF
    host_factor: float = 1.0  # target host's launch speed against the recorded one: 2 = twice as fast
    prices: Mapping[str, float] = field(default_factory=dict)  # GPU name as given -> USD per hour
    spot: bool = False
    dataset_size: int | None = None  # samples in an epoch
    counts: tuple[int, ...] = ()  # numbers of GPUs
    link: str | None = None  # "nvlink", "pcie" or a link's name
    strategy: Strategy | None = None
    machine: str | None = None  # by name, or a TOML file
    no_run: bool = False  # a cell is not run: captured from shapes alone
    name: str | None = None

    def __post_init__(self) -> None:
        for word, count in (("batch size", self.batch_size), ("data set", self.dataset_size)):
            if count is not None and (type(count) is not int or not 1 <= count <= MOST_SAMPLES):
                raise OptionError(f"a {word} of {count!r} samples", remedy="a whole number of them, 1 or more")
        if not 1 / _MOST_FACTOR <= self.host_factor <= _MOST_FACTOR:
            raise OptionError(f"a host factor of {self.host_factor!r}", remedy="1.5 for a host 1.5 times as fast")
        for name, usd in self.prices.items():
            if not 0 <= usd <= _MOST_USD_PER_HOUR:
                raise OptionError(f"a price of {usd!r} for {name}", remedy="USD per hour, 2.99 for example")

    @property
    def is_scaled(self) -> bool:
        """Whether several GPUs are asked about."""
        return bool(self.counts or self.link or self.strategy or self.machine)

    @property
    def shows_all(self) -> bool:
        """Whether every GPU is to be shown, not only the short list."""
        return self.on == (ALL_GPUS,)


@dataclass(frozen=True, kw_only=True)
class Flag:
    """One word of the vocabulary. `metavar` is empty for a switch; `parse` gets the text after the word."""

    word: str
    field: str
    metavar: str
    help: str
    parse: Callable[[str, str], object]
    is_for_cells: bool = False  # means nothing to the command line

    @property
    def usage(self) -> str:
        """The word with its value, as help prints it."""
        return f"{self.word} {self.metavar}".rstrip()


def near_matches(word: str, known: Iterable[str], *, count: int = 3) -> list[str]:
    """Known words close to `word`, nearest first, whatever their case.

    >>> near_matches("--batchsize", ["--batch-size", "--spot"])
    ['--batch-size']
    """
    by_lower = {item.lower(): item for item in known}
    return [by_lower[hit] for hit in difflib.get_close_matches(word.lower(), by_lower, n=count, cutoff=0.6)]


def _names(word: str, text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise OptionError(f"{word} names no GPU", remedy=f'{word} "H100 SXM5,L4", or {word} all')
    if any(name.lower() == ALL_GPUS for name in names):
        return (ALL_GPUS,)
    return names


def _text(word: str, text: str) -> str:
    if not text.strip():
        raise OptionError(f"{word} has no value", remedy=f"{word} NAME")
    return text.strip()


def _count(word: str, text: str) -> int:
    try:
        value = int(text.replace("_", "").replace(",", ""))
    except ValueError:
        value = 0
    if value < 1:
        raise OptionError(f"{word} is {text!r}, not a whole number above 0", remedy=f"{word} 32")
    if value > MOST_SAMPLES:
        raise OptionError(f"{word} is {text!r}, more samples than any step or data set has", remedy=f"{word} 32")
    return value


def _factor(word: str, text: str) -> float:
    value = _number(text)
    if not 1 / _MOST_FACTOR <= value <= _MOST_FACTOR:
        raise OptionError(
            f"{word} is {text!r}, not a number above 0 (and within a thousand times)",
            remedy=f"{word} 1.5 for a host 1.5 times as fast",
        )
    return value


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return -1.0
    return value if math.isfinite(value) else -1.0


def _prices(word: str, text: str) -> dict[str, float]:
    prices: dict[str, float] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, amount = part.rpartition("=")
        value = _number(amount.strip().lstrip("$"))
        if not equals or not name.strip() or not 0 <= value <= _MOST_USD_PER_HOUR:
            raise OptionError(f"{word} has {part!r}, not GPU=USD_PER_HOUR", remedy=f'{word} "H100 SXM5=2.99"')
        prices[name.strip()] = value
    if not prices:
        raise OptionError(f"{word} has no price", remedy=f'{word} "H100 SXM5=2.99"')
    return prices


def _counts(word: str, text: str) -> tuple[int, ...]:
    counts = tuple(_count(word, part) for part in text.replace(",", " ").split())
    if not counts:
        raise OptionError(f"{word} names no batch size", remedy=f"{word} 16,32,64")
    return tuple(sorted(set(counts)))


def _gpu_counts(word: str, text: str) -> tuple[int, ...]:
    counts = tuple(_count(word, part) for part in text.replace(",", " ").split())
    if not counts or max(counts) > MOST_GPUS:
        raise OptionError(f"{word} is {text!r}", remedy=f"{word} 1,2,4,8 (at most {MOST_GPUS:,})")
    return tuple(sorted(set(counts)))


def _strategy(word: str, text: str) -> Strategy:
    return strategy_of(_text(word, text))


def _choice(kind: type[Choice], word: str, text: str) -> Choice:
    try:
        return kind(text.strip().lower())
    except ValueError:
        known = [one.value for one in kind]
        near = near_matches(text.strip(), known)
        raise OptionError(
            f"{word} is {text!r}; known: {', '.join(known)}", remedy=f"{word} {(near or known)[0]}"
        ) from None


def _precision(word: str, text: str) -> Precision:
    return _choice(Precision, word, text)


def _compile(word: str, text: str) -> CompileMode:
    return _choice(CompileMode, word, text)


def _switch(word: str, text: str) -> bool:
    if text.strip():
        raise OptionError(f"{word} takes no value, but {text.strip()!r} follows it", remedy=word)
    return True


PREDICT_FLAGS: Final = (
    Flag(word="--on", field="on", metavar="GPU,...|all", parse=_names,
         help="GPUs to predict for, by name or alias; without it, all, the most useful shown first."),
    Flag(word="--from", field="origin", metavar="GPU", parse=_text,
         help="GPU that the trace was recorded on, where it does not say so itself."),
    Flag(word="--batch-size", field="batch_size", metavar="N", parse=_count,
         help="Samples in the recorded step: gives samples per second and cost per epoch."),
    Flag(word="--batch-sizes", field="batch_sizes", metavar="N,...", parse=_counts,
         help="What if: the step at these batch sizes too (for captures from shapes)."),
    Flag(word="--precision", field="precision", metavar="|".join(one.value for one in Precision), parse=_precision,
         help="What if: another arithmetic; as-run keeps the program's own flags."),
    Flag(word="--compile", field="compile", metavar="|".join(one.value for one in CompileMode), parse=_compile,
         help="What if: torch.compile in this mode."),
    Flag(word="--host-factor", field="host_factor", metavar="F", parse=_factor,
         help="Launch speed of the target's host against the recorded one (2 = twice as fast)."),
    Flag(word="--price", field="prices", metavar="GPU=USD,...", parse=_prices,
         help="Your own price per hour; wins over the bundled offers."),
    Flag(word="--spot", field="spot", metavar="", parse=_switch,
         help="Use interruptible (spot) prices instead of on-demand ones."),
    Flag(word="--dataset-size", field="dataset_size", metavar="N", parse=_count,
         help="Samples in an epoch: gives time and cost per epoch."),
    Flag(word="--counts", field="counts", metavar="1,2,4,8", parse=_gpu_counts,
         help="What if: the step on so many GPUs, each with the batch of the step."),
    Flag(word="--link", field="link", metavar="nvlink|pcie|NAME", parse=_text,
         help="What connects the GPUs: a kind, or a link's name (surfer calibrate --links measures your own)."),
    Flag(word="--strategy", field="strategy", metavar="ddp|fsdp|zero2|tp[:N]|pp[:N[:M]]|tables", parse=_strategy,
         help="How the work is spread over them."),
    Flag(word="--machine", field="machine", metavar="NAME|FILE", parse=_text,
         help="The machine by name (DGX A100, p4d.24xlarge, ...) or a TOML file of your own."),
    Flag(word="--no-run", field="no_run", metavar="", parse=_switch, is_for_cells=True,
         help="Do not run the cell: predict it from the shapes of its tensors alone."),
    Flag(word="--name", field="name", metavar="NAME", parse=_text,
         help="Name of this prediction in the history and in reports."),
)  # fmt: skip
_BY_WORD: Final = {flag.word: flag for flag in PREDICT_FLAGS}
_BY_FIELD: Final = {flag.field: flag for flag in PREDICT_FLAGS}


def predict_options(texts: Mapping[str, str | Sequence[str] | None]) -> PredictOptions:
    """Options from texts by field name, as the command line collects them; None and "" mean not given."""
    values: dict[str, object] = {}
    for name, text in texts.items():
        joined = text if isinstance(text, str) or text is None else ",".join(text)
        if joined is not None:
            flag = _BY_FIELD[name]
            values[name] = flag.parse(flag.word, joined)
    return PredictOptions(**values)  # type: ignore[arg-type] # each parser returns its field's type; a test holds them together


def parse_predict_line(line: str) -> PredictOptions:
    """Options from the line after `%%predict`. Words after a flag belong to it, so names need no quotes.

    >>> parse_predict_line("--on H100 SXM5, L4 --batch-size 32").on
    ('H100 SXM5', 'L4')
    """
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise OptionError(f"the options cannot be read ({error})", remedy="close the quotes") from error
    collected: dict[str, list[str]] = {}
    current: list[str] | None = None
    for word in words:
        head, equals, tail = word.partition("=") if word.startswith("--") else (word, "", "")
        if head.startswith("-") and not _is_number(head):
            flag = _flag(head)
            current = collected.setdefault(flag.field, [])
            if current and flag.field != "prices":
                raise OptionError(f"{flag.word} is given twice", remedy=f"{flag.usage} once")
            if current:
                current.append(",")
            if equals:
                current.append(tail)
        elif current is None:
            raise OptionError(f"{word!r} is no option of %%predict", remedy=_suggestion(word))
        else:
            current.append(word)
    return predict_options({name: " ".join(words_of) for name, words_of in collected.items()})


def _is_number(word: str) -> bool:
    return word[1:2].isdigit() or word[1:2] == "."


def _flag(word: str) -> Flag:
    flag = _BY_WORD.get(word.lower())
    if flag is None:
        raise OptionError(f"{word} is no option of predict", remedy=_suggestion(word))
    return flag


def _suggestion(word: str) -> str:
    near = near_matches(word.lstrip("-"), [flag.word.lstrip("-") for flag in PREDICT_FLAGS])
    if near:
        return "did you mean " + " or ".join(f"--{bare}" for bare in near) + "?"
    return "one of " + ", ".join(_BY_WORD)


def options_line(options: PredictOptions) -> str:
    """The options as they would be typed, those at their default left out: what makes a prediction again.

    >>> options_line(PredictOptions(on=("H100 SXM5", "L4"), batch_size=32, spot=True))
    "--on 'H100 SXM5,L4' --batch-size 32 --spot"
    """
    default = PredictOptions()
    words = []
    for flag in PREDICT_FLAGS:
        value = getattr(options, flag.field)
        if value == getattr(default, flag.field):
            continue
        words.append(flag.word)
        if flag.metavar:
            words.append(shlex.quote(_typed(value)))
    return " ".join(words)


def _typed(value: object) -> str:
    if isinstance(value, Strategy):
        return value.name
    if isinstance(value, Mapping):
        return ",".join(f"{name}={amount:g}" for name, amount in value.items())
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    if isinstance(value, Enum):
        return str(value.value)
    return f"{value:g}" if isinstance(value, float) else str(value)

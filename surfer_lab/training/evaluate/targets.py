"""Which accuracy was aimed at, and what was reached? One line an aim, baselines on the same cases beside it.

    |error| in percent, mean / median; every figure worked out from the cases themselves

Each line says where its cases are: in which part of `surfer evaluate all`, by which method, which rows. A baseline is
judged on the rows of the same place; one that has no answer there is a dash. Cases are rows as the JSON has them, so
that a file that was written is as good as a run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pandas as pd

from surfer_lab.training.evaluate import e2e, kernels, speed, timm_held_out
from surfer_lab.training.evaluate.cases import Cell, Table

__all__ = ["BASELINES", "PART", "RANGES_TITLE", "TARGETS_TITLE", "Aim", "ranges_of_steps", "target_table"]

Row = Mapping[str, Any]

PART: Final = "part"  # the column that says which part of the evaluation a case belongs to
TARGETS_TITLE: Final = "targets: |error| in percent, mean / median"
RANGES_TITLE: Final = "targets: ranges of a step"
BASELINES: Final = ("one constant", "calibrated roofline", "literal wave scaling", "first paper's hybrid", "published")
MET: Final = "met"
_PUBLISHED: Final = "published: neusight"
_NO_ANSWER: Final = "-"
# of measured times in their ranges, pooled and on the worst GPU held out; half-widths of a step's range
_POOLED, _WORST_GPU, _HALF_WIDTHS = (76.0, 87.0), 60.0, (12.0, 16.0)
_ENDS: Final = (("low_ms", "high_ms"), ("low90_ms", "high90_ms"))


@dataclass(frozen=True, kw_only=True)
class Aim:
    """One line: where its cases are, and what was aimed at (None: at nothing, shown for comparison)."""

    what: str
    part: str
    method: str
    where: Callable[[Row], bool] = lambda row: True
    mean: float | None = None
    median: float | None = None
    rank: float | None = None  # of gains: their rank correlation
    baselines: Mapping[str, str | tuple[str, str]] = field(default_factory=dict)  # method, or part and method
    gain: bool = False  # errors are the gain's, not the step's


def _is_training(layout: str) -> Callable[[Row], bool]:
    return lambda row: (row["gpu"], row["mode"], row["layout"]) == ("RTX 3090", "train", layout)


def _is_eager_4090(row: Row) -> bool:
    return (row["gpu"], row["mode"], row["compile"]) == ("RTX 4090", "infer", "none")


def _operations(family: str) -> Aim:
    return Aim(
        what=f"{family} micro-benchmarks, GPU held out", part="kernels", method=kernels.LEARNED,
        where=lambda row: row["model"] == family, median=12.0,
        baselines={
            "one constant": kernels.ONE_CONSTANT, "calibrated roofline": kernels.ROOFLINE,
            "literal wave scaling": kernels.LITERAL_WAVES, "first paper's hybrid": ("kernels logo", kernels.HYBRID),
        },
    )  # fmt: skip


def _training_steps(way: str, what: str, layout: str, mean: float, median: float) -> Aim:
    return Aim(
        what=f"RTX 3090, AMP training, {what}: {layout}", part="timm-steps", method=timm_held_out.WAYS[way],
        where=_is_training(layout), mean=mean, median=median,
        baselines={"one constant": timm_held_out.CONSTANTS[way], "calibrated roofline": timm_held_out.ROOFLINE},
    )  # fmt: skip


_ALONE: Final[Mapping[str, str]] = {
    "one constant": e2e.ONE_CONSTANT, "calibrated roofline": e2e.ROOFLINE, "published": _PUBLISHED,
}  # fmt: skip
_PAIRS: Final[Mapping[str, str | tuple[str, str]]] = {
    "one constant": e2e.PLAIN_RATIO, "calibrated roofline": e2e.ROOFLINE_RATIO,
    "literal wave scaling": e2e.LITERAL_WAVES, "first paper's hybrid": ("e2e logo", e2e.HYBRID),
}  # fmt: skip

AIMS: Final = (
    Aim(
        what="models of e2e/, no origin, GPU held out", part="e2e", method=e2e.LEARNED, mean=8.0, median=5.5,
        baselines=_ALONE,
    ),
    Aim(
        what="models of e2e/, no origin, refitted without each GPU", part="e2e logo", method=e2e.LEARNED, mean=8.0,
        median=5.5, baselines=_ALONE,
    ),
    Aim(
        what="models of e2e/, all ordered pairs", part="e2e", method=e2e.BLENDED, mean=8.0, median=5.0,
        baselines=_PAIRS,
    ),
    Aim(
        what="models of e2e/, all ordered pairs, refitted without each GPU", part="e2e logo", method=e2e.BLENDED,
        mean=8.0, median=5.0, baselines=_PAIRS,
    ),
    Aim(
        what="models of e2e/, all ordered pairs, from summed operations", part="e2e", method=e2e.SUMMED,
        baselines=_PAIRS,
    ),
    *(_operations(family) for family in ("conv", "linear", "bmm")),
    _training_steps("families", "families held out", "NCHW", 7.0, 5.0),
    _training_steps("families", "families held out", "NHWC", 11.0, 6.5),
    _training_steps("architectures", "half of the architectures held out", "NCHW", 5.0, 3.5),
    _training_steps("architectures", "half of the architectures held out", "NHWC", 7.5, 3.5),
    Aim(
        what="RTX 4090, AMP inference, eager, GPU held out", part="timm-steps",
        method=timm_held_out.WAYS["GPU"], where=_is_eager_4090, mean=9.0, median=6.5,
        baselines={"one constant": timm_held_out.CONSTANTS["GPU"], "calibrated roofline": timm_held_out.ROOFLINE},
    ),
    Aim(
        what="gain of torch.compile on RTX 4090, families held out", part="timm-steps", method=timm_held_out.GAIN,
        mean=11.0, median=7.0, rank=0.75, gain=True, baselines={"one constant": timm_held_out.CONSTANT},
    ),
)  # fmt: skip
# whose ranges are judged
_RANGED: Final = (
    ("models of e2e/, no origin", "e2e", e2e.LEARNED),
    ("models of e2e/, all ordered pairs", "e2e", e2e.BLENDED),
    ("timm, AMP, families held out, the GPU seen", "timm-steps", timm_held_out.WAYS["families"]),
    ("timm, AMP, the GPU held out", "timm-steps", timm_held_out.WAYS["GPU"]),
)
_MOST_MS: Final = 50.0


def target_table(rows: Iterable[Row]) -> Table:
    """Every aim with what was reached; an aim whose part was not evaluated says so."""
    by_place = _by_place(rows)
    return Table(
        title=TARGETS_TITLE,
        columns=("what", "cases", "reached", "aim", "verdict", *BASELINES),
        rows=(*(_line(aim, by_place) for aim in AIMS), _speed_line(by_place)),
        notes=(
            "one constant: a plain roofline times the median of cases apart (another die, other families); of pairs, "
            "the ratio of plain rooflines; of the gain, a constant gain",
            "published: NeuSight's own predictions of the same cases, all of these GPUs seen by it",
        ),
    )


def ranges_of_steps(rows: Iterable[Row]) -> Table:
    """How often measured steps lie in their ranges, pooled and on the worst GPU, and how wide these are."""
    by_place = _by_place(rows)
    return Table(
        title=RANGES_TITLE,
        columns=(
            "what", "cases", "80 %: held", "worst GPU", "+- %", "90 %: held", "worst GPU at 90", "+- % at 90",
            "verdict",
        ),
        rows=tuple(_range_line(what, by_place.get((part, method), [])) for what, part, method in _RANGED),
        notes=(
            f"aimed at: {_POOLED[0]:.0f} and {_POOLED[1]:.0f} % held, no GPU below {_WORST_GPU:.0f} %, median "
            f"half-widths of +-{_HALF_WIDTHS[0]:.0f} and +-{_HALF_WIDTHS[1]:.0f} %",
        ),
    )  # fmt: skip


# -- lines -------------------------------------------------------------------------------------------------------------


def _line(aim: Aim, by_place: Mapping[tuple[str, str], list[Row]]) -> tuple[Cell, ...]:
    own = _Reached.of(aim, by_place.get((aim.part, aim.method), []))
    baselines = [
        _baseline(aim, by_place, aim.baselines[name]) if name in aim.baselines else _NO_ANSWER for name in BASELINES
    ]
    return (aim.what, own.count, own.said, _aimed(aim), own.verdict(aim), *baselines)


def _baseline(aim: Aim, by_place: Mapping[tuple[str, str], list[Row]], named: str | tuple[str, str]) -> str:
    part, method = (aim.part, named) if isinstance(named, str) else named
    return _Reached.of(aim, by_place.get((part, method), [])).errors_said


@dataclass(frozen=True, kw_only=True)
class _Reached:
    count: int
    mean: float
    median: float
    rank: float | None  # of gains

    @classmethod
    def of(cls, aim: Aim, rows: Sequence[Row]) -> _Reached:
        names = (
            (timm_held_out.GAIN_PREDICTED, timm_held_out.GAIN_MEASURED) if aim.gain else ("predicted_ms", "measured_ms")
        )
        some = [row for row in rows if aim.where(row) and all(row.get(name) is not None for name in names)]
        if not some:
            return cls(count=0, mean=math.nan, median=math.nan, rank=None)
        said, measured = (np.array([float(row[name]) for row in some]) for name in names)
        size = 100.0 * np.abs(said / measured - 1.0)
        varies = aim.rank is not None and len(some) > 2 and np.ptp(said) > 0
        ranks = pd.DataFrame({"said": said, "measured": measured}).rank().to_numpy().T
        return cls(
            count=len(some), mean=float(size.mean()), median=float(np.median(size)),
            rank=float(np.corrcoef(ranks)[0, 1]) if varies else None,
        )  # fmt: skip

    @property
    def errors_said(self) -> str:
        return f"{self.mean:.1f} / {self.median:.1f}" if self.count else _NO_ANSWER

    @property
    def said(self) -> str:
        return self.errors_said + (f", rank {self.rank:.2f}" if self.rank is not None else "")

    def verdict(self, aim: Aim) -> str:
        """Rounded as it is printed: 7.04 % reaches 7 %."""
        if not self.count:
            return "not evaluated"
        missed = [
            name for name, reached, most in (("mean", self.mean, aim.mean), ("median", self.median, aim.median))
            if most is not None and round(reached, 1) > most
        ]  # fmt: skip
        if aim.rank is not None and (self.rank is None or round(self.rank, 2) < aim.rank):
            missed.append("rank")
        if missed:
            return f"missed: {', '.join(missed)}"
        return _NO_ANSWER if aim.mean is None and aim.median is None else MET


def _aimed(aim: Aim) -> str:
    if aim.mean is None and aim.median is None:
        return _NO_ANSWER
    errors = f"{aim.mean:g} / {aim.median:g}" if aim.mean is not None else f"median {aim.median:g}"
    return errors + (f", rank {aim.rank:g}" if aim.rank is not None else "")


def _speed_line(by_place: Mapping[tuple[str, str], list[Row]]) -> tuple[Cell, ...]:
    rows = [row for method in (speed.NETWORK, speed.ENGINE) for row in by_place.get(("speed", method), [])]
    slowest = max((float(row["ms"]) for row in rows), default=math.nan)
    what = f"{speed.OPS:,} operations on {rows[0]['gpus'] if rows else 75} GPUs: ms, the slowest of five mixes"
    if not rows:
        return (what, 0, _NO_ANSWER, f"{_MOST_MS:g}", "not evaluated", *(_NO_ANSWER,) * len(BASELINES))
    verdict = MET if slowest <= _MOST_MS else "missed"
    return (what, len(rows), f"{slowest:.0f}", f"{_MOST_MS:g}", verdict, *(_NO_ANSWER,) * len(BASELINES))


def _range_line(what: str, rows: Sequence[Row]) -> tuple[Cell, ...]:
    cells: list[Cell] = []
    missed: list[str] = []
    count = 0
    for level, (low, high), least, most in zip((80, 90), _ENDS, _POOLED, _HALF_WIDTHS, strict=True):
        known = [row for row in rows if all(row.get(name) is not None for name in (low, high, "predicted_ms"))]
        if not known:
            return (what, 0, *(None,) * 6, "not evaluated")
        count = len(known)
        held = np.array([float(row[low]) <= float(row["measured_ms"]) <= float(row[high]) for row in known])
        gpus = np.array([str(row["gpu"]) for row in known])
        widths = [(float(row[high]) - float(row[low])) / (2.0 * float(row["predicted_ms"])) for row in known]
        pooled, width = 100.0 * float(held.mean()), 100.0 * float(np.median(widths))
        worst = min(100.0 * float(held[gpus == gpu].mean()) for gpu in set(gpus.tolist()))
        missed += [
            name
            for name, is_missed in (
                (f"{level} % held", round(pooled, 1) < least), (f"worst GPU at {level}", round(worst, 1) < _WORST_GPU),
                (f"width at {level}", round(width, 1) > most),
            )
            if is_missed
        ]  # fmt: skip
        cells += [round(pooled, 1), round(worst, 1), round(width, 1)]
    return (what, count, *cells, f"missed: {', '.join(missed)}" if missed else MET)


def _by_place(rows: Iterable[Row]) -> dict[tuple[str, str], list[Row]]:
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((str(row.get(PART, "")), str(row["method"])), []).append(row)
    return found

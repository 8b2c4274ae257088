"""Which workloads are alike? Their characteristics standardised, and the plane of their first two principal components.

x = (value - mean) / deviation by characteristic (logarithms of those that span decades); X = U S V', a point's place is
(U S) in the first two columns, V says which characteristics make each axis, S^2 over its sum what an axis explains.
Groups of points count alike, however many they hold: means, deviations and axes weigh each point by 1 / its group's
size, so that three hundred kernels do not drown nine models. What does not vary is left out; the sign of an axis is
chosen so that its largest part points up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.errors import PredictionError

__all__ = ["Characteristics", "PointGroup", "Similarity", "SimilarityPoint", "similarity"]

F64 = NDArray[np.float64]
_VARIES: Final = 1e-9
_AXES: Final = 2
_FEWEST: Final = 3


class PointGroup(Enum):
    """What a point is; the value is its name in a legend."""

    REFERENCE = "reference workloads"
    OWN = "asked about"
    KERNEL = "DeepBench's kernels"


@dataclass(frozen=True, kw_only=True)
class Characteristics:
    """One point: numbers by characteristic, the same keys for all."""

    name: str
    group: PointGroup
    values: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class SimilarityPoint:
    """Where a point lies, and which other workload is nearest in all characteristics (none for a kernel)."""

    name: str
    group: PointGroup
    x: float
    y: float
    nearest: str | None
    distance: float | None  # in deviations


@dataclass(frozen=True, kw_only=True)
class Similarity:
    """The plane: points, what its axes explain, and how much of each characteristic makes them."""

    points: tuple[SimilarityPoint, ...]
    explained_fractions: tuple[float, float]
    loadings: Mapping[str, tuple[float, float]]
    left_out: tuple[str, ...]  # what does not vary


def similarity(rows: Sequence[Characteristics]) -> Similarity:
    """The plane of all rows. PredictionError: fewer than three, or characteristics that differ between them."""
    if len(rows) < _FEWEST:
        raise PredictionError(f"{len(rows)} workloads to compare", remedy="three or more: a plane needs them")
    names = list(rows[0].values)
    if any(list(row.values) != names for row in rows):
        raise PredictionError("workloads with different characteristics", remedy="characterise all of them anew")
    table = np.array([[float(row.values[name]) for name in names] for row in rows])
    if not np.isfinite(table).all():
        raise PredictionError("a characteristic that is not known", remedy="leave that workload out")
    weights = _weights(rows)
    mean = weights @ table
    deviation = np.sqrt(weights @ (table - mean) ** 2)
    varies = deviation > _VARIES * np.maximum(1.0, np.abs(mean))
    standard = (table[:, varies] - mean[varies]) / deviation[varies]
    kept = [name for name, does in zip(names, varies, strict=True) if does]
    _, strength, axes = np.linalg.svd(np.sqrt(weights)[:, None] * standard, full_matrices=False)
    axes, strength = _padded(axes, strength, len(kept))
    places = standard @ axes[:_AXES].T
    whole = float((strength**2).sum())
    explained = strength[:_AXES] ** 2 / whole if whole > 0 else np.zeros(_AXES)
    nearest = _nearest(rows, standard)
    return Similarity(
        points=tuple(
            SimilarityPoint(
                name=row.name, group=row.group, x=float(places[at, 0]), y=float(places[at, 1]),
                nearest=nearest[at][0], distance=nearest[at][1],
            )
            for at, row in enumerate(rows)
        ),
        explained_fractions=(float(explained[0]), float(explained[1])),
        loadings={name: (float(axes[0, at]), float(axes[1, at])) for at, name in enumerate(kept)},
        left_out=tuple(name for name, does in zip(names, varies, strict=True) if not does),
    )  # fmt: skip


def _weights(rows: Sequence[Characteristics]) -> F64:
    """Of each row, summing to 1; groups alike."""
    counts = {group: sum(1 for row in rows if row.group is group) for group in {row.group for row in rows}}
    weights = np.array([1.0 / counts[row.group] for row in rows])
    found: F64 = weights / weights.sum()
    return found


def _padded(axes: F64, strength: F64, width: int) -> tuple[F64, F64]:
    """At least two axes, those that are missing all zero; signs chosen."""
    missing = max(0, _AXES - len(axes))
    whole = np.concatenate([axes, np.zeros((missing, width))])
    largest = np.array([row[np.argmax(np.abs(row))] if width else 1.0 for row in whole])
    return whole * np.where(largest < 0, -1.0, 1.0)[:, None], np.concatenate([strength, np.zeros(missing)])


def _nearest(rows: Sequence[Characteristics], standard: F64) -> list[tuple[str | None, float | None]]:
    """The nearest other workload of each workload."""
    workloads = [at for at, row in enumerate(rows) if row.group is not PointGroup.KERNEL]
    found: list[tuple[str | None, float | None]] = [(None, None)] * len(rows)
    for at in workloads:
        others = [other for other in workloads if other != at]
        if not others:
            continue
        distances = np.sqrt(((standard[others] - standard[at]) ** 2).sum(axis=1))
        best = int(np.argmin(distances))
        found[at] = (rows[others[best]].name, float(distances[best]))
    return found

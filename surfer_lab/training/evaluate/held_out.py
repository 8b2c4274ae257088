"""How are cases split so that what is fitted never sees what it is judged on? Folds of whole groups, always the same.

A group (a family of networks, a die) lies in one fold, so that siblings never stand on both sides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["FOLD_COUNT", "fitted_without", "folds_of"]

FOLD_COUNT: Final = 5

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]


def folds_of(groups: Sequence[str], fold_count: int = FOLD_COUNT) -> I64:
    """Fold of each case: groups by falling size, each to the fold that has fewest cases so far.

    >>> folds_of(["vit", "resnet", "resnet", "vit", "vit"], 2).tolist()
    [0, 1, 1, 0, 0]
    """
    sizes = Counter(groups)
    filled = [0] * fold_count
    fold: dict[str, int] = {}
    for group in sorted(sizes, key=lambda name: (-sizes[name], name)):
        fold[group] = filled.index(min(filled))
        filled[fold[group]] += sizes[group]
    return np.array([fold[group] for group in groups], dtype=np.int64)


def fitted_without(folds: I64, fit: Callable[[NDArray[np.bool_]], float]) -> F64:
    """For each case the number fitted to the cases of all other folds; nan where there are none."""
    fitted = np.full(len(folds), np.nan)
    for fold in np.unique(folds):
        others = folds != fold
        if others.any():
            fitted[~others] = fit(others)
    return fitted

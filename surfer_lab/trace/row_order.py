"""In which order do rows stand, whatever their order in the file was?

Two keys decide nearly always (start, and end or stream); only rows that tie in both are compared in full, which
keeps the sort as cheap as the two keys. Rows equal in every key are the same event twice: any order of them is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["in_order"]


def in_order(first: NDArray[Any], second: NDArray[Any], others: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """The permutation that sorts rows by `first`, `second`, then `others` in their order.

    >>> in_order(np.array([2, 1, 2, 2]), np.array([0, 0, 0, 0]), [np.array([9, 0, 8, 7])])
    array([1, 3, 2, 0])
    """
    order = np.lexsort((second, first))
    same = (np.diff(first[order]) == 0) & (np.diff(second[order]) == 0)
    if not same.any():
        return order
    tied = np.zeros(len(order), dtype=np.bool_)
    tied[:-1] |= same
    tied[1:] |= same
    places = np.flatnonzero(tied)  # tied rows already stand beside each other: sorting them alone keeps their places
    rows = order[places]
    order[places] = rows[np.lexsort([key[rows] for key in (*reversed(others), second, first)])]
    return order

"""Which distinct strings, threads and raw lists has a file, and what is the code of each?

Codes are given in order of first appearance, so they depend on the order of events in the file; `canonical` gives
codes that do not, once rows are in their final order.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import Any, Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from surfer_lab.trace.columns import Interned
from surfer_lab.trace.privacy import without_private_parts

__all__ = ["LONGEST_NAME", "Pool", "Pools", "canonical", "ranks", "spread"]

T = TypeVar("T", bound=Hashable)
V = TypeVar("V")
S = TypeVar("S", bound=np.generic)

LONGEST_NAME: Final = 16_384  # characters; the longest kernel name in the recorded traces has 3,000


class Pool(dict[T, int], Generic[T]):
    """`pool[value]` is the value's code; a value not seen before gets the next one."""

    def __missing__(self, value: T) -> int:
        code = self[value] = len(self)
        return code


class Pools:
    """The pools shared by all raw tables of a file. Code 0 of `raws` is the empty text: not recorded."""

    @cached_property
    def shown_names(self) -> list[str]:
        """Names by code, once all are known: without home folders and tokens, absurdly long ones cut."""
        return [without_private_parts(name[:LONGEST_NAME]) for name in self.names]

    def __init__(self) -> None:
        self.names: Pool[str] = Pool()
        self.threads: Pool[tuple[Any, Any]] = Pool()
        self.raws: Pool[bytes] = Pool({b"": 0})
        self.collectives: Pool[tuple[Any, ...]] = Pool()


def spread(
    codes: NDArray[np.integer[Any]], values: Sequence[V], function: Callable[[V], Any], dtype: type[S]
) -> NDArray[S]:
    """`function` once a code that occurs, spread over the rows. Shape of `codes`.

    >>> spread(np.array([1, 1, 0]), ["a", "bb", "unused"], len, np.int64)
    array([2, 2, 1])
    """
    table = np.zeros(max(len(values), 1), dtype=dtype)
    for code in np.flatnonzero(np.bincount(codes, minlength=1)).tolist():
        table[code] = function(values[code])
    rows: NDArray[S] = table[codes]
    return rows


def ranks(values: Sequence[str] | Sequence[bytes]) -> NDArray[np.int64]:
    """Position of each value in sorted order: an order of codes that does not depend on the file's.

    >>> ranks(["b", "a", "c"])
    array([1, 0, 2])
    """
    result = np.empty(len(values), dtype=np.int64)
    result[sorted(range(len(values)), key=lambda code: values[code])] = np.arange(len(values))
    return result


def canonical(codes: NDArray[np.integer[Any]], values: Sequence[T | None]) -> Interned[T]:
    """A column whose codes follow the rows, with the values in use only; a value that is None means not recorded.

    Equal values behind different codes become one.

    >>> column = canonical(np.array([2, 0, 2, 1]), ("a", None, "c"))
    >>> column.values, column.codes
    (('c', 'a'), array([ 0,  1,  0, -1], dtype=int32))
    """
    row_count = len(codes)
    first = np.full(len(values), row_count, dtype=np.int64)
    first[codes[::-1]] = np.arange(row_count - 1, -1, -1)  # of equal codes the last assignment, the first row, stays
    new_codes = np.full(len(values), -1, dtype=np.int32)
    seen: dict[T, int] = {}
    for code in np.argsort(first, kind="stable")[: np.count_nonzero(first < row_count)].tolist():
        value = values[code]
        if value is not None:
            new_codes[code] = seen.setdefault(value, len(seen))
    return Interned(new_codes[codes] if len(values) else np.full(row_count, -1, np.int32), tuple(seen))

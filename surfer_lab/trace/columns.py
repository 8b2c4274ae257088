"""A column whose values repeat: each distinct value once, and an integer code a row.

A trace of a million kernels has a few hundred names; work on names is done once a distinct value and spread by
the codes. Code -1 means "not recorded".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["Interned"]

T = TypeVar("T")
R = TypeVar("R", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Interned(Generic[T]):
    """`codes[i]` indexes `values`, -1 = None. Shapes: codes (rows,) int32.

    >>> c = Interned.of(["a", "b", None, "a"])
    >>> c[0], c[2], len(c), c.values
    ('a', None, 4, ('a', 'b'))
    """

    codes: NDArray[np.int32]
    values: tuple[T, ...]

    @classmethod
    def of(cls, items: Iterable[T | None]) -> Interned[T]:
        """Build from row values; None becomes code -1. Values must be hashable."""
        seen: dict[T, int] = {}
        codes = [-1 if item is None else seen.setdefault(item, len(seen)) for item in items]
        return cls(np.asarray(codes, dtype=np.int32), tuple(seen))

    @classmethod
    def absent(cls, row_count: int) -> Interned[T]:
        """A column in which nothing is recorded."""
        return cls(np.full(row_count, -1, dtype=np.int32), ())

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, row: int) -> T | None:
        code = int(self.codes[row])
        return None if code < 0 else self.values[code]

    def __iter__(self) -> Iterator[T | None]:
        values = self.values
        return (None if code < 0 else values[code] for code in self.codes.tolist())

    def take(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> Interned[T]:
        """The rows chosen by an index or mask array; the values stay."""
        return Interned(self.codes[rows], self.values)

    def map(self, function: Callable[[T], object], *, absent: object, dtype: np.dtype[R] | type[R]) -> NDArray[R]:
        """`function` once a distinct value, spread over the rows; rows without a value get `absent`."""
        table = np.empty(len(self.values) + 1, dtype=dtype)
        for code, value in enumerate(self.values):
            table[code] = function(value)
        table[-1] = absent
        return table[self.codes]

    def same_as(self, other: Interned[T]) -> bool:
        """Row by row equality, whatever the codes."""
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

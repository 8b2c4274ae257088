"""In which form is a time learned? A roofline over utilisations; the network only says the utilisations.

    T = t0 + min_a ( (C_a / u_a)^3 + (M_a / w_a)^3 )^(1/3)                     the minimum smooth, exponent 8

over the algorithms a that a library could pick (a product has one, a 3x3 convolution three), with C_a the time of its
arithmetic at the sustained rate, whole tiles and waves counted where the tile is known, M_a the time of its bytes at
the sustained bandwidth. Network outputs o: u = 1.1 sigmoid(o + 2), w = 1.2 sigmoid(o + 1), t0 = 0.05 softplus(o - 4)
ms, in the order u_1..u_A, w_1..w_A, t0; of u and w, o is at least -12. `training.fit` holds the same form in torch; a
test keeps the two together.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["COLUMNS", "Column", "LearnedFamily", "Real", "Terms", "as_rows", "combined_ms", "in_burst_columns"]

Real = NDArray[np.floating[Any]]
Column = NDArray[Any]

COMPUTE_CEILING: Final = 1.1  # of the sustained rate: it is a median, single shapes do better
MEMORY_CEILING: Final = 1.2  # caches
COMPUTE_OFFSET: Final = 2.0
MEMORY_OFFSET: Final = 1.0
LEAST_OUTPUT: Final = -12.0  # an algorithm that is out of the question, in numbers that do not overflow
FLOOR_MS: Final = 0.05
FLOOR_OFFSET: Final = 4.0
OVERLAP: Final = 3.0
SELECTION: Final = 8.0


class LearnedFamily(Enum):
    """A family has its own network; values name weights and tables."""

    LINEAR = "linear"  # one product, the second factor transposed or not
    BMM = "bmm"  # a batch of products
    CONV = "conv"  # 3x3, stride 1, padding 1, forward


# of the shapes that `predict_times` takes, (items, 4) each
COLUMNS: Final = {
    LearnedFamily.LINEAR: ("batch", "m", "k", "n"),
    LearnedFamily.BMM: ("batch", "m", "k", "n"),
    LearnedFamily.CONV: ("batch", "in_channels", "out_channels", "side"),
}


class Terms:
    """What shapes mean on GPUs, a row a pair of shape and GPU: network inputs, and the form's C and M, ms."""

    __slots__ = ("compute_ms", "features", "memory_ms")

    def __init__(self, features: NDArray[np.float32], compute_ms: Real, memory_ms: Real) -> None:
        self.features, self.compute_ms, self.memory_ms = features, compute_ms, memory_ms


def as_rows(columns: Sequence[Column]) -> NDArray[np.float32]:
    """Columns of numbers, of shapes (items,), or of pairs (gpus, items), as one row a pair; one after the other."""
    shape = np.broadcast_shapes(*(np.shape(column) for column in columns))
    filled = np.empty((len(columns), *shape), dtype=np.float32)
    for place, column in zip(filled, columns, strict=True):
        place[...] = column
    return filled.reshape(len(columns), -1).T


def combined_ms(outputs: NDArray[np.float32], compute_ms: Real, memory_ms: Real) -> Real:
    """The form of the module's docstring: outputs (rows, 2 A + 1), times (rows, A) each; ms, (rows,)."""
    algorithms = compute_ms.shape[1]
    shares = np.maximum(outputs[:, : 2 * algorithms], np.float32(LEAST_OUTPUT))
    u = COMPUTE_CEILING * _sigmoid(shares[:, :algorithms] + np.float32(COMPUTE_OFFSET))
    w = MEMORY_CEILING * _sigmoid(shares[:, algorithms:] + np.float32(MEMORY_OFFSET))
    arithmetic, moving = compute_ms / u, memory_ms / w
    each = np.cbrt(arithmetic * arithmetic * arithmetic + moving * moving * moving)  # the exponent OVERLAP
    chosen = each[:, 0]
    if algorithms > 1:
        best = each.min(axis=1, keepdims=True)
        nearness = (best / each) ** 2
        chosen = best[:, 0] * ((nearness * nearness) ** 2).sum(axis=1) ** (-1.0 / SELECTION)  # eighth powers
    floor = FLOOR_MS * np.logaddexp(np.float32(0.0), outputs[:, -1] - np.float32(FLOOR_OFFSET))
    total: Real = floor + chosen
    return total


def in_burst_columns(in_burst: Real, compute_ms: Real) -> list[Column]:
    """Of boards that do not hold their rate: that they do not, and how long the arithmetic takes at it."""
    return [in_burst, in_burst * np.clip(np.log(compute_ms), -3.0, 5.0)]


def _sigmoid(x: NDArray[np.float32]) -> NDArray[np.float32]:
    value: NDArray[np.float32] = np.float32(1.0) / (np.float32(1.0) + np.exp(-x))
    return value

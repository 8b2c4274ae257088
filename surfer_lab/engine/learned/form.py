"""In which form is a time learned? A roofline over utilisations; the network only says the utilisations.

    T = t0 + min_a ( (C_a / u_a)^3 + (M_a / w_a)^3 )^(1/3)                     the minimum smooth, exponent 8

over the algorithms a that a library could pick (a product has one, a 3x3 convolution three), with C_a the time of its
arithmetic at the sustained rate, whole tiles and waves counted where the tile is known, M_a the time of its bytes at
the sustained bandwidth. Network outputs o: u = 1.1 sigmoid(o + 2), w = 1.2 sigmoid(o + 1), t0 = 0.05 softplus(o - 4)
ms, in the order u_1..u_A, w_1..w_A, t0. `training.fit` holds the same form in torch; a test keeps the two together.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["COLUMNS", "LearnedFamily", "Terms", "combined_ms"]

F64 = NDArray[np.float64]

COMPUTE_CEILING: Final = 1.1  # of the sustained rate: it is a median, single shapes do better
MEMORY_CEILING: Final = 1.2  # caches
COMPUTE_OFFSET: Final = 2.0
MEMORY_OFFSET: Final = 1.0
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

    def __init__(self, features: NDArray[np.float32], compute_ms: F64, memory_ms: F64) -> None:
        self.features, self.compute_ms, self.memory_ms = features, compute_ms, memory_ms


def combined_ms(outputs: NDArray[np.float32], compute_ms: F64, memory_ms: F64) -> F64:
    """The form of the module's docstring: outputs (rows, 2 A + 1), times (rows, A) each; ms, (rows,)."""
    algorithms = compute_ms.shape[1]
    u = COMPUTE_CEILING * _sigmoid(outputs[:, :algorithms] + COMPUTE_OFFSET)
    w = MEMORY_CEILING * _sigmoid(outputs[:, algorithms : 2 * algorithms] + MEMORY_OFFSET)
    each = ((compute_ms / u) ** OVERLAP + (memory_ms / w) ** OVERLAP) ** (1.0 / OVERLAP)
    best = each.min(axis=1, keepdims=True)
    chosen = best[:, 0] * ((each / best) ** -SELECTION).sum(axis=1) ** (-1.0 / SELECTION)
    floor: F64 = FLOOR_MS * np.logaddexp(0.0, outputs[:, -1] - FLOOR_OFFSET)
    total: F64 = floor + chosen
    return total


def _sigmoid(x: NDArray[np.float32]) -> F64:
    value: F64 = 1.0 / (1.0 + np.exp(-x.astype(np.float64)))
    return value

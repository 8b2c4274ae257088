"""What is trained? A problem gives a mean loss and its gradient for weights (one flat array) and samples by index.

The engine moves flat arrays only, so that a problem may be a torch module (`torch_problem`) or plain arithmetic, and a
worker that needs no torch does not load it. A problem whose last part may be merged on a server (Omnivore's fully
connected layers) says how many of its parameters come before it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from surfer_lab.errors import OptionError

__all__ = ["HeadedProblem", "Problem", "ProblemFactory", "Quadratic"]

F32 = NDArray[np.float32]
I64 = NDArray[np.int64]


class Problem(Protocol):
    """Anything with weights, samples and a gradient."""

    sample_count: int

    def initial_weights(self) -> F32:
        """The weights that training starts from, (parameters,); the same in every process."""
        ...

    def gradient(self, weights: F32, samples: I64) -> tuple[float, F32]:
        """Mean loss of these samples and its gradient, (parameters,)."""
        ...


@runtime_checkable
class HeadedProblem(Problem, Protocol):
    """A problem in two parts: the body stays with the workers, the head may be merged on its server."""

    body_size: int  # parameters before the head

    def body_forward(self, weights: F32, samples: I64) -> F32:
        """What the head is given, (samples, features); keeps what `body_backward` needs."""
        ...

    def body_backward(self, features_gradient: F32) -> F32:
        """Gradient of the body's parameters, (body_size,)."""
        ...

    def head_gradient(self, weights: F32, features: F32, samples: I64) -> tuple[float, F32, F32]:
        """Mean loss, gradient of the head's parameters, gradient by features."""
        ...


ProblemFactory = Callable[[], Problem]


class Quadratic:
    """1/2 sum of h (w - x)^2 over samples x: a minimum at their mean, curvatures from 1/condition to 1.

    `noise` is the standard deviation of the samples around 0: at 0 every batch has the same gradient.
    """

    def __init__(
        self, *, dimensions: int = 16, condition: float = 10.0, noise: float = 0.0, samples: int = 4096, seed: int = 0
    ) -> None:
        if dimensions < 1 or condition < 1.0 or samples < 1:
            raise OptionError(f"a quadratic of {dimensions} dimensions", remedy="one or more; condition 1 or more")
        self.sample_count = samples
        self.curvature = np.geomspace(1.0 / condition, 1.0, dimensions)
        drawn = np.random.default_rng(seed).normal(size=(samples, dimensions))
        self._samples = noise * (drawn - drawn.mean(axis=0))

    def initial_weights(self) -> F32:
        """All ones: every direction starts at the same distance."""
        return np.ones(len(self.curvature), dtype=np.float32)

    def gradient(self, weights: F32, samples: I64) -> tuple[float, F32]:
        """The loss of the whole quadratic at these weights, and the gradient of the samples' mean."""
        loss = 0.5 * float((self.curvature * np.square(weights)).sum())
        return loss, (self.curvature * (weights - self._samples[samples].mean(axis=0))).astype(np.float32)

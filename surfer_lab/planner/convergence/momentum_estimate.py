"""Which momentum did asynchronous runs show? Fitted to recorded iterates, without looking at staleness.

The recursion E[w(t+1) - w(t)] = mu E[w(t) - w(t-1)] - s E grad f(w(t)) holds for the mean over runs from one start.
With few runs the mean's own noise stands on both sides of a least-squares fit and pulls mu down; so each run is fitted
with the mean of the *other* runs as instruments, whose noise is independent of its own. The interval is a bootstrap
over runs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surfer_lab.errors import OptionError

__all__ = ["MomentumEstimate", "estimated_momentum"]

F64 = NDArray[np.float64]

_RESAMPLED = 200


@dataclass(frozen=True, kw_only=True)
class MomentumEstimate:
    """mu and s, with the 10th and 90th percentile of mu over resampled runs."""

    momentum: float
    low: float
    high: float
    step: float
    run_count: int


def estimated_momentum(iterates: F64, gradients: F64, *, seed: int = 0) -> MomentumEstimate:
    """From (runs, updates + 1, parameters) iterates and the gradients of the whole loss at them, same shape."""
    if iterates.ndim != 3 or iterates.shape != gradients.shape or len(iterates) < 3 or iterates.shape[1] < 4:
        raise OptionError(
            f"iterates of shape {iterates.shape}", remedy="three runs or more of one length, and their gradients"
        )
    moves = np.diff(iterates, axis=1)
    runs = len(iterates)
    result = moves[:, 1:].reshape(runs, -1)
    regressors = np.stack([moves[:, :-1].reshape(runs, -1), -gradients[:, 1:-1].reshape(runs, -1)], axis=1)
    # inner products between runs, once: (runs, runs, 2, 2) and (runs, runs, 2)
    left = np.einsum("ria,sja->rsij", regressors, regressors, optimize=True)
    right = np.einsum("ria,sa->rsi", regressors, result, optimize=True)
    random = np.random.default_rng(seed)
    whole = _solved(left, right, np.ones(runs))
    found = [
        _solved(left, right, np.bincount(random.integers(runs, size=runs), minlength=runs).astype(np.float64))[0]
        for _ in range(_RESAMPLED)
    ]
    low, high = np.nanpercentile(found, [10.0, 90.0])
    return MomentumEstimate(
        momentum=float(whole[0]), low=float(low), high=float(high), step=float(whole[1]), run_count=runs
    )


def _solved(left: F64, right: F64, weights: F64) -> F64:
    """(mu, s) with runs counted so often; a run is never its own instrument, nor a copy of it."""
    pairs = np.outer(weights, weights)
    np.fill_diagonal(pairs, 0.0)
    matrix = np.einsum("rs,rsij->ij", pairs, left)
    vector = np.einsum("rs,rsi->i", pairs, right)
    try:
        return np.asarray(np.linalg.solve(matrix, vector))
    except np.linalg.LinAlgError:
        return np.full(2, np.nan)

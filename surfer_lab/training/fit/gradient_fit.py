"""Which weights make the learned form meet measured times? A few hundred steps of AdamW on one core, always the same.

The loss is that of relative errors (smooth L1 of the logarithm), each die weighing the same whatever its count of rows.
The form is the one of `engine.learned.form`, here in torch.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

from surfer_lab.engine.learned.form import (
    COMPUTE_CEILING,
    COMPUTE_OFFSET,
    FLOOR_MS,
    FLOOR_OFFSET,
    LEAST_OUTPUT,
    MEMORY_CEILING,
    MEMORY_OFFSET,
    OVERLAP,
    SELECTION,
    Terms,
)
from surfer_lab.engine.learned.predictor import Network

__all__ = ["FitSettings", "fit_network", "form_ms", "one_thread"]

F64 = NDArray[np.float64]

_SMOOTH: Final = 0.1  # relative errors below count by their square


@dataclass(frozen=True, kw_only=True)
class FitSettings:
    """What a fit costs and how far it may bend."""

    steps: int = 800
    batch_rows: int = 2048
    hidden: int = 32
    members: int = 1
    learning_rate: float = 4e-3
    weight_decay: float = 0.1
    seed: int = 0


def form_ms(outputs: torch.Tensor, compute_ms: torch.Tensor, memory_ms: torch.Tensor) -> torch.Tensor:
    """The form of `engine.learned.form`, differentiable."""
    algorithms = compute_ms.shape[1]
    shares = outputs[:, : 2 * algorithms].clamp(min=LEAST_OUTPUT)
    u = COMPUTE_CEILING * torch.sigmoid(shares[:, :algorithms] + COMPUTE_OFFSET)
    w = MEMORY_CEILING * torch.sigmoid(shares[:, algorithms:] + MEMORY_OFFSET)
    each = ((compute_ms / u) ** OVERLAP + (memory_ms / w) ** OVERLAP) ** (1.0 / OVERLAP)
    best = each.min(dim=1, keepdim=True).values
    chosen = best[:, 0] * ((each / best) ** -SELECTION).sum(dim=1) ** (-1.0 / SELECTION)
    return FLOOR_MS * torch.nn.functional.softplus(outputs[:, -1] - FLOOR_OFFSET) + chosen


def fit_network(terms: Terms, measured_ms: F64, floor_ms: F64, weight: F64, settings: FitSettings) -> Network:
    """Members differ by their seed. `weight`: how often a row is drawn, any scale."""
    mean, scale = terms.features.mean(axis=0), terms.features.std(axis=0) + np.float32(1e-6)
    inputs = torch.from_numpy((terms.features - mean) / scale)
    columns = [
        torch.from_numpy(np.ascontiguousarray(column, dtype=np.float32))
        for column in (terms.compute_ms, terms.memory_ms, floor_ms, np.log(measured_ms), weight / weight.sum())
    ]
    with one_thread():
        members = tuple(
            _fit_member(inputs, columns, settings, settings.seed + member) for member in range(settings.members)
        )
    return Network(mean=mean, scale=scale, layers=members)


@contextmanager
def one_thread() -> Iterator[None]:
    """Sums in one order: the same weights each time; the caller's thread count and random state come back."""
    threads = torch.get_num_threads()
    with torch.random.fork_rng(devices=[]):
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(threads)


Layer = tuple[NDArray[np.float32], NDArray[np.float32]]


def _fit_member(
    inputs: torch.Tensor, columns: list[torch.Tensor], settings: FitSettings, seed: int
) -> tuple[Layer, ...]:
    compute, memory, floor, target, weight = columns
    torch.manual_seed(seed)
    outputs = 2 * compute.shape[1] + 1
    layers = [
        torch.nn.Linear(inputs.shape[1], settings.hidden),
        torch.nn.Linear(settings.hidden, settings.hidden),
        torch.nn.Linear(settings.hidden, outputs),
    ]
    net = torch.nn.Sequential(layers[0], torch.nn.SiLU(), layers[1], torch.nn.SiLU(), layers[2])
    optimizer = torch.optim.AdamW(net.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, settings.learning_rate, total_steps=settings.steps)
    # one draw for the whole fit: torch draws from at most 2^24 categories, so by the cumulated weights
    drawn = torch.searchsorted(weight.double().cumsum(0), torch.rand(settings.steps, settings.batch_rows).double())
    drawn = drawn.clamp(max=len(target) - 1)
    for rows in drawn:
        predicted = form_ms(net(inputs[rows]), compute[rows], memory[rows]) + floor[rows]
        loss = torch.nn.functional.smooth_l1_loss(torch.log(predicted), target[rows], beta=_SMOOTH)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call] # torch leaves it without types
        optimizer.step()
        schedule.step()
    return tuple((_stored(layer.weight.detach().numpy().T), _stored(layer.bias.detach().numpy())) for layer in layers)


def _stored(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """As the package keeps them, in half precision: what is judged is what is shipped."""
    return values.astype(np.float16).astype(np.float32)

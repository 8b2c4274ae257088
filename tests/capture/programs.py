"""Small models that the tests of capture train."""

from __future__ import annotations

import torch
from torch import nn


def mlp(inputs: int = 16, outputs: int = 4) -> nn.Sequential:
    """Two layers with dropout."""
    return nn.Sequential(nn.Linear(inputs, 32), nn.ReLU(), nn.Dropout(0.25), nn.Linear(32, outputs))


def small_cnn() -> nn.Sequential:
    """Convolutions, batch norm, pooling, a head: 8 x 8 images, 4 classes."""
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4),
    )  # fmt: skip


def train(model: nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor, steps: int) -> None:
    """The usual loop, loss = mean of squares."""
    for _ in range(steps):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()

"""Which problems come with the package? A small network on scikit-learn's digits, LeNet, CaffeNet on made images.

All take a seed for their first weights. Nothing is downloaded: the digits ship with scikit-learn.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import partial
from typing import Final

import torch
from torch import Tensor, nn
from torch.utils.data import TensorDataset

from surfer_lab.distributed.problem import Problem, ProblemFactory
from surfer_lab.distributed.torch_problem import HeadedTorchProblem
from surfer_lab.errors import OptionError

__all__ = ["EXAMPLES", "caffenet_problem", "digits_problem", "lenet_problem"]


def _digits() -> tuple[Tensor, Tensor]:
    """1,797 images of 8 x 8, zero mean and unit deviation over all of them, and their labels."""
    if importlib.util.find_spec("sklearn") is None:
        raise OptionError(
            "scikit-learn is not installed, and its digits are the data", remedy='pip install "surfer-lab[cluster]"'
        )
    from sklearn.datasets import load_digits

    bunch = load_digits()
    images = torch.tensor(bunch.images, dtype=torch.float32)[:, None]
    return (images - images.mean()) / images.std(), torch.tensor(bunch.target, dtype=torch.int64)


def digits_problem(seed: int = 0) -> Problem:
    """One convolution and two fully connected layers (2.7 thousand parameters) on the digits."""
    images, labels = _digits()
    torch.manual_seed(seed)
    body = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
    head = nn.Sequential(nn.Linear(72, 32), nn.ReLU(), nn.Linear(32, 10))
    return HeadedTorchProblem(body, head, TensorDataset(images, labels))


def lenet_problem(seed: int = 0) -> Problem:
    """LeNet as Caffe trains it, on the digits enlarged to 28 x 28."""
    from surfer_lab.workloads import lenet

    images, labels = _digits()
    enlarged = nn.functional.interpolate(images, size=(28, 28), mode="bilinear", align_corners=False)
    torch.manual_seed(seed)
    return _split(lenet().models["model"], TensorDataset(enlarged, labels))


def caffenet_problem(seed: int = 0, *, images: int = 64, classes: int = 10) -> Problem:
    """CaffeNet on made images: each class has a pattern of its own under noise. For speed, not for accuracy."""
    from surfer_lab.workloads import caffenet

    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(classes, (images,), generator=generator)
    patterns = torch.randn(classes, 3, 8, 8, generator=generator)
    noise = torch.randn(images, 3, 227, 227, generator=generator)
    made = nn.functional.interpolate(patterns[labels], size=(227, 227)) + noise
    torch.manual_seed(seed)
    return _split(caffenet().models["model"], TensorDataset(made, labels))


def _split(model: nn.Module, data: TensorDataset) -> Problem:
    """A sequential model before and after its first fully connected layer."""
    layers = list(model.children())
    first = next((at for at, layer in enumerate(layers) if isinstance(layer, nn.Linear)), None)
    if first is None:
        raise OptionError("a model without a fully connected layer", remedy="a TorchProblem, which has no head")
    return HeadedTorchProblem(nn.Sequential(*layers[:first]), nn.Sequential(*layers[first:]), data)


EXAMPLES: Final[dict[str, Callable[[int], ProblemFactory]]] = {
    "digits": lambda seed: partial(digits_problem, seed),
    "lenet": lambda seed: partial(lenet_problem, seed),
    "caffenet": lambda seed: partial(caffenet_problem, seed),
}

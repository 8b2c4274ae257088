"""How does a torch module with a data set become a problem? Its parameters, in order, are one flat array.

Buffers (running means of batch norm) stay with each worker. The data set is any that maps an index to (input, target);
a TensorDataset is indexed at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters
from torch.utils.data import Dataset, TensorDataset, default_collate

from surfer_lab.errors import OptionError

__all__ = ["HeadedTorchProblem", "TorchProblem"]

F32 = NDArray[np.float32]
I64 = NDArray[np.int64]
Loss = Callable[[Tensor, Tensor], Tensor]


class TorchProblem:
    """A module, a data set and a mean loss; on `device`, with gradients handed over as flat arrays."""

    def __init__(
        self, model: nn.Module, data: Dataset[Any], loss: Loss = nn.functional.cross_entropy, *, device: str = "cpu"
    ) -> None:
        self.sample_count = _sample_count(data)
        self._model = model.to(device).train()
        self._data = data
        self._loss = loss
        self._device = torch.device(device)
        self._parameters = list(model.parameters())
        if not self._parameters:
            raise OptionError(f"{type(model).__name__} has no parameters", remedy="a module that can be trained")
        self._initial = _flat(self._parameters)

    def initial_weights(self) -> F32:
        """As the factory made them."""
        return self._initial.copy()

    def gradient(self, weights: F32, samples: I64) -> tuple[float, F32]:
        """Forward and backward of one batch."""
        _load(self._parameters, weights, self._device)
        inputs, targets = self.batch(samples)
        loss = self._loss(self._model(inputs), targets)
        gradients = torch.autograd.grad(loss, self._parameters, allow_unused=True)
        return float(loss.detach()), _flat(_filled(gradients, self._parameters))

    def batch(self, samples: I64) -> tuple[Tensor, Tensor]:
        """Inputs and targets of these samples, on the device."""
        if isinstance(self._data, TensorDataset):
            inputs, targets = self._data[torch.from_numpy(samples)]
        else:
            inputs, targets = default_collate([self._data[int(index)] for index in samples])
        return inputs.to(self._device), targets.to(self._device)


class HeadedTorchProblem(TorchProblem):
    """A body and a head in sequence, so that the head may be merged on its server."""

    def __init__(
        self,
        body: nn.Module,
        head: nn.Module,
        data: Dataset[Any],
        loss: Loss = nn.functional.cross_entropy,
        *,
        device: str = "cpu",
    ) -> None:
        super().__init__(nn.Sequential(body, head), data, loss, device=device)
        self._body, self._head = body, head
        self._body_parameters, self._head_parameters = list(body.parameters()), list(head.parameters())
        self.body_size = sum(one.numel() for one in self._body_parameters)
        self._features: Tensor | None = None

    def body_forward(self, weights: F32, samples: I64) -> F32:
        """Features of these samples, (samples, features)."""
        _load(self._body_parameters, weights, self._device)
        inputs, _ = self.batch(samples)
        self._features = self._body(inputs)
        return np.asarray(self._features.detach().cpu().numpy())

    def body_backward(self, features_gradient: F32) -> F32:
        """Gradient of the body's parameters, of the last `body_forward`."""
        if self._features is None:
            raise OptionError("a body's backward without its forward", remedy="body_forward first")
        given = torch.from_numpy(np.array(features_gradient)).to(self._device)
        gradients = torch.autograd.grad(self._features, self._body_parameters, given, allow_unused=True)
        self._features = None
        return _flat(_filled(gradients, self._body_parameters))

    def head_gradient(self, weights: F32, features: F32, samples: I64) -> tuple[float, F32, F32]:
        """The head's forward and backward."""
        _load(self._head_parameters, weights, self._device)
        given = torch.from_numpy(np.array(features)).to(self._device).requires_grad_()
        _, targets = self.batch(samples)
        loss = self._loss(self._head(given), targets)
        *gradients, by_features = torch.autograd.grad(loss, [*self._head_parameters, given], allow_unused=True)
        if by_features is None:
            raise OptionError("a head that does not use its features", remedy="body and head in sequence")
        return float(loss.detach()), _flat(_filled(gradients, self._head_parameters)), by_features.cpu().numpy()


def _sample_count(data: Any) -> int:
    """How many samples a data set holds; refused where it is none whose items are (input, target)."""
    count = len(data) if hasattr(data, "__len__") else 0
    if count < 1:
        raise OptionError("a data set whose length is not known, or 0", remedy="one with len() and indexing")
    if hasattr(data, "__getitem__") and not isinstance(data, (Tensor, Mapping)):
        item = data[0]
        if isinstance(item, (tuple, list)) and len(item) == 2:
            return int(count)
        seen = f"{type(data).__name__} with items of type {type(item).__name__}"
        if isinstance(item, (tuple, list)):
            seen += f" of {len(item)}"
    else:
        seen = type(data).__name__
    raise OptionError(
        f"the factory returns {seen} where its data set is expected",
        remedy="a data set whose items are (input, target): torch.utils.data.TensorDataset(inputs, targets)",
    )


def _flat(tensors: Sequence[Tensor]) -> F32:
    return np.array(parameters_to_vector([one.detach() for one in tensors]).cpu().numpy(), dtype=np.float32)


def _filled(gradients: Sequence[Tensor | None], parameters: Sequence[Tensor]) -> list[Tensor]:
    return [torch.zeros_like(one) if given is None else given for given, one in zip(gradients, parameters, strict=True)]


def _load(parameters: Sequence[Tensor], weights: F32, device: torch.device) -> None:
    with torch.no_grad():
        vector_to_parameters(torch.from_numpy(np.array(weights)).to(device), parameters)

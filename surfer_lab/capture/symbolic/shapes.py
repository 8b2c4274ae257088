"""Shape-only copies of the user's objects, for a call on shapes amid a program that really runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._pytree import tree_leaves

from surfer_lab.capture.symbolic.known_values import KnownValues
from surfer_lab.capture.symbolic.shadow import Shadows

__all__ = ["Shapes"]


class Shapes:
    """One fake mode and the copies made under it; a module is copied once."""

    def __init__(self) -> None:
        self.fake_mode = FakeTensorMode(allow_non_fake_inputs=True)
        self._shadows = Shadows(self.fake_mode, KnownValues())
        self._parameters: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def of_module(self, module: torch.nn.Module) -> Any:
        """The copy of a module, the same each time."""
        return self._shadows.of(module)

    def of_arguments(self, values: Any) -> Any:
        """Copies for one call; nothing of the user's is kept."""
        return Shadows(self.fake_mode, KnownValues()).of(values)

    def pairs(
        self, module: torch.nn.Module, shadow: torch.nn.Module, args: Any, shadow_args: Any, kwargs: Any,
        shadow_kwargs: Any,
    ) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:  # fmt: skip
        """Each shape with the tensor that it stands for."""
        shadow.train(module.training)
        parameters = list(zip(shadow.parameters(), module.parameters(), strict=True))
        self._parameters.update((id(real), (fake, real)) for fake, real in parameters)
        yield from parameters
        yield from zip(shadow.buffers(), module.buffers(), strict=True)
        yield from self.tensor_pairs((shadow_args, shadow_kwargs), (args, kwargs))

    def tensor_pairs(self, fakes: Any, reals: Any) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Tensors at the same places."""
        for fake, real in zip(tree_leaves(fakes), tree_leaves(reals), strict=False):
            if isinstance(fake, torch.Tensor) and isinstance(real, torch.Tensor):
                yield fake, real

    def parameters(self) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Parameters of all modules copied so far: shape and tensor."""
        return list(self._parameters.values())

"""Which tensors would lie on the GPU, if there were one? Those that the program moved there, and what is made of them.

Kept for the process: a tensor that one cell moved is known to the next. Ops on tensors that never were moved run on the
host on a GPU machine too (building a batch, decoding), and are no GPU work.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any

import torch

__all__ = ["DeviceTensors"]


class DeviceTensors:
    """A set of storages, by tensors that use them.

    `tells`: the program at hand moves tensors; else everything counts as on the GPU. `making`: it makes one there.
    """

    def __init__(self) -> None:
        self._watchers: dict[int, weakref.ref[Any]] = {}
        self.tells = False
        self.making = False

    def add(self, tensor: torch.Tensor) -> None:
        """The tensor was moved, or made on the GPU."""
        try:
            storage = tensor.untyped_storage()
        except (NotImplementedError, RuntimeError):
            return
        key = storage._cdata
        if key not in self._watchers:
            self._watchers[key] = weakref.ref(storage, lambda _, key=key: self._watchers.pop(key, None))  # type: ignore[misc] # a default binds the key

    def has(self, tensor: torch.Tensor) -> bool:
        """Would it lie there?"""
        try:
            return tensor.untyped_storage()._cdata in self._watchers
        except (NotImplementedError, RuntimeError):
            return False

    def runs_there(self, inputs: Iterable[torch.Tensor], outputs: Iterable[torch.Tensor], *, surely: bool) -> bool:
        """Would it run on the GPU, and its results lie there? `surely`: a module's, gradient's or optimizer's op."""
        if not self.tells:
            return True
        there = (
            surely
            or self.making
            or any(self.has(tensor) for tensor in inputs)
            or any(self.has(tensor) for tensor in outputs)
        )
        if there:
            for tensor in outputs:
                self.add(tensor)
        return there

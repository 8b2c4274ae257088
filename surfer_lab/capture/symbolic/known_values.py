"""Which values are known although nothing is computed? Those of small tensors made of constants and of given data.

Rates from `linspace`, positions from `arange`, masks built by comparing them, the labels of a batch: they decide how a
program goes on, and cost nothing to compute beside the shapes. What touches a weight, an activation or a random number
is not known.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import torch
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily
from torch.utils._pytree import tree_map_only

from surfer_lab.capture.storages import storage_key

__all__ = ["KnownValues"]

_MAX_ELEMENTS: Final = 16_384
# ops without tensor arguments whose result is a constant
_CONSTANTS: Final = frozenset(
    "aten::" + name
    for name in (
        "arange", "linspace", "logspace", "zeros", "ones", "full", "eye", "scalar_tensor", "tril_indices",
        "triu_indices", "new_zeros", "new_ones", "new_full", "zeros_like", "ones_like", "full_like",
    )
)  # fmt: skip
_RANDOM: Final = torch.Tag.nondeterministic_seeded


class KnownValues:
    """Real storages beside fake ones, found by the fake storage; views find their place in them."""

    def __init__(self) -> None:
        self._real: dict[int, tuple[torch.UntypedStorage, weakref.ref[Any]]] = {}

    def of(self, fake: torch.Tensor) -> torch.Tensor | None:
        """The value of a fake tensor, None where it is not known. Not to be changed."""
        constant: torch.Tensor | None = getattr(fake, "constant", None)  # torch keeps single numbers itself
        if constant is not None:
            return constant
        if fake.numel() > _MAX_ELEMENTS:
            return None
        key = storage_key(fake)
        known = self._real.get(key) if key is not None else None
        if known is None:
            return None
        with unset_fake_temporarily():
            view: torch.Tensor = torch.empty(0, dtype=fake.dtype).set_(
                known[0], fake.storage_offset(), fake.size(), fake.stride()
            )
        return view

    def give(self, fake: torch.Tensor, value: torch.Tensor) -> None:
        """From now on the fake tensor's value is known: a copy of this one, laid out as the fake is."""
        if value.numel() > _MAX_ELEMENTS or value.layout is not torch.strided or not isinstance(fake, FakeTensor):
            return
        key = storage_key(fake)
        if key is None or key in self._real or fake.storage_offset() or fake.untyped_storage().nbytes() == 0:
            return
        with unset_fake_temporarily(), torch.no_grad():
            real = torch.empty_strided(fake.size(), fake.stride(), dtype=fake.dtype)
            if real.untyped_storage().nbytes() < fake.untyped_storage().nbytes():
                return  # a part of something larger
            real.copy_(value.detach())
        watcher = weakref.ref(fake.untyped_storage(), lambda _, key=key: self._real.pop(key, None))  # type: ignore[misc] # a default binds the key
        self._real[key] = (real.untyped_storage(), watcher)

    def follow(self, func: Any, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> None:
        """An op ran on shapes: compute its value too where everything it reads is known; else what it writes is not."""
        inputs = list(_tensors((*args, *kwargs.values())))
        if not inputs or name in _CONSTANTS:
            if name in _CONSTANTS and isinstance(out, torch.Tensor) and out.numel() <= _MAX_ELEMENTS:
                self._compute(func, args, kwargs, out)
            return
        writes = func._schema.is_mutable
        if any(self.of(tensor) is None for tensor in inputs) or _RANDOM in func.tags:
            if writes:
                self._forget(inputs)
            return
        if _elements(out) <= _MAX_ELEMENTS:
            self._compute(func, args, kwargs, out)
        elif writes:
            self._forget(inputs)

    def compute(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The op's real result, None where not all it reads is known."""
        inputs = list(_tensors((*args, *kwargs.values())))
        if not inputs or any(self.of(tensor) is None for tensor in inputs):
            return None
        with unset_fake_temporarily(), torch.no_grad():
            real_args, real_kwargs = tree_map_only(torch.Tensor, self.of, (tuple(args), dict(kwargs)))
            return func(*real_args, **real_kwargs)

    def _compute(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> None:
        try:
            with unset_fake_temporarily(), torch.no_grad():
                real_args, real_kwargs = tree_map_only(torch.Tensor, self._or_empty, (tuple(args), dict(kwargs)))
                real = func(*real_args, **real_kwargs)
        except (RuntimeError, NotImplementedError, TypeError, IndexError):
            self._forget(_tensors((*args, *kwargs.values())) if func._schema.is_mutable else ())
            return
        for fake, value in zip(_tensors((out,)), _tensors((real,)), strict=False):
            self.give(fake, value)

    def _or_empty(self, tensor: torch.Tensor) -> torch.Tensor:
        """The value; of an argument whose value does not matter (`zeros_like`) only the shape."""
        value = self.of(tensor)
        return torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype) if value is None else value

    def _forget(self, tensors: Iterable[torch.Tensor]) -> None:
        for tensor in tensors:
            key = storage_key(tensor)
            if key is not None:
                self._real.pop(key, None)


def _tensors(values: Iterable[Any]) -> Iterable[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)


def _elements(out: Any) -> int:
    return sum(tensor.numel() for tensor in _tensors((out,)))

"""Which truths follow from finite numbers? A program that checks for NaN and infinity goes on as if none was there."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import torch

from surfer_lab.capture.storages import storage_key

__all__ = ["FiniteTruths"]


class FiniteTruths:
    """Boolean tensors of which all elements are known to be one truth, if all numbers are finite.

    `isfinite` is `(x == x) * (abs(x) != inf)` when it reaches a dispatch mode; `isnan` and `isinf` are ops.
    """

    def __init__(self) -> None:
        self._truths: dict[int, tuple[bool, weakref.ref[Any]]] = {}

    def of(self, tensor: torch.Tensor) -> bool | None:
        """True or False where that follows, else None."""
        key = storage_key(tensor)
        found = self._truths.get(key) if key is not None else None
        return found[0] if found is not None else None

    def follow(self, func: Any, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> None:
        """An op ran."""
        rule = _RULES.get(name)
        if rule is not None and not (isinstance(out, torch.Tensor) and out.dtype is torch.bool):
            rule = None
        if rule is None and not self._truths:
            return  # nearly all ops
        if func._schema.is_mutable:
            self._forget((*args, *kwargs.values()))
        elif rule is not None and out.numel():  # of no number at all `all` and `any` differ
            self._give(out, rule(self, args))

    def _give(self, out: torch.Tensor, truth: bool | None) -> None:
        key = storage_key(out)
        if truth is not None and key is not None:
            watcher = weakref.ref(out.untyped_storage(), lambda _: self._truths.pop(key, None))
            self._truths[key] = (truth, watcher)

    def _forget(self, values: Iterable[Any]) -> None:
        for value in values:
            if isinstance(value, (list, tuple)):
                self._forget(value)
            elif isinstance(value, torch.Tensor) and (key := storage_key(value)) is not None:
                self._truths.pop(key, None)


def _with_itself(truth: bool) -> Callable[[FiniteTruths, Sequence[Any]], bool | None]:
    return lambda truths, args: truth if isinstance(args[1], torch.Tensor) and args[0] is args[1] else _infinite(
        args[1], truth=not truth
    )  # fmt: skip


def _infinite(other: object, *, truth: bool) -> bool | None:
    return truth if isinstance(other, float) and math.isinf(other) else None


def _both(truths: FiniteTruths, args: Sequence[Any]) -> bool | None:
    one, other = (truths.of(value) if isinstance(value, torch.Tensor) else None for value in args[:2])
    if one is False or other is False:
        return False
    return True if one and other else None


def _either(truths: FiniteTruths, args: Sequence[Any]) -> bool | None:
    one, other = (truths.of(value) if isinstance(value, torch.Tensor) else None for value in args[:2])
    if one or other:
        return True
    return False if one is False and other is False else None


def _opposite(truths: FiniteTruths, args: Sequence[Any]) -> bool | None:
    truth = truths.of(args[0])
    return None if truth is None else not truth


def _same(truths: FiniteTruths, args: Sequence[Any]) -> bool | None:
    return truths.of(args[0])


_RULES: Final[dict[str, Callable[[FiniteTruths, Sequence[Any]], bool | None]]] = {
    "aten::eq": _with_itself(True),
    "aten::ne": _with_itself(False),
    "aten::isnan": lambda truths, args: False,
    "aten::isinf": lambda truths, args: False,
    "aten::isposinf": lambda truths, args: False,
    "aten::isneginf": lambda truths, args: False,
    "aten::mul": _both,
    "aten::logical_and": _both,
    "aten::bitwise_and": _both,
    "aten::logical_or": _either,
    "aten::bitwise_or": _either,
    "aten::logical_not": _opposite,
    "aten::bitwise_not": _opposite,
    "aten::all": _same,
    "aten::any": _same,
    "aten::clone": _same,
    "aten::_to_copy": _same,
}

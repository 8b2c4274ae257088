"""What does an op answer on shapes that it was asked before? Torch's own answer, kept.

Torch's fake tensors keep answers too, but take longer to look one up than all else that a capture does with an op: here
keys are made of what decides an answer (sizes, strides, dtype, device of every tensor, the other arguments), nothing
else. Kept are answers of ops that make new dense tensors, and of ops in place that answer their first argument. A plain
view is taken of the shapes at once. Lists of tensors, numbers held in tensors and everything sparse, quantised or of
another mode are torch's to answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode, in_kernel_invocation_manager

__all__ = ["Answers"]

_PLAIN: Final = (bool, int, float, str, type(None), torch.dtype, torch.device, torch.layout, torch.memory_format)
_FRESH: Final = 1
_IN_PLACE: Final = 2
_VIEW: Final = 3
_OTHER: Final = 0
# in place, whatever they write: not element-wise by torch's own tags
_FILLS: Final = frozenset(f"aten::{name}_" for name in ("uniform", "normal", "bernoulli", "zero", "fill"))
_VIEWS: Final = frozenset(
    f"aten::{name}"
    for name in ("view", "t", "transpose", "detach", "expand", "permute", "unsqueeze", "slice", "select")
)
_Meta = tuple[tuple[int, ...], tuple[int, ...], torch.dtype, torch.device]
_Answer = tuple[_Meta, ...]


class Answers:
    """Answers by op and arguments, for one fake mode."""

    def __init__(self, fake_mode: FakeTensorMode) -> None:
        self._mode = fake_mode
        self._kind: dict[Any, int] = {}
        self._known: dict[Any, tuple[bool, _Answer]] = {}

    def key(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """What decides the answer; None where it is torch's to give."""
        kind = self._kind.get(func)
        if kind is None:
            kind = self._kind[func] = _kind_of(func)
        if kind == _OTHER:
            return None
        key: list[Any] = [func]
        for value in args:
            if not self._add(value, key):
                return None
        for name, value in kwargs.items():
            key.append(name)
            if not self._add(value, key):
                return None
        return tuple(key)

    def _add(self, value: Any, key: list[Any]) -> bool:
        if type(value) is FakeTensor or type(value) is torch.nn.Parameter:
            if not isinstance(value, FakeTensor) or value.fake_mode is not self._mode or value.constant is not None:
                return False
            if value.layout is not torch.strided or not value.shape or value.is_quantized or value.is_conj():
                return False  # numbers held in tensors promote by rules of their own
            key += (value.shape, value.stride(), value.dtype, value.fake_device)
            return True
        if isinstance(value, _PLAIN):
            key += (type(value), value)
            return True
        if isinstance(value, (list, tuple)) and all(type(item) in (int, bool, float) for item in value):
            key.append(tuple(value))
            return True
        return False

    def _viewed(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        try:
            with in_kernel_invocation_manager(self._mode):
                view = func(*args, **kwargs)
        except (RuntimeError, IndexError):
            return NotImplemented  # torch says what is wrong with it
        with torch._C._DisableTorchDispatch():
            return FakeTensor(self._mode, view, args[0].fake_device)

    def of(self, key: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The answer kept under the key, as new tensors; NotImplemented where there is none."""
        known = self._known.get(key)
        if known is None:
            return self._viewed(key[0], args, kwargs) if self._kind[key[0]] == _VIEW else NotImplemented
        is_alone, answer = known
        if not answer:
            return args[0]
        with torch._C._DisableTorchDispatch():  # else the fake mode below would make fakes of these
            bare = [torch.empty_strided(part[0], part[1], dtype=part[2], device="meta") for part in answer]
            made = [FakeTensor(self._mode, one, part[3]) for one, part in zip(bare, answer, strict=True)]
        return made[0] if is_alone else tuple(made)

    def keep(self, key: Any, func: Any, args: Sequence[Any], out: Any) -> None:
        """Remember torch's answer, where it can be made again."""
        if self._kind[func] == _VIEW:
            return
        if self._kind[func] == _IN_PLACE:
            if out is args[0]:
                self._known[key] = (True, ())
            return
        is_alone = isinstance(out, torch.Tensor)
        parts = [out] if is_alone else list(out) if isinstance(out, (list, tuple)) else []
        if not parts or not all(type(part) is FakeTensor and _is_whole(part) for part in parts):
            return
        given = {value.untyped_storage()._cdata for value in args if isinstance(value, torch.Tensor)}
        if any(part.untyped_storage()._cdata in given for part in parts):
            return  # a view, whatever its schema says: _unsafe_view
        self._known[key] = (
            is_alone, tuple((tuple(part.shape), part.stride(), part.dtype, part.fake_device) for part in parts)
        )  # fmt: skip


def _is_whole(tensor: FakeTensor) -> bool:
    """Does it fill a storage of its own, with nothing special about it?"""
    if tensor.constant is not None or tensor.layout is not torch.strided or tensor.is_quantized:
        return False
    filled = tensor.untyped_storage().nbytes() == tensor.numel() * tensor.element_size()
    return filled and tensor.storage_offset() == 0 and len(tensor.shape) > 0


def _kind_of(func: Any) -> int:
    schema = getattr(func, "_schema", None)
    if schema is None or not schema.name.startswith("aten::"):
        return _OTHER
    tags = func.tags
    if torch.Tag.dynamic_output_shape in tags or torch.Tag.data_dependent_output in tags:
        return _OTHER
    written = [argument for argument in schema.arguments if argument.alias_info is not None]
    if not written:
        fresh = all(result.alias_info is None for result in schema.returns)
        tensors = all(str(result.type) == "Tensor" for result in schema.returns)
        return _FRESH if fresh and tensors and schema.returns else _OTHER
    first = schema.arguments[0].alias_info
    if len(written) != 1 or first is None or len(schema.returns) != 1 or str(schema.returns[0].type) != "Tensor":
        return _OTHER
    if not first.is_write:
        return _VIEW if schema.name in _VIEWS else _OTHER
    return _IN_PLACE if torch.Tag.pointwise in tags or schema.name in _FILLS else _OTHER

"""What else does a program do with data, that must not happen or cannot without it? Replaced while it runs on shapes.

Data loaders read their data as always (in this process, their random state put back) and hand out its shapes; arrays
and lists made of tensors are ones; nothing is saved; `torch.compile` compiles nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter
from torch.utils.data import DataLoader

from surfer_lab.capture.patches import Patches
from surfer_lab.errors import CaptureError

__all__ = ["WithoutData"]


class WithoutData:
    """Replaces from `start` to `stop`.

    `with_data()`: a context in which ops compute; `shadow`: data to shapes; `value_of`: a shape's value, where known.
    """

    def __init__(
        self, *, with_data: Callable[[], Any], shadow: Callable[[Any], Any],
        value_of: Callable[[torch.Tensor], torch.Tensor | None],
    ) -> None:  # fmt: skip
        self._value_of = value_of
        self._patches = Patches()
        self._with_data = with_data
        self._shadow = shadow
        self._generators: list[tuple[torch.Generator, torch.Tensor]] = []
        self.read_values = False
        self.found_compiled = False

    def start(self) -> None:
        """Replace."""
        self._patches.replace(DataLoader, "__iter__", self._loader_iter())
        self._patches.replace(torch, "compile", self._compile)
        self._patches.replace(torch, "save", lambda *args, **kwargs: None)
        self._patches.replace(torch.nn.Module, "_apply", _apply_to_shapes(torch.nn.Module._apply))
        # torch's own copy the bytes of a storage, of which a fake one has none
        self._patches.replace(FakeTensor, "__deepcopy__", _deep_copy)
        self._patches.replace(FakeTensor, "__copy__", lambda fake: fake.detach().requires_grad_(fake.requires_grad))
        for kind in (UninitializedParameter, UninitializedBuffer):
            self._patches.replace(kind, "__new__", _refuse_lazy)
            self._patches.replace(kind, "materialize", _refuse_lazy)
        self._replace_reading()

    def stop(self) -> None:
        """Put everything back."""
        self._patches.undo()
        for generator, state in self._generators:
            generator.set_state(state)
        self._generators = []

    def _compile(self, model: Any = None, **kwargs: Any) -> Any:
        self.found_compiled = True
        return (lambda wanted: wanted) if model is None else model

    def _loader_iter(self) -> Callable[[DataLoader[Any]], Iterator[Any]]:
        plain_iter = DataLoader.__iter__

        def iterate(loader: DataLoader[Any]) -> Iterator[Any]:
            for generator in (loader.generator, getattr(loader.sampler, "generator", None)):
                if generator is not None:
                    self._generators.append((generator, generator.get_state()))
            in_this_process = object.__new__(type(loader))
            in_this_process.__dict__.update(loader.__dict__)
            in_this_process.__dict__.update(
                num_workers=0, prefetch_factor=None, persistent_workers=False, timeout=0, pin_memory=False,
                multiprocessing_context=None, _iterator=None,
            )  # fmt: skip
            in_this_process.__dict__["_DataLoader__multiprocessing_context"] = None
            with self._with_data():
                batches = plain_iter(in_this_process)
            while True:
                with self._with_data():
                    try:
                        batch = next(batches)
                    except StopIteration:
                        return
                yield self._shadow(batch)

        return iterate

    def _replace_reading(self) -> None:
        tensor = torch.Tensor
        plain_numpy, plain_list = tensor.numpy, tensor.tolist
        plain_array: Any = tensor.__array__
        plain_format: Any = tensor.__format__

        def array_of(fake: torch.Tensor) -> np.ndarray[Any, Any]:
            value = self._value_of(fake)
            if value is not None:
                with self._with_data():
                    return np.array(plain_list(value), dtype=_numpy_dtype(fake.dtype))
            self.read_values = True
            return np.ones(tuple(fake.shape), dtype=_numpy_dtype(fake.dtype))

        @functools.wraps(plain_numpy)
        def numpy(self_: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            return array_of(self_) if isinstance(self_, FakeTensor) else plain_numpy(self_, *args, **kwargs)

        @functools.wraps(plain_list)
        def tolist(self_: torch.Tensor) -> Any:
            return array_of(self_).tolist() if isinstance(self_, FakeTensor) else plain_list(self_)

        def array(self_: torch.Tensor, dtype: Any = None) -> Any:
            if not isinstance(self_, FakeTensor):
                return plain_array(self_, dtype)
            return array_of(self_) if dtype is None else array_of(self_).astype(dtype)

        def format_(self_: torch.Tensor, spec: str) -> str:
            if isinstance(self_, FakeTensor):
                return format(self_.item(), spec) if self_.dim() == 0 else repr(self_)
            return str(plain_format(self_, spec))

        self._patches.replace(tensor, "numpy", numpy)
        self._patches.replace(tensor, "tolist", tolist)
        self._patches.replace(FakeTensor, "tolist", tolist)
        self._patches.replace(tensor, "__array__", array)
        self._patches.replace(tensor, "__format__", format_)


def _refuse_lazy(*args: Any, **kwargs: Any) -> Any:
    raise CaptureError(
        "a lazy module (LazyLinear, ...) takes its sizes from data at its first call",
        remedy="name its sizes, or call it once on a batch before",
    )


def _apply_to_shapes(plain: Callable[..., Any]) -> Callable[..., Any]:
    """`Module.to`, `half`, ... on shapes. Torch swaps fake parameters and refuses if anything refers to them weakly."""

    @functools.wraps(plain)
    def apply(module: torch.nn.Module, fn: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> Any:
        own = [tensor for tensor in module._parameters.values() if tensor is not None]
        if not all(isinstance(tensor, FakeTensor) for tensor in own):
            return plain(module, fn, recurse)
        if recurse:
            for child in module.children():
                child._apply(fn)  # type: ignore[no-untyped-call]
        with torch.no_grad():
            for parameter in own:
                parameter.data = fn(parameter)
                if parameter.grad is not None:
                    gradient, parameter.grad = parameter.grad, None
                    parameter.grad = fn(gradient)
            for name, buffer in module._buffers.items():
                if buffer is not None:
                    module._buffers[name] = fn(buffer)
        return module

    return apply


def _deep_copy(fake: torch.Tensor, memo: dict[int, Any]) -> torch.Tensor:
    known: torch.Tensor | None = memo.get(id(fake))
    if known is not None:
        return known
    with torch.no_grad():
        copied = fake.detach().clone()
    is_parameter = isinstance(fake, torch.nn.Parameter)
    result = (
        torch.nn.Parameter(copied, fake.requires_grad) if is_parameter else copied.requires_grad_(fake.requires_grad)
    )
    if fake.grad is not None:
        result.grad = _deep_copy(fake.grad, memo)
    memo[id(fake)] = result
    return result


def _numpy_dtype(dtype: torch.dtype) -> Any:
    name = str(dtype).removeprefix("torch.")
    return np.dtype({"bfloat16": "float32"}.get(name, name))

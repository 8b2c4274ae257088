"""What does a program see of the user's objects when it runs without data? Copies whose tensors are shapes only.

Models, optimizers, schedulers, containers, functions and the user's own objects are copied as far as they hold tensors
or can be changed; tied weights stay tied, an optimizer's parameters stay its model's. The originals are only read.
"""

from __future__ import annotations

import argparse
import collections
import functools
import sys
import types
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import numpy as np
import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils.data import DataLoader

from surfer_lab.capture.symbolic.assumptions import RUN_IT
from surfer_lab.capture.symbolic.known_values import KnownValues
from surfer_lab.capture.where import is_users_file, is_users_line
from surfer_lab.errors import CaptureError

__all__ = ["Shadows"]

# Containers and arrays beyond this are data: they are read as they are, not copied
_MAX_ITEMS: Final = 100_000
_MAX_ARRAY_BYTES: Final = 16 << 20
_SEARCH_DEPTH: Final = 4  # how deep in a library's object torch's things are looked for

_ATOMS: Final = (
    type(None), bool, int, float, complex, str, bytes, types.ModuleType, types.BuiltinFunctionType, range, slice,
    torch.dtype, torch.device, torch.layout, torch.memory_format, torch.Size, type(Ellipsis), np.generic, np.dtype,
)  # fmt: skip
_NAMESPACES: Final = (types.SimpleNamespace, argparse.Namespace)
_TORCH_STATE: Final = (torch.Tensor, torch.nn.Module, torch.optim.Optimizer)
_CONTAINERS: Final = (
    list, tuple, set, frozenset, dict, collections.OrderedDict, collections.defaultdict, collections.Counter,
    collections.deque,
)  # fmt: skip


class _NotConsumed:
    """Stands for an iterator of an earlier cell: taking from it would change what the user has."""

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        raise CaptureError("the cell takes from an iterator that an earlier cell made", remedy=RUN_IT)


class Shadows:
    """Copies that know each other: the same object has the same shadow."""

    def __init__(self, fake_mode: FakeTensorMode, known: KnownValues) -> None:
        self._fake_mode = fake_mode
        self._known_values = known
        self._known: dict[int, tuple[Any, Any]] = {}  # by id: the original (kept alive) and its shadow
        self._globals: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}
        self.found_compiled = False
        self.watch: Callable[[type], None] = lambda cls: None  # told of each class of the user's: most are not copied

    def of(self, value: Any) -> Any:
        """The shadow of any object; itself where nothing of it has to be copied."""
        if isinstance(value, _ATOMS):
            return value
        if isinstance(value, type) and _is_torchs_class(value):
            return value
        known = self._known.get(id(value))
        if known is not None:
            return known[1]
        return self._keep(value, self._copy(value))

    def namespace(self, names: Mapping[str, Any]) -> dict[str, Any]:
        """A whole namespace, functions seeing it as their globals. What IPython keeps for itself stays out."""
        shadow = self._shadow_globals(names)  # type: ignore[arg-type] # only read
        for name, value in names.items():
            if name in ("exit", "quit") and type(value).__module__.startswith("IPython."):
                shadow[name] = sys.exit  # its own would end the kernel
            elif not name.startswith("_") and name not in ("In", "Out", "get_ipython"):
                shadow[name] = self.of(value)
        return shadow

    # -- by kind -------------------------------------------------------------------------------------------------------

    def _keep(self, value: Any, shadow: Any) -> Any:
        self._known[id(value)] = (value, shadow)
        return shadow

    def _copy(self, value: Any) -> Any:
        for kind, copier in self._copiers():
            if isinstance(value, kind):
                return copier(value)
        if type(value) in _CONTAINERS:
            return self._container(value)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*(self.of(item) for item in value))
        return self._instance(value) if self._wants_copy(value) else value

    def _copiers(self) -> tuple[tuple[Any, Callable[[Any], Any]], ...]:
        return (
            (FakeTensor, lambda value: value),
            (torch.Tensor, self._tensor),
            (torch.nn.Module, self._module),
            (type, self._class),
            (types.FunctionType, self._function),
            (types.MethodType, self._method),
            (functools.partial, self._partial),
            (np.ndarray, lambda value: value.copy() if value.nbytes <= _MAX_ARRAY_BYTES else value),
            (weakref.ReferenceType, self._reference),
            (torch.Generator, lambda value: value.clone_state() if hasattr(value, "clone_state") else value),
            (DataLoader, lambda value: value),  # read as it is; see `without_data`
            ((types.GeneratorType, torch.utils.data.dataloader._BaseDataLoaderIter), lambda value: _NotConsumed()),
        )

    def _tensor(self, tensor: torch.Tensor) -> torch.Tensor:
        if torch.nn.parameter.is_lazy(tensor):
            return tensor
        try:
            fake = self._fake_mode.from_tensor(tensor, static_shapes=True)
            if not isinstance(tensor, torch.nn.Parameter) and tensor.device.type == "cpu":
                self._known_values.give(fake, tensor)
            return fake
        except (NotImplementedError, RuntimeError) as error:
            raise CaptureError(
                f"a tensor of kind {type(tensor).__name__} has no shape-only form", remedy=RUN_IT
            ) from error

    def _module(self, module: torch.nn.Module) -> Any:
        original = getattr(module, "_orig_mod", None)
        if type(module).__name__ == "OptimizedModule" and original is not None:
            self.found_compiled = True
            return self.of(original)
        if isinstance(module, torch.jit.ScriptModule):
            raise CaptureError("a scripted module (torch.jit) has no shape-only form", remedy=RUN_IT)
        shadow = self._instance(module)
        shadow.__dict__["_compiled_call_impl"] = None
        return shadow

    def _function(self, function: types.FunctionType) -> Any:
        compiled_from = getattr(function, "_torchdynamo_orig_callable", None)
        if compiled_from is not None:
            self.found_compiled = True
            return self.of(compiled_from)
        if not is_users_file(function.__code__.co_filename):
            return function
        cells = tuple(types.CellType() for _ in function.__closure__ or ())
        names = self._shadow_globals(function.__globals__)
        shadow = types.FunctionType(function.__code__, names, function.__name__, None, cells or None)
        self._keep(function, shadow)
        for name in _names_in(function.__code__):
            if name in function.__globals__:
                names[name] = self.of(function.__globals__[name])
        for cell, new in zip(function.__closure__ or (), cells, strict=True):
            if _is_filled(cell):
                new.cell_contents = self.of(cell.cell_contents)
        shadow.__defaults__ = self.of(function.__defaults__)
        shadow.__kwdefaults__ = self.of(function.__kwdefaults__)
        shadow.__dict__.update({key: self.of(item) for key, item in function.__dict__.items()})
        shadow.__module__, shadow.__qualname__ = function.__module__, function.__qualname__
        return shadow

    def _class(self, cls: type) -> type:
        """A class whose methods read globals that have shadows; itself otherwise."""
        functions = {name: plain for name, value in vars(cls).items() if (plain := _function_in(value)) is not None}
        for base in cls.__mro__:
            if not _is_torchs_class(base) and _is_users_class(base):
                self.watch(base)
        if not any(self._reads_shadowed(function) for function in functions.values()):
            return cls
        body = {name: value for name, value in vars(cls).items() if name not in ("__dict__", "__weakref__")}
        try:
            shadow = type(cls)(cls.__name__, tuple(self.of(base) for base in cls.__bases__), body)
        except (TypeError, ValueError, RuntimeError):
            return cls  # a class that only its own statement can make
        self._keep(cls, shadow)
        for name, function in functions.items():
            setattr(shadow, name, _function_put_back(vars(cls)[name], self.of(function)))
        return shadow

    def _reads_shadowed(self, function: types.FunctionType) -> bool:
        if not is_users_file(function.__code__.co_filename):
            return False
        read = (function.__globals__.get(name) for name in _names_in(function.__code__))
        return any(
            isinstance(value, _TORCH_STATE) or (type(value) in _CONTAINERS and _holds_torch_state(value, _SEARCH_DEPTH))
            or (isinstance(value, types.FunctionType) and value is not function and self.of(value) is not value)
            for value in read
        )  # fmt: skip

    def _shadow_globals(self, names: dict[str, Any]) -> dict[str, Any]:
        known = self._globals.get(id(names))
        if known is None:
            known = self._globals[id(names)] = (names, dict(names))
        return known[1]

    def _method(self, method: types.MethodType) -> Any:
        owner = self.of(method.__self__)
        return types.MethodType(self.of(method.__func__), owner)

    def _partial(self, partial: functools.partial[Any]) -> Any:
        keywords = {key: self.of(value) for key, value in partial.keywords.items()}
        return functools.partial(self.of(partial.func), *(self.of(value) for value in partial.args), **keywords)

    def _reference(self, reference: weakref.ReferenceType[Any]) -> Any:
        meant = reference()
        return reference if meant is None else weakref.ref(self.of(meant))

    # -- objects and containers ----------------------------------------------------------------------------------------

    def _container(self, value: Any) -> Any:
        if len(value) > _MAX_ITEMS:
            return value
        if isinstance(value, (tuple, frozenset)):
            return type(value)(self.of(item) for item in value)
        if isinstance(value, dict):
            empty: Any = (
                collections.defaultdict(self.of(value.default_factory))
                if isinstance(value, collections.defaultdict)
                else type(value)()
            )
            self._keep(value, empty)
            empty.update({self.of(key): self.of(item) for key, item in value.items()})
            return empty
        grown: Any = collections.deque(maxlen=value.maxlen) if isinstance(value, collections.deque) else type(value)()
        self._keep(value, grown)
        add = grown.add if isinstance(value, set) else grown.append
        for item in value:
            add(self.of(item))
        return grown

    def _wants_copy(self, value: Any) -> bool:
        """The user's own objects can be changed by the cell; a library's matter if they hold torch's things."""
        cls = type(value)
        if isinstance(value, torch.optim.Optimizer) or cls.__module__.startswith(
            ("torch.optim", "torch.amp", "torch.cuda.amp")
        ):
            return hasattr(value, "__dict__")
        if not hasattr(value, "__dict__"):
            return False
        if isinstance(value, _NAMESPACES):
            return True
        return _is_users_class(cls) or _holds_torch_state(value, _SEARCH_DEPTH)

    def _instance(self, value: Any) -> Any:
        maker: Any = types.SimpleNamespace if isinstance(value, types.SimpleNamespace) else object
        try:
            shadow = maker.__new__(self.of(type(value)))
        except TypeError:
            return value  # a type that only its own code can make
        self._keep(value, shadow)
        attributes = vars(value)
        # a scheduler replaces its optimizer's step by one that is bound to the real optimizer
        skipped = {"step"} if isinstance(value, torch.optim.Optimizer) else set()
        shadow.__dict__.update({key: self.of(item) for key, item in attributes.items() if key not in skipped})
        for cls in type(value).__mro__:
            slots: Iterable[str] = getattr(cls, "__slots__", ())
            for slot in (slots,) if isinstance(slots, str) else slots:
                if slot not in ("__dict__", "__weakref__") and hasattr(value, slot):
                    object.__setattr__(shadow, slot, self.of(getattr(value, slot)))
        return shadow


def _is_torchs_class(cls: type) -> bool:
    return cls.__module__.split(".")[0] in ("builtins", "torch")


def _is_users_class(cls: type) -> bool:
    """By its functions, else by its module: those of a dataclass are generated or the standard library's."""
    functions = [function for value in vars(cls).values() if (function := _function_in(value)) is not None]
    if any(is_users_file(function.__code__.co_filename) for function in functions) or cls.__module__ == "__main__":
        return True
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    return not functions if file is None else is_users_line(file)


def _function_in(value: Any) -> types.FunctionType | None:
    """The function behind what a class body holds: a method, a static or class method."""
    if isinstance(value, (staticmethod, classmethod)):
        value = value.__func__
    return value if isinstance(value, types.FunctionType) else None


def _function_put_back(before: Any, function: types.FunctionType) -> Any:
    return type(before)(function) if isinstance(before, (staticmethod, classmethod)) else function


def _names_in(code: types.CodeType) -> set[str]:
    """Global names that a function and those defined in it may read."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names_in(constant)
    return names


def _is_filled(cell: types.CellType) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


def _holds_torch_state(value: Any, depth: int) -> bool:
    if isinstance(value, _TORCH_STATE):
        return True
    if depth == 0 or isinstance(value, _ATOMS):
        return False
    if isinstance(value, dict):
        inside: Iterable[Any] = list(value.values())[:64]
    elif isinstance(value, (list, tuple)):
        inside = value[:64]
    else:
        inside = list(getattr(value, "__dict__", {}).values())
    return any(_holds_torch_state(item, depth - 1) for item in inside)

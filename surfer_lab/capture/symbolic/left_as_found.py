"""What can a program change beside its own objects? Put back when it ran on shapes, as it was before.

Torch's and numpy's global settings, the environment, the folder, the import path; attributes that the user's classes
and modules hold, and the containers among them (one level deep; larger ones are data, and are let be). What a program
does to the world outside of the process stays done. Two things are not undone, since others live on them: a submodule
in its package, and whatever is new where a module of the user's was imported meanwhile (it may have registered itself,
and is not executed again). While another thread runs the user's code, modules and classes are let be: it changes them
too.
"""

from __future__ import annotations

import collections
import copy
import os
import sys
import threading
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from operator import is_
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import numpy as np
import torch
from torch.optim import Optimizer

from surfer_lab.capture.where import is_users_file

__all__ = ["LeftAsFound"]

_SKIPPED: Final = frozenset(
    {"__dict__", "__weakref__", "__builtins__", "__warningregistry__", "__annotations__", "__annotations_cache__"}
)
_CONTAINERS: Final = (
    list, dict, set, collections.OrderedDict, collections.defaultdict, collections.Counter, collections.deque,
)  # fmt: skip
_MAX_ITEMS: Final = 10_000  # copied and compared in 0.1 ms
_HOOKS: Final = (
    *(
        (torch.nn.modules.module, f"_global_{kind}_hooks")
        for kind in (
            "forward", "forward_pre", "backward", "backward_pre", "buffer_registration", "module_registration",
            "parameter_registration",
        )
    ),
    (sys.modules[Optimizer.__module__], "_global_optimizer_pre_hooks"),
    (sys.modules[Optimizer.__module__], "_global_optimizer_post_hooks"),
)  # fmt: skip


class LeftAsFound:
    """Reads the state when made; `put_back` restores it."""

    def __init__(self) -> None:
        self._settings = [(read, write, _read(read)) for read, write in _SETTINGS]
        self._environment, self._folder, self._path = dict(os.environ), _folder(), list(sys.path)
        self._hooks = [_Contents(getattr(owner, name)) for owner, name in _HOOKS if hasattr(owner, name)]
        self._modules = set(sys.modules)
        self._owners: dict[int, _Attributes] = {}
        if not _others_run():
            for module in _users_modules():
                self._add(module)
                for value in list(vars(module).values()):
                    # no isinstance: it asks objects that stand for others what they are
                    if issubclass(type(value), type) and value.__module__ == module.__name__:
                        self._add(value)

    def watch(self, cls: type) -> None:
        """A class of the user's that the program reaches, before it can have changed it."""
        self._add(cls)

    def _add(self, owner: ModuleType | type) -> None:
        if id(owner) not in self._owners:
            self._owners[id(owner)] = _Attributes(owner)

    def put_back(self) -> None:
        """Restore all of it."""
        for _ in range(2):  # torch's old and new names of one setting change each other
            for read, write, before in self._settings:
                if before is not None and _read(read) != before:
                    write(before)
        for contents in self._hooks:
            contents.put_back(keep_new=False)
        keep_new = any(True for _ in _users_modules(self._modules))
        _put_back_environment(self._environment, keep_new=keep_new)
        if self._folder is not None and _folder() != self._folder:
            os.chdir(self._folder)
        if not keep_new:
            sys.path[:] = self._path
        if not _others_run():
            for owner in self._owners.values():
                owner.put_back(keep_new=keep_new)


class _Contents:
    """What a list, set, deque or dict holds."""

    def __init__(self, container: Any) -> None:
        self._container, self._before = container, copy.copy(container)

    def put_back(self, *, keep_new: bool) -> None:
        """Restore it where something else is in it now."""
        now, before = self._container, self._before
        if isinstance(now, dict):
            if not (_same(now, before) and _same(now.values(), before.values())):
                new = {key: value for key, value in now.items() if key not in before} if keep_new else {}
                now.clear()
                now.update(before)
                now.update(new)
        elif keep_new:
            return
        elif isinstance(now, set):
            if set(map(id, now)) != set(map(id, before)):
                now.clear()
                now.update(before)
        elif not _same(now, before):
            now.clear()
            now.extend(before)


class _Attributes:
    """What a class or module holds under its names."""

    def __init__(self, owner: Any) -> None:
        self._owner = owner
        self._before = {name: value for name, value in vars(owner).items() if name not in _SKIPPED}
        self._inside = [
            _Contents(value)
            for value in self._before.values()
            if type(value) in _CONTAINERS and len(value) <= _MAX_ITEMS
        ]

    def put_back(self, *, keep_new: bool) -> None:
        """Restore what was set or deleted, and what the containers held."""
        kind: Any = type if isinstance(self._owner, type) else ModuleType  # no metaclass has a say in it
        now = dict(vars(self._owner))
        for name in () if keep_new else now.keys() - self._before.keys() - _SKIPPED:
            if not isinstance(now[name], ModuleType):
                kind.__delattr__(self._owner, name)
        for name, value in self._before.items():
            if now.get(name, self) is not value:
                kind.__setattr__(self._owner, name, value)
        for contents in self._inside:
            contents.put_back(keep_new=keep_new)


def _same(now: Any, before: Any) -> bool:
    return len(now) == len(before) and all(map(is_, now, before))


def _users_modules(without: AbstractSet[str] = frozenset()) -> Iterator[ModuleType]:
    """The user's modules but those of the names given."""
    for name in sys.modules.keys() - _installed - without:
        module = sys.modules.get(name)
        if not isinstance(module, ModuleType):
            continue
        file = module.__dict__.get("__file__")  # no getattr: a lazy module would import what it lacks
        if isinstance(file, str) and is_users_file(file):
            yield module
        else:
            _installed.add(name)


_installed: Final[set[str]] = set()  # names of thousands of modules, told from the user's once a process


def _others_run() -> bool:
    """Does another thread run code of the user's?"""
    here = threading.get_ident()
    for thread, frame in sys._current_frames().items():
        inner: Any = frame if thread != here else None
        while inner is not None:
            if is_users_file(inner.f_code.co_filename):
                return True
            inner = inner.f_back
    return False


def _folder() -> Path | None:
    try:
        return Path.cwd()
    except FileNotFoundError:
        return None  # removed meanwhile


def _put_back_environment(before: dict[str, str], *, keep_new: bool) -> None:
    for name in () if keep_new else set(os.environ) - set(before):
        del os.environ[name]
    for name, value in before.items():
        if os.environ.get(name) != value:
            os.environ[name] = value


# -- settings ----------------------------------------------------------------------------------------------------------


def _read(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except RuntimeError:  # torch refuses to tell an old setting where a program has set its new form
        return None


def _flag(owner: Any, name: str) -> tuple[Callable[[], Any], Callable[[Any], Any]]:
    return lambda: getattr(owner, name, None), lambda value: setattr(owner, name, value)


def _default_device() -> torch.device | str:
    context = getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)
    return "none" if context is None else context.device


def _set_default_device(device: torch.device | str) -> None:
    torch.set_default_device(None if device == "none" else device)


def _set_torch_printing(values: dict[str, Any]) -> None:
    vars(torch._tensor_str.PRINT_OPTS).update(values)


def _set_detect_anomaly(on: bool) -> None:
    torch.autograd.set_detect_anomaly(on)


def _set_grad_enabled(on: bool) -> None:
    torch.set_grad_enabled(on)


_BACKENDS: Final = torch.backends
_SETTINGS: Final[tuple[tuple[Callable[[], Any], Callable[[Any], Any]], ...]] = (
    (torch.get_default_dtype, torch.set_default_dtype),
    (_default_device, _set_default_device),
    (torch.is_grad_enabled, _set_grad_enabled),
    (torch.is_anomaly_enabled, _set_detect_anomaly),
    (torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode),
    (torch.get_num_threads, torch.set_num_threads),
    (lambda: dict(vars(torch._tensor_str.PRINT_OPTS)), _set_torch_printing),
    (np.get_printoptions, lambda values: np.set_printoptions(**values)),
    (_BACKENDS.cuda.flash_sdp_enabled, _BACKENDS.cuda.enable_flash_sdp),
    (_BACKENDS.cuda.mem_efficient_sdp_enabled, _BACKENDS.cuda.enable_mem_efficient_sdp),
    (_BACKENDS.cuda.math_sdp_enabled, _BACKENDS.cuda.enable_math_sdp),
    _flag(_BACKENDS.cudnn, "benchmark"),
    _flag(_BACKENDS.cudnn, "deterministic"),
    _flag(_BACKENDS.cudnn, "enabled"),
    _flag(_BACKENDS.cuda.matmul, "allow_fp16_reduced_precision_reduction"),
    _flag(_BACKENDS.cuda.matmul, "allow_bf16_reduced_precision_reduction"),
    # the general ones first: each sets those below it
    (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    _flag(_BACKENDS.cuda.matmul, "allow_tf32"),
    _flag(_BACKENDS.cudnn, "allow_tf32"),
    *(
        _flag(owner, "fp32_precision")
        for owner in (
            _BACKENDS, _BACKENDS.cudnn, _BACKENDS.mkldnn, _BACKENDS.cuda.matmul, getattr(_BACKENDS.cudnn, "conv", None),
            getattr(_BACKENDS.cudnn, "rnn", None), getattr(_BACKENDS.mkldnn, "matmul", None),
            getattr(_BACKENDS.mkldnn, "conv", None), getattr(_BACKENDS.mkldnn, "rnn", None),
        )
    ),
)  # fmt: skip

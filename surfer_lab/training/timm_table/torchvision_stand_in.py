"""How is timm imported where torchvision cannot be? With a stand-in that exists only while timm is being imported.

timm's models need of torchvision one class to compare types with; its data sets and transforms, which nothing here
uses, need names to refer to. torchvision does not import beside every torch: then too the stand-in takes its place.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Final

from surfer_lab.errors import OptionError

__all__ = ["import_timm"]

_NAME: Final = "torchvision"


def import_timm() -> Any:
    """The timm package; OptionError with the install command where it is missing."""
    if "timm" in sys.modules:
        return sys.modules["timm"]
    try:
        if _imports(_NAME):
            return importlib.import_module("timm")
        with _stood_in():
            return importlib.import_module("timm")
    except ModuleNotFoundError as missing:
        if missing.name != "timm":
            raise
        raise OptionError("timm is not installed", remedy='pip install "surfer-lab[evaluate]"') from missing


def _imports(name: str) -> bool:
    try:
        importlib.import_module(name)
    except (ImportError, RuntimeError, AttributeError):  # absent, or built for another torch
        for loaded in [module for module in sys.modules if module.split(".")[0] == name]:
            del sys.modules[loaded]
        return False
    return True


class _PlaceholderType(type):
    """A class of which any public attribute is a text: enum members that are only compared and looked up."""

    def __getattr__(cls, name: str) -> str:
        if name.startswith("_"):
            raise AttributeError(name)
        return f"{cls.__name__}.{name}"


class _Placeholder(ModuleType):
    """A module that has whatever is asked for: classes by capitalised names, functions by others."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name == "FrozenBatchNorm2d":
            from torch import nn  # timm asks of layers whether they are one

            made: Any = type(name, (nn.Module,), {})
        elif name[0].isupper():
            made = _PlaceholderType(name, (), {})
        else:
            made = _not_there
        setattr(self, name, made)
        return made


def _not_there(*_: object, **__: object) -> None:
    raise OptionError("this part of timm needs torchvision", remedy="install a torchvision that fits this torch")


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.split(".")[0] != _NAME:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _Placeholder(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run: attributes appear when asked for."""


@contextmanager
def _stood_in() -> Iterator[None]:
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name, module in sys.modules.items() if isinstance(module, _Placeholder)]:
            del sys.modules[name]

"""How often, and when, is a module called after its recording is over? Needed for inference only.

A plain module: one global pre-hook that compares an id. A compiled one: its class's `__call__`, since `torch.compile`
guards on global hooks. Both are also the first moment at which a recording that ended inside an op can be taken out.
Calls of a plain module are not counted where compiled code was seen beside it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch.nn.modules.module import register_module_forward_pre_hook

__all__ = ["CallCounter"]


class CallCounter:
    """Start times of calls of one module, from `count` to `stop`. `on_call` is told of each."""

    def __init__(self, clock: Callable[[], int], on_call: Callable[[], None]) -> None:
        self._clock = clock
        self._on_call = on_call
        self._undo: Callable[[], None] | None = None
        self.starts_ns: list[int] = []

    def count(self, module_id: int, *, is_compiled: bool, beside_compiled: bool) -> None:
        """From now on."""
        if is_compiled:
            self._undo = self._count_compiled(module_id)
        elif not beside_compiled:

            def hook(module: torch.nn.Module, args: Any) -> None:
                if id(module) == module_id:
                    self._called()

            self._undo = register_module_forward_pre_hook(hook).remove

    def stop(self) -> None:
        """No more."""
        if self._undo is not None:
            self._undo()
            self._undo = None

    def _called(self) -> None:
        self.starts_ns.append(self._clock())
        self._on_call()

    def _count_compiled(self, module_id: int) -> Callable[[], None]:
        cls: Any = sys.modules["torch._dynamo.eval_frame"].OptimizedModule
        plain = cls.__dict__.get("__call__")

        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            if id(module._orig_mod) == module_id:
                self._called()
            return (plain or torch.nn.Module.__call__)(module, *args, **kwargs)

        def undo() -> None:
            if cls.__dict__.get("__call__") is call:
                if plain is None:
                    del cls.__call__
                else:
                    cls.__call__ = plain

        cls.__call__ = call
        return undo

"""How is every op of a thread seen, from one moment to another, without the user's program noticing?

A dispatch mode is put at the bottom of the thread's stack of modes and taken out again wherever it then is, so that a
mode that the user enters or leaves meanwhile stays on top. It is pushed without `TorchDispatchMode.__enter__`, which
would set flags that make `torch.compile` skip functions for good.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import CodeType
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from surfer_lab.capture.oplog import OpLog

__all__ = ["LoggingMode", "alone", "modes_set_aside"]

_active: weakref.WeakSet[LoggingMode] = weakref.WeakSet()
_fork_handler_is_set = False


class LoggingMode(TorchDispatchMode):  # type: ignore[no-untyped-call] # torch's __init_subclass__ has no types
    """Hands every op of the thread that calls `install` to `log`, after it ran. Errors of ops pass through.

    `log` None: ops run on, unseen.
    """

    supports_higher_order_operators = True

    @classmethod
    def is_infra_mode(cls) -> bool:
        """For torch.compile: a mode that is nothing of the program's."""
        return True

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """For torch.compile, from 2.10 on: compile as if the mode were not there."""
        return True

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # torch would import its compiler for it; `_without_dynamo` does the same at no cost

    def __init__(self, *, clock: Callable[[], int] = time.perf_counter_ns) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.log: OpLog | None = None
        self._clock = clock
        self._thread: int | None = None

    @property
    def thread(self) -> int | None:
        """The thread in which it is installed."""
        return self._thread

    @property
    def is_installed(self) -> bool:
        return self._thread is not None

    def install(self) -> None:
        """Put the mode below all modes of this thread."""
        if self._thread is not None:
            return
        _watch_forks()
        above = _pop_all()
        _push(self)
        for mode in above:
            _push(mode)
        self._thread = threading.get_ident()
        _active.add(self)

    def remove(self) -> bool:
        """Take the mode out of this thread's stack; False, and nothing done, in any other thread."""
        if self._thread is None:
            return True
        if self._thread != threading.get_ident():
            return False
        modes = _pop_all()
        for mode in modes:
            if mode is not self:
                _push(mode)
        self._thread = None
        _active.discard(self)
        return True

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Run the op, then log it."""
        __tracebackhide__ = True
        log = self.log
        if log is None or log.suspended:
            return func(*args, **kwargs) if kwargs else func(*args)
        start_ns = self._clock()
        out = func(*args, **kwargs) if kwargs else func(*args)
        end_ns = self._clock()
        prior = _set_eval_frame(None)  # else a compiled function around would try to compile our own code
        try:
            log.add(func, args, kwargs or {}, out, start_ns, end_ns, sys._getframe(1))
        except (RuntimeError, NotImplementedError, AttributeError, TypeError, ValueError, KeyError):
            log.undescribed_count += 1  # an exotic tensor must not stop the user's program
        finally:
            _set_eval_frame(prior)
        return out


_eval_frame: Any = torch._C._dynamo.eval_frame
_set_eval_frame = _eval_frame.set_eval_frame


def _skip_code(code: CodeType) -> None:
    """Tell torch.compile's frame evaluation to run this code as it is."""
    if hasattr(_eval_frame, "skip_code"):  # torch < 2.6
        _eval_frame.skip_code(code)
    else:
        action = _eval_frame._FrameAction
        _eval_frame.set_code_exec_strategy(code, _eval_frame._FrameExecStrategy(action.SKIP, action.DEFAULT))


_skip_code(LoggingMode.__torch_dispatch__.__code__)


@contextmanager
def modes_set_aside() -> Iterator[None]:
    """None of this thread's dispatch modes, ours included."""
    aside = _pop_all()
    try:
        yield
    finally:
        for mode in aside:
            _push(mode)


@contextmanager
def alone(mode: LoggingMode) -> Iterator[None]:
    """Only this mode, and no function modes: what runs inside is ours and must not reach the user's modes."""
    others = _pop_all()
    _push(mode)
    try:
        with torch._C.DisableTorchFunction():
            yield
    finally:
        _pop_all()
        for other in others:
            _push(other)


def _pop_all() -> list[Any]:
    """The thread's modes, bottom first, all taken off."""
    count = torch._C._len_torch_dispatch_stack()
    infra = [torch._C._get_dispatch_mode(key) for key in _infra_keys()]
    count -= sum(mode is not None for mode in infra)
    popped = [torch._C._pop_torch_dispatch_stack(None) for _ in range(count)]
    return popped[::-1]


def _push(mode: Any) -> None:
    torch._C._push_on_torch_dispatch_stack(mode)


def _infra_keys() -> list[Any]:
    keys = torch._C._TorchDispatchModeKey
    return [getattr(keys, name) for name in ("FUNCTIONAL", "PROXY", "FAKE") if hasattr(keys, name)]


def _watch_forks() -> None:
    """A data loader's worker is a fork of this process and must not log its work."""
    global _fork_handler_is_set
    if not _fork_handler_is_set and hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_leave_child)
        _fork_handler_is_set = True


def _leave_child() -> None:
    for mode in list(_active):
        mode.log = None
        mode.remove()

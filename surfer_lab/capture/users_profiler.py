"""When does the user's own profiler run? While it does, ours must not, and no mode may double its events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import torch

from surfer_lab.capture.patches import Patches

__all__ = ["UsersProfiler"]

# `torch.profiler.profile` calls the first two, `torch.autograd.profiler.profile` as a context the third
_BEGINNINGS: Final = ("_prepare_trace", "_start_trace", "__enter__")
_END: Final = "__exit__"


class UsersProfiler:
    """Tells of profilers that start and stop between `watch` and `leave`, except those that `ours` names."""

    def __init__(self) -> None:
        self._patches = Patches()
        self.was_seen = False

    @staticmethod
    def is_running() -> bool:
        """A profiler runs in this process, anybody's."""
        return bool(torch.autograd._profiler_enabled())  # type: ignore[attr-defined] # public to torch.profiler only

    def watch(
        self, *, before_start: Callable[[], None], after_stop: Callable[[], None], ours: Callable[[], bool]
    ) -> None:  # fmt: skip
        """`ours()`: the start or stop that happens right now is our own."""
        profiler = torch.autograd.profiler.profile

        def telling_before(plain: Callable[..., Any]) -> Callable[..., Any]:
            def start(self_: Any, *args: Any, **kwargs: Any) -> Any:
                if not ours():
                    self.was_seen = True
                    before_start()
                return plain(self_, *args, **kwargs)

            return start

        def telling_after(plain: Callable[..., Any]) -> Callable[..., Any]:
            def stop(self_: Any, *args: Any, **kwargs: Any) -> Any:
                result = plain(self_, *args, **kwargs)
                if not ours():
                    after_stop()
                return result

            return stop

        for name in _BEGINNINGS:
            if hasattr(profiler, name):
                self._patches.replace(profiler, name, telling_before(getattr(profiler, name)))
        self._patches.replace(profiler, _END, telling_after(getattr(profiler, _END)))

    def leave(self) -> None:
        """Tell no more."""
        self._patches.undo()

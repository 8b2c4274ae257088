"""What is set up in a kernel, once? The comm target, the display of predictions, the cells' ids.

`register` may be called by `%load_ext surfer_lab`, by a front end, or both: the second call finds all in place. In a
shell without a kernel there is nobody to talk to, and nothing is set up but the book.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from surfer_lab.panel.book import Book
from surfer_lab.panel.cells import CellIds
from surfer_lab.panel.kernel_end import Channel, KernelEnd
from surfer_lab.panel.messages import TARGET_NAME
from surfer_lab.panel.publishing import publish
from surfer_lab.panel.worker import Worker
from surfer_lab.report.bundle import mime_bundle
from surfer_lab.report.prediction import Prediction

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["Panel", "current", "register", "unregister"]

_lock = threading.Lock()
_panel: Panel | None = None


class Panel:
    """All that a kernel has of the panel."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.shell = shell
        self.end = KernelEnd(Book(), Worker())
        self.cells = CellIds(shell)
        self._manager = _comm_manager(shell)
        if self._manager is None:
            return
        self._manager.register_target(TARGET_NAME, self.end.open)
        formatter = _bundle_formatter(shell)
        if formatter is not None:
            formatter.for_type(Prediction, self._shown)

    @property
    def has_kernel(self) -> bool:
        """Whether there is a kernel whose front ends could listen."""
        return self._manager is not None

    def greet(self) -> None:
        """Tell front ends that wait for it that the package is loaded."""
        if self._manager is not None:
            from comm import create_comm  # only in a kernel

            self.end.greet(cast(Callable[..., Channel], create_comm))

    def close(self) -> None:
        """Take all of it away again."""
        self.cells.close()
        self.end.close()
        if self._manager is not None:
            self._manager.unregister_target(TARGET_NAME, self.end.open)
            formatter = _bundle_formatter(self.shell)
            if formatter is not None:
                formatter.pop(Prediction, None)

    def _shown(self, prediction: Prediction) -> Mapping[str, Any]:
        view = prediction.view_with_grid
        publish(self.end, prediction, view)
        return mime_bundle(view)


def register(shell: InteractiveShell | None = None) -> Panel:
    """The panel of this shell (the running one), set up once. RuntimeError where no IPython runs."""
    global _panel
    with _lock:
        if shell is None:
            from IPython.core.getipython import get_ipython  # a kernel's front end calls without one

            shell = get_ipython()  # type: ignore[no-untyped-call, unused-ignore] # untyped in older releases
        if shell is None:
            raise RuntimeError("the panel talks to a notebook's kernel, and no IPython runs here")
        if _panel is not None and _panel.shell is not shell:
            _panel.close()
            _panel = None
        is_new = _panel is None
        panel = Panel(shell) if _panel is None else _panel
        _panel = panel
    if is_new:
        panel.greet()
    return panel


def unregister() -> None:
    """Take the panel away; nothing where there is none."""
    global _panel
    with _lock:
        panel, _panel = _panel, None
    if panel is not None:
        panel.close()


def current() -> Panel | None:
    """The panel, where one is set up."""
    return _panel


def _comm_manager(shell: InteractiveShell) -> Any:
    """The kernel's comm manager; None in a shell without a kernel."""
    if not hasattr(shell, "kernel"):
        return None
    from comm import get_comm_manager  # only in a kernel

    return get_comm_manager()


def _bundle_formatter(shell: InteractiveShell) -> Any:
    formatter = shell.display_formatter
    return None if formatter is None else formatter.mimebundle_formatter

"""Which notebook cell is meant by "In[3]" in a source line? The front end's id of the cell that ran as the third.

JupyterLab and Notebook send a cell's id with its execution (`metadata.cellId`); other front ends send none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["CellIds", "cell_id", "cell_number"]

_MOST_CELLS: Final = 500


class CellIds:
    """Ids by execution count, newest last; told by the shell before each cell."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._ids: dict[str, str] = {}
        shell.events.register("pre_run_cell", self._note)
        self._note()  # the cell that runs now, and set this up

    def close(self) -> None:
        """Listen no more."""
        self._shell.events.unregister("pre_run_cell", self._note)

    def known(self) -> dict[str, str]:
        """Id by the name of the cell, "In[3]"."""
        return dict(self._ids)

    def _note(self, *_info: object) -> None:
        found = cell_id(self._shell)
        if found:
            self._ids[f"In[{cell_number(self._shell)}]"] = found
            while len(self._ids) > _MOST_CELLS:
                del self._ids[next(iter(self._ids))]


def cell_number(shell: InteractiveShell) -> int:
    """The number that the running cell is shown with.

    IPython 9 counts a cell before it runs it, IPython 8 after; the display hook of either knows which.
    """
    number: int = shell.displayhook.prompt_count
    return number


def cell_id(shell: InteractiveShell) -> str:
    """The id of the cell that runs; "" where the front end sends none."""
    get_parent: Any = getattr(shell, "get_parent", None)
    parent = get_parent() if callable(get_parent) else {}
    metadata = parent.get("metadata") if isinstance(parent, Mapping) else None
    found = metadata.get("cellId") if isinstance(metadata, Mapping) else None
    return found if isinstance(found, str) else ""

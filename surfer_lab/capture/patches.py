"""How is an attribute of torch replaced for the length of a cell, and put back whatever happened meanwhile?"""

from __future__ import annotations

from typing import Any, Final

__all__ = ["Patches"]

_INHERITED: Final = object()


class Patches:
    """Replaced attributes, in order. What the user replaced after us is left as the user's."""

    def __init__(self) -> None:
        self._done: list[tuple[Any, str, Any, Any]] = []

    def replace(self, owner: Any, name: str, replacement: Any) -> None:
        """Set `owner.name`; an owner without it is left alone (older or newer torch)."""
        if not hasattr(owner, name):
            return
        before = vars(owner).get(name, _INHERITED)
        setattr(owner, name, replacement)
        self._done.append((owner, name, before, replacement))

    def undo(self) -> None:
        """Put everything back, last first."""
        while self._done:
            owner, name, before, replacement = self._done.pop()
            if vars(owner).get(name) is not replacement:
                continue
            if before is _INHERITED:
                delattr(owner, name)
            else:
                setattr(owner, name, before)

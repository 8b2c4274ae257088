"""Which predictions does a saved notebook hold? The views in its outputs, as its cells left them, in their order.

Reads our own MIME type only: no kernel, no code of the notebook is run. A cell that shows a prediction twice counts
once. What cannot be read (an older or newer form, a damaged file) is named with what to do, never left out silently.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from surfer_lab.errors import OptionError
from surfer_lab.report.bundle import MIME_TYPE
from surfer_lab.view.model import ViewModel
from surfer_lab.view.stored import restored
from surfer_lab.view.stored_model import STORED_SCHEMA_VERSION, StoredView

__all__ = ["StoredViews", "read_notebook", "stored_views"]

_NONE_FOUND: Final = "put %%predict at the top of the cell that runs the training loop, run it, and save the notebook"


@dataclass(frozen=True, kw_only=True)
class StoredViews:
    """The predictions of a notebook; `unread` says of which outputs none could be made, a sentence each."""

    views: tuple[ViewModel, ...]
    unread: tuple[str, ...] = ()


def read_notebook(path: Path) -> StoredViews:
    """The predictions in a notebook file. OptionError where it is none, or holds none that can be read."""
    try:
        notebook = msgspec.json.decode(path.read_bytes())
    except OSError as error:
        raise OptionError(f"{path.name} cannot be read ({error.strerror})", remedy="check its permissions") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise OptionError(
            f"{path.name} is not a notebook ({error})", remedy="save it again in JupyterLab, or name a trace file"
        ) from error
    return stored_views(notebook, name=path.name)


def stored_views(notebook: object, *, name: str) -> StoredViews:
    """The predictions in a notebook's JSON (nbformat 4). OptionError where there is none that can be read."""
    views: list[ViewModel] = []
    unread: list[str] = []
    for cell, output in _outputs(notebook):
        version = output.get("schema_version")
        if version != STORED_SCHEMA_VERSION:
            unread.append(
                f"The prediction of cell {cell} has form {version!r:.20}, this version reads {STORED_SCHEMA_VERSION}."
            )
            continue
        try:
            view = restored(msgspec.convert(output, StoredView))
        except (ValueError, IndexError, KeyError, RecursionError) as error:  # msgspec's ValidationError is a ValueError
            unread.append(f"The prediction of cell {cell} is damaged ({error}).")
            continue
        if view not in views:
            views.append(view)
    if not views:
        raise OptionError(
            f"{name} holds no prediction" + (f" that can be read: {unread[0]}" if unread else ""),
            remedy="run its %%predict cells again and save it" if unread else _NONE_FOUND,
        )
    return StoredViews(views=tuple(views), unread=tuple(unread))


def _outputs(notebook: object) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Our outputs, each with its cell's place, counted from 1; anything else in a foreign file is passed over."""
    cells = notebook.get("cells") if isinstance(notebook, Mapping) else None
    for place, cell in enumerate(cells if isinstance(cells, list) else [], start=1):
        outputs = cell.get("outputs") if isinstance(cell, Mapping) else None
        for output in outputs if isinstance(outputs, list) else []:
            data = output.get("data") if isinstance(output, Mapping) else None
            shown = data.get(MIME_TYPE) if isinstance(data, Mapping) else None
            if isinstance(shown, Mapping):
                yield place, shown

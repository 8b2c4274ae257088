"""Where does a prediction made now come from? An id of its own, the time, and what it was made of."""

from __future__ import annotations

import datetime
import uuid

from surfer_lab.view.detail_model import Provenance, SourceKind

__all__ = ["new_provenance"]

_ID_LENGTH = 16


def new_provenance(
    source: SourceKind = "python",
    *,
    notebook: str = "",
    cell: str = "",
    file: str = "",
    cells: dict[str, str] | None = None,
) -> Provenance:
    """Of a prediction made now. `cells`: ids of notebook cells by the names that source lines have ("In[3]")."""
    return Provenance(
        id=uuid.uuid4().hex[:_ID_LENGTH],
        made_at=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        source=source,
        notebook=notebook,
        cell=cell,
        file=file,
        cells=cells or {},
    )

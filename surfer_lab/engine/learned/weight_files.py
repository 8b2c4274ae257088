"""Where are the learned weights? In the package; for an evaluation that fits its own, in a folder while it runs.

The only state of the learned part: a context variable, so that threads do not see each other's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Final

__all__ = ["weight_folder", "weights_from"]

_SHIPPED: Final = Path(__file__).parent / "weights"
_chosen: ContextVar[Path | None] = ContextVar("surfer_lab_weights", default=None)


def weight_folder() -> Path:
    """The folder of the weights in use."""
    return _chosen.get() or _SHIPPED


@contextmanager
def weights_from(folder: Path) -> Iterator[None]:
    """Within the block, learned times come from the weights in `folder`, as `surfer train` writes them."""
    token = _chosen.set(folder)
    try:
        yield
    finally:
        _chosen.reset(token)

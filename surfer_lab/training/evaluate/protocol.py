"""Which weights predict a GPU that an evaluation judges? Never any that saw its die, unless the protocol says so.

| protocol | weights |
|---|---|
| held-out | the shipped ones that were fitted without the GPU's die; those of all dies where the die is in none |
| logo | networks fitted now, to the folder's own tables, without each die in turn: nothing shipped is used |
| published | the shipped ones, all of their dies seen: as predictors are published |

Under logo, efficiencies are learned from steps only where steps are judged (timm's); else pointwise work is on the
calibrated roofline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from surfer_lab.engine.learned.weight_files import weights_from
from surfer_lab.errors import OptionError
from surfer_lab.hardware.catalog import Catalog
from surfer_lab.hardware.gpu import Gpu

__all__ = ["Protocol", "die_left_out", "protocol_named", "weights_for"]


class Protocol(Enum):
    """Values are the words of `surfer evaluate --protocol`."""

    HELD_OUT = "held-out"
    LOGO = "logo"
    PUBLISHED = "published"


def protocol_named(word: str) -> Protocol:
    """The protocol of a word; OptionError lists the words.

    >>> protocol_named("logo")
    <Protocol.LOGO: 'logo'>
    """
    for one in Protocol:
        if word == one.value:
            return one
    raise OptionError(f"{word!r} is no protocol", remedy=" or ".join(one.value for one in Protocol))


def die_left_out(gpu: Gpu, protocol: Protocol) -> str:
    """What `EngineOptions.without_die` is for a destination."""
    return "" if protocol is Protocol.PUBLISHED else gpu.die


@contextmanager
def weights_for(
    data: Path, protocol: Protocol, catalog: Catalog, progress: Callable[[str, int, int], None] | None = None
) -> Iterator[None]:
    """Within the block, the engine answers with the protocol's weights; OptionError where they cannot be fitted."""
    if protocol is not Protocol.LOGO:
        yield
        return
    with weights_from(_fitted_now(data, catalog, progress)):
        yield


# one fit serves all evaluations of a process; gone with it
_FITTED: Final[dict[tuple[Path, int], tuple[Catalog, TemporaryDirectory[str]]]] = {}


def _fitted_now(data: Path, catalog: Catalog, progress: Callable[[str, int, int], None] | None) -> Path:
    from surfer_lab.training.fit import train  # torch is loaded only where something is fitted

    key = (data.resolve(), id(catalog))  # the catalogue is kept beside it: its id is not given twice
    if key not in _FITTED:
        folder = TemporaryDirectory()
        train(data, Path(folder.name), catalog=catalog, progress=progress)
        _FITTED[key] = (catalog, folder)
    return Path(_FITTED[key][1].name)

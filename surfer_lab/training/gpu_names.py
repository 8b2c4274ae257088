"""Which GPU of the catalogue does a measured table mean? By the known spellings, then by the names of the catalogue."""

from __future__ import annotations

from typing import Final

from surfer_lab.errors import UnknownGpuError
from surfer_lab.hardware.catalog import Catalog
from surfer_lab.hardware.gpu import Gpu

__all__ = ["gpu_spelled"]

TABLES: Final = ("kernels e2e", "timm", "deepbench")


def gpu_spelled(catalog: Catalog, spelled: str, table: str = TABLES[0]) -> Gpu | None:
    """The GPU, or None where the catalogue has none of that name."""
    for where in (table, *(one for one in TABLES if one != table)):
        try:
            return catalog.find_spelling(where, spelled)
        except UnknownGpuError:
            continue
    for name in (spelled, spelled.replace("-", " ").replace("_", " ")):
        try:
            return catalog.find(name)
        except UnknownGpuError:
            continue
    return None

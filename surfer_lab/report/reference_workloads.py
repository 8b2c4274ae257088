"""What are the reference workloads like, without capturing them anew? Their characteristics, as predicted once.

A bundled table, made by tools/write_reference_workloads.py from the shipped predictor; whoever refits it makes the
table again (a test holds two of its rows against the predictor).
"""

from __future__ import annotations

from collections.abc import Container
from functools import cache
from importlib.resources import files
from typing import Final

import msgspec

from surfer_lab.planner.characterise.similarity import Characteristics, PointGroup

__all__ = ["FILE", "ReferenceTable", "ReferenceWorkload", "load_references", "reference_characteristics"]

FILE: Final = "reference_workloads.json"


class ReferenceWorkload(msgspec.Struct, frozen=True, kw_only=True):
    """One of them, at a batch."""

    name: str
    batch_size: int
    values: dict[str, float]


class ReferenceTable(msgspec.Struct, frozen=True, kw_only=True):
    """All, on one GPU."""

    gpu: str
    made_by: str
    workloads: list[ReferenceWorkload]


@cache
def load_references() -> ReferenceTable:
    """The bundled table."""
    text = files("surfer_lab.report").joinpath("assets", FILE).read_bytes()
    return msgspec.json.decode(text, type=ReferenceTable)


def reference_characteristics(names: Container[str] = ()) -> list[Characteristics]:
    """As points of the map, without those named (they are asked about, and stand there themselves)."""
    return [
        Characteristics(name=one.name, group=PointGroup.REFERENCE, values=one.values)
        for one in load_references().workloads
        if one.name not in names
    ]

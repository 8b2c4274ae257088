"""Small facts about op names and floating dtypes that the rewrites share."""

from __future__ import annotations

from typing import Final

from surfer_lab.hardware.dtypes import BYTES_BY_DTYPE

__all__ = ["ACCUMULATING_OPS", "CAST_OP", "FLOATS", "HALVES", "is_in_place", "itemsize", "plain_name", "widest"]

CAST_OP: Final = "aten::_to_copy"
# what these rewrites change; float64, float8 and integers stay what the program made them
FLOATS: Final = frozenset(("float32", "float16", "bfloat16"))
HALVES: Final = frozenset(("float16", "bfloat16"))
# how autograd sums gradients of a tensor that was used several times
ACCUMULATING_OPS: Final = frozenset(("add", "add_"))


def plain_name(name: str) -> str:
    """Without "aten::".

    >>> plain_name("aten::add_")
    'add_'
    """
    return name.removeprefix("aten::")


def is_in_place(plain: str) -> bool:
    """Does the op write its first operand?"""
    return plain.endswith("_") and not plain.endswith("__")


def itemsize(dtype: str | None) -> int:
    """Bytes an element; a dtype that is not known counts as float32."""
    return BYTES_BY_DTYPE.get(dtype or "float32", 4)


def widest(dtypes: list[str]) -> str:
    """Torch's promotion of floating dtypes: two different halves give float32.

    >>> widest(["float16", "bfloat16"]), widest(["bfloat16", "bfloat16"])
    ('float32', 'bfloat16')
    """
    distinct = set(dtypes)
    return distinct.pop() if len(distinct) == 1 else "float32"
